"""What the blocks of log files hold, as Arrow columns.

Source: Java ``HoodieAvroDataBlock``, ``HoodieParquetDataBlock``, ``HoodieHFileDataBlock``, ``HoodieDeleteBlock``.
Whose duty: from one block to its records, in the schema that the block itself names; what they become under the
table's schema, and which of them a query sees, is for others to say.
"""

from __future__ import annotations

import base64
import binascii
import io
import struct
from collections.abc import Collection, Mapping
from typing import Any, Final

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.codec.parquet_bytes import checked, open_parquet
from drawstring.data.key_texts import single_chunk
from drawstring.data.schema import avro_to_arrow, parse_avro
from drawstring.errors import CorruptFileError, UnsupportedTableError
from drawstring.hfile.reader import HFileReader
from drawstring.log_files.avro_records import decimals, decode_prefixed_records, decode_record, framed
from drawstring.log_files.blocks import LogBlock
from drawstring.log_files.positions import parse_positions
from drawstring_spec.log_format import BlockType, HeaderKey
from drawstring_spec.payloads import SCHEMAS

DATA_BLOCKS: Final = frozenset({BlockType.AVRO_DATA, BlockType.PARQUET_DATA, BlockType.HFILE_DATA, BlockType.CDC})

_TWO_INTS = struct.Struct(">ii")
_MIN_CONTENT_VERSION, _MAX_CONTENT_VERSION = 1, 3
_DELETE_VERSION: Final = 3
_DELETE_LIST: Final = "deleteRecordList"
_FEW_POSITIONS: Final = 65_536
_POSITIONS_OF_BYTE: Final = 8


def data_records(block: LogBlock, columns: Collection[str] | None = None) -> pa.Table:
    """Records of a data or CDC block, in the block's own schema, meta fields included.

    Args:
        block: of a kind in `DATA_BLOCKS`.
        columns: names of the columns that are wanted, where the block has them; None for all.

    Raises:
        CorruptFileError: the content is not what the block's type says.
        UnsupportedTableError: it is of a version that tables of version 8 do not have.

    """
    schema = block_schema(block)
    if block.type is BlockType.PARQUET_DATA:
        return _parquet(block, schema, columns)
    if block.type is BlockType.HFILE_DATA:
        return _hfile(block, schema, columns)
    version, count = _two_ints(block)
    if not _MIN_CONTENT_VERSION <= version <= _MAX_CONTENT_VERSION:
        raise _unsupported(block, version)
    return decode_prefixed_records(schema, count, block.content[_TWO_INTS.size :], path=block.path, columns=columns)


def block_schema(block: LogBlock) -> Mapping[str, Any]:
    """Avro schema in a block's header. Raises `CorruptFileError` where there is none."""
    text = block.header.get(HeaderKey.SCHEMA)
    if text is None:
        raise _corrupt(block, "its header has no schema")
    return parse_avro(text)


def _two_ints(block: LogBlock) -> tuple[int, int]:
    if len(block.content) < _TWO_INTS.size:
        raise _corrupt(block, "its content is cut off")
    version, count = _TWO_INTS.unpack_from(block.content)
    return version, count


def _parquet(block: LogBlock, schema: Mapping[str, Any], columns: Collection[str] | None) -> pa.Table:
    target = _only(avro_to_arrow(schema), columns)
    try:
        file = open_parquet(pa.py_buffer(block.content))
        table = file.read(columns=None if columns is None else target.names, use_threads=False)
        return checked(table.select(target.names)).cast(target)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise _corrupt(block, f"its content is no Parquet file of its schema ({error})") from error


def _only(schema: pa.Schema, columns: Collection[str] | None) -> pa.Schema:
    return schema if columns is None else pa.schema([field for field in schema if field.name in columns])


def _hfile(block: LogBlock, schema: Mapping[str, Any], columns: Collection[str] | None) -> pa.Table:
    """Values of an HFile in the order of its keys; where the schema has the field ``key``, the file's key fills it."""
    keys, values = HFileReader.from_bytes(block.content, path=block.path).entries()
    flat = single_chunk(values)
    table = decode_prefixed_records(schema, len(flat), framed(flat), path=block.path, columns=columns)
    if "key" not in table.column_names:
        return table
    index = table.column_names.index("key")
    try:
        texts = single_chunk(keys).cast(pa.large_string()).cast(pa.string())
    except pa.ArrowInvalid as error:
        raise _corrupt(block, f"it has a key that is no UTF-8 ({error})") from error
    return table.set_column(index, table.schema.field(index), texts)


