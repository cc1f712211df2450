"""Statistics of files as what they promise about the rows of a file slice.

Source: Java ``ColumnStatsIndexSupport``. Whose duty: only promises that hold for every row of a slice as it is read. A
bound in doubt is no bound: of a type that the column no longer has, of text whose order differs between Java's
characters and bytes, of decimals that lost digits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_BOOLEAN, _INT, _LONG, _FLOAT, _DOUBLE, _TEXT, _DATE, _DECIMAL, _MICROS, _LOCAL_DATE = 0, 1, 2, 3, 4, 6, 7, 8, 10, 11
_STORED_SCALE: Final = 15
"""Digits after the point that a decimal's bounds have."""
_LATE_CHARACTERS: Final = "[\\x{E000}-\\x{10FFFF}]"
"""From here on Java's order of texts (by UTF-16 units) is not that of bytes; a bound without them is one in both."""


@dataclass(frozen=True)
class Bounds:
    """What is known of one column, slice by slice.

    Attributes:
        least, greatest: in the column's type; null where there is no bound.
        all_null: which slices have no value in the column.
        has_nulls: which slices may have nulls in it.

    """

    least: pa.Array
    greatest: pa.Array
    all_null: Flags
    has_nulls: Flags


def rows_of_files(stats: pa.Table, files: pa.Array) -> Numbers:
    """Return the row that statistics have of each file; -1 where they have none.

    Args:
        stats: of one column or expression, as `MetadataTable.column_stats` returns it.
        files: what stands for the partition of each (`drawstring.metadata.table.partition_hashes`) and its name, as
            one text.

    """
    keys = pc.binary_join_element_wise(stats.column("partition_hash"), stats.column("fileName"), "")
    return rows_of_keys(keys, files)


def rows_of_keys(keys: pa.ChunkedArray, wanted: pa.Array) -> Numbers:
    """Return the row of each wanted key; -1 where there is none."""
    rows: Numbers = pc.fill_null(pc.index_in(wanted, value_set=keys.combine_chunks()), -1).to_numpy()
    return rows.astype(np.int64)


def bounds_of_slices(
    stats: pa.Table, positions: Numbers, slices: Numbers, num_slices: int, kind: pa.DataType
) -> Bounds:
    """Join the statistics of the files of each slice: a row of it may come from any of them.

    Args:
        stats: of one column; a row per file, as `MetadataTable.column_stats` returns it.
        positions: per file of the slices, its row in `stats`; -1 where it has none.
        slices: per file, which slice it is of, ascending; every slice has a file.
        num_slices: how many there are.
        kind: of the column.

    """
    known = positions >= 0
    rows = stats.take(pa.array(np.maximum(positions, 0))) if stats.num_rows else _no_rows(stats, len(positions))
    counts, nulls = _counts(rows, "valueCount"), _counts(rows, "nullCount")
    empty = known & (counts >= 0) & (counts == nulls)
    least, has_least = _bound(rows.column("minValue"), kind)
    greatest, has_greatest = _bound(rows.column("maxValue"), kind)
    if pat.is_floating(kind):
        # Of a file with NaN, Parquet's footer has no bounds, and Java takes zeros for them.
        told = ~pc.fill_null(pc.and_(pc.equal(least, 0), pc.equal(greatest, 0)), fill_value=False).to_numpy(
            zero_copy_only=False
        )
        has_least, has_greatest = has_least & told, has_greatest & told
    firsts = np.searchsorted(slices, np.arange(num_slices))
    # A file without a value adds none; of any other a missing bound leaves the slice without one.
    open_below = np.logical_or.reduceat(~(known & has_least) & ~empty, firsts)
    open_above = np.logical_or.reduceat(~(known & has_greatest) & ~empty, firsts)
    all_null = np.logical_and.reduceat(empty, firsts)
    has_nulls = np.logical_or.reduceat(~known | (nulls != 0), firsts)
    values = pa.table({"slice": slices, "least": least, "greatest": greatest})
    values = values.filter(pa.array(known & ~empty))
    joined = values.group_by("slice").aggregate([("least", "min"), ("greatest", "max")])
    index = np.full(num_slices, -1, np.int64)
    index[joined.column("slice").to_numpy()] = np.arange(joined.num_rows)
    return Bounds(
        _picked(joined.column("least_min"), index, open_below),
        _picked(joined.column("greatest_max"), index, open_above),
        all_null,
        has_nulls,
    )


def _no_rows(stats: pa.Table, count: int) -> pa.Table:
    return pa.table([pa.nulls(count, f.type) for f in stats.schema], schema=stats.schema)


def _counts(rows: pa.Table, name: str) -> Numbers:
    counts: Numbers = pc.fill_null(rows.column(name), -1).to_numpy()
    return counts


def _picked(values: pa.ChunkedArray, index: Numbers, absent: Flags) -> pa.Array:
    return values.combine_chunks().take(pa.array(index, mask=absent | (index < 0)))


def _bound(values: pa.ChunkedArray, kind: pa.DataType) -> tuple[pa.Array, Flags]:
    """Values of a union in the column's type, and where they are bounds of it."""
    members = values.combine_chunks()
    accepted = _members(kind)
    if not accepted:  # Nested values, among others, which Arrow has no least one of.
        return pa.nulls(len(members)), np.zeros(len(members), np.bool_)
    result = pa.nulls(len(members), kind)
    for index in accepted:
        try:
            result = pc.coalesce(result, _converted(members.field(index).field("value"), kind))
        except pa.ArrowException:
            return pa.nulls(len(members), kind), np.zeros(len(members), np.bool_)
    if pat.is_string(kind):
        result = pc.if_else(pc.match_substring_regex(result, _LATE_CHARACTERS), pa.scalar(None, kind), result)
    if pat.is_floating(kind):
        result = pc.if_else(pc.is_nan(result), pa.scalar(None, kind), result)
    return result, result.is_valid().to_numpy(zero_copy_only=False)


def _members(kind: pa.DataType) -> tuple[int, ...]:
    """Members of the union whose values order as the column's do."""
    by_type: Mapping[pa.DataType, tuple[int, ...]] = {
        pa.bool_(): (_BOOLEAN,),
        pa.int32(): (_INT,),
        pa.int64(): (_INT, _LONG),
        pa.float32(): (_FLOAT,),
        pa.float64(): (_FLOAT, _DOUBLE),
        pa.string(): (_TEXT,),
        pa.date32(): (_DATE, _LOCAL_DATE),
    }
    if kind in by_type:
        return by_type[kind]
    if pat.is_timestamp(kind) and kind.unit == "us":
        return _LONG, _MICROS
    return (_DECIMAL,) if pat.is_decimal128(kind) and kind.scale <= _STORED_SCALE else ()


def _converted(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values.cast(kind)


def promise(bounds: Mapping[str, Bounds], index: int) -> Any:
    """What holds for every row of a slice, as an expression; None if nothing is known.

    Args:
        bounds: by column.
        index: of the slice.

    """
    parts: list[Any] = []
    for name, known in bounds.items():
        column = pc.field(name)
        if known.all_null[index]:
            parts.append(column.is_null())
            continue
        sides = []
        if known.least[index].is_valid:
            sides.append(column >= known.least[index])
        if known.greatest[index].is_valid:
            sides.append(column <= known.greatest[index])
        parts += [side | column.is_null() for side in sides] if known.has_nulls[index] else sides
    return _all(parts)


def _all(parts: Sequence[Any]) -> Any:
    result = None
    for part in parts:
        result = part if result is None else result & part
    return result
