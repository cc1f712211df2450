"""Rows as JSON texts, made in columns: the images of a query for changes.

Source: Java ``CDCFileGroupIterator``, which makes two dialects of them, by the place an image comes from. Here there is
one, whatever the place: each column of the row in its order, null members included, no blanks. Dates are days since
1970, times and timestamps numbers in the unit of their column, as Avro stores them; decimals are numbers with all
their digits; bytes are base64; NaN and the infinities are texts. Maps are objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.data.key_texts import single_chunk
from drawstring.errors import SchemaError

_TEXT: Final = pa.large_string()
_NULL: Final = pa.scalar("null", _TEXT)
_ESCAPES: Final = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
_OTHER_CONTROLS: Final = tuple((chr(code), f"\\u{code:04x}") for code in range(0x20) if chr(code) not in "\n\r\t")
_CONTROL_PATTERN: Final = r"[\x00-\x08\x0b\x0c\x0e-\x1f]"


def rows_as_json(table: pa.Table) -> pa.Array:
    """Return each row as the text of a JSON object (``pa.large_string()``, no nulls).

    Raises:
        SchemaError: a column has a type that no Hudi table has.

    """
    columns = [single_chunk(column) for column in table.columns]
    return _object(table.column_names, columns, table.num_rows)


def _text(array: pa.Array) -> pa.Array:
    """Return each value as JSON text; ``null`` where the value is null."""
    return pc.fill_null(_present(array), _NULL)


def _present(array: pa.Array) -> pa.Array:
    kind = array.type
    if pat.is_dictionary(kind):
        return _present(array.dictionary_decode())
    if pat.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        texts = _object(names, array.flatten(), len(array))
        return pc.if_else(array.is_valid(), texts, pa.scalar(None, _TEXT))
    if pat.is_map(kind):
        return _map(array)
    if pat.is_list(kind) or pat.is_large_list(kind):
        return _joined(array, _text(array.flatten()), "[", "]")
    return _scalar(array)


def _scalar(array: pa.Array) -> pa.Array:
    kind = array.type
    if pat.is_string(kind) or pat.is_large_string(kind):
        return _quoted(array)
    if pat.is_binary(kind) or pat.is_large_binary(kind) or pat.is_fixed_size_binary(kind):
        encoded = pl.Series(values=array.cast(pa.large_binary())).bin.encode("base64")
        return _quoted(encoded.to_arrow().cast(_TEXT))
    if pat.is_floating(kind):
        return _floating(array)
    if pat.is_date32(kind) or pat.is_time32(kind):
        return array.cast(pa.int32()).cast(_TEXT)
    if pat.is_timestamp(kind) or pat.is_time64(kind):
        return array.cast(pa.int64()).cast(_TEXT)
    if pat.is_boolean(kind) or pat.is_integer(kind) or pat.is_decimal(kind) or pat.is_null(kind):
        return array.cast(pa.string()).cast(_TEXT)
    raise SchemaError(f"A value of type {kind} has no JSON text here.", way_out="Read the rows without cdc=True.")


def _floating(array: pa.Array) -> pa.Array:
    texts = array.cast(pa.string()).cast(_TEXT)
    # Whole numbers are told from those of integer columns, as in Java.
    texts = pc.replace_substring_regex(texts, r"^(-?\d+)$", r"\1.0")
    finite = pc.is_finite(array)
    if pc.all(finite, min_count=0).as_py() is not False:
        return texts
    named = pc.if_else(pc.is_nan(array), "NaN", pc.if_else(pc.greater(array, 0), "Infinity", "-Infinity"))
    return pc.if_else(finite, texts, _quoted(named))


def _quoted(array: pa.Array) -> pa.Array:
    texts = array.cast(_TEXT)
    for raw, escaped in _ESCAPES:
        texts = pc.replace_substring(texts, raw, escaped)
    if pc.any(pc.match_substring_regex(texts, _CONTROL_PATTERN), min_count=0).as_py():
        for raw, escaped in _OTHER_CONTROLS:
            texts = pc.replace_substring(texts, raw, escaped)
    quote = pa.scalar('"', _TEXT)
    return pc.binary_join_element_wise(quote, texts, quote, pa.scalar("", _TEXT))


def _object(names: Sequence[str], columns: Sequence[pa.Array], num_rows: int) -> pa.Array:
    parts: list[Any] = []
    for position, (name, column) in enumerate(zip(names, columns, strict=True)):
        label = _quoted(pa.array([name], _TEXT))[0].as_py()
        parts += [pa.scalar(f"{'{' if position == 0 else ','}{label}:", _TEXT), _text(column)]
    if not parts:
        return pa.array(["{}"] * min(num_rows, 1), _TEXT).take(pa.array(np.zeros(num_rows, np.int64)))
    return pc.binary_join_element_wise(*parts, pa.scalar("}", _TEXT), pa.scalar("", _TEXT))


def _map(array: pa.Array) -> pa.Array:
    entries = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    pairs = entries.flatten()
    keys, items = pairs.flatten()
    texts = pc.binary_join_element_wise(_quoted(keys), _text(items), pa.scalar(":", _TEXT))
    return _joined(entries, texts, "{", "}")


def _joined(array: pa.Array, texts: pa.Array, opening: str, closing: str) -> pa.Array:
    """Return for each list the texts of its values, joined and in brackets; null where the list is."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64()).to_numpy()
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int64())
    inner = pc.binary_join(pa.LargeListArray.from_arrays(offsets, texts), pa.scalar(",", _TEXT))
    whole = pc.binary_join_element_wise(
        pa.scalar(opening, _TEXT), inner, pa.scalar(closing, _TEXT), pa.scalar("", _TEXT)
    )
    return pc.if_else(array.is_valid(), whole, pa.scalar(None, _TEXT))
