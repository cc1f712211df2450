"""Rows of base files left out of a native scan, by a bit for each row.

Whose duty: from bits per file to a condition that Spark compiles into the scan's own loop. A join would do the same,
but has to wait for a job of its own and builds a row for every look-up. Spark's scan knows the name of the file that a
row is in, and the row's place in it. The name's hash chooses an entry of a short table, which says where the file's
bits begin in one long array; files are put together so that no two share an entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from pyspark.sql.classic.column import Column as ClassicColumn

from drawstring.files import BaseFile

Numbers = npt.NDArray[np.int64]

MAX_FILES: Final = 256
"""Files of one condition: the table of hashes grows with the square of their number."""

_NOWHERE: Final = 1 << 36
"""Behind all bits: what an entry says that belongs to no file."""

_GROWTH: Final = 1.2
_SEED: Final = 42
"""Of Spark's function ``xxhash64``."""
_LONGS: Final = '{"type":"array","elementType":"long","containsNull":false}'
_NO_BITS: Final = "'a row of a file was scanned of which nothing is known: the file has changed since it was listed'"


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
    hashes = _hashes(spark, [marked.file.name for marked in files])
    size = _table_size(hashes)
    starts = np.full(size, _NOWHERE, np.int64)
    start = 0
    for marked, slot in zip(files, hashes % size, strict=True):
        starts[slot] = start
        start += len(marked.bits) * 8
    slot_column = F.pmod(F.xxhash64(frame["_metadata.file_name"]), F.lit(size)).cast("int")
    position = F.get(_longs(spark, starts), slot_column) + frame["_metadata.row_index"]
    word = F.get(
        _longs(spark, np.frombuffer(b"".join(marked.bits for marked in files), "<i8")),
        F.shiftright(position, 6).cast("int"),
    )
    bit = F.getbit(word, position.bitwiseAND(F.lit(63)).cast("int"))
    return frame.where(F.coalesce(bit, F.expr(f"cast(raise_error({_NO_BITS}) as byte)")) == F.lit(0))


def _hashes(spark: SparkSession, names: Sequence[str]) -> Numbers:
    """Return the hashes that Spark's function gives some file names."""
    jvm: Any = spark._jvm  # noqa: SLF001 -- no public way
    text_of = jvm.org.apache.spark.unsafe.types.UTF8String.fromString
    text = jvm.org.apache.spark.sql.types.DataTypes.StringType
    hash_of = jvm.org.apache.spark.sql.catalyst.expressions.XxHash64Function.hash
    return np.array([hash_of(text_of(name), text, _SEED) for name in names], np.int64)


def _table_size(hashes: Numbers) -> int:
    """Return a size of table in which no two hashes share an entry."""
    size = len(hashes)
    while len(np.unique(hashes % size)) < len(hashes):
        size = int(size * _GROWTH) + 1
    return size


def _longs(spark: SparkSession, values: Numbers) -> Column:
    """Return numbers as one literal array: built of bytes, since Spark would take them one by one."""
    jvm: Any = spark._jvm  # noqa: SLF001 -- no public way
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 -- as above
    buffer = jvm.java.nio.ByteBuffer.wrap(np.ascontiguousarray(values, "<i8").tobytes())
    array = gateway.new_array(jvm.long, len(values))
    buffer.order(jvm.java.nio.ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(array)
    expressions = jvm.org.apache.spark.sql.catalyst.expressions
    data = expressions.UnsafeArrayData.fromPrimitiveArray(array)
    literal = expressions.Literal(data, jvm.org.apache.spark.sql.types.DataType.fromJson(_LONGS))
    return ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(literal))