def delete_records(block: LogBlock) -> pa.Table:
    """Keys that a delete block deletes.

    Returns:
        Columns ``record_key``, ``partition_path`` (texts) and ``ordering``: the ordering values in their own type, all
        null where none has one. A delete by commit time has an integer 0 there; see `is_default_ordering`.

    Raises:
        CorruptFileError: the content is no list of deletes.
        UnsupportedTableError: it is of a version that tables of version 8 do not have.

    """
    version, length = _two_ints(block)
    if version != _DELETE_VERSION:
        raise _unsupported(block, version)
    payload = block.content[_TWO_INTS.size :]
    if length != len(payload):
        raise _corrupt(block, f"its list claims {length} bytes of {len(payload)}")
    branch = _first_branch(block, payload)
    table = None if branch is None else _deletes_of_one_branch(block, payload, branch)
    return _deletes_of_many_branches(block, payload) if table is None else table


def _wrappers() -> list[Any]:
    """Branches of the ordering value's union, each a record with one field ``value``, but for null at 0."""
    fields = {f["name"]: f["type"] for f in _delete_schema()["fields"]}
    branches: list[Any] = fields["orderingVal"]
    return branches


def _delete_schema() -> Mapping[str, Any]:
    schema: Mapping[str, Any] = SCHEMAS["HoodieDeleteRecordList"]["fields"][0]["type"]["items"]
    return schema


def _first_branch(block: LogBlock, payload: memoryview) -> int | None:
    """Branch of the first record's ordering value; None where the list is empty."""
    count, position = _long(block, payload, 0)
    if count < 0:  # a block of the list that states its size, too
        _, position = _long(block, payload, position)
    if count == 0:
        return None
    for _ in ("recordKey", "partitionPath"):
        present, position = _long(block, payload, position)
        if present:
            length, position = _long(block, payload, position)
            position += length
    branch, _ = _long(block, payload, position)
    if not 0 <= branch < len(_wrappers()):
        raise _corrupt(block, f"its first record has an ordering value of type {branch}")
    return branch


