"""Rows of constants in the binary form that Spark's tasks read them in.

Whose duty: hand a few rows to the Java process in one call and without a query: planning a read would otherwise wait
for Spark to analyze, plan and collect a DataFrame that holds nothing but the values of some folders' names.

Source: Java ``UnsafeRow``, ``UnsafeArrayData``. Both begin with a bit for each field that is null, 64 to a word; an
array has the number of its elements in front of them. A word for each field follows, which holds a short value itself
and of a longer one where its bytes are (from the beginning of the row or array) and how many.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import types as pat
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from drawstring.spark import java

_EXPRESSIONS: Final = "org.apache.spark.sql.catalyst.expressions"
_WORD: Final = 8
_BITS: Final = 64
_MOST_DIGITS_OF_A_LONG: Final = 18
_DECIMAL_BYTES: Final = 16
"""Of a decimal in Arrow, and what one of more digits has room for in a row."""

_FORMATS: Final = {
    pa.bool_(): "?",
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.float32(): "f",
    pa.float64(): "d",
}


def array_of_bytes(spark: SparkSession, content: bytes) -> Any:
    """Return an array of Spark's whose binary form these bytes are."""
    array = java.new(spark, f"{_EXPRESSIONS}.UnsafeArrayData")
    array.pointTo(content, java.constant(spark, "org.apache.spark.unsafe.Platform", "BYTE_ARRAY_OFFSET"), len(content))
    return array


def array_content(words: bytes, rest: bytes = b"") -> bytes:
    """Return the binary form of an array without nulls.

    Args:
        words: eight bytes for each element.
        rest: what stands behind them.

    """
    count = len(words) // _WORD
    return count.to_bytes(_WORD, sys.byteorder) + bytes(_null_bytes(count)) + words + rest


def rows(spark: SparkSession, structure: StructType, values: Sequence[Sequence[pa.Scalar]]) -> Any:
    """Return an array of Java's with a row for each sequence of values.

    Args:
        spark: the session.
        structure: the rows' columns.
        values: of each row, in order, of the types that the structure's are in Arrow: booleans, signed integers,
            floats, decimals, dates and texts.

    Raises:
        TypeError: a value is of another type.

    """
    encoded = [_row(one) for one in values]
    # A row's place counts from the array's beginning: behind the number of rows, the bits and the words.
    place = _WORD + _null_bytes(len(encoded)) + _WORD * len(encoded)
    words = bytearray()
    for row in encoded:
        words += _place(place, len(row))
        place += len(row)
    array = array_of_bytes(spark, array_content(bytes(words), b"".join(encoded)))
    return array.toObjectArray(java.data_type(spark, structure.json()))


def _row(values: Sequence[pa.Scalar]) -> bytes:
    nulls = bytearray(_null_bytes(len(values)))
    words, rest = bytearray(), bytearray()
    start = len(nulls) + _WORD * len(values)
    for number, value in enumerate(values):
        if not value.is_valid:
            word, bit = number // _BITS * _WORD, number % _BITS
            mask = int.from_bytes(nulls[word : word + _WORD], sys.byteorder) | 1 << bit
            nulls[word : word + _WORD] = mask.to_bytes(_WORD, sys.byteorder)
            words += bytes(_WORD)
        elif pat.is_string(value.type):
            content = value.as_py().encode()
            words += _place(start + len(rest), len(content))
            rest += content.ljust(-(-len(content) // _WORD) * _WORD, b"\0")
        elif pat.is_decimal(value.type) and value.type.precision > _MOST_DIGITS_OF_A_LONG:
            content = _big_integer(_digits(value))
            words += _place(start + len(rest), len(content))
            rest += content.ljust(_DECIMAL_BYTES, b"\0")
        else:
            words += _short(value)
    return bytes(nulls + words + rest)


def _short(value: pa.Scalar) -> bytes:
    """Return a value that fits into a word, in its first bytes."""
    if pat.is_decimal(value.type):
        return struct.pack("=q", _digits(value))
    if pat.is_date32(value.type):
        value = value.cast(pa.int32())
    if value.type not in _FORMATS:
        raise TypeError(f"a value of type {value.type} is none that a folder's name has")
    return struct.pack(f"={_FORMATS[value.type]}", value.as_py()).ljust(_WORD, b"\0")


def _digits(value: pa.Scalar) -> int:
    """Return the digits of a decimal as one number."""
    content = pa.array([value], value.type).buffers()[1]
    return int.from_bytes(content[:_DECIMAL_BYTES], "little", signed=True)


def _big_integer(number: int) -> bytes:
    """Return a number in as few bytes as Java's ``BigInteger`` does, the sign in the first."""
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _place(start: int, size: int) -> bytes:
    return struct.pack("=q", start << 32 | size)


def _null_bytes(count: int) -> int:
    return -(-count // _BITS) * _WORD
