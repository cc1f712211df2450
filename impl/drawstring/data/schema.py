"""Arrow schemas to Avro schemas and back, as Hudi writes them.

Source: the format's notes on base files (format chapter "Base files"), Java ``HoodieSparkSchemaConverters``,
``HoodieAvroUtils``. Nullable fields are unions ``["null", T]`` with default null; the namespace of a nested
record grows by the path of the record that holds it; decimals are fixed values called ``fixed``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
from pyarrow import types as pat

from drawstring.codec.avro_shape import check_avro
from drawstring.data.types import LIST_ELEMENT, MAX_DEPTH, hudi_schema, unmapped_type
from drawstring.errors import FormatError
from drawstring_spec.meta_fields import META_FIELDS

_INVALID_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_]")
_INVALID_START: Final = re.compile(r"^[^A-Za-z_]")
_MASK: Final = "__"
_MAX_DECIMAL_PRECISION: Final = 38

_TO_AVRO: Final[dict[pa.DataType, Any]] = {
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.time32("ms"): {"type": "int", "logicalType": "time-millis"},
    pa.time64("us"): {"type": "long", "logicalType": "time-micros"},
    pa.timestamp("ms", "UTC"): {"type": "long", "logicalType": "timestamp-millis"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.timestamp("ms"): {"type": "long", "logicalType": "local-timestamp-millis"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
}
_FROM_AVRO: Final[dict[str, pa.DataType]] = {v: k for k, v in _TO_AVRO.items() if isinstance(v, str)}
_FROM_LOGICAL: Final[dict[tuple[str, str], pa.DataType]] = {
    (v["type"], v["logicalType"]): k for k, v in _TO_AVRO.items() if isinstance(v, dict)
}

META_AVRO_FIELDS: Final = tuple(
    {"name": name, "type": ["null", "string"], "doc": "", "default": None} for name in META_FIELDS
)
"""Avro fields of the five meta columns, as they stand in front of every file's own."""


def record_name(table_name: str) -> tuple[str, str]:
    """Return name and namespace of a table's Avro record (Java: ``getAvroRecordNameAndNamespace``)."""
    clean = _INVALID_CHARACTER.sub(_MASK, _INVALID_START.sub(_MASK, table_name))
    return f"{clean}_record", f"hoodie.{clean}"


def arrow_to_avro(schema: pa.Schema, *, name: str, namespace: str) -> dict[str, Any]:
    """Return the Avro record of a schema.

    Args:
        schema: any Arrow schema; types that Hudi does not have become those that hold their values.
        name: of the record, as `record_name` gives it.
        namespace: of the record.

    Raises:
        SchemaError: a column has a type that Hudi has no mapping for, or a name that it does not allow.

    """
    return _record(list(hudi_schema(schema)), name, namespace)


