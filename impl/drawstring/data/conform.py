"""Bringing columns into a table's types: what is lossless is cast, everything else is refused by name.

Whose duty: `conform` is strict, for data that a caller gives; `widen` is for files of the table that were written
under an older schema, where columns may be missing and types narrower (format chapter "Merge", schema evolution).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.data.promotions import promoted, promotes
from drawstring.data.types import LIST_ELEMENT, hudi_type, is_list
from drawstring.errors import CorruptFileError, SchemaError
from drawstring_spec.meta_fields import META_FIELDS

_INTEGERS: Final = {pa.int32(): 31, pa.int64(): 63}
_WIDENINGS: Final = {(pa.float32(), pa.float64()), (pa.time32("ms"), pa.time64("us"))}
_FLOAT_BITS: Final = {pa.float32(): 24, pa.float64(): 53}


@dataclass(frozen=True, slots=True)
class _Rules:
    """What differs between a caller's data and an old file of the table."""

    may_miss: bool = False
    may_promote: bool = False
    may_narrow: bool = False
    exact_floats: bool = True


_STRICT: Final = _Rules()
_OF_LOG_FILES: Final = _Rules(may_miss=True, may_promote=True)
_OF_BASE_FILES: Final = replace(_OF_LOG_FILES, exact_floats=False)
_KEYS: Final = _Rules(may_narrow=True)


