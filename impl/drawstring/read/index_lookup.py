"""File slices that indexes of the metadata table name: the record index by keys, a secondary index by values.

Source: Java ``RecordLevelIndexSupport``, ``SecondaryIndexSupport``. Whose duty: only speed, and only of the newest
snapshot: an index knows where rows are, not where they were.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.context import TableContext
from drawstring.data.bloom import BloomFilter
from drawstring.files import FileGroupId, FileSlice, Snapshot
from drawstring.metadata import MetadataTable
from drawstring.metadata.index_definitions import IDENTITY, SECONDARY, index_definitions
from drawstring.metadata.records import BLOOM_FILTERS, RECORD_INDEX
from drawstring.read.pruning import asked_values
from drawstring.table_config import TableType
from drawstring_spec.footers import BLOOM_FILTER, BLOOM_TYPE_CODE
from drawstring_spec.layout import CONSISTENT_HASHING_FOLDER
from drawstring_spec.merge_modes import MergeMode

_BUCKET: Final = re.compile(r"\d{8}-")
_BUCKET_INDEX_FOLDER: Final = CONSISTENT_HASHING_FOLDER.rpartition("/")[0]


def is_newest(snapshot: Snapshot) -> bool:
    """Whether a snapshot is that of the last completed write."""
    last = snapshot.timeline.last_write()
    return last is not None and snapshot.as_of == last.requested_time


def keys_by_group(
    context: TableContext, metadata: MetadataTable | None, snapshot: Snapshot, keys: pa.Array
) -> dict[FileGroupId, pa.Array] | None:
    """Return which of some record keys each file group holds; None where there is no index that could tell.

    Args:
        context: of the table.
        metadata: of the table.
        snapshot: that is asked.
        keys: ``string``, without nulls.

    """
    if metadata is None or RECORD_INDEX not in metadata or not is_newest(snapshot):
        return None
    if not _has_every_key(context, snapshot):
        return None
    # Few rows: to wake threads for them takes longer than to group them.
    by_place = metadata.record_index(keys).group_by(["partition_path", "file_id"], use_threads=False)
    places = by_place.aggregate([("record_key", "list")])
    columns = (places.column(name).to_pylist() for name in ("partition_path", "file_id"))
    held = places.column("record_key_list").combine_chunks()
    groups = {FileGroupId(*place): held[row].values for row, place in enumerate(zip(*columns, strict=True))}
    if not groups.keys() <= {one.group for one in snapshot.slices}:
        return None  # The index is ahead of the snapshot: a key may have moved on from a slice that is still here.
    return groups


def _has_every_key(context: TableContext, snapshot: Snapshot) -> bool:
    """Whether a record index has all keys of the table.

    Java leaves out what is inserted into log files until it is compacted. Writers with a bucket index insert there, and
    those that leave file groups without a base file. Buckets are told by their file groups' names, or by the folder of
    consistent hashing. Where a payload class or a merger decides, Java takes a key that was deleted and written again
    for deleted.
    """
    logged = [one for one in snapshot.slices if one.log_files]
    if context.config.table_type is TableType.COPY_ON_WRITE or not logged:
        return True
    if context.config.merge_mode is MergeMode.CUSTOM:
        return False
    if any(one.base_file is None for one in logged) or all(_BUCKET.match(one.group.file_id) for one in logged):
        return False
    return CONSISTENT_HASHING_FOLDER not in context.ports.storage.list_folders(_BUCKET_INDEX_FOLDER)


def slices_of_keys(
    context: TableContext,
    metadata: MetadataTable | None,
    snapshot: Snapshot,
    slices: Sequence[FileSlice],
    keys: pa.Array,
) -> tuple[FileSlice, ...] | None:
    """Return those of some slices that hold record keys; None as `keys_by_group`."""
    groups = keys_by_group(context, metadata, snapshot, keys)
    return None if groups is None else tuple(one for one in slices if one.group in groups)


def slices_by_bloom_filters(
    metadata: MetadataTable | None, slices: Sequence[FileSlice], keys: pa.Array
) -> tuple[FileSlice, ...]:
    """Return those of some slices whose base file's bloom filter, in the metadata table, does not rule all keys out.

    Log files have none: slices that have some are kept, as are those whose base file has no filter there.

    Args:
        metadata: of the table.
        slices: to choose from.
        keys: ``string``, without nulls.

    """
    if metadata is None or BLOOM_FILTERS not in metadata:
        return tuple(slices)
    asked = {
        (one.group.partition_path, one.base_file.name): one
        for one in slices
        if one.base_file is not None and not one.log_files
    }
    ruled_out = set()
    for row in metadata.bloom_filters(list(asked)).to_pylist():
        bloom = bloom_of(row)
        if bloom is not None and not bloom.might_contain(keys).any():
            ruled_out.add(asked[row["partition_path"], row["name"]].group)
    return tuple(one for one in slices if one.group not in ruled_out)


def bloom_of(row: Mapping[str, Any]) -> BloomFilter | None:
    """Return the bloom filter of a row of `MetadataTable.bloom_filters`; None where it has none that is known."""
    if not row["bloomFilter"]:
        return None
    entries = {BLOOM_FILTER: row["bloomFilter"], BLOOM_TYPE_CODE: str(row["type"]).encode()}
    return BloomFilter.from_footer(entries, path=row["name"])


def slices_by_secondary_index(
    context: TableContext,
    metadata: MetadataTable,
    snapshot: Snapshot,
    slices: Sequence[FileSlice],
    available: pa.Schema,
    condition: Any,
) -> tuple[FileSlice, ...] | None:
    """Return those of some slices that may have rows which a filter keeps; None where no secondary index can tell.

    Args:
        context: of the table.
        metadata: of the table.
        snapshot: that the slices are of.
        slices: to choose from.
        available: all columns.
        condition: the filter as the caller gave it. Only a list of conditions, all of which must hold, can be taken
            apart; one of them has to ask for values of an indexed column.

    """
    if not is_newest(snapshot):
        return None
    by_path = context.config.partition_fields  # their values come from the path, not from what was indexed
    wanted = {name: values for name, values in asked_values(condition).items() if name not in by_path}
    if not wanted:
        return None
    for index in index_definitions(context):
        usable = index.kind == SECONDARY and index.function == IDENTITY and index.partition in metadata
        if not usable or len(index.columns) != 1 or index.columns[0] not in wanted:
            continue
        name = index.columns[0]
        texts = _texts(wanted[name], available.field(name).type)
        if texts is not None:
            keys = pc.unique(metadata.secondary_index(index.partition, texts).column("record_key"))
            return slices_of_keys(context, metadata, snapshot, slices, keys)
    return None


def _texts(values: Sequence[Any], kind: pa.DataType) -> list[str] | None:
    """Values as the index has them; None where their texts in Java are not those of Python."""
    if pat.is_string(kind) and all(isinstance(value, str) for value in values):
        return list(values)
    if pat.is_integer(kind) and all(type(value) is int for value in values):
        return [str(value) for value in values]
    return None
