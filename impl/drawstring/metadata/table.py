"""The metadata table's face: what it can be asked, partition by partition.

Source: Java ``HoodieBackedTableMetadata``, ``BaseTableMetadata``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.context import TableContext
from drawstring.errors import FormatError, TableNotFoundError, UnsupportedTableError
from drawstring.metadata.file_ids import file_ids
from drawstring.metadata.keys import (
    ALL_PARTITIONS,
    HASHED_NAME_CHARS,
    bloom_filter_key,
    hashed_name,
    partition_identifier,
    secondary_prefix,
    split_secondary_keys,
)
from drawstring.metadata.lost_writes import written_groups
from drawstring.metadata.merging import merge_files, merge_payloads
from drawstring.metadata.partition import PartitionReader, Question
from drawstring.metadata.records import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_INDEX_PREFIX,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX_PREFIX,
    Payload,
    payloads_of,
)
from drawstring.metadata.slices import Instants
from drawstring.metadata.storage import SubStorage
from drawstring.ports import Tasks
from drawstring.table_config import TableConfig
from drawstring.table_properties import read_properties
from drawstring.timeline.archived import archived_completion_times, history_folder
from drawstring.timeline.load import load_timeline, read_payload
from drawstring.timeline.timeline import Timeline
from drawstring_spec.layout import METADATA_TABLE_FOLDER

_STATISTICS: Final = ("fileName", "columnName", "minValue", "maxValue", "valueCount", "nullCount", "isTightBound")


class MetadataTable:
    """The metadata table, as of when it was opened. Made by `MetadataTable.open`.

    What was fetched is kept, so that many questions cost few requests. All answers are Arrow tables; a partition that
    the table does not have is refused by name.
    """

    def __init__(self, storage: SubStorage, instants: Instants, partitions: Sequence[str], tasks: Tasks) -> None:
        self._storage = storage
        self._tasks = tasks
        self._instants = instants
        self._readers: dict[str, PartitionReader] = {}
        self.partitions: tuple[str, ...] = tuple(partitions)
        """Partitions that are complete, sorted."""

    @classmethod
    def open(cls, context: TableContext, timeline: Timeline | None = None) -> Self | None:
        """Open the metadata table of a table.

        Args:
            context: of the table.
            timeline: of the table, if it is loaded; what is pending on it is passed over.

        Returns:
            None where the table has no metadata table, or the option ``hoodie.metadata.enable`` is false.

        Raises:
            CorruptFileError: there is one, and it cannot be read.
            UnsupportedTableError: it has a version that drawstring does not handle.

        """
        if not context.config.metadata_partitions or not context.options["hoodie.metadata.enable"]:
            return None
        outer = context.ports.storage
        storage = SubStorage(outer, METADATA_TABLE_FOLDER)
        timeline = timeline or load_timeline(outer, context.config)
        try:
            config = TableConfig.from_properties(read_properties(storage))
        except TableNotFoundError as error:
            raise FormatError(
                f"The table {context.config.name!r} has a metadata table by its properties, but none on storage.",
                rule="MT-002",
                way_out="Read with hoodie.metadata.enable=false until Java Hudi has built it again.",
            ) from error
        own = load_timeline(storage, config)
        instants = Instants.of(
            own,
            timeline,
            lambda: bool(storage.list(history_folder(config))),
            lambda times: archived_completion_times(storage, config, times),
            lambda instant, partition: written_groups(read_payload(storage, config, instant) or {}, partition),
        )
        return cls(storage, instants, context.config.metadata_partitions, context.ports.tasks)

    @property
    def num_kept_bytes(self) -> int:
        """Memory that what was fetched takes."""
        return sum(reader.num_kept_bytes for reader in list(self._readers.values()))

    def __contains__(self, partition: object) -> bool:
        return partition in self.partitions

    def records(self, partition: str) -> pa.Table:
        """All records of a partition, merged.

        Returns:
            ``key`` and what the record says: of ``files`` one row per key and file (`name`, `size` in bytes,
            `isDeleted`), of the others the fields of the payload under Java's names.

        """
        return self._merged(partition, Question())

    def all_partitions(self) -> list[str]:
        """Partition paths of the table, sorted; ``""`` is that of an unpartitioned table."""
        rows = self._live_files(pa.array([ALL_PARTITIONS]))
        return sorted("" if name == partition_identifier("") else name for name in rows.column("name").to_pylist())

    def files(self, partition_paths: Sequence[str]) -> pa.Table:
        """Files of some partitions.

        Returns:
            ``partition_path``, ``name``, ``size`` in bytes; by partition and name.

        """
        if not partition_paths:
            return _file_table(pa.array([], pa.string()), pa.array([], pa.string()), pa.array([], pa.int64()))
        return _files_of(self._live_files(pa.array([partition_identifier(p) for p in partition_paths], pa.string())))

    def all_files(self) -> pa.Table:
        """Files of all partitions, as `files`; all records are read at once."""
        rows = self._live_files(None)
        is_partition = pc.equal(rows.column("key"), ALL_PARTITIONS)
        partitions = rows.filter(is_partition).column("name").combine_chunks()
        return _files_of(rows.filter(pc.and_not(pc.is_in(rows.column("key"), value_set=partitions), is_partition)))

    def _live_files(self, keys: pa.Array | None) -> pa.Table:
        rows = self._merged(FILES, Question(keys=keys))
        return rows.filter(pc.invert(rows.column("isDeleted")))

    def column_stats(self, columns: Sequence[str]) -> pa.Table:
        """Statistics of columns, file by file.

        Returns:
            ``fileName``, ``columnName``, ``minValue``, ``maxValue`` (structs, one member for each type),
            ``valueCount``, ``nullCount``, ``isTightBound``, and ``partition_hash``, the part of the key that stands
            for the file's partition (see `partition_hashes`). Files without statistics have no row.

        """
        found = [self._merged(COLUMN_STATS, Question(prefix=hashed_name(name))) for name in columns]
        return _statistics(found)

    def partition_stats(self, columns: Sequence[str]) -> pa.Table:
        """Statistics of columns, partition by partition; as `column_stats`, the partition's path in ``fileName``."""
        return _statistics([self._merged(PARTITION_STATS, Question(prefix=hashed_name(name))) for name in columns])

    def bloom_filters(self, files: Sequence[tuple[str, str]], partition: str = BLOOM_FILTERS) -> pa.Table:
        """Bloom filters of base files.

        Args:
            files: partition path and file name of each.
            partition: of the record keys, or that of an expression index that was made with bloom filters.

        Returns:
            ``partition_path``, ``name``, ``type`` (code), ``bloomFilter`` (base64 text as bytes); files that have no
            filter have no row.

        """
        by_key = {bloom_filter_key(path, name): (path, name) for path, name in files}
        rows = self._merged(partition, Question(keys=pa.array(list(by_key), pa.string())))
        rows = rows.filter(pc.invert(rows.column("isDeleted")))
        owners = [by_key[key] for key in rows.column("key").to_pylist()]
        columns = [pa.array([o[0] for o in owners], pa.string()), pa.array([o[1] for o in owners], pa.string())]
        names = ["partition_path", "name", "type", "bloomFilter"]
        return pa.table([*columns, rows.column("type"), rows.column("bloomFilter")], names=names)

    def record_index(self, keys: pa.Array) -> pa.Table:
        """Where records are.

        Args:
            keys: record keys (``string``, without nulls).

        Returns:
            ``record_key``, ``partition_path``, ``file_id``, ``instant_time_ms`` (epoch milliseconds of the write that
            first wrote the key there); keys that the table does not hold have no row.

        """
        rows = self._merged(RECORD_INDEX, Question(keys=pc.unique(keys)))
        partitions = pc.fill_null(rows.column("partitionName"), "")
        return pa.table(
            {
                "record_key": rows.column("key"),
                "partition_path": pc.if_else(pc.equal(partitions, partition_identifier("")), "", partitions),
                "file_id": file_ids(rows),
                "instant_time_ms": rows.column("instantTime"),
            }
        )

    def secondary_index(self, name: str, values: Sequence[str]) -> pa.Table:
        """Record keys of rows that have one of some values in an indexed column.

        Args:
            name: of the index, with or without the partition's ``secondary_index_``.
            values: as texts.

        Returns:
            ``value``, ``record_key``.

        """
        partition = SECONDARY_INDEX_PREFIX + name.removeprefix(SECONDARY_INDEX_PREFIX)
        questions = [Question(prefix=secondary_prefix(value)) for value in dict.fromkeys(values)]
        parts = [self._merged(partition, question).column("key") for question in questions]
        keys = pa.chunked_array([chunk for part in parts for chunk in part.chunks], pa.string())
        value, key = split_secondary_keys(keys)
        return pa.table({"value": value, "record_key": key})

    def expression_index(self, name: str) -> pa.Table:
        """All records of an expression index: statistics or bloom filters, whichever it was made with."""
        return self.records(EXPRESSION_INDEX_PREFIX + name.removeprefix(EXPRESSION_INDEX_PREFIX))

    def expression_stats(self, name: str) -> pa.Table:
        """Statistics of an expression, file by file, as `column_stats`; of an index that was made with them."""
        return _statistics([self.expression_index(name)])

    def _merged(self, partition: str, question: Question) -> pa.Table:
        if partition not in self.partitions:
            raise UnsupportedTableError(
                f"The metadata table has no partition {partition!r}.",
                rule="MT-002",
                way_out=f"It has: {', '.join(self.partitions)}.",
            )
        if partition not in self._readers:
            self._readers[partition] = PartitionReader(self._storage, partition, self._instants, self._tasks)
        # A key is in one file group only, so all groups can be merged at once: each is lined up, oldest first.
        sources = [source for group in self._readers[partition].sources(question) for source in group]
        payloads = payloads_of(partition)
        if payloads == (Payload.FILES,):
            return merge_files(sources)
        # An expression index has one kind of payload or the other, never both.
        return max((merge_payloads(sources, payload) for payload in payloads), key=len)


def partition_hashes(partition_paths: Sequence[str]) -> list[str]:
    """What stands for partitions in the keys of statistics."""
    return [hashed_name(partition_identifier(path)) for path in partition_paths]


def _files_of(rows: pa.Table) -> pa.Table:
    keys = rows.column("key")
    paths = pc.if_else(pc.equal(keys, partition_identifier("")), "", keys)
    return _file_table(paths, rows.column("name"), rows.column("size"))


def _file_table(paths: pa.Array, names: pa.Array, sizes: pa.Array) -> pa.Table:
    table = pa.table([paths, names, sizes], names=["partition_path", "name", "size"])
    return table.sort_by([("partition_path", "ascending"), ("name", "ascending")])


def _statistics(tables: Sequence[pa.Table]) -> pa.Table:
    rows = pa.concat_tables(tables) if tables else merge_payloads([], Payload.STATS)
    rows = rows.filter(pc.invert(rows.column("isDeleted")))
    hashes = pc.utf8_slice_codeunits(rows.column("key"), HASHED_NAME_CHARS, 2 * HASHED_NAME_CHARS)
    return rows.select(_STATISTICS).append_column("partition_hash", hashes)
