"""Java Hudi on the same rows, in its own process and environment, where `make interop` has set that up."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.interop.java.client import JavaHudi
from tests.interop.java.environment import find_environment

import drawstring as ds

from .measure import Contender, Measurement, alternate
from .places import Places
from .rows import ORDERING, PARTITION, RECORD_KEY, Workload
from .spark import (
    MERGED_SCAN,
    MERGED_SUM,
    PARQUET,
    SCAN_FACTOR,
    SUMMED,
    into_nothing,
    parquet_files,
    reads,
    start_session,
    sum_of,
    write_inputs,
)
from .spark import OURS as DRAWSTRING

SECTION = "Java Hudi"
OURS = "Java Hudi"
SUM_FACTOR = 2.0
"""Our sum over a snapshot of the table that it wrote ought to be at least so many times as fast as its own."""
_OPTIONS = {
    "hoodie.table.name": "bench",
    "hoodie.compact.inline": "false",
    "hoodie.datasource.write.recordkey.field": RECORD_KEY,
    "hoodie.datasource.write.partitionpath.field": PARTITION,
    "hoodie.datasource.write.precombine.field": ORDERING,
    "hoodie.parquet.compression.codec": "zstd",
}


def is_available() -> bool:
    """Whether Java Hudi's environment exists."""
    return find_environment() is not None


def measure(workload: Workload, places: Places, repeats: int) -> Iterator[Measurement]:
    """Every operation of this section; what we compare with them stands in the report."""
    environment = find_environment()
    if environment is None:
        return
    inputs = write_inputs(workload, places)
    with JavaHudi(environment) as java:
        run = functools.partial(alternate, repeats=repeats)

        def write(path: str, *, operation: str, batch: str, kind: str = "COPY_ON_WRITE") -> None:
            options = {**_OPTIONS, "hoodie.datasource.write.table.type": kind}
            java.write_files(Path(path), operation, Path(inputs[batch]), options=options)

        bulk_insert = functools.partial(write, operation="bulk_insert", batch="rows")
        yield run(
            Measurement(SECTION, "bulk_insert", OURS),
            [Contender(OURS, bulk_insert, places.fresh, places.remove)],
        )
        table_path = places.fresh()
        bulk_insert(table_path)
        for name in ("many", "few"):
            upsert = functools.partial(write, operation="upsert", batch=name)
            title = f"upsert {getattr(workload, name).num_rows:,} keys"
            yield run(
                Measurement(SECTION, title, OURS),
                [Contender(OURS, upsert, places.copier(table_path), places.remove)],
            )
        yield run(Measurement(SECTION, "snapshot scan", OURS), [Contender(OURS, lambda _: java.scan(Path(table_path)))])
        merged_path = Path(places.fresh())
        for operation, batch in (("bulk_insert", "rows"), ("upsert", "many")):
            write(str(merged_path), operation=operation, batch=batch, kind="MERGE_ON_READ")
        yield from _same_table(java, str(merged_path), places, repeats)


def _same_table(java: JavaHudi, path: str, places: Places, repeats: int) -> Iterator[Measurement]:
    """Let both read the merge-on-read table that Java Hudi wrote: 5 % of its keys are in log files, too."""
    read, session = reads(repeats), start_session(places)

    def ours(columns: list[str] | None = None) -> Any:
        return ds.Table.open(path).to_spark(session, columns=columns)

    try:
        yield read(
            Measurement(SECTION, f"its {MERGED_SCAN}", DRAWSTRING, PARQUET, SCAN_FACTOR),
            [
                Contender(DRAWSTRING, lambda _: into_nothing(ours())),
                Contender(PARQUET, lambda _: into_nothing(parquet_files(session, path))),
                Contender(OURS, lambda _: java.scan(Path(path))),
            ],
        )
        yield read(
            Measurement(SECTION, f"its {MERGED_SUM}", DRAWSTRING, OURS, 1 / SUM_FACTOR),
            [
                Contender(DRAWSTRING, lambda _: sum_of(ours([SUMMED]))),
                Contender(PARQUET, lambda _: sum_of(parquet_files(session, path))),
                Contender(OURS, lambda _: java.sum_of(Path(path), SUMMED)),
            ],
        )
    finally:
        session.stop()
