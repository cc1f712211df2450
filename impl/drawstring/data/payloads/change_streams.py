"""Payload classes for streams of changes of another database: AWS DMS, and Debezium of MySQL and PostgreSQL.

Source: Java ``AWSDmsAvroPayload``, ``AbstractDebeziumAvroPayload``, ``MySqlDebeziumAvroPayload``,
``PostgresDebeziumAvroPayload``. A column of the stream's own says what was done to a row, and where Debezium wrote it,
where in the database's log that was. Writers make delete entries of records that delete, so a record that says so
itself is seldom met: in a base file of a bulk insert.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.log_merge import Mask
from drawstring.data.payloads.choice import Choice, Pairs, all_of, as_mask, column, marked, refuse, says
from drawstring.errors import UnsupportedTableError

DMS_OPERATION: Final = "Op"
DEBEZIUM_OPERATION: Final = "_change_operation_type"
LSN: Final = "_event_lsn"
SEQUENCE: Final = "_event_seq"
UNAVAILABLE: Final = "__debezium_unavailable_value"
"""What Debezium writes for a value that PostgreSQL stores apart (TOAST) and that did not change."""

_SEQUENCE: Final = r"^(?P<file>-?[0-9]{1,19})(?:\.(?P<position>-?[0-9]{1,19}))?(?:\..*)?$"


def dms(pairs: Pairs) -> Choice:
    """The newer record stays, whatever the ordering values; ``Op`` D makes it none."""
    for rows in (pairs.older, pairs.newer):
        _of_type(rows, DMS_OPERATION, text=True)
    gone_before = says(pairs.older, DMS_OPERATION, "D") | marked(pairs.older)
    refuse(gone_before, f"the row that is to be updated says of itself that it is deleted ({DMS_OPERATION} is D)")
    return Choice(all_of(pairs.newer), says(pairs.newer, DMS_OPERATION, "D") | marked(pairs.newer))


def debezium_postgres(pairs: Pairs) -> Choice:
    """The record with the greater LSN stays, the newer one among equals; what it lacks comes from the older one."""
    for rows in (pairs.older, pairs.newer):
        _of_type(rows, LSN, text=False)
    older, newer = column(pairs.older, LSN), column(pairs.newer, LSN)
    gone_before = _deleted(pairs.older)
    refuse(as_mask(newer.is_null()) & ~gone_before, f"{LSN} is null in a newer record")
    wins = ~as_mask(pc.less(newer, older))
    fields = {name: wins & ~_unavailable(pairs.newer, name) for name in _texts(pairs.newer)}
    return Choice(wins, gone_before | (wins & _deleted(pairs.newer)), fields)


def debezium_mysql(pairs: Pairs) -> Choice:
    """The record that is further in the binary log stays, the older one among equals."""
    for rows in (pairs.older, pairs.newer):
        _of_type(rows, SEQUENCE, text=True)
    older, newer = column(pairs.older, SEQUENCE), column(pairs.newer, SEQUENCE)
    gone_before = _deleted(pairs.older)
    refuse(as_mask(newer.is_null()) & ~gone_before, f"{SEQUENCE} is null in a newer record")
    compared = as_mask(older.is_valid()) & ~gone_before
    wins = ~compared | _is_further(newer, older, compared)
    return Choice(wins, gone_before | (wins & _deleted(pairs.newer)))


def _is_further(newer: pa.Array, older: pa.Array, compared: Mask) -> Mask:
    """Which places in the binary log, file and position with a point between them, are further than others."""
    (new_file, new_position), (old_file, old_position) = _places(newer), _places(older)
    refuse(
        compared & ~as_mask(pc.and_(new_file.is_valid(), old_file.is_valid())),
        f"{SEQUENCE} does not begin with a file number",
    )
    same = as_mask(pc.equal(new_file, old_file))
    refuse(
        compared & same & ~as_mask(pc.and_(new_position.is_valid(), old_position.is_valid())),
        f"{SEQUENCE} has no position behind its file number",
    )
    further: Mask = as_mask(pc.greater(new_file, old_file)) | (same & as_mask(pc.greater(new_position, old_position)))
    return further


def _places(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    parts = pc.extract_regex(texts.cast(pa.string()), _SEQUENCE)
    return _numbers(parts, "file"), _numbers(parts, "position")


def _numbers(parts: pa.Array, name: str) -> pa.Array:
    digits = pc.struct_field(parts, name)
    try:
        return pc.if_else(pc.equal(digits, ""), None, digits).cast(pa.int64())
    except pa.ArrowInvalid as error:
        raise UnsupportedTableError(
            f"{SEQUENCE} holds a number that does not fit 64 bits: {error}.",
            rule="MG-008",
            way_out="Read the table with read_optimized=True, without its log files.",
        ) from error


def _deleted(rows: pa.Table) -> Mask:
    if DEBEZIUM_OPERATION not in rows.column_names:
        return marked(rows)
    return marked(rows) | says(rows, DEBEZIUM_OPERATION, "d")


def _texts(rows: pa.Table) -> list[str]:
    return [f.name for f in rows.schema if pa.types.is_string(f.type) or pa.types.is_binary(f.type)]


def _unavailable(rows: pa.Table, name: str) -> Mask:
    values = rows.column(name)
    return as_mask(pc.equal(values, pa.scalar(UNAVAILABLE, pa.string()).cast(values.type)))


def _of_type(rows: pa.Table, name: str, *, text: bool) -> None:
    """Refuse a column that is no text, or no long, as the tools that write such streams make it."""
    kind = rows.schema.field(name).type
    if not (pa.types.is_string(kind) if text else pa.types.is_int64(kind)):
        raise UnsupportedTableError(
            f"The table's payload class decides by the column {name!r}, which has the type {kind}.",
            rule="MG-008",
            way_out=f"It has to be a {'text' if text else 'long'}; read with read_optimized=True, without log files.",
        )
