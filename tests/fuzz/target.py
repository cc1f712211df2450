"""What is fuzzed: a format, files of it that are whole, how they are damaged, and what reads them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import pyarrow as pa

from drawstring.errors import NotFoundError
from drawstring.ports import FileStatus

from .mutators import Mutator, damage

Answer = tuple[str, ...]

_CRAFTED = 0.5
"""Part of the inputs that get past outer lengths and checksums."""


@dataclass(frozen=True)
class Damaged:
    """An input: a whole file, and what became of it."""

    whole: bytes
    content: bytes


def cuts_are_told(damaged: Damaged, before: Answer, after: Answer) -> str | None:
    """A file that states its length never answers when its end is missing."""
    is_cut = len(damaged.content) < len(damaged.whole) and damaged.whole.startswith(damaged.content)
    return "a file without its end gave an answer" if is_cut and before != after else None


def all_is_told(_: Damaged, before: Answer, after: Answer) -> str | None:
    """A file under checksums gives the answer it was written with, or none."""
    return "a damaged file under checksums gave another answer" if before != after else None


def nothing_is_told(_: Damaged, __: Answer, ___: Answer) -> str | None:
    """Where neither a checksum nor a length can tell, a changed value is a value."""
    return None


@dataclass(frozen=True)
class Target:
    """One format.

    Attributes:
        name: of the format.
        wholes: makes files that are whole, always the same.
        read: what is tried; it answers or raises a `DrawstringError`, all else is a finding.
        crafted: ways to damage what lies behind outer lengths and checksums, which are made right again.
        judge: says what is wrong with an answer, given the whole file's.
        only_crafted: whether bytes are damaged by `crafted` alone.

    """

    name: str
    wholes: Callable[[], Sequence[bytes]]
    read: Callable[[bytes], Answer]
    crafted: tuple[Mutator, ...] = ()
    judge: Callable[[Damaged, Answer, Answer], str | None] = nothing_is_told
    only_crafted: bool = False

    def damaged(self, chance: Random, wholes: Sequence[bytes]) -> tuple[Damaged, bool]:
        """One input, and whether outer lengths and checksums were made right again, so that no judge can tell."""
        whole = chance.choice(wholes)
        if self.only_crafted or (self.crafted and chance.random() < _CRAFTED):
            return Damaged(whole, chance.choice(self.crafted)(whole, chance, wholes)), True
        return Damaged(whole, damage(whole, chance, wholes)), False


def described(table: pa.Table | pa.Array) -> str:
    """Digest of columns. Raises `pa.ArrowInvalid` where they are none that Arrow's kernels may touch: a finding."""
    if isinstance(table, pa.Array | pa.ChunkedArray):
        table = pa.table([table], ["value"])
    table.validate(full=True)
    sink = hashlib.sha256()
    sink.update(str(table.schema).encode("utf-8", "surrogatepass"))
    with pa.ipc.new_stream(pa.BufferOutputStream(), table.schema):
        pass  # a schema that cannot be handed on would raise here
    for batch in table.combine_chunks().to_batches():
        sink.update(batch.serialize())
    return f"{table.num_rows} rows {sink.hexdigest()[:16]}"


@dataclass(frozen=True)
class Files:
    """Storage that holds a few files, for reading."""

    contents: Mapping[str, bytes] = field(default_factory=dict)
    uri: str = "memory:"

    def list(self, prefix: str, *, recursive: bool = False) -> list[FileStatus]:
        inside = [p for p in sorted(self.contents) if p.startswith(f"{prefix}/" if prefix else "")]
        if not recursive:
            inside = [p for p in inside if "/" not in p[len(prefix) + 1 if prefix else 0 :]]
        return [self.head(path) for path in inside]

    def list_folders(self, prefix: str) -> list[str]:
        start = f"{prefix}/" if prefix else ""
        rest = [path[len(start) :] for path in self.contents if path.startswith(start)]
        return sorted({start + path.partition("/")[0] for path in rest if "/" in path})

    def head(self, path: str) -> FileStatus:
        if path not in self.contents:
            raise NotFoundError(f"{path} is not there")
        return FileStatus(path, len(self.contents[path]), 0, "e")

    def read(self, path: str, start: int = 0, length: int | None = None) -> memoryview:
        if path not in self.contents:
            raise NotFoundError(f"{path} is not there")
        content = self.contents[path]
        return memoryview(content)[start : len(content) if length is None else start + length]
