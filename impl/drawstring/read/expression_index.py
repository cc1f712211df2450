"""File slices that an expression index rules out: it has statistics or bloom filters of a function of a column.

Source: Java ``ExpressionIndexSupport``, ``HoodieExpressionIndex``, ``HoodieSparkExpressionIndex``. Java asks such an
index where a query applies the same function. Here a filter is of columns, so what the index says of the function is
taken back to the column: where the function goes up with its argument, its bounds are bounds of the column; where it
does not, a filter that asks for values is asked of the function of each.

Whose duty: only speed. Functions are those of which Spark's answer is certain whatever the session that built the
index was set to: a time in an unknown zone is one in any of them, and letters are those that have one other case
everywhere. Of all others, and of slices with log files, nothing is said.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import types as pat

from drawstring.context import TableContext
from drawstring.files import FileSlice
from drawstring.metadata import MetadataTable
from drawstring.metadata.index_definitions import BLOOM, IDENTITY, STATISTICS, IndexDefinition, index_definitions
from drawstring.metadata.records import EXPRESSION_INDEX_PREFIX
from drawstring.metadata.table import partition_hashes
from drawstring.read.index_lookup import bloom_of
from drawstring.read.pruning import asked_values, possible
from drawstring.read.statistics import Bounds, bounds_of_slices, promise, rows_of_files

_EXPRESSION: Final = "expr"
_FORMAT: Final = "format"
_ZONE: Final = dt.timedelta(hours=18)
"""No zone is farther from UTC."""
_SECOND: Final = dt.timedelta(seconds=1)
_DAY: Final = dt.timedelta(days=1)
_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_DEFAULT_FORMAT: Final = "yyyy-MM-dd HH:mm:ss"
_FORMATS: Final = {
    _DEFAULT_FORMAT: ("%Y-%m-%d %H:%M:%S", r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", _SECOND),
    "yyyy-MM-dd": ("%Y-%m-%d", r"^\d{4}-\d\d-\d\d$", _DAY),
}
"""Formats of times whose texts order as the times do: Python's form of each, its texts, and how long each lasts."""

_Texts = Callable[[str], str]
_OF_TEXT: Final[Mapping[str, _Texts]] = {
    IDENTITY: lambda text: text,
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda text: text.strip(" "),
    "ltrim": lambda text: text.lstrip(" "),
    "rtrim": lambda text: text.rstrip(" "),
}
"""Functions of texts whose value is a text."""
_ONLY_PLAIN_LETTERS: Final = frozenset({"lower", "upper"})
"""Functions that are known for ASCII alone."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a filter asks of a column.

    Attributes:
        field: the column.
        values: of which it has to have one; None where the filter does not say.
        expression: the filter.
        available: all columns that it may use.

    """

    field: pa.Field
    values: Sequence[Any] | None
    expression: Any
    available: pa.Schema


def slices_by_expression_indexes(
    context: TableContext,
    metadata: MetadataTable,
    slices: Sequence[FileSlice],
    columns: Sequence[pa.Field],
    available: pa.Schema,
    expression: Any,
    condition: Any,
) -> tuple[FileSlice, ...]:
    """Return those of some slices that no expression index rules out.

    Args:
        context: of the table.
        metadata: of the table.
        slices: to choose from.
        columns: of the filter, whose bounds would tell something of it.
        available: all columns that it may use.
        expression: the filter.
        condition: the same as the caller gave it.

    Raises:
        CorruptFileError: the index cannot be read.

    """
    if not any(name.startswith(EXPRESSION_INDEX_PREFIX) for name in metadata.partitions):
        return tuple(slices)
    fields = {field.name: field for field in columns}
    values = asked_values(condition)
    kept = list(slices)
    for index in index_definitions(context):
        bare = [one for one in kept if one.base_file is not None and not one.log_files]
        if not bare or not _is_usable(metadata, index) or index.columns[0] not in fields:
            continue
        name = index.columns[0]
        asked = _Asked(fields[name], values.get(name), expression, available)
        choose = _by_statistics if index.kind == STATISTICS else _by_bloom_filters
        left = {one.group for one in choose(metadata, index, bare, asked)}
        ruled_out = {one.group for one in bare} - left
        kept = [one for one in kept if one.group not in ruled_out]
    return tuple(kept)


def _is_usable(metadata: MetadataTable, index: IndexDefinition) -> bool:
    """Whether an index is one of expressions, is complete, and is of one column."""
    is_expression = index.partition.startswith(EXPRESSION_INDEX_PREFIX) and index.kind in (STATISTICS, BLOOM)
    return is_expression and index.partition in metadata and len(index.columns) == 1


def _by_statistics(
    metadata: MetadataTable,
    index: IndexDefinition,
    slices: Sequence[FileSlice],
    asked: _Asked,
) -> Sequence[FileSlice]:
    """Return the slices whose files' statistics leave room for the filter; a file without any leaves it."""
    inverse = _inverse(index, asked.field.type)
    values = None if inverse is not None else _function_of_values(index, asked)
    if inverse is None and values is None:
        return slices
    stats = metadata.expression_stats(index.partition)
    hashes = partition_hashes([one.group.partition_path for one in slices])
    names = pa.array([hashed + _base_name(one) for hashed, one in zip(hashes, slices, strict=True)], pa.string())
    positions = rows_of_files(stats, names)
    kind = pa.string() if inverse is None else inverse.kind
    bounds = bounds_of_slices(stats, positions, np.arange(len(slices)), len(slices), kind)
    if inverse is None:
        return [one for i, one in enumerate(slices) if _may_hold(bounds, i, values or ())]
    bounds = inverse.to_column(bounds)
    promises = [promise({asked.field.name: bounds}, i) for i in range(len(slices))]
    return [slices[i] for i in possible(promises, asked.available, asked.expression)]