def conform(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a caller's rows in the table's columns, types and order.

    Columns may come in any order; meta columns (of a table that was read) are left out, as Java leaves them out.

    Args:
        table: the caller's rows.
        schema: the table's, in Hudi's types, without meta columns.

    Raises:
        SchemaError: a column is missing, extra or there twice, has a type that the table's does not hold without
            loss, or has nulls where the table has none.

    """
    own = [name for name in table.column_names if name not in META_FIELDS]
    _check_names(own, schema.names, "")
    columns = [_column(table.column(field.name), field, field.name, _STRICT) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def conform_columns(table: pa.Table, schema: pa.Schema, names: Sequence[str]) -> pa.Table:
    """Return some columns of a caller's table in the table's types; others are ignored.

    Integers may be of a wider type as long as their values fit: Python's come as 64 bits.

    Args:
        table: the caller's rows.
        schema: the table's.
        names: columns that are wanted.

    Raises:
        SchemaError: a column is missing, or does not fit.

    """
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise SchemaError(f"Column {missing[0]!r} is missing from the keys.", way_out=f"They need: {', '.join(names)}.")
    wanted = pa.schema([schema.field(name) for name in names])
    columns = [_column(table.column(field.name), field.with_nullable(True), field.name, _KEYS) for field in wanted]
    return pa.table(columns, names=list(names))


def widen(table: pa.Table, schema: pa.Schema, *, path: str, in_log: bool = False) -> pa.Table:
    """Return the rows of a file in the columns of `schema`.

    Args:
        table: as read from the file.
        schema: what is wanted; nullable columns that the file does not have are null.
        path: of the file, for the message.
        in_log: whether it is a log file: Java widens the floats of a base file's columns by their digits, those of
            log records and of nested values as they are.

    Raises:
        CorruptFileError: a column has a type that cannot become the table's, or values that do not fit.

    """
    if table.schema.equals(schema):
        return table
    names = set(table.column_names)
    rules = _OF_LOG_FILES if in_log else _OF_BASE_FILES
    try:
        columns = [
            _column(table.column(field.name), field, field.name, rules)
            if field.name in names
            else _missing(field, table.num_rows)
            for field in schema
        ]
    except SchemaError as error:
        raise CorruptFileError(
            f"The file {path} does not fit the table's schema: {error.message}",
            way_out="The schema was changed in a way that the table's own files do not allow.",
        ) from error
    return pa.Table.from_arrays(columns, schema=schema)


def _missing(field: pa.Field, count: int) -> pa.ChunkedArray:
    if count and not field.nullable:
        raise SchemaError(f"Column {field.name!r} is missing, and the table's column has no nulls.")
    return pa.chunked_array([pa.nulls(count, field.type)])


def _check_names(have: Sequence[str], want: Sequence[str], prefix: str) -> None:
    twice = sorted({name for name in have if have.count(name) > 1})
    if twice:
        raise SchemaError(f"Column {prefix + twice[0]!r} is there twice.", way_out="Rename or drop one of them.")
    missing = [name for name in want if name not in set(have)]
    extra = [name for name in have if name not in set(want)]
    if missing:
        raise SchemaError(
            f"Column {prefix + missing[0]!r} of the table is missing from the data.",
            way_out=f"The table's columns are: {', '.join(want)}."
            + (f" The data has {', '.join(map(repr, extra))} instead." if extra else ""),
        )
    if extra:
        raise SchemaError(
            f"Column {prefix + extra[0]!r} of the data is not in the table.",
            way_out=f"Drop it; the table's columns are: {', '.join(want)}.",
        )


def _column(column: pa.ChunkedArray, field: pa.Field, path: str, rules: _Rules) -> pa.ChunkedArray:
    if column.type != field.type:
        chunks = [_cast(chunk, field.type, path, rules) for chunk in column.chunks]
        column = pa.chunked_array(chunks, field.type)
    if not field.nullable and column.null_count:
        raise SchemaError(
            f"Column {path!r} has {column.null_count} nulls, and the table's column has none.",
            way_out="Fill them or leave those rows out.",
        )
    return column


def _cast(array: pa.Array, target: pa.DataType, path: str, rules: _Rules) -> pa.Array:
    """Cast one array; the caller's column path goes into messages."""
    if pat.is_dictionary(array.type):
        array = _decoded(array)
    if array.type == target:
        return array
    if pat.is_null(array.type):
        return pa.nulls(len(array), target)
    for is_kind, cast in _NESTED_CASTS:
        if is_kind(array.type) and is_kind(target):
            return cast(array, target, path, rules if rules.exact_floats else replace(rules, exact_floats=True))
    return _cast_values(array, target, path, rules)


def _decoded(array: pa.DictionaryArray) -> pa.Array:
    """Return a dictionary's values row by row. Arrow cannot take from views, in which polars has its categories."""
    values = array.dictionary
    if pat.is_string_view(values.type) or pat.is_binary_view(values.type):
        plain = pa.string() if pat.is_string_view(values.type) else pa.binary()
        array = pa.DictionaryArray.from_arrays(array.indices, pc.cast(values, plain))
    return array.dictionary_decode()


def _cast_values(array: pa.Array, target: pa.DataType, path: str, rules: _Rules) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        raise SchemaError(
            f"Column {path!r} has the extension type {array.type}.", way_out="Cast it to its storage type."
        )
    if not _holds(target, array.type, rules):
        raise SchemaError(
            f"Column {path!r} has type {array.type}; the table's type {target} does not hold it without loss.",
            way_out=_type_way_out(array.type, target),
        )
    try:
        if not rules.may_promote:
            return pc.cast(array, target)
        return promoted(array, target, exact_floats=rules.exact_floats)
    except pa.ArrowInvalid as error:
        raise SchemaError(
            f"Column {path!r} has values of type {array.type} that {target} does not hold: {error}.",
            way_out="Round or leave out those values yourself.",
        ) from error


def _cast_struct(array: pa.Array, target: pa.DataType, path: str, rules: _Rules) -> pa.Array:
    names = [array.type.field(i).name for i in range(array.type.num_fields)]
    wanted = [target.field(i) for i in range(target.num_fields)]
    if not rules.may_miss:
        _check_names(names, [f.name for f in wanted], f"{path}.")
    present = array.is_null() if array.null_count else None
    children = [
        _cast_child(array.field(field.name), field, f"{path}.{field.name}", present, rules)
        if field.name in names
        else pa.nulls(len(array), field.type)
        for field in wanted
    ]
    return pa.StructArray.from_arrays(children, fields=wanted, mask=present)


def _cast_child(child: pa.Array, field: pa.Field, path: str, absent: pa.Array | None, rules: _Rules) -> pa.Array:
    """Cast a member; its nulls under an absent parent do not count."""
    cast = _cast(child, field.type, path, rules)
    if not field.nullable and not rules.may_miss and cast.null_count:
        nulls = cast.is_null()
        if absent is not None:
            nulls = pc.and_not(nulls, absent)
        if pc.any(nulls).as_py():
            raise SchemaError(f"Column {path!r} has nulls, and the table's column has none.")
    return cast


def _cast_map(array: pa.Array, target: pa.DataType, path: str, rules: _Rules) -> pa.Array:
    values = _cast_members(array, array.items, target.item_field, f"{path}.value", rules)
    entries = pa.StructArray.from_arrays(
        [_cast(array.keys, target.key_type, f"{path}.key", rules), values],
        fields=[target.key_field, target.item_field],
    )
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], -1, array.offset, [entries])


