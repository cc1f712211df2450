"""What the entries of one key make together.

Source: Java ``HoodieMetadataPayload.preCombine``, ``HoodieTableMetadataUtil.mergeColumnStatsRecords``. A delete takes
away what was said before it. Of file listings the union counts, of statistics the wider bounds, of all else the last
word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.errors import CorruptFileError
from drawstring.metadata.partition import Source
from drawstring.metadata.records import Payload, decode_files, decode_payloads, payload_type

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FILE_COLUMNS: Final = pa.schema(
    [("key", pa.string()), ("name", pa.string()), ("size", pa.int64()), ("isDeleted", pa.bool_())]
)
_SUMS: Final = ("valueCount", "nullCount", "totalSize", "totalUncompressedSize")
_LEAST, _GREATEST, _TIGHT = "minValue", "maxValue", "isTightBound"


@dataclass(frozen=True)
class _Lined:
    """Entries of one file group, by key, then oldest first.

    Attributes:
        keys: of all entries.
        rows: of the puts, their index among the decoded values; -1 for a delete.
        groups: number of the entry's key, ascending.
        firsts: where each key's entries begin.

    """

    keys: pa.Array
    rows: Numbers
    groups: Numbers
    firsts: Numbers

    def lasts(self) -> Numbers:
        """Where the last entry of each key stands."""
        return np.append(self.firsts[1:], len(self.groups)) - 1

    def since_delete(self) -> Flags:
        """Which entries are puts that no delete follows."""
        places = np.arange(len(self.rows))
        last_deletes = np.maximum.reduceat(np.where(self.rows < 0, places, -1), self.firsts)
        live: Flags = places > last_deletes[self.groups]
        return live


def _line_up(sources: Sequence[Source], put_rows: Sequence[Numbers]) -> _Lined:
    keys = pa.concat_arrays([chunk for source in sources for chunk in source.keys.chunks])
    rows = np.concatenate([*put_rows, np.empty(0, np.int64)])
    codes = keys.dictionary_encode().indices.to_numpy().astype(np.int64)
    order = np.argsort(codes, kind="stable")
    groups = codes[order]
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    return _Lined(keys.take(pa.array(order)), rows[order], groups, firsts)


def _has_entries(sources: Sequence[Source]) -> bool:
    return any(len(source.keys) for source in sources)


def merge_payloads(sources: Sequence[Source], payload: Payload) -> pa.Table:
    """Merge the entries of one file group.

    Args:
        sources: oldest first.
        payload: any but FILES; entries that hold another one are left out.

    Returns:
        One row per key that is there: ``key`` and the fields of the payload.

    Raises:
        CorruptFileError: values cannot be read.

    """
    kind = payload_type(payload)
    empty = pa.table([pa.array([], pa.string()), *[pa.array([], f.type) for f in kind]], names=_names(kind))
    if not _has_entries(sources):
        return empty
    decoded, put_rows = _decoded(sources, payload)
    lined = _line_up(sources, put_rows)
    if payload is Payload.STATS:
        values, keys = _merge_stats(lined, decoded)
    else:
        last = lined.lasts()
        last = last[lined.rows[last] >= 0]
        values, keys = decoded.take(pa.array(lined.rows[last])), lined.keys.take(pa.array(last))
    present = values.is_valid()
    table = pa.table([_texts(keys, sources), *values.flatten()], names=_names(kind))
    return table if values.null_count == 0 else table.filter(present)


def _names(kind: pa.StructType) -> list[str]:
    return ["key", *[f.name for f in kind]]


def _texts(keys: pa.Array, sources: Sequence[Source]) -> pa.Array:
    try:
        return keys.cast(pa.large_string()).cast(pa.string())
    except pa.ArrowInvalid as error:
        raise CorruptFileError(f"A key in {sources[0].path} is no UTF-8: {error}.", rule="MT-001") from error


def _decoded(sources: Sequence[Source], payload: Payload) -> tuple[pa.StructArray, list[Numbers]]:
    """Values of all puts, and of each source which of them its entries have (-1 for deletes)."""
    by_schema: dict[str, list[int]] = {}
    for index, source in enumerate(sources):
        if source.values is not None:
            by_schema.setdefault(source.schema, []).append(index)
    rows: list[Numbers] = [np.full(len(source.keys), -1, np.int64) for source in sources]
    parts: list[pa.StructArray] = []
    behind = 0
    for schema, indexes in by_schema.items():
        chunks = [
            chunk for i in indexes for chunk in (sources[i].values or pa.chunked_array([], pa.large_binary())).chunks
        ]
        values = pa.chunked_array(chunks, pa.large_binary())
        parts.append(decode_payloads(schema, values, payload, path=sources[indexes[0]].path))
        for i in indexes:
            count = len(sources[i].keys)
            rows[i] = np.arange(behind, behind + count)
            behind += count
    return (pa.concat_arrays(parts) if parts else pa.array([], payload_type(payload))), rows


def _merge_stats(lined: _Lined, decoded: pa.StructArray) -> tuple[pa.StructArray, pa.Array]:
    live = np.flatnonzero(lined.since_delete())
    if len(live) == 0:
        return decoded.slice(0, 0), lined.keys.slice(0, 0)
    values = decoded.take(pa.array(lined.rows[live]))
    groups = lined.groups[live]
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    # A tight bound says all there is to say: what was said before it is dropped.
    tight = pc.fill_null(values.field(_TIGHT), False).to_numpy(zero_copy_only=False)
    places = np.arange(len(groups))
    dense = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, len(groups))))
    last_tight = np.maximum.reduceat(np.where(tight, places, -1), firsts)[dense]
    kept = np.flatnonzero(places >= last_tight)
    dense, values = dense[kept], values.take(pa.array(kept))
    lasts = np.append(np.flatnonzero(np.diff(dense)), len(dense) - 1)
    keys = lined.keys.take(pa.array(live[kept][lasts]))
    newest = values.take(pa.array(lasts))
    if len(newest) == len(values):
        return newest, keys
    return _widened(values, dense, newest), keys


def _widened(values: pa.StructArray, groups: Numbers, newest: pa.StructArray) -> pa.StructArray:
    """Statistics of each group together: least of the least, greatest of the greatest, counts added."""
    members = newest.type.field(_LEAST).type
    columns: dict[str, pa.Array] = {"group": pa.array(groups)}
    wanted: list[tuple[str, str]] = []
    for i in range(members.num_fields):
        for name, function in ((_LEAST, "min"), (_GREATEST, "max")):
            columns[f"{name}{i}"] = values.field(name).field(i).field("value")
            wanted.append((f"{name}{i}", function))
    for name in _SUMS:
        columns[name] = values.field(name)
        wanted.append((name, "sum"))
    result = pa.table(columns).group_by("group").aggregate(wanted).sort_by("group")
    parts = [newest.field(f.name) for f in newest.type]
    for name, function in ((_LEAST, "min"), (_GREATEST, "max")):
        folded = [result.column(f"{name}{i}_{function}").combine_chunks() for i in range(members.num_fields)]
        parts[newest.type.get_field_index(name)] = _wrapped(folded, members)
    for name in _SUMS:
        parts[newest.type.get_field_index(name)] = result.column(f"{name}_sum").combine_chunks().cast(pa.int64())
    return pa.StructArray.from_arrays(parts, fields=list(newest.type))


def _wrapped(values: Sequence[pa.Array], kind: pa.StructType) -> pa.StructArray:
    """Values of each type as the members of a union; null where none has one."""
    members = []
    absent = np.ones(len(values[0]), np.bool_)
    for index, value in enumerate(values):
        wrapper = kind.field(index).type
        nulls = value.is_null()
        absent &= nulls.to_numpy(zero_copy_only=False)
        members.append(
            pa.StructArray.from_arrays([value.cast(wrapper.field(0).type)], fields=list(wrapper), mask=nulls)
        )
    return pa.StructArray.from_arrays(members, fields=list(kind), mask=pa.array(absent))


def merge_files(sources: Sequence[Source]) -> pa.Table:
    """Merge the entries of the partition ``files``.

    A file that was named and then deleted is gone. A deletion of a file that nobody named stays, as a row of its own:
    it is about a file that older entries, which are not here, may name.

    Returns:
        One row per key and file: ``key``, ``name``, ``size`` in bytes, ``isDeleted``.

    """
    if not _has_entries(sources):
        return FILE_COLUMNS.empty_table()
    tables: list[pa.Table] = []
    put_rows: list[Numbers] = []
    behind = 0
    for source in sources:
        if source.values is None:
            put_rows.append(np.full(len(source.keys), -1, np.int64))
            continue
        table = decode_files(source.schema, source.values, path=source.path)
        tables.append(table.set_column(3, "row", pc.add(table.column("row"), behind)))
        put_rows.append(np.arange(behind, behind + len(source.keys)))
        behind += len(source.keys)
    if not tables:
        return FILE_COLUMNS.empty_table()
    lined = _line_up(sources, put_rows)
    live = np.flatnonzero(lined.since_delete())
    place_of_row = np.full(behind, -1, np.int64)
    place_of_row[lined.rows[live]] = live
    files = pa.concat_tables(tables).combine_chunks()
    places = place_of_row[files.column("row").to_numpy()]
    files, places = files.filter(pa.array(places >= 0)), places[places >= 0]
    return _fold_files(files, places, lined, sources)


def _fold_files(files: pa.Table, places: Numbers, lined: _Lined, sources: Sequence[Source]) -> pa.Table:
    if files.num_rows == 0:
        return FILE_COLUMNS.empty_table()
    keys, names = lined.groups[places], files.column("name").combine_chunks()
    codes = names.dictionary_encode().indices.to_numpy().astype(np.int64)
    order = np.lexsort((places, codes, keys))
    keys, codes = keys[order], codes[order]
    firsts = np.flatnonzero((np.diff(keys, prepend=-1) != 0) | (np.diff(codes, prepend=-1) != 0))
    groups = np.repeat(np.arange(len(firsts)), np.diff(np.append(firsts, len(order))))
    deleted = files.column("isDeleted").to_numpy()[order]
    sizes = files.column("size").to_numpy()[order]
    index = np.arange(len(order))
    lasts = np.append(firsts[1:], len(order)) - 1
    last_delete = np.maximum.reduceat(np.where(deleted, index, -1), firsts)
    last_put = np.maximum.reduceat(np.where(deleted, -1, index), firsts)
    size = np.maximum.reduceat(np.where(index > last_delete[groups], sizes, 0), firsts)
    # A single deletion takes the name with it; where nothing was there to take, the deletion itself stays.
    stays = ~deleted[lasts] | (last_put < 0) | (lasts - last_put > 1)
    chosen = pa.array(order[lasts[stays]])
    group_keys = lined.keys.take(pa.array(places[order[lasts[stays]]]))
    return pa.table(
        [_texts(group_keys, sources), names.take(chosen), pa.array(size[stays]), pa.array(deleted[lasts[stays]])],
        schema=FILE_COLUMNS,
    )
