"""Compares an answer with the expected rows, as multisets, in columns.

The order of rows does not count, nor the order of a map's entries, nor what a list's element is called. Everything
else does: the columns, their order and types, each value. NaN equals NaN; 0.0 and -0.0 are the same value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

_SHOWN = 3


def difference(actual: pa.Table, expected: pa.Table) -> str:
    """Say how an answer differs from the expected rows; the empty text where it does not.

    Args:
        actual: the answer.
        expected: the rows that are right.

    """
    if actual.column_names != expected.column_names:
        return f"columns: {actual.column_names} instead of {expected.column_names}"
    pairs = zip(actual.schema, expected.schema, strict=True)
    types = [f"{a.name}: {a.type} instead of {e.type}" for a, e in pairs if _plain(a.type) != _plain(e.type)]
    if types:
        return "types: " + "; ".join(types)
    left, right = _countable(actual), _countable(expected)
    keys = left.column_names
    if not keys:
        return "" if actual.num_rows == expected.num_rows else f"{actual.num_rows} rows instead of {expected.num_rows}"
    both = pa.concat_tables(
        [_with_sign(left, 1), _with_sign(right, -1)],
        promote_options="none",
    )
    counts = both.group_by(keys).aggregate([("sign", "sum")])
    surplus = counts.filter(pc.greater(counts["sign_sum"], 0))
    missing = counts.filter(pc.less(counts["sign_sum"], 0))
    if surplus.num_rows == missing.num_rows == 0:
        return ""
    return (
        f"{actual.num_rows} rows instead of {expected.num_rows}; "
        f"{surplus.num_rows} are not expected, such as {surplus.slice(0, _SHOWN).to_pylist()}; "
        f"{missing.num_rows} are missing, such as {missing.slice(0, _SHOWN).to_pylist()}"
    )


def _with_sign(table: pa.Table, sign: int) -> pa.Table:
    return table.append_column("sign", pa.repeat(pa.scalar(sign, pa.int64()), table.num_rows))


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type without the names and the nullability of its parts that are no columns' names."""
    if pat.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    if pat.is_list(kind) or pat.is_large_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pat.is_struct(kind):
        return pa.struct([pa.field(f.name, _plain(f.type)) for f in (kind.field(i) for i in range(kind.num_fields))])
    if pat.is_large_string(kind):
        return pa.string()
    return pa.binary() if pat.is_large_binary(kind) else kind


def _countable(table: pa.Table) -> pa.Table:
    """Return a table of columns that can be grouped by: nested values become what tells them apart."""
    columns: list[pa.Array] = []
    names: list[str] = []
    for name in table.column_names:
        chunked = table.column(name)
        array = chunked.combine_chunks() if chunked.num_chunks != 1 else chunked.chunk(0)
        columns.append(_value(array))
        names.append(name)
    return pa.table(columns, names=names)


def _value(array: pa.Array) -> pa.Array:
    """Return one array of plain values that are equal where those of `array` are."""
    kind = array.type
    if pat.is_floating(kind):
        # Adding zero makes -0.0 a 0.0; grouping takes all NaN for one value.
        return pc.add(array, pa.scalar(0.0, kind))
    if pat.is_dictionary(kind):
        return _value(array.dictionary_decode())
    if pat.is_struct(kind):
        return _joined([_value(child) for child in array.flatten()], array.is_null())
    if pat.is_map(kind):
        lists = pc.cast(array, pa.list_(pa.struct([kind.key_field, kind.item_field])))
        return _joined_list(lists, in_order=False)
    if pat.is_list(kind) or pat.is_large_list(kind):
        return _joined_list(array, in_order=True)
    return array


def _text(array: pa.Array) -> pa.Array:
    """Return values as bytes that are equal where the values are; null has bytes of its own."""
    kind = array.type
    if pat.is_fixed_size_binary(kind):
        texts = pc.cast(array, pa.binary())
    else:
        texts = array if pat.is_binary(kind) else pc.cast(pc.cast(array, pa.string()), pa.binary())
    if not pat.is_primitive(kind):
        # A length in front, so that no text looks like two.
        lengths = pc.cast(pc.cast(pc.binary_length(texts), pa.string()), pa.binary())
        texts = pc.binary_join_element_wise(lengths, texts, b":")
    return pc.fill_null(texts, pa.scalar(b"~", pa.binary()))


def _joined(parts: Sequence[pa.Array], absent: pa.Array) -> pa.Array:
    texts = pc.binary_join_element_wise(*[_text(part) for part in parts], b",")
    return pc.if_else(absent, pa.scalar(None, pa.binary()), texts)


def _joined_list(array: pa.Array, *, in_order: bool) -> pa.Array:
    """Return each list as one text of its values' texts; sorted where their order does not count."""
    texts = _text(_value(array.flatten()))
    positions = pa.array(np.arange(len(texts)))
    frame = pa.table({"parent": pc.list_parent_indices(array), "text": texts, "position": positions})
    frame = frame.sort_by([("parent", "ascending"), ("position" if in_order else "text", "ascending")])
    lengths = pc.cast(pc.fill_null(pc.list_value_length(array), 0), pa.int64())
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    lists = pa.LargeListArray.from_arrays(offsets, frame["text"].combine_chunks())
    return pc.if_else(array.is_null(), pa.scalar(None, pa.binary()), pc.binary_join(lists, b";"))
