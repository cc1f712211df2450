"""Snapshots as streams beside whole ones: what they take, and how much memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

import drawstring as ds

from .measure import Contender, Measurement, alternate
from .rows import ORDERING, PARTITION

SECTION = "embedded"
READ, SCAN = "read", "scan"
TARGET = 1.5
MEMORY_TARGET = 1.5
_MIB = 1024 * 1024
_POOLS: list[pa.MemoryPool] = []
"""Buffers outlive what made them, so their pools have to."""


def measure(path: str, repeats: int) -> Iterator[Measurement]:
    """What a stream of a snapshot holds in memory, how long it takes, and an aggregate over one."""
    table = ds.Table.open(path)
    yield memory(table, repeats)
    yield alternate(
        Measurement(SECTION, "stream of a snapshot", SCAN, READ, TARGET),
        [Contender(SCAN, lambda _: _drain(table)), Contender(READ, lambda _: table.read())],
        repeats=repeats,
    )
    yield alternate(
        Measurement(SECTION, "sum of a column", "DuckDB over a scan", READ, TARGET),
        [
            Contender("DuckDB over a scan", lambda _: table.to_duckdb().sum(ORDERING).fetchall()),
            Contender(READ, lambda _: pc.sum(table.read(columns=[ORDERING]).column(0)).as_py()),
        ],
        repeats=repeats,
    )


def memory(table: ds.Table, repeats: int) -> Measurement:
    """What a stream holds of all partitions, and of one of them, which is a file: the same, if batches bound it."""
    names = ("scan of all", "scan of one partition", READ)
    works: list[Callable[[], object]] = [
        lambda: _drain(table),
        lambda: sum(batch.num_rows for batch in table.scan(filter=[(PARTITION, "=", "asia")])),
        table.read,
    ]
    found = Measurement(SECTION, "memory in use at most", names[0], names[1], MEMORY_TARGET, unit="MiB")
    for name, work in zip(names, works, strict=True):
        found.seconds[name] = [peak_of(work) / _MIB for _ in range(repeats)]
    return found


def _drain(table: ds.Table) -> int:
    return sum(batch.num_rows for batch in table.scan())


def peak_of(work: Callable[[], object]) -> int:
    """Bytes that Arrow held at once, at most, while something ran."""
    pool, before = pa.proxy_memory_pool(pa.system_memory_pool()), pa.default_memory_pool()
    _POOLS.append(pool)
    gc.collect()
    pa.set_memory_pool(pool)
    try:
        work()
    finally:
        pa.set_memory_pool(before)
    return int(pool.max_memory())
