"""Rows of base files left out of a native scan, by a bit for each row.

Whose duty: from bits per file to a condition that Spark compiles into the scan's own loop. A join would do the same,
but has to wait for a job of its own and builds a row for every look-up. Spark's scan knows the name of the file that a
row is in, and the row's place in it. The name's hash chooses an entry of a short table, which says where the file's
bits begin in one long array; files are put together so that no two share an entry.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.column import Column as ClassicColumn

from drawstring.files import BaseFile
from drawstring.metadata.keys import xxh64
from drawstring.spark import java
from drawstring.spark.unsafe_rows import array_content, array_of_bytes

Numbers = npt.NDArray[np.int64]

MAX_FILES: Final = 256
"""Files of one condition: the table of hashes grows with the square of their number."""

_NOWHERE: Final = 1 << 36
"""Behind all bits: what an entry says that belongs to no file."""

_GROWTH: Final = 1.2
_SEED: Final = 42
"""Of Spark's function ``xxhash64``."""
_LONGS: Final = '{"type":"array","elementType":"long","containsNull":false}'
_BITS_OF_WORD: Final = 64
_EXPRESSIONS: Final = "org.apache.spark.sql.catalyst.expressions"
_NO_BITS: Final = (
    "cast(raise_error('a row of a file was scanned of which nothing is known: "
    "the file has changed since it was listed') as byte)"
)


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A base file with a bit for each row.

    Attributes:
        file: the base file.
        bits: 64 rows to a little-endian number, least significant bit first; 1 for a row that is left out.

    """

    file: BaseFile
    bits: bytes


def groups(files: Sequence[MarkedFile]) -> Iterator[list[MarkedFile]]:
    """Yield files in groups of which one condition can tell the members apart: not too many, each name once."""
    rounds: list[list[MarkedFile]] = []
    seen: dict[str, int] = {}
    for marked in files:
        number = seen.get(marked.file.name, 0)
        seen[marked.file.name] = number + 1
        if number == len(rounds):
            rounds.append([])
        rounds[number].append(marked)
    for members in rounds:
        yield from (members[start : start + MAX_FILES] for start in range(0, len(members), MAX_FILES))


def without_marked_rows(spark: SparkSession, frame: DataFrame, files: Sequence[MarkedFile]) -> DataFrame:
    """Leave rows out of a scan.

    Args:
        spark: the session.
        frame: a native scan of the files, with nothing on top.
        files: one of `groups`.

    """
    if not any(np.frombuffer(marked.bits, "<i8").any() for marked in files):
        return frame
    hashes = _hashes([marked.file.name for marked in files])
    size = _table_size(hashes)
    starts = np.full(size, _NOWHERE, np.int64)
    start = 0
    for marked, slot in zip(files, hashes % size, strict=True):
        starts[slot] = start
        start += len(marked.bits) * 8
    bits = np.frombuffer(b"".join(marked.bits for marked in files), "<i8")
    of = functools.partial(java.call, spark, java.FUNCTIONS)
    slot_of_row = of("expr", f"cast(pmod(xxhash64(_metadata.file_name), {size}L) as int)")
    position = of("get", _longs(spark, starts), slot_of_row).plus(of("expr", "_metadata.row_index"))
    word = of("get", _longs(spark, bits), of("shiftright", position, 6).cast("int"))
    bit = of("getbit", word, position.bitwiseAND(_BITS_OF_WORD - 1).cast("int"))
    left_out = of("coalesce", java.sequence(spark, [bit, of("expr", _NO_BITS)]))
    return frame.where(ClassicColumn(left_out.equalTo(0)))


def _hashes(names: Sequence[str]) -> Numbers:
    """Return the hashes that Spark's function gives some file names."""
    return np.array([xxh64(name.encode(), _SEED) for name in names], np.uint64).view(np.int64)


def _table_size(hashes: Numbers) -> int:
    """Return a size of table in which no two hashes share an entry."""
    size = len(hashes)
    while len(np.unique(hashes % size)) < len(hashes):
        size = int(size * _GROWTH) + 1
    return size


def _longs(spark: SparkSession, values: Numbers) -> Any:
    """Return numbers as one literal array of Java's, of its bytes, since Spark would take the numbers one by one."""
    data = array_of_bytes(spark, array_content(np.ascontiguousarray(values, np.int64).tobytes()))
    literal = java.new(spark, f"{_EXPRESSIONS}.Literal", data, java.data_type(spark, _LONGS))
    return java.call(spark, "org.apache.spark.sql.classic.ExpressionUtils", "column", literal)
