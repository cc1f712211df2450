"""A table in memory that the embedded engine writes, and what stands on storage afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

import drawstring as ds
from drawstring.locks import make_lock_provider
from drawstring.options import Options
from drawstring.ports import Ports
from unit.impl.protocol.world import CountingEntropy, InlineTasks, ManualClock, MemoryStorage, NoBackground

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("day", pa.string()),
        ("ts", pa.int64()),
        ("v", pa.string()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
)


class World:
    """Ports in memory, shared by all handles of one test."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.storage = MemoryStorage(self.clock)
        self.entropy = CountingEntropy()

    def ports(self, options: dict[str, object]) -> Ports:
        parsed = Options.parse(options)
        lock = make_lock_provider(parsed, storage=self.storage, clock=self.clock, entropy=self.entropy)
        tasks = InlineTasks(self.storage, lambda event: None)
        return Ports(self.storage, self.clock, lock, self.entropy, NoBackground(), tasks)

    def create(self, *, schema: pa.Schema = SCHEMA, **arguments: Any) -> ds.Table:
        options = arguments.pop("options", {})
        arguments = {"record_key": "id", "partition_by": ["day"], "ordering": "ts", **arguments}
        engine = ds.EmbeddedEngine(use_threads=False)
        return ds.Table.create(
            "memory:///t", schema, engine=engine, options=options, ports=self.ports(options), **arguments
        )

    def open(self, options: dict[str, object] | None = None) -> ds.Table:
        engine = ds.EmbeddedEngine(use_threads=False)
        return ds.Table.open("memory:///t", engine=engine, options=options, ports=self.ports(options or {}))

    def paths(self) -> list[str]:
        return [status.path for status in self.storage.list("", recursive=True)]


def rows(*values: tuple, schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows ``(id, day, ts, v[, deleted])``."""
    names = schema.names
    full = [(*value, *[None] * (len(names) - len(value))) for value in values]
    return pa.Table.from_pylist([dict(zip(names, value, strict=True)) for value in full], schema)


def many(ids: Iterable[int], day: str = "d", ts: int = 1, v: str = "x") -> pa.Table:
    return rows(*[(i, day, ts, v) for i in ids])


def content(table: ds.Table) -> dict[tuple[int, str], str]:
    """Value by key and partition; a key that is there twice fails the test."""
    found = table.read(columns=["id", "day", "v"]).to_pylist()
    answer = {(row["id"], row["day"]): row["v"] for row in found}
    assert len(answer) == len(found)
    return answer