def _cast_list(array: pa.Array, target: pa.DataType, path: str, rules: _Rules) -> pa.Array:
    if not pat.is_list(array.type):
        array = pc.cast(array, pa.list_(array.type.value_field))
    values = _cast_members(array, array.values, target.value_field, f"{path}.{LIST_ELEMENT}", rules)
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], -1, array.offset, [values])


def _cast_members(array: pa.Array, members: pa.Array, field: pa.Field, path: str, rules: _Rules) -> pa.Array:
    """Cast the members of lists or maps; of a slice, all members are there and only its own count."""
    cast = _cast(members, field.type, path, rules)
    if not field.nullable and not rules.may_miss and len(array):
        first, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        if cast.slice(first, end - first).null_count:
            raise SchemaError(f"Column {path!r} has nulls, and the table's column has none.")
    return cast


_NESTED_CASTS: Final[
    tuple[
        tuple[Callable[[pa.DataType], bool], Callable[[pa.Array, pa.DataType, str, _Rules], pa.Array]],
        ...,
    ]
] = ((pat.is_struct, _cast_struct), (pat.is_map, _cast_map), (is_list, _cast_list))


def _holds(target: pa.DataType, source: pa.DataType, rules: _Rules) -> bool:
    """Whether every value of `source` is a value of `target` (timestamps are looked at one by one)."""
    if pat.is_timestamp(target):
        return _holds_timestamp(target, source) or (rules.may_promote and promotes(source, target))
    try:
        natural = hudi_type(source, "")
    except SchemaError:
        return False
    if natural in _INTEGERS:
        return _holds_integer(target, natural, rules)
    if pat.is_decimal(natural) and pat.is_decimal(target):
        whole, natural_whole = target.precision - target.scale, natural.precision - natural.scale
        return bool(target.scale >= natural.scale and whole >= natural_whole)
    return (
        natural == target
        or (natural, target) in _WIDENINGS
        or (pat.is_fixed_size_binary(natural) and target == pa.binary())
        or (rules.may_promote and promotes(natural, target))
    )


def _holds_integer(target: pa.DataType, natural: pa.DataType, rules: _Rules) -> bool:
    if target in _INTEGERS:
        return rules.may_narrow or _INTEGERS[target] >= _INTEGERS[natural]
    if target in _FLOAT_BITS:
        return rules.may_promote or _FLOAT_BITS[target] >= _INTEGERS[natural]
    if pat.is_decimal(target) and not rules.may_promote:
        return bool(target.precision - target.scale >= (10 if natural == pa.int32() else 19))
    return rules.may_promote and promotes(natural, target)


def _holds_timestamp(target: pa.DataType, source: pa.DataType) -> bool:
    """Units are no matter of the type: pandas has nanoseconds only, so the values decide when they are cast."""
    return bool(pat.is_timestamp(source) and (source.tz is None) == (target.tz is None))


def _type_way_out(source: pa.DataType, target: pa.DataType) -> str:
    if pat.is_timestamp(source) and pat.is_timestamp(target) and (source.tz is None) != (target.tz is None):
        return "Say which time zone is meant: assume_timezone(), tz_localize(), or cast to the table's type."
    return f"Cast the column to {target} yourself, where that is what you mean."
