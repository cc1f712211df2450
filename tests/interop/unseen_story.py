"""Tables that Java Hudi writes, one for each feature that no random table has: options, and what is done to the table.

A story is told to a `Recorder`: it writes by Java, and asks Java every query where the answer is worth it. What is
compared afterwards is every query, of both engines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from interop.random_choices import FEW_TASKS
from interop.unseen_recording import Recorder

COW: Final = {"hoodie.datasource.write.table.type": "COPY_ON_WRITE"}
MOR: Final = {"hoodie.datasource.write.table.type": "MERGE_ON_READ", "hoodie.compact.inline": "false"}
PLAIN: Final = {
    "hoodie.table.name": "t",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.partitionpath.field": "part",
    **FEW_TASKS,
}
NO_METADATA: Final = {"hoodie.metadata.enable": "false"}
ONE_BUCKET: Final = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "1"}
SIMPLE_INDEX: Final = {"hoodie.index.type": "SIMPLE"}
SCHEMA: Final = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("v", pa.int32())])


@dataclass(frozen=True)
class Story:
    """How one table comes to be.

    Attributes:
        name: of the table.
        tell: what is done to it.
        options: of its writes, beside `PLAIN`.
        cdc: whether change data is asked for.
        read_options: of Java's queries.

    """

    name: str
    tell: Callable[[Recorder], None]
    options: Mapping[str, str]
    cdc: bool = False
    read_options: Mapping[str, str] = field(default_factory=dict)

    @property
    def description(self) -> str:
        """The story in words."""
        return (self.tell.__doc__ or "").strip()


STORIES: dict[str, Story] = {}


def story(
    options: Mapping[str, str], *, names: Mapping[str, Mapping[str, str]] | None = None, **more: Any
) -> Callable[[Callable[[Recorder], None]], Callable[[Recorder], None]]:
    """Register a story, once or under several names, each with options of its own."""

    def register(tell: Callable[[Recorder], None]) -> Callable[[Recorder], None]:
        for suffix, own in (names or {"": {}}).items():
            name = f"{tell.__name__}_{suffix}".rstrip("_")
            STORIES[name] = Story(name, tell, {**PLAIN, **NO_METADATA, **options, **own}, **more)
        return tell

    return register


def rows(*values: tuple[Any, ...], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows of a schema."""
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in values], schema=schema)


def some(keys: range, ts: int, v: int, part: str | None = "a") -> pa.Table:
    """Rows of some numbered keys."""
    return rows(*((f"k{i:03}", part, ts, v + i) for i in keys))


ST: Final = pa.struct([("a", pa.int32()), ("b", pa.string())])
BY_ID: Final = {"hoodie.schema.on.read.enable": "true"}
