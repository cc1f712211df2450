"""Conditions of a query as Spark's own, so that Spark prunes partitions and row groups by them.

They answer as pyarrow's do: a comparison with null is no match, ``not in`` keeps nulls, and NaN is neither greater
than anything nor equal to itself.
"""

from __future__ import annotations

import datetime as dt
import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import pyarrow as pa
from pyarrow import types as pat
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

_COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NAN_SENSITIVE: Final = frozenset({"=", "==", ">", ">="})
"""Comparisons that Spark answers with yes for NaN where Arrow says no."""


def column(name: str) -> Column:
    """Return a column by its name, whatever characters it has."""
    return F.col("`" + name.replace("`", "``") + "`")


def conjunctions(condition: Any) -> list[list[tuple[str, str, Any]]]:
    """Return a list of conditions as an "or" of "and"s. It was checked by pyarrow before."""
    items = list(condition)
    if items and isinstance(items[0], tuple):
        return [items]
    return [list(group) for group in items]


def spark_condition(condition: Any, columns: pa.Schema) -> Column:
    """Return a list of conditions, as pyarrow's Parquet reader takes it, as a condition of Spark.

    Args:
        condition: checked against `columns` by pyarrow.
        columns: of the query.

    """
    groups = [
        functools.reduce(operator.and_, [_single(columns.field(name), op, value) for name, op, value in group])
        for group in conjunctions(condition)
    ]
    return functools.reduce(operator.or_, groups)


def _single(field: pa.Field, op: str, value: Any) -> Column:
    held = column(field.name)
    if op == "in":
        return _is_in(held, field, list(value))
    if op == "not in":
        return ~_is_in(held, field, list(value))
    if value is None:
        return F.lit(False)
    answer: Column = _COMPARISONS[op](held, _literal(value, field.type))
    if pat.is_floating(field.type) and op in _NAN_SENSITIVE:
        return answer & ~F.isnan(held)
    return answer


def _is_in(held: Column, field: pa.Field, values: Sequence[Any]) -> Column:
    """Return a condition that is never null: whether a value is among others, null among them or not."""
    literals = [_literal(value, field.type) for value in values if value is not None]
    found = F.coalesce(held.isin(*literals), F.lit(False)) if literals else F.lit(False)
    return found | held.isNull() if len(literals) < len(values) else found


def _literal(value: Any, kind: pa.DataType) -> Column:
    """Return a value as a literal that no session's time zone changes."""
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if pat.is_timestamp(kind) and isinstance(value, dt.datetime | dt.date):
        moment = pa.scalar(value, pa.timestamp("us", kind.tz)).value
        if kind.tz is not None:
            return F.timestamp_micros(F.lit(moment))
        text = pa.scalar(moment, pa.timestamp("us")).as_py().isoformat(sep=" ")
        return F.lit(text).cast("timestamp_ntz")
    return F.lit(value)
