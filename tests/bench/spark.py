"""The Spark engine beside what Spark itself does with Parquet: one local session, all with zstd."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import drawstring as ds
from drawstring.commands.stage import QUIET, standard_error_to
from drawstring.spark.session import local_session

from .measure import Contender, Measurement, alternate
from .merge_on_read import append_delta_commit, make_merge_on_read
from .places import Places
from .rows import ORDERING, PARTITION, RECORD_KEY, Workload

SECTION = "Spark"
OURS = "drawstring"
SUMMED = "amount"
MERGED_SCAN, MERGED_SUM = "merge-on-read snapshot scan", f"merge-on-read snapshot, sum of {SUMMED}"
"""Of a table with 5 % of its keys in log files."""
SCAN_FACTOR = 1.3
"""What such a snapshot may take at most, in scans of as many rows without log files."""
PARQUET = "Parquet scan"
_INPUT_FILES = 4
_ROUNDS, _WARM_UPS = 5, 3
"""Of reads: Java compiles what it runs often, and the first rounds are of both."""


def write_inputs(workload: Workload, places: Places) -> dict[str, str]:
    """Put the workload where Spark can read it: folders by the workload's fields."""
    folders = {}
    for name in ("rows", "many", "few"):
        table = getattr(workload, name)
        folder = Path(places.fresh())
        folder.mkdir(parents=True)
        num_files = _INPUT_FILES if name == "rows" else 1
        size = -(-table.num_rows // num_files)
        for number in range(num_files):
            pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet", compression="zstd")
        folders[name] = str(folder)
    return folders


def start_session(places: Places) -> Any:
    """Start the session that everything is measured in."""
    config = {**QUIET, "spark.driver.memory": "4g", "spark.sql.parquet.compression.codec": "zstd"}
    with standard_error_to(Path(places.fresh())):
        return local_session("drawstring bench", config=config)


def into_nothing(frame: Any) -> None:
    """Read all columns."""
    frame.write.format("noop").mode("overwrite").save()


def sum_of(frame: Any) -> None:
    """Read one column."""
    frame.agg({SUMMED: "sum"}).collect()


def parquet_files(spark: Any, path: str) -> Any:
    """Return the base files of a table of one level of partitions, as plain Parquet."""
    return spark.read.parquet(*sorted(map(str, Path(path).glob("*/*.parquet"))))


def reads(repeats: int) -> Callable[..., Measurement]:
    """Return what measures reads, with as many rounds as they need."""
    return functools.partial(alternate, repeats=max(repeats, _ROUNDS), warm_ups=_WARM_UPS)


class _Bench:
    """The session, the inputs, and a table of each side."""

    def __init__(self, workload: Workload, places: Places) -> None:
        self.spark: Any = start_session(places)
        self.engine = ds.SparkEngine(self.spark)
        self.workload = workload
        self.places = places
        self.inputs = write_inputs(workload, places)
        self.table_path = places.fresh()
        self.bulk_insert(self.table_path)

    def bulk_insert(self, path: str) -> None:
        """Ours."""
        table = ds.Table.create(
            path,
            self.workload.rows.schema,
            record_key=RECORD_KEY,
            partition_by=PARTITION,
            ordering=ORDERING,
            engine=self.engine,
        )
        table.bulk_insert(self.spark.read.parquet(self.inputs["rows"]))

    def parquet_write(self, path: str) -> None:
        """Spark's own write of the same rows into the same partitions."""
        self.spark.read.parquet(self.inputs["rows"]).write.partitionBy(PARTITION).parquet(path)

    def upsert(self, path: str, *, batch: str) -> None:
        """Ours."""
        ds.Table.open(path, engine=self.engine).upsert(self.spark.read.parquet(self.inputs[batch]))

    def rewrite(self, path: str) -> None:
        """Read every base file of our table and write its rows again: what an upsert of all files cannot avoid."""
        self.base_files().write.parquet(path)

    def base_files(self) -> Any:
        """Return the base files of our table, as plain Parquet."""
        return parquet_files(self.spark, self.table_path)

    def scan(self) -> None:
        """Ours, all columns, into nothing."""
        into_nothing(ds.Table.open(self.table_path, engine=self.engine).to_spark(self.spark))

    def plain_scan(self) -> None:
        """Spark's own, the same files and columns."""
        into_nothing(self.base_files())

    def make_merged(self) -> str:
        """Make a copy of our table merge-on-read, and put new versions of 5 % of its rows into log files."""
        path = self.places.copier(self.table_path)()
        make_merge_on_read(path)
        append_delta_commit(path, self.workload.many, record_key=RECORD_KEY, partition=PARTITION)
        return path

    def aggregate(self, frame: Any) -> None:
        """Count the values of every column, so that each of them is read."""
        frame.agg(dict.fromkeys(frame.columns, "count")).collect()


def measure(workload: Workload, places: Places, repeats: int) -> Iterator[Measurement]:
    """Every comparison of this section."""
    bench = _Bench(workload, places)
    run = functools.partial(alternate, repeats=repeats)
    try:
        yield run(
            Measurement(SECTION, "bulk_insert", OURS, "Parquet write", 1.2),
            [
                Contender(OURS, bench.bulk_insert, places.fresh, places.remove),
                Contender("Parquet write", bench.parquet_write, places.fresh, places.remove),
            ],
        )
        copy = places.copier(bench.table_path)
        yield run(
            Measurement(SECTION, f"upsert {workload.many.num_rows:,} keys", OURS, "Parquet read and rewrite", 1.2),
            [
                Contender(OURS, functools.partial(bench.upsert, batch="many"), copy, places.remove),
                Contender("Parquet read and rewrite", bench.rewrite, places.fresh, places.remove),
            ],
        )
        # Beside Java Hudi, which runs in a section of its own.
        yield run(
            Measurement(SECTION, f"upsert {workload.few.num_rows:,} keys", OURS),
            [Contender(OURS, functools.partial(bench.upsert, batch="few"), copy, places.remove)],
        )
        read = reads(repeats)
        yield read(
            Measurement(SECTION, "snapshot scan", OURS, PARQUET, 1.1),
            [
                Contender(OURS, lambda _: bench.scan()),
                Contender(PARQUET, lambda _: bench.plain_scan()),
            ],
        )
        yield read(
            Measurement(SECTION, "snapshot, every column aggregated", OURS, PARQUET, 1.1),
            [
                Contender(OURS, lambda _: bench.aggregate(ds.Table.open(bench.table_path).to_spark(bench.spark))),
                Contender(PARQUET, lambda _: bench.aggregate(bench.base_files())),
            ],
        )
        yield from _merged(bench, read)
    finally:
        bench.spark.stop()


def _merged(bench: _Bench, read: Callable[..., Measurement]) -> Iterator[Measurement]:
    """Compare snapshots of a merge-on-read table with a scan of as many rows without log files.

    Its log files do not say where in the base files their rows belong, as those of some indexes do not.
    """
    path = bench.make_merged()

    def ours(columns: list[str] | None = None) -> Any:
        return ds.Table.open(path).to_spark(bench.spark, columns=columns)

    def by_format() -> Any:
        return bench.spark.read.format("drawstring").load(path)

    yield read(
        Measurement(SECTION, MERGED_SCAN, OURS, PARQUET, SCAN_FACTOR),
        [
            Contender(OURS, lambda _: into_nothing(ours())),
            Contender(PARQUET, lambda _: into_nothing(bench.base_files())),
            Contender('format("drawstring")', lambda _: into_nothing(by_format())),
        ],
    )
    yield read(
        Measurement(SECTION, MERGED_SUM, OURS, PARQUET),
        [
            Contender(OURS, lambda _: sum_of(ours([SUMMED]))),
            Contender(PARQUET, lambda _: sum_of(bench.base_files())),
            Contender('format("drawstring")', lambda _: sum_of(by_format())),
        ],
    )
