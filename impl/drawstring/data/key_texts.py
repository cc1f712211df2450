"""Column values as the text that Java makes of them in record keys and partition paths.

Source: Java ``HoodieAvroUtils.convertValueForSpecificDataTypes`` and ``toString`` of what it returns: dates as
``yyyy-MM-dd``, timestamps as the epoch number of their unit, decimals as ``BigDecimal.toString``. Floating-point
numbers are refused: what ``Double.toString`` gives depends on the Java version, so a key would not be found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.errors import RecordKeyError

_MIN_DATE: Final = -719_162  # 0001-01-01, days since the epoch
_MAX_DATE: Final = 2_932_896  # 9999-12-31

_PLAIN_TYPES: Final = (
    pat.is_string,
    pat.is_large_string,
    pat.is_string_view,
    pat.is_boolean,
    pat.is_integer,
    pat.is_decimal128,  # Arrow follows BigDecimal's rules for exponents.
    pat.is_null,
)
"""Types whose values Arrow writes as Java does."""


def field_column(table: pa.Table, field: str) -> pa.Array:
    """Return one column in one chunk; a name with dots that is no column leads into structs.

    Raises:
        RecordKeyError: there is no such column.

    """
    if field in table.column_names:
        return single_chunk(table.column(field))
    head, *rest = field.split(".")
    if not rest or head not in table.column_names:
        raise RecordKeyError(
            f"The field {field!r} is not among the columns: {', '.join(table.column_names)}.",
            way_out="Keys and partitions are made of columns of the data.",
        )
    column = single_chunk(table.column(head))
    for name in rest:
        if not pat.is_struct(column.type) or column.type.get_field_index(name) < 0:
            raise RecordKeyError(f"The field {field!r} leads nowhere: {column.type} has no member {name!r}.")
        column = pc.struct_field(column, name)
    return column


def top_level_names(fields: Sequence[str], columns: Sequence[str]) -> list[str]:
    """Return the top-level columns in which key fields lie; a dotted name that is no column leads into a struct."""
    names = [field if field in columns else field.partition(".")[0] for field in fields]
    return list(dict.fromkeys(names))


def single_chunk(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a column as one array, without a copy where it is one already."""
    if isinstance(column, pa.ChunkedArray):
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    return column


def key_texts(column: pa.Array, field: str) -> pa.Array:
    """Return a column's values as text (``pa.string()``, null where the value is).

    Args:
        column: one array of a type of Hudi's, or of one that is cast to such a type without loss.
        field: its name, for the message.

    Raises:
        RecordKeyError: values of that type make no key.

    """
    kind = column.type
    if pat.is_dictionary(kind):
        return pc.take(key_texts(column.dictionary, field), column.indices)
    if pat.is_date(kind):
        return _date_texts(column, field)
    if pat.is_timestamp(kind):
        unit = "ms" if kind.unit in {"s", "ms"} else "us"
        column = pc.cast(pc.cast(column, pa.timestamp(unit, kind.tz)), pa.int64())
    elif not any(test(kind) for test in _PLAIN_TYPES):
        raise RecordKeyError(
            f"The field {field!r} has type {kind}, which makes no record key or partition path.",
            way_out="Use text, integers, booleans, dates, timestamps or decimals (a floating-point number has no "
            "text that all versions of Java agree on).",
        )
    return pc.cast(column, pa.string())


def _date_texts(column: pa.Array, field: str) -> pa.Array:
    days = pc.cast(column, pa.date32())
    limits = pc.min_max(pc.cast(days, pa.int32()))
    least, greatest = limits["min"].as_py(), limits["max"].as_py()
    if least is not None and (least < _MIN_DATE or greatest > _MAX_DATE):
        raise RecordKeyError(
            f"The field {field!r} has dates outside of the years 1 to 9999, which make no key.",
            way_out="Correct those dates.",
        )
    return pc.cast(days, pa.string())
