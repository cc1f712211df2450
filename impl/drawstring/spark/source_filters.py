"""Conditions that Spark pushes down, as those of `drawstring.table.Table.read`.

Whose duty: a condition here keeps every row that Spark's keeps, maybe more; Spark applies its own to what comes back.
Conditions that might keep fewer are left to Spark alone: those on floating columns (Spark takes NaN for the greatest
number, Arrow for none), on columns inside of others, and decimals so long that Spark's messages round them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa
from pyarrow import types as pat
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
    Not,
    StringStartsWith,
)

from drawstring.errors import InputError
from drawstring.read.arrow_reader import filter_expression

Condition = tuple[str, str, Any]

_COMPARISONS: Final[dict[type, str]] = {
    EqualTo: "==",
    EqualNullSafe: "==",
    GreaterThan: ">",
    GreaterThanOrEqual: ">=",
    LessThan: "<",
    LessThanOrEqual: "<=",
}
_NEGATED: Final = {"==": "!=", "in": "not in"}
_EXACT_DIGITS: Final = 27
_SURROGATES: Final = range(0xD800, 0xE000)


def conditions(filters: Iterable[Filter], columns: pa.Schema) -> list[Condition]:
    """Return conditions that keep all rows which all of Spark's filters keep.

    Args:
        filters: as Spark pushes them.
        columns: of the table.

    Returns:
        An "and" of conditions; empty where none says anything.

    """
    return [condition for one in filters for condition in _translated(one) if _fits(condition, columns)]


def _translated(one: Filter) -> Iterator[Condition]:
    if isinstance(one, Not):
        for name, op, value in _translated(one.child):
            if op in _NEGATED and not isinstance(one.child, EqualNullSafe):
                yield name, _NEGATED[op], value
        return
    path: tuple[str, ...] = getattr(one, "attribute", ())
    if len(path) != 1:
        return
    if isinstance(one, In):
        values = [value for value in one.value if value is not None]
        if values:
            yield path[0], "in", values
    elif isinstance(one, StringStartsWith):
        yield path[0], ">=", one.value
        after = _after_all_with(one.value)
        if after is not None:
            yield path[0], "<", after
    elif type(one) in _COMPARISONS:
        yield path[0], _COMPARISONS[type(one)], getattr(one, "value", None)


def _after_all_with(prefix: str) -> str | None:
    """Return the least text that is greater than all that begin with a prefix; None where there is none."""
    for end in range(len(prefix), 0, -1):
        following = ord(prefix[end - 1]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= sys.maxunicode:
            return prefix[: end - 1] + chr(following)
    return None


def _fits(condition: Condition, columns: pa.Schema) -> bool:
    name, _, value = condition
    if columns.get_all_field_indices(name) == [] or value is None:
        return False
    kind = columns.field(name).type
    values = value if isinstance(value, list) else [value]
    if pat.is_floating(kind) or pat.is_nested(kind):
        return False
    if any(isinstance(one, Decimal) and len(one.as_tuple().digits) > _EXACT_DIGITS for one in values):
        return False
    try:
        pa.array(values, _exact(kind))
        filter_expression([condition], columns)
    except (InputError, pa.ArrowException, TypeError, ValueError, OverflowError):
        return False
    return True


def _exact(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column's values have in a condition: timestamps in Spark's microseconds."""
    return pa.timestamp("us", kind.tz) if pat.is_timestamp(kind) else kind
