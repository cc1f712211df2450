"""Schemas whose columns have ids, so that a file is read by id and a renamed column keeps its rows.

Source: Java ``InternalSchema``, ``InternalSchemaCache``, ``FileBasedInternalSchemaStorageManager``,
``InternalSchemaMerger`` (``hoodie.schema.on.read.enable``). A file has the schema of the last version that was made
at or before the file's own requested time; a file older than all versions is read by name.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyarrow import types as pat

from drawstring.context import TableContext
from drawstring.errors import CorruptFileError, FormatError
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import Action, State
from drawstring_spec.layout import SCHEMA_FOLDER
from drawstring_spec.meta_fields import META_FIELDS, OPERATION
from drawstring_spec.names import TimelineFileName

_MAX_DEPTH: Final = 64
_BY_NAME: Final = (*META_FIELDS, OPERATION)
_LIST_ELEMENT, _MAP_VALUE = "element", "value"


@dataclass(frozen=True, slots=True)
class InternalField:
    """A column, or the whole record, with its id.

    Attributes:
        id: stays when the column is renamed; -1 for the whole record.
        name: of the column.
        children: of a record its fields, of a list its element, of a map its value; else empty.

    """

    id: int
    name: str
    children: tuple[InternalField, ...] = ()


def parse_internal_schema(schema: Any) -> InternalField:
    """Read one version of a schema from its JSON value. Raises `CorruptFileError`."""
    try:
        return _field(-1, "", schema, 0)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptFileError(
            f"A schema with column ids cannot be read: {error!r}.",
            way_out="The commit that holds it is damaged; read the table as of an earlier time.",
        ) from error


def _field(identity: int, name: str, kind: Any, depth: int) -> InternalField:
    if depth > _MAX_DEPTH:
        raise ValueError(f"more than {_MAX_DEPTH} levels")
    if isinstance(kind, str):
        return InternalField(identity, name)
    match kind["type"]:
        case "record":
            children = tuple(_field(int(f["id"]), str(f["name"]), f["type"], depth + 1) for f in kind["fields"])
        case "array":
            children = (_field(int(kind["element_id"]), _LIST_ELEMENT, kind["element"], depth + 1),)
        case "map":
            children = (_field(int(kind["value_id"]), _MAP_VALUE, kind["value"], depth + 1),)
        case _:
            children = ()
    return InternalField(identity, name, children)


def load_history(context: TableContext, timeline: Timeline) -> tuple[tuple[int, InternalField], ...]:
    """Return all recorded versions of the table's schema, by requested time, ascending.

    Raises:
        CorruptFileError: the newest completed file of the history cannot be read.

    """
    newest = ("", "")
    for status in context.ports.storage.list(SCHEMA_FOLDER):
        try:
            name = TimelineFileName.parse(status.path.rpartition("/")[2])
        except FormatError:
            continue
        # The history is saved before the commit that changes the schema; one of a failed commit does not count.
        if (
            name.action is Action.SCHEMA_COMMIT
            and name.state is State.COMPLETED
            and timeline.is_completed(name.requested_time)
        ):
            newest = max(newest, (name.requested_time, status.path))
    if not newest[1]:
        return ()
    try:
        schemas = json.loads(bytes(context.ports.storage.read(newest[1])))["schemas"]
        versions = [(int(schema["version_id"]), parse_internal_schema(schema)) for schema in schemas]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CorruptFileError(
            f"The schema history {newest[1]!r} cannot be read: {error!r}.",
            way_out="Restore it from a copy, or from an older file of the same folder.",
        ) from error
    return tuple(sorted(versions, key=lambda version: version[0]))


def file_version(history: Sequence[tuple[int, InternalField]], requested_time: str) -> InternalField | None:
    """Return the schema that a file of that requested time was written with; None if it is older than all."""
    found = [root for version, root in history if version <= int(requested_time)]
    return found[-1] if found else None


def file_names(current: InternalField, file: InternalField, names: Sequence[str]) -> dict[str, str]:
    """Return for each of the current columns `names` the name it has in a file; without those it does not have.

    Meta columns are never renamed, and need not have ids.
    """
    ids = {field.name: field.id for field in current.children}
    by_id = {field.id: field.name for field in file.children}
    return {
        name: name if name in _BY_NAME else by_id[ids[name]]
        for name in names
        if name in _BY_NAME or ids.get(name) in by_id
    }


def by_current_names(table: pa.Table, current: InternalField, file: InternalField) -> pa.Table:
    """Return a file's columns under their current names, nested ones too; what is no column any more is left out.

    Args:
        table: as read from the file.
        current: the table's schema.
        file: the schema that the file was written with.

    """
    own = {field.id: field for field in current.children}
    columns = {name: table.column(name) for name in _BY_NAME if name in table.column_names}
    for field in file.children:
        target = own.get(field.id)
        if target is None or field.name not in table.column_names or field.name in _BY_NAME:
            continue
        column = table.column(field.name)
        if pat.is_nested(column.type) and field != target:
            chunks = [_relabel(chunk, target, field) for chunk in column.chunks]
            column = pa.chunked_array(chunks) if chunks else column
        columns[target.name] = column
    return pa.table(columns)


def _relabel(array: pa.Array, current: InternalField, file: InternalField) -> pa.Array:
    kind = array.type
    if pat.is_struct(kind):
        return _relabel_struct(array, current, file)
    if not current.children or not file.children:
        return array
    if pat.is_map(kind):
        items = _relabel(array.items, current.children[0], file.children[0])
        entries = pa.StructArray.from_arrays(
            [array.keys, items], fields=[kind.key_field, pa.field(kind.item_field.name, items.type)]
        )
        target = pa.map_(kind.key_type, pa.field(kind.item_field.name, items.type))
        return pa.Array.from_buffers(target, len(array), array.buffers()[:2], -1, array.offset, [entries])
    if pat.is_list(kind):
        values = _relabel(array.values, current.children[0], file.children[0])
        target = pa.list_(pa.field(kind.value_field.name, values.type))
        return pa.Array.from_buffers(target, len(array), array.buffers()[:2], -1, array.offset, [values])
    return array


def _relabel_struct(array: pa.Array, current: InternalField, file: InternalField) -> pa.Array:
    own = {field.id: field for field in current.children}
    members: list[pa.Array] = []
    fields: list[pa.Field] = []
    for field in file.children:
        target = own.get(field.id)
        if target is not None and array.type.get_field_index(field.name) >= 0:
            member = _relabel(array.field(field.name), target, field)
            members.append(member)
            fields.append(pa.field(target.name, member.type))
    absent = array.is_null() if array.null_count else None
    if not members:
        return pa.nulls(len(array))
    return pa.StructArray.from_arrays(members, fields=fields, mask=absent)
