"""Snapshots as streams beside whole ones: what they take, and how much memory."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

import drawstring as ds

from .measure import Contender, Measurement, alternate
from .rows import ORDERING

SECTION = "embedded"
READ, SCAN = "read", "scan"
TARGET = 1.5
_MIB = 1024 * 1024
_POOLS: list[pa.MemoryPool] = []
"""Buffers outlive what made them, so their pools have to."""


def measure(path: str, repeats: int) -> Iterator[Measurement]:
    """A stream of a snapshot, and an aggregate over one; the first title says how much memory was in use at most."""
    table = ds.Table.open(path)
    peaks = [peak_of(work) / _MIB for work in (lambda: _drain(table), table.read)]
    title = f"stream of a snapshot, {peaks[0]:,.0f} MiB in use at most where a read has {peaks[1]:,.0f} MiB"
    yield alternate(
        Measurement(SECTION, title, SCAN, READ, TARGET),
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