def _may_hold(bounds: Bounds, index: int, texts: Sequence[str]) -> bool:
    """Whether one of some texts may be among those of a slice."""
    if bounds.all_null[index]:
        return False
    least, greatest = bounds.least[index].as_py(), bounds.greatest[index].as_py()
    return any((least is None or least <= text) and (greatest is None or text <= greatest) for text in texts)


def _by_bloom_filters(
    metadata: MetadataTable, index: IndexDefinition, slices: Sequence[FileSlice], asked: _Asked
) -> Sequence[FileSlice]:
    """Return the slices whose files' bloom filters may have one of the values; a file without one may."""
    values = _function_of_values(index, asked)
    if values is None:
        return slices
    texts = pa.array(values, pa.string())
    places = {(one.group.partition_path, _base_name(one)): one for one in slices}
    ruled_out = set()
    for row in metadata.bloom_filters(list(places), index.partition).to_pylist():
        bloom = bloom_of(row)
        if bloom is not None and not bloom.might_contain(texts).any():
            ruled_out.add(places[row["partition_path"], row["name"]].group)
    return [one for one in slices if one.group not in ruled_out]


def _base_name(one: FileSlice) -> str:
    return one.base_file.name if one.base_file is not None else ""


def _function_of_values(index: IndexDefinition, asked: _Asked) -> list[str] | None:
    """Return an index's function of the values that a filter asks for; None where one of them is not certain."""
    function = _OF_TEXT.get(index.function)
    values = asked.values
    if function is None or values is None or not pat.is_string(asked.field.type) or _has_options(index):
        return None
    if not all(isinstance(value, str) for value in values):
        return None
    if index.function in _ONLY_PLAIN_LETTERS and not all(value.isascii() for value in values):
        return None
    return [function(value) for value in values]


def _has_options(index: IndexDefinition) -> bool:
    """Whether options change what a function does, other than that which names it."""
    return bool(index.options.keys() - {_EXPRESSION})


@dataclass(frozen=True, slots=True)
class _Inverse:
    """How bounds of a function that goes up with its argument are taken back to the argument.

    Attributes:
        kind: of the function's values.
        to_column: bounds of the column from bounds of the function.

    """

    kind: pa.DataType
    to_column: Callable[[Bounds], Bounds]


def _inverse(index: IndexDefinition, kind: pa.DataType) -> _Inverse | None:
    """Return the way back from a function to a column of a type; None where there is none that is certain."""
    if index.function == IDENTITY and not _has_options(index):
        return _Inverse(kind, lambda bounds: bounds)
    if index.function == "from_unixtime" and pat.is_int64(kind) and index.options.keys() <= {_EXPRESSION, _FORMAT}:
        form = _FORMATS.get(index.options.get(_FORMAT, _DEFAULT_FORMAT))
        return None if form is None else _Inverse(pa.string(), lambda bounds: _seconds(bounds, *form))
    if index.function == "year" and pat.is_date32(kind) and not _has_options(index):
        return _Inverse(pa.int32(), _days)
    return None


def _seconds(bounds: Bounds, form: str, texts: str, lasts: dt.timedelta) -> Bounds:
    """Return bounds of seconds since the epoch whose texts in some zone have bounds.

    Texts of years that have not four digits order otherwise: where one bound has such a year, there is none.
    """
    least, greatest = bounds.least.to_pylist(), bounds.greatest.to_pylist()
    found: list[tuple[int | None, int | None]] = []
    for low, high in zip(least, greatest, strict=True):
        if low is None or high is None or not re.match(texts, low) or not re.match(texts, high):
            found.append((None, None))
            continue
        start, end = (dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC) - _EPOCH for text in (low, high))
        found.append(((start - _ZONE) // _SECOND, (end + lasts + _ZONE) // _SECOND))
    return _replaced(bounds, found, pa.int64())


def _days(bounds: Bounds) -> Bounds:
    """Return bounds of dates whose years have bounds."""
    found: list[tuple[dt.date | None, dt.date | None]] = []
    for low, high in zip(bounds.least.to_pylist(), bounds.greatest.to_pylist(), strict=True):
        known = [year if year is not None and dt.MINYEAR <= year <= dt.MAXYEAR else None for year in (low, high)]
        found.append((known[0] and dt.date(known[0], 1, 1), known[1] and dt.date(known[1], 12, 31)))
    return _replaced(bounds, found, pa.date32())


def _replaced(bounds: Bounds, found: Sequence[tuple[Any, Any]], kind: pa.DataType) -> Bounds:
    least, greatest = (pa.array([pair[side] for pair in found], kind) for side in (0, 1))
    return replace(bounds, least=least, greatest=greatest)
