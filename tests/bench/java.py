"""Java Hudi on the same rows, in its own process and environment, where `make interop` has set that up."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

from tests.interop.java.client import JavaHudi
from tests.interop.java.environment import find_environment

from .measure import Contender, Measurement, alternate
from .places import Places
from .rows import ORDERING, PARTITION, RECORD_KEY, Workload
from .spark import MERGED_SCAN, MERGED_SUM, SUMMED, write_inputs

SECTION = "Java Hudi"
OURS = "Java Hudi"
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
        yield run(Measurement(SECTION, MERGED_SCAN, OURS), [Contender(OURS, lambda _: java.scan(merged_path))])
        sum_of = functools.partial(java.sum_of, merged_path, SUMMED)
        yield run(Measurement(SECTION, MERGED_SUM, OURS), [Contender(OURS, lambda _: sum_of())])