def _long(block: LogBlock, payload: memoryview, position: int) -> tuple[int, int]:
    """Number of Avro's at a position, and the position behind it."""
    value = 0
    for shift in range(0, 70, 7):
        if not 0 <= position < len(payload):
            break
        byte = payload[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
    raise _corrupt(block, "its list is cut off")


def _deletes_of_one_branch(block: LogBlock, payload: memoryview, branch: int) -> pa.Table | None:
    """Decode in native code, supposing that all ordering values are of one branch; None where they are not.

    The number of the branch is one byte of the encoding: it is read as a fixed field and compared, and up to the first
    record in which it differs the supposition was right, so nothing is misread.
    """
    wrapper = _wrappers()[branch]
    fields: list[dict[str, Any]] = [f for f in _delete_schema()["fields"] if f["name"] != "orderingVal"]
    fields = [*fields, {"name": "branch", "type": {"type": "fixed", "name": "one_byte", "size": 1}}]
    if wrapper != "null":
        fields.append({"name": "ordering", "type": {**wrapper, "name": "wrapper"}})
    items = {"type": "record", "name": "delete", "fields": fields}
    schema = {
        "type": "record",
        "name": "deletes",
        "fields": [{"name": _DELETE_LIST, "type": {"type": "array", "items": items}}],
    }
    try:
        rows = decode_record(schema, payload, path=block.path).column(_DELETE_LIST).combine_chunks().flatten()
    except CorruptFileError:
        return None
    marks = pc.unique(rows.field("branch").cast(pa.binary())).to_pylist()
    if len(rows) and marks != [bytes([branch * 2])]:
        return None
    ordering = rows.field("ordering").field("value") if wrapper != "null" else pa.nulls(len(rows))
    return _delete_table(rows, _ordering_type(ordering, wrapper))


def _ordering_type(values: pa.Array, wrapper: Any) -> pa.Array:
    """Give decoded ordering values the meaning that their wrapper has."""
    if wrapper == "null":
        return values
    target = avro_to_arrow({"type": "record", "name": "wrapper", "fields": wrapper["fields"]}).field("value").type
    if pa.types.is_decimal(target):
        return decimals(values, target)
    return pc.cast(values, target)


def _delete_table(rows: pa.Array, ordering: pa.Array) -> pa.Table:
    return pa.table(
        {
            "record_key": pc.cast(rows.field("recordKey"), pa.string()),
            "partition_path": pc.cast(rows.field("partitionPath"), pa.string()),
            "ordering": ordering,
        }
    )


def _deletes_of_many_branches(block: LogBlock, payload: memoryview) -> pa.Table:
    """Decode a list whose ordering values are of several types, record by record: rare, and small where it occurs."""
    try:
        record = fastavro.schemaless_reader(io.BytesIO(payload), dict(SCHEMAS["HoodieDeleteRecordList"]), None)
        rows = record[_DELETE_LIST] if isinstance(record, dict) else []
    except Exception as error:
        raise _corrupt(block, f"its list cannot be read ({error})") from error
    values = [(row.get("orderingVal") or {}).get("value") for row in rows]
    typed = [v for v in values if v not in (None, 0)]
    kind = pa.scalar(typed[0]).type if typed else pa.int32()
    try:
        ordering = pa.array([None if v == 0 else v for v in values], kind)
    except pa.ArrowException as error:
        raise _corrupt(block, f"its ordering values are of types that do not compare ({error})") from error
    return pa.table(
        {
            "record_key": pa.array([row["recordKey"] for row in rows], pa.string()),
            "partition_path": pa.array([row["partitionPath"] for row in rows], pa.string()),
            "ordering": ordering,
        }
    )


def is_default_ordering(ordering: pa.Array) -> npt.NDArray[np.bool_]:
    """Which ordering values of deletes make them win over everything before them: none, or the integer 0.

    An ``int`` column and a date are integers in Java, a ``long`` is not. Source: Java
    ``BufferedRecord.isCommitTimeOrderingDelete``, ``OrderingValues``.
    """
    if pa.types.is_null(ordering.type):
        return np.ones(len(ordering), np.bool_)
    missing = np.asarray(ordering.is_null()).astype(np.bool_)
    if pa.types.is_int32(ordering.type) or pa.types.is_date32(ordering.type):
        zero = pc.equal(ordering.cast(pa.int32()), 0)
        return missing | np.asarray(pc.fill_null(zero, True)).astype(np.bool_)
    return missing


def record_positions(block: LogBlock) -> npt.NDArray[np.uint64] | None:
    """Rows of the base file that the block's records stand for, ascending; None where the block does not say.

    Raises:
        CorruptFileError: the bitmap cannot be read.

    """
    text = block.header.get(HeaderKey.RECORD_POSITIONS)
    if text is None:
        return None
    try:
        return parse_positions(base64.b64decode(text, validate=True), most=_most_positions(block))
    except (binascii.Error, ValueError) as error:
        raise _corrupt(block, f"its record positions cannot be read ({error})") from error


def _most_positions(block: LogBlock) -> int:
    """More positions than any block of that size has: there is one for each record, and records take bytes."""
    return _FEW_POSITIONS + _POSITIONS_OF_BYTE * len(block.content)


def is_partial(block: LogBlock) -> bool:
    """Whether the block's records carry only the columns that were assigned."""
    return block.header.get(HeaderKey.IS_PARTIAL, "").lower() == "true"


def header_summary(block: LogBlock) -> dict[str, Any]:
    """Header of a block as people would look at it: schema and positions shortened to what they are."""
    summary: dict[str, Any] = {key.name: value for key, value in block.header.items()}
    if "SCHEMA" in summary:
        schema = block_schema(block)
        summary["SCHEMA"] = f"{schema.get('name')} with {len(schema['fields'])} fields"
    if "RECORD_POSITIONS" in summary:
        positions = record_positions(block)
        summary["RECORD_POSITIONS"] = f"{0 if positions is None else len(positions)} positions"
    return summary


def _corrupt(block: LogBlock, what: str) -> CorruptFileError:
    return CorruptFileError(
        f"The block at byte {block.offset} of {block.path} cannot be read: {what}.",
        rule="LF-005",
        way_out="The file is damaged; restore it from a copy, or restore the table to a savepoint.",
    )


def _unsupported(block: LogBlock, version: int) -> UnsupportedTableError:
    return UnsupportedTableError(
        f"The block at byte {block.offset} of {block.path} has content of version {version}.",
        rule="LF-005",
        way_out="It was written by a release before 1.0; compact the table with Java Hudi.",
    )
