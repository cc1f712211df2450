"""A few words to write Avro schemas down with, and the joining of records that name each other.

Source: Apache Avro specification, "Schema Declaration". Java writers mark strings (and maps, for their keys) with
``avro.java.string``: it changes no byte of the data, and we write it as they do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NAMESPACE = "org.apache.hudi.avro.model"
"""Namespace of every record of the format."""

AvroType = str | list[Any] | dict[str, Any]
"""An Avro type as JSON has it: a name, a union, or an object."""

STRING: AvroType = {"type": "string", "avro.java.string": "String"}
DECIMAL_30_15: AvroType = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 15}
TIME_MICROS: AvroType = {"type": "long", "logicalType": "time-micros"}

NO_DEFAULT = "no default"
"""Stands for the absence of a default: null is one."""


def optional(branch: AvroType) -> AvroType:
    """Return the union of null, first, and a type."""
    return ["null", branch]


def array_of(items: AvroType) -> AvroType:
    """Return the type of arrays."""
    return {"type": "array", "items": items}


def map_of(values: AvroType) -> AvroType:
    """Return the type of maps from strings."""
    return {"type": "map", "values": values, "avro.java.string": "String"}


def field(name: str, avro_type: AvroType, default: object = NO_DEFAULT) -> dict[str, Any]:
    """Return a field of a record; its type may be the name of another record."""
    entry: dict[str, Any] = {"name": name, "type": avro_type}
    return entry if default is NO_DEFAULT else entry | {"default": default}


def assemble(records: Mapping[str, Sequence[dict[str, Any]]], name: str) -> dict[str, Any]:
    """Return the schema of one record that stands alone: others are written out where first named.

    Args:
        records: fields of every record, by name.
        name: of the record.

    Returns:
        A schema as JSON has it; a new one on each call.

    """
    seen: set[str] = set()

    def expand(avro_type: AvroType) -> Any:
        if isinstance(avro_type, list):
            return [expand(branch) for branch in avro_type]
        if isinstance(avro_type, dict):
            return {key: expand(value) if key in ("items", "values") else value for key, value in avro_type.items()}
        if avro_type not in records or avro_type in seen:
            return avro_type
        return record(avro_type)

    def record(record_name: str) -> dict[str, Any]:
        seen.add(record_name)
        fields = [entry | {"type": expand(entry["type"])} for entry in records[record_name]]
        return {"type": "record", "name": record_name, "fields": fields}

    schema = record(name)
    return {"type": "record", "name": name, "namespace": NAMESPACE, "fields": schema["fields"]}
