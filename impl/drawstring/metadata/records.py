"""From the bytes of the metadata table's records to columns, one shape for each kind of partition.

Source: Java ``HoodieMetadataPayload``, ``MetadataPartitionType``. A file's own schema says how its values are written;
columns that it does not have are null.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.data.schema import parse_avro
from drawstring.errors import CorruptFileError, UnsupportedTableError
from drawstring.log_files.avro_records import decode_prefixed_records, framed
from drawstring.metadata.avro_columns import decode_records
from drawstring_spec.payloads import SCHEMAS

FILES: Final = "files"
COLUMN_STATS: Final = "column_stats"
PARTITION_STATS: Final = "partition_stats"
BLOOM_FILTERS: Final = "bloom_filters"
RECORD_INDEX: Final = "record_index"
SECONDARY_INDEX_PREFIX: Final = "secondary_index_"
EXPRESSION_INDEX_PREFIX: Final = "expr_index_"

_SCHEMAS_KEPT: Final = 8
"""Schemas of the metadata table's files, parsed: it has one, and another for each release of Hudi that wrote to it."""


class Payload(StrEnum):
    """The field of a record that holds what it says."""

    FILES = "filesystemMetadata"
    BLOOM = "BloomFilterMetadata"
    STATS = "ColumnStatsMetadata"
    RECORD_INDEX = "recordIndexMetadata"
    SECONDARY = "SecondaryIndexMetadata"


_PAYLOADS: Final = {
    FILES: (Payload.FILES,),
    COLUMN_STATS: (Payload.STATS,),
    PARTITION_STATS: (Payload.STATS,),
    BLOOM_FILTERS: (Payload.BLOOM,),
    RECORD_INDEX: (Payload.RECORD_INDEX,),
}
_OTHER_PAYLOADS: Final = tuple(payload.value for payload in Payload if payload is not Payload.FILES)
_FILE_COLUMNS: Final = pa.schema(
    [("name", pa.string()), ("size", pa.int64()), ("isDeleted", pa.bool_()), ("row", pa.int64())]
)


def payloads_of(partition: str) -> tuple[Payload, ...]:
    """Return what the records of a partition may hold. Raises `UnsupportedTableError` for one that is not known."""
    if partition in _PAYLOADS:
        return _PAYLOADS[partition]
    if partition.startswith(SECONDARY_INDEX_PREFIX):
        return (Payload.SECONDARY,)
    if partition.startswith(EXPRESSION_INDEX_PREFIX):
        return (Payload.STATS, Payload.BLOOM)
    raise UnsupportedTableError(
        f"The metadata table has a partition {partition!r}, whose records drawstring does not know.",
        rule="MT-002",
        way_out="Its other partitions can be read.",
    )


@cache
def payload_type(payload: Payload) -> pa.StructType:
    """Arrow type of a payload, as version 8 writes it."""
    nothing = pa.array([], pa.large_binary())
    return decode_records(SCHEMAS["HoodieMetadataRecord"], nothing, path="").type.field(payload.value).type


def decode_payloads(schema: str, values: pa.ChunkedArray, payload: Payload, *, path: str) -> pa.StructArray:
    """Decode values to what they say; null where a value holds another payload.

    Args:
        schema: Avro JSON that the values are written with.
        values: ``large_binary``.
        payload: any but FILES.
        path: of the file, for messages.

    Raises:
        CorruptFileError: a value is no record of the schema.

    """
    target = payload_type(payload)
    if len(values) == 0:
        return pa.array([], target)
    decoded = decode_records(_parsed_schema(schema), _one_chunk(values), path=path)
    if decoded.type.get_field_index(payload.value) < 0:
        return pa.nulls(len(decoded), target)
    return _aligned(decoded.field(payload.value), target)


@lru_cache(maxsize=_SCHEMAS_KEPT)
def _parsed_schema(text: str) -> dict[str, Any]:
    return parse_avro(text)


def decode_files(schema: str, values: pa.ChunkedArray, *, path: str) -> pa.Table:
    """Decode values of the partition ``files``.

    Returns:
        One row per file: ``name``, ``size``, ``isDeleted``, and ``row``, which value it stands in.

    Raises:
        CorruptFileError: a value is no record of the schema, or says something else than what files there are.

    """
    if len(values) == 0:
        return _FILE_COLUMNS.empty_table()
    flat = _one_chunk(values)
    records = decode_prefixed_records(_files_schema(schema), len(flat), framed(flat), path=path)
    for name in _OTHER_PAYLOADS:
        if name in records.column_names and records.column(name).null_count < len(flat):
            raise CorruptFileError(f"A record of the partition 'files' in {path} says something else.", rule="MT-001")
    index = records.schema.get_field_index(Payload.FILES.value)
    if index < 0 or not _tells_files(records.schema.field(index).type):
        raise CorruptFileError(f"The partition 'files' in {path} has values of another schema.", rule="MT-001")
    maps = _one_chunk(records.column(index))
    lists = maps.cast(pa.list_(pa.struct([maps.type.key_field, maps.type.item_field])))
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy()
    entries = lists.flatten()
    names, infos = entries.field(0), entries.field(1)
    rows = np.repeat(np.arange(len(flat)), lengths)
    return pa.table([names, infos.field("size"), infos.field("isDeleted"), pa.array(rows)], schema=_FILE_COLUMNS)


def _tells_files(kind: pa.DataType) -> bool:
    """Whether values are maps to sizes and deletions, whatever they have beside."""
    if not pat.is_map(kind) or not pat.is_struct(kind.item_type):
        return False
    info = {field.name: field.type for field in kind.item_type}
    return bool(info.get("size") == pa.int64() and info.get("isDeleted") == pa.bool_())


@lru_cache(maxsize=_SCHEMAS_KEPT)
def _files_schema(text: str) -> dict[str, Any]:
    """The schema with all payloads but one as what they are when absent: one byte, that of a union's null."""
    schema = parse_avro(text)
    absent = ["null", "boolean"]
    fields = [{**f, "type": absent} if f["name"] in _OTHER_PAYLOADS else f for f in schema["fields"]]
    return {**schema, "fields": [{k: v for k, v in f.items() if k in ("name", "type")} for f in fields]}


def _one_chunk(array: pa.ChunkedArray) -> pa.Array:
    if array.num_chunks == 1:
        return array.chunk(0)
    return pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)


def _aligned(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return an array in the target's type: members by name, those that are missing null."""
    if pat.is_null(array.type):
        return pa.nulls(len(array), target)
    if not pat.is_struct(target):
        return array if array.type == target else array.cast(target)
    members: Sequence[pa.Array] = [
        _aligned(array.field(field.name), field.type)
        if array.type.get_field_index(field.name) >= 0
        else pa.nulls(len(array), field.type)
        for field in target
    ]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(list(members), fields=list(target), mask=mask)
