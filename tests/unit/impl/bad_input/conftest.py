"""What the tests of bad input share: a small table, and checks that nothing changed and that an error helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.errors import DrawstringError

SCHEMA = pa.schema([("id", pa.string()), ("region", pa.string()), ("ts", pa.int64()), ("amount", pa.float64())])


def rows(*ids: str | None, region: str | None = "north", ts: int = 1) -> pa.Table:
    """One row per id."""
    return pa.Table.from_pylist([{"id": i, "region": region, "ts": ts, "amount": 1.0} for i in ids], schema=SCHEMA)


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file below `folder` with its bytes, and every folder (as None)."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def visible(table: Path) -> dict[str, bytes | None]:
    """What readers go by: data files, commits, properties; also what a failed write may not leave pending.

    A write that is refused only after its instant was requested rolls itself back, which the timeline records.
    """
    return {
        name: content
        for name, content in contents(table).items()
        if not name.startswith(".hoodie/.temp/") and ".rollback" not in name and content is not None
    }


@contextmanager
def refusal(folder: Path, kind: type[DrawstringError], *words: str) -> Iterator[None]:
    """The block raises `kind`; the message has all of `words`; a way out is given; `folder` stays as it was."""
    before = contents(folder)
    with pytest.raises(DrawstringError) as caught:
        yield
    error = caught.value
    assert type(error) is kind, f"{type(error).__name__}: {error}"
    for word in words:
        assert word in error.message, error.message
    assert error.way_out, "the error says no way out"
    assert contents(folder) == before


@pytest.fixture
def table_path(tmp_path: Path) -> Path:
    """A table with two commits, partitioned by region; beside it a file that nobody may touch."""
    (tmp_path / "outside.txt").write_text("outside of the table", encoding="utf-8")
    path = tmp_path / "table"
    table = ds.Table.create(str(path), SCHEMA, record_key="id", partition_by=["region"], ordering="ts")
    table.insert(rows("a", "b", "c"))
    table.upsert(rows("b", "d", ts=2))
    return path


@pytest.fixture
def edit_properties(table_path: Path) -> Callable[[dict[str, str | None]], Path]:
    """Change lines of hoodie.properties by hand; None removes a key."""

    def edit(changes: dict[str, str | None]) -> Path:
        file = table_path / ".hoodie" / "hoodie.properties"
        lines = file.read_text(encoding="latin-1").splitlines()
        kept = [line for line in lines if line.split("=", 1)[0] not in changes]
        added = [f"{key}={value}" for key, value in changes.items() if value is not None]
        file.write_text("\n".join([*kept, *added, ""]), encoding="latin-1")
        return table_path

    return edit