def with_meta_fields(avro: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table's Avro record with the meta fields in front, where they are not there yet."""
    own = [field for field in avro["fields"] if field["name"] not in META_FIELDS]
    return {**avro, "fields": [*META_AVRO_FIELDS, *own]}


def without_meta_fields(avro: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table's Avro record without the meta fields."""
    return {**avro, "fields": [field for field in avro["fields"] if field["name"] not in META_FIELDS]}


def _record(fields: list[pa.Field], name: str, namespace: str) -> dict[str, Any]:
    inner = f"{namespace}.{name}" if namespace else name
    members: list[dict[str, Any]] = []
    for field in fields:
        kind = _avro_type(field.type, field.name, inner)
        member: dict[str, Any] = {"name": field.name, "type": ["null", kind] if field.nullable else kind}
        if field.nullable:
            member["default"] = None
        members.append(member)
    return {"type": "record", "name": name, "namespace": namespace, "fields": members}


def _avro_type(kind: pa.DataType, name: str, namespace: str) -> Any:
    if kind in _TO_AVRO:
        known = _TO_AVRO[kind]
        return known if isinstance(known, str) else dict(known)
    if pat.is_decimal(kind):
        return _decimal(kind, f"{namespace}.{name}")
    if pat.is_fixed_size_binary(kind):
        return {"type": "fixed", "name": "fixed", "namespace": f"{namespace}.{name}", "size": kind.byte_width}
    if pat.is_struct(kind):
        return _record([kind.field(i) for i in range(kind.num_fields)], name, namespace)
    if pat.is_map(kind):
        return {"type": "map", "values": _member_type(kind.item_field, name, namespace)}
    if pat.is_list(kind):
        return {"type": "array", "items": _member_type(kind.value_field, name, namespace)}
    raise unmapped_type(kind, name)


def _member_type(field: pa.Field, name: str, namespace: str) -> Any:
    kind = _avro_type(field.type, name, namespace)
    return ["null", kind] if field.nullable else kind


def _decimal(kind: pa.DataType, namespace: str) -> dict[str, Any]:
    size = 1
    while 2 ** (8 * size - 1) <= 10**kind.precision - 1:
        size += 1
    return {
        "type": "fixed",
        "name": "fixed",
        "namespace": namespace,
        "size": size,
        "logicalType": "decimal",
        "precision": kind.precision,
        "scale": kind.scale,
    }


def parse_avro(text: str) -> dict[str, Any]:
    """Parse the JSON of a record's schema. Raises `FormatError`."""
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"An Avro schema of the table is no JSON: {text[:80]!r}.") from error
    if not isinstance(schema, dict) or schema.get("type") != "record" or not _has_fields(schema):
        raise FormatError(f"An Avro schema of the table is no record: {text[:80]!r}.")
    check_avro(schema)
    return schema


def _has_fields(record: Mapping[str, Any]) -> bool:
    fields = record.get("fields")
    return isinstance(fields, list) and all(isinstance(f, dict) and isinstance(f.get("name"), str) for f in fields)


def avro_to_arrow(schema: Mapping[str, Any]) -> pa.Schema:
    """Return the Arrow schema of an Avro record; the inverse of `arrow_to_avro` on Hudi's types.

    Enums and UUIDs become text, decimals are decimal128 whether they are bytes or fixed.

    Raises:
        FormatError: the schema is none of Avro's, is recursive, or has a type that Hudi does not write.

    """
    kind, _ = _Reader().read(schema, "", "", 0)
    if not pat.is_struct(kind):
        raise FormatError("An Avro schema of the table is no record.")
    return pa.schema([kind.field(i) for i in range(kind.num_fields)])


class _Reader:
    """Reads Avro types; named types may be referred to after their definition."""

    def __init__(self) -> None:
        self._named: dict[str, pa.DataType] = {}

    def read(self, avro: Any, path: str, namespace: str, depth: int) -> tuple[pa.DataType, bool]:
        """Return the Arrow type and whether it is nullable."""
        if depth > MAX_DEPTH:
            raise FormatError(f"The Avro schema of {path!r} is nested more than {MAX_DEPTH} levels deep.")
        if isinstance(avro, list):
            return self._union(avro, path, namespace, depth)
        if isinstance(avro, str):
            return self._named_or_primitive(avro, path, namespace), False
        if not isinstance(avro, Mapping):
            raise FormatError(f"The Avro schema of {path!r} holds {avro!r}, which is no type.")
        return self._complex(avro, path, namespace, depth), False

    def _union(self, branches: list[Any], path: str, namespace: str, depth: int) -> tuple[pa.DataType, bool]:
        others = [b for b in branches if b != "null"]
        if len(others) != 1:
            raise FormatError(
                f"The Avro schema of {path!r} is a union of {len(others)} types beside null.",
                way_out="Hudi's tables have only unions of null and one type.",
            )
        kind, _ = self.read(others[0], path, namespace, depth + 1)
        return kind, len(others) != len(branches)

    def _named_or_primitive(self, avro: str, path: str, namespace: str) -> pa.DataType:
        if avro in _FROM_AVRO:
            return _FROM_AVRO[avro]
        full = avro if "." in avro or not namespace else f"{namespace}.{avro}"
        if full not in self._named:
            raise FormatError(f"The Avro schema of {path!r} refers to {avro!r}, which is not defined before it.")
        return self._named[full]

    def _complex(self, avro: Mapping[str, Any], path: str, namespace: str, depth: int) -> pa.DataType:
        kind = avro.get("type")
        logical = avro.get("logicalType")
        if isinstance(kind, str) and (kind, logical) in _FROM_LOGICAL:
            return _FROM_LOGICAL[kind, str(logical)]
        if kind == "array":
            element, nullable = self.read(avro.get("items"), f"{path}.{LIST_ELEMENT}", namespace, depth + 1)
            return pa.list_(pa.field(LIST_ELEMENT, element, nullable))
        if kind == "map":
            value, nullable = self.read(avro.get("values"), f"{path}.value", namespace, depth + 1)
            return pa.map_(pa.string(), pa.field("value", value, nullable))
        if isinstance(kind, str) and kind in {"record", "error", "fixed", "enum"}:
            return self._definition(avro, path, namespace, depth)
        if kind == "bytes" and logical == "decimal":
            return _decimal_type(avro, path)
        return self.read(kind, path, namespace, depth + 1)[0]

    def _definition(self, avro: Mapping[str, Any], path: str, namespace: str, depth: int) -> pa.DataType:
        name = str(avro.get("name", ""))
        space = str(avro.get("namespace", namespace) or "")
        full = name if "." in name or not space else f"{space}.{name}"
        if avro["type"] == "enum":
            kind = pa.string()
        elif avro["type"] == "fixed":
            kind = _decimal_type(avro, path) if avro.get("logicalType") == "decimal" else _fixed_type(avro, path)
        else:
            kind = self._fields(avro, path, full.rpartition(".")[0], depth)
        self._named[full] = kind
        return kind

    def _fields(self, avro: Mapping[str, Any], path: str, namespace: str, depth: int) -> pa.DataType:
        fields = avro.get("fields")
        if not isinstance(fields, list):
            raise FormatError(f"The Avro record {path or avro.get('name')!r} has no fields.")
        members: list[pa.Field] = []
        for field in fields:
            if not isinstance(field, Mapping) or not isinstance(field.get("name"), str):
                raise FormatError(f"The Avro record {path or avro.get('name')!r} has a field without a name.")
            inner = f"{path}.{field['name']}" if path else field["name"]
            kind, nullable = self.read(field.get("type"), inner, namespace, depth + 1)
            members.append(pa.field(field["name"], kind, nullable))
        return pa.struct(members)


def _decimal_type(avro: Mapping[str, Any], path: str) -> pa.DataType:
    precision, scale = avro.get("precision"), avro.get("scale", 0)
    if (
        not isinstance(precision, int)
        or not isinstance(scale, int)
        or not 1 <= precision <= _MAX_DECIMAL_PRECISION
        or not 0 <= scale <= precision
    ):
        raise FormatError(f"The Avro decimal {path!r} has precision {precision!r} and scale {scale!r}.")
    return pa.decimal128(precision, scale)


def _fixed_type(avro: Mapping[str, Any], path: str) -> pa.DataType:
    size = avro.get("size")
    if not isinstance(size, int) or not 1 <= size < 2**31:
        raise FormatError(f"The Avro fixed {path!r} has size {size!r}.")
    return pa.binary(size)


def canonical_avro(avro: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record's schema with null first in each union and null as the default of nullable fields.

    Everything else stays word for word: names, namespaces, docs, and types that Arrow has no like of.
    """
    canonical: dict[str, Any] = _canonical(avro)
    return canonical


def _canonical(avro: Any) -> Any:
    if isinstance(avro, list):
        others = [_canonical(b) for b in avro if b != "null"]
        return ["null", *others] if "null" in avro else others
    if not isinstance(avro, Mapping):
        return avro
    result = {key: _canonical(v) if key in {"type", "items", "values"} else v for key, v in avro.items()}
    if isinstance(avro.get("fields"), list):
        result["fields"] = [_canonical_field(field) for field in avro["fields"]]
    return result


def _canonical_field(field: Any) -> Any:
    result = _canonical(field)
    kind = result.get("type") if isinstance(result, dict) else None
    if isinstance(kind, list) and kind and kind[0] == "null":
        result["default"] = None
    return result
