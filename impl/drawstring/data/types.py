"""Which Arrow types Hudi's tables have, and what other types become.

Source: Java ``AvroSchemaConverter``, ``HoodieSparkSchemaConverters``. Hudi's types are those that Avro has with
its logical types: there are no unsigned and no short integers, no nanoseconds, and maps have text keys.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
from pyarrow import types as pat

from drawstring.errors import SchemaError

MAX_DEPTH: Final = 64
"""Levels of nesting that are followed; a deeper schema is refused."""

LIST_ELEMENT: Final = "element"
"""Name of a list's element in Parquet, three-level layout."""

_AVRO_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_DECIMAL_PRECISION: Final = 38

_SIMPLE: Final[dict[pa.DataType, pa.DataType]] = {
    pa.bool_(): pa.bool_(),
    pa.int8(): pa.int32(),
    pa.int16(): pa.int32(),
    pa.int32(): pa.int32(),
    pa.uint8(): pa.int32(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.int64(): pa.int64(),
    pa.float32(): pa.float32(),
    pa.float64(): pa.float64(),
    pa.string(): pa.string(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.binary(): pa.binary(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date32(): pa.date32(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time32("ms"),
    pa.time32("ms"): pa.time32("ms"),
    pa.time64("us"): pa.time64("us"),
}

_WAYS_OUT: Final = (
    (pat.is_uint64, "Cast it to int64 or decimal128(20, 0)."),
    (pat.is_float16, "Cast it to float32."),
    (pat.is_duration, "Store it as int64, with the unit in the column's name."),
    (pat.is_time64, "Cast it to time64[us]."),
    (pat.is_union, "Use a struct with one nullable field per alternative."),
    (pat.is_decimal256, "Cast it to decimal128, at most 38 digits."),
    (pat.is_interval, "Store its parts as integers."),
    (pat.is_null, "Give the column a type."),
)


def check_name(name: str, path: str) -> None:
    """Refuse a column name that Avro does not allow. Raises `SchemaError`."""
    if not _AVRO_NAME.fullmatch(name):
        raise SchemaError(
            f"Column {path!r} has a name that Hudi's schemas (Avro) do not allow.",
            way_out="Rename it: letters, digits and underscores, and no digit in front.",
        )


def hudi_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema in Hudi's types: names, order and nullability stay, metadata goes.

    Raises:
        SchemaError: a column has a type that Hudi has no mapping for, or a name that it does not allow.

    """
    return pa.schema(_hudi_fields(list(schema), "", 0))


def hudi_type(kind: pa.DataType, path: str, depth: int = 0) -> pa.DataType:
    """Return the type of Hudi's that holds every value of `kind`.

    Args:
        kind: an Arrow type.
        path: of the column, for the message.
        depth: levels of nesting above it.

    Raises:
        SchemaError: there is none.

    """
    if depth > MAX_DEPTH:
        raise SchemaError(f"Column {path!r} is nested more than {MAX_DEPTH} levels deep.")
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if pat.is_dictionary(kind):
        return hudi_type(kind.value_type, path, depth)
    if pat.is_timestamp(kind):
        return pa.timestamp("ms" if kind.unit in {"s", "ms"} else "us", tz="UTC" if kind.tz else None)
    if pat.is_decimal(kind):
        return _decimal(kind, path)
    if pat.is_fixed_size_binary(kind):
        return pa.binary(kind.byte_width)
    return _nested(kind, path, depth)


def _decimal(kind: pa.DataType, path: str) -> pa.DataType:
    if kind.precision > _MAX_DECIMAL_PRECISION or not 0 <= kind.scale <= kind.precision:
        raise unmapped_type(kind, path)
    return pa.decimal128(kind.precision, kind.scale)


def _nested(kind: pa.DataType, path: str, depth: int) -> pa.DataType:
    if pat.is_map(kind):
        if hudi_type(kind.key_type, f"{path}.key", depth + 1) != pa.string():
            raise SchemaError(
                f"Column {path!r} is a map with keys of type {kind.key_type}; Hudi's maps have text keys.",
                way_out="Cast the keys to string, or use a list of structs.",
            )
        value = kind.item_field
        return pa.map_(
            pa.string(), pa.field("value", hudi_type(value.type, f"{path}.value", depth + 1), value.nullable)
        )
    if is_list(kind):
        element = kind.value_field
        path = f"{path}.{LIST_ELEMENT}"
        return pa.list_(pa.field(LIST_ELEMENT, hudi_type(element.type, path, depth + 1), element.nullable))
    if pat.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        if not fields:
            raise SchemaError(f"Column {path!r} is a struct without fields.", way_out="Leave it out.")
        return pa.struct(_hudi_fields(fields, f"{path}.", depth + 1))
    raise unmapped_type(kind, path)


def _hudi_fields(fields: list[pa.Field], prefix: str, depth: int) -> list[pa.Field]:
    seen: set[str] = set()
    for field in fields:
        check_name(field.name, prefix + field.name)
        if field.name in seen:
            raise SchemaError(f"Column {prefix + field.name!r} is there twice.", way_out="Rename one of them.")
        seen.add(field.name)
    return [pa.field(f.name, hudi_type(f.type, prefix + f.name, depth), f.nullable) for f in fields]


def relaxed(field: pa.Field) -> pa.Field:
    """Return a field all of whose members are nullable; the field itself and the keys of maps stay as they are.

    Arrow's Parquet writer counts the nulls of a member even where its struct is absent, so a member that has none
    cannot be written as such. Readers take a column without nulls for one that may not have any.
    """
    return field.with_type(_relaxed(field.type))


def _relaxed(kind: pa.DataType) -> pa.DataType:
    if pat.is_map(kind):
        return pa.map_(kind.key_type, pa.field("value", _relaxed(kind.item_type)))
    if pat.is_list(kind):
        return pa.list_(pa.field(LIST_ELEMENT, _relaxed(kind.value_type)))
    if pat.is_struct(kind):
        members = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct([pa.field(member.name, _relaxed(member.type)) for member in members])
    return kind


def is_list(kind: pa.DataType) -> bool:
    """Whether a type is any of Arrow's lists."""
    return bool(
        pat.is_list(kind)
        or pat.is_large_list(kind)
        or pat.is_fixed_size_list(kind)
        or pat.is_list_view(kind)
        or pat.is_large_list_view(kind)
    )


def unmapped_type(kind: pa.DataType, path: str) -> SchemaError:
    """Return the error about a type that Hudi has no mapping for."""
    way_out = next((text for test, text in _WAYS_OUT if test(kind)), "Cast it to a type that Hudi has.")
    return SchemaError(f"Column {path!r} has type {kind}, which Hudi has no mapping for.", way_out=way_out)
