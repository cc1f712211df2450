"""The option ``drawstring.read.filter``: conditions as JSON, since options are texts.

Whose duty: from the text to the list of conditions that `drawstring.table.Table.read` takes. Spark has a way of its own
to push conditions down to a Python data source, which is not used: up to version 4.3 it keeps what one query pushed for
all other queries of the same DataFrame, which then miss rows (docs/decisions/filters-of-the-format.md).
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from drawstring.errors import InputError, OptionError
from drawstring.read.arrow_reader import filter_expression
from drawstring.spark.source_options import FILTER

_WAY_OUT = 'Give a list of conditions, such as [["day", ">=", "2026-01-01"], ["city", "in", ["Oslo", "Molde"]]].'


def parse_filter(text: str | None, columns: pa.Schema) -> list[Any] | None:
    """Return the conditions that a text stands for.

    Args:
        text: JSON, a list of conditions ``[column, operator, value]`` that all hold, or a list of such lists, one of
            which holds. Values are read as the column's type: dates and times from their ISO form. None for no filter.
        columns: of the answer.

    Raises:
        OptionError: the text is no JSON, or not of this form.
        InputError: a condition does not fit the columns.

    """
    if text is None:
        return None
    try:
        given = json.loads(text)
    except ValueError as error:
        raise OptionError(f"Option {FILTER!r} is no JSON: {error}.", way_out=_WAY_OUT) from error
    if not isinstance(given, list) or not given or not all(isinstance(one, list) and one for one in given):
        raise OptionError(f"Option {FILTER!r} has the value {text}.", way_out=_WAY_OUT)
    one_group = isinstance(given[0][0], str)
    parsed = [[_condition(one, columns) for one in group] for group in ([given] if one_group else given)]
    conditions = parsed[0] if one_group else parsed
    filter_expression(conditions, columns)
    return conditions


def _condition(given: Any, columns: pa.Schema) -> tuple[str, str, Any]:
    if not (isinstance(given, list) and len(given) == 3 and all(isinstance(part, str) for part in given[:2])):
        raise OptionError(f"Option {FILTER!r} has the condition {json.dumps(given)}.", way_out=_WAY_OUT)
    name, operator, value = given
    if name not in columns.names:
        raise InputError(
            f"The filter names the column {name!r}, which is not there.",
            way_out=f"The columns are: {', '.join(columns.names)}.",
        )
    kind = columns.field(name).type
    return (
        name,
        operator,
        [_typed(one, kind, name) for one in value] if isinstance(value, list) else _typed(value, kind, name),
    )


def _typed(value: Any, kind: pa.DataType, name: str) -> Any:
    try:
        return pa.scalar(value).cast(kind).as_py()
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"The filter's value {value!r} is none of column {name!r}, whose type is {kind}.", way_out=_WAY_OUT
        ) from error
