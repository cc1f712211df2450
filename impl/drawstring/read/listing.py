"""Which data files a table has: as its metadata table says, or as its folders say where there is none.

Source: Java ``FileSystemBackedTableMetadata``, ``BaseTableMetadata.getAllFilesInPartitions``. Whose duty: names and
sizes of files; which of them count is for the timeline to say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from drawstring.context import TableContext
from drawstring.errors import CorruptFileError, FormatError
from drawstring.files import BaseFile, FileGroupId, LogFile, Snapshot
from drawstring.metadata import MetadataTable
from drawstring.metadata.records import FILES
from drawstring.ports import FileStatus, Storage
from drawstring_spec.layout import HOODIE_FOLDER, PARTITION_METADATA_NAMES
from drawstring_spec.names import LogFileName, parse_data_file_name

_Listed = tuple[str, str, int]
"""Partition path, path below the table's base, size in bytes."""


def metadata_of(context: TableContext, snapshot: Snapshot) -> MetadataTable | None:
    """Return the metadata table of a snapshot: the one that it was listed from, or opened now.

    Raises:
        CorruptFileError: there is one, and it cannot be read.

    """
    if isinstance(snapshot.metadata, MetadataTable):
        return snapshot.metadata
    return MetadataTable.open(context, snapshot.timeline)


def data_files(context: TableContext, metadata: MetadataTable | None) -> tuple[list[BaseFile], list[LogFile]]:
    """List base files and log files; files of change data lie beside a slice and are none of it.

    Args:
        context: of the table.
        metadata: of the table; None to list its folders.

    Raises:
        CorruptFileError: the metadata table cannot be read, or names files outside of the table's partitions.

    """
    # A name is parsed once, wherever it comes from: only data files are told apart here.
    if metadata is None or FILES not in metadata:
        listed = _on_storage(context.ports.storage, partitioned=bool(context.config.partition_fields))
        return _parsed(listed, context.config.base_file_extensions)
    return _parsed(_in_metadata(metadata), context.config.base_file_extensions)


def _parsed(listed: Iterable[_Listed], extensions: Collection[str]) -> tuple[list[BaseFile], list[LogFile]]:
    base_files: list[BaseFile] = []
    log_files: list[LogFile] = []
    for partition_path, path, size in listed:
        try:
            name = parse_data_file_name(path.rpartition("/")[2])
        except FormatError:
            continue  # Not a data file, and nobody takes it for one.
        group = FileGroupId(partition_path, name.file_id)
        if isinstance(name, LogFileName):
            if not name.cdc:
                log_files.append(LogFile(path, group, name.requested_time, size))
        elif name.extension in extensions:
            base_files.append(BaseFile(path, group, name.requested_time, size))
    return base_files, log_files


def _in_metadata(metadata: MetadataTable) -> Iterator[_Listed]:
    files = metadata.all_files()
    strange = {partition for partition in files.column("partition_path").unique().to_pylist() if _is_strange(partition)}
    columns = (files.column(name).to_pylist() for name in ("partition_path", "name", "size"))
    for partition_path, name, size in zip(*columns, strict=True):
        if "/" in name or partition_path in strange:
            raise CorruptFileError(
                f"The metadata table names the file {name!r} in {partition_path!r}, which is no place for data.",
                rule="MT-001",
                way_out="Read with hoodie.metadata.enable=false until the metadata table is built again.",
            )
        yield partition_path, f"{partition_path}/{name}" if partition_path else name, size


def _is_strange(partition_path: str) -> bool:
    """Whether no partition of a table can be there: outside of it, or in its metadata."""
    segments = partition_path.split("/") if partition_path else []
    return any(s in ("", ".", "..") for s in segments) or segments[:1] == [HOODIE_FOLDER] or "\0" in partition_path


def list_partitions(storage: Storage) -> list[str]:
    """Return the partition paths: folders with a partition metafile, sorted; ``""`` is an unpartitioned table's."""
    return sorted(_partitions(storage))


def _on_storage(storage: Storage, *, partitioned: bool) -> Iterator[_Listed]:
    partitions = _partitions(storage)
    if not partitions and not partitioned:
        # As in Java, an unpartitioned table is its base folder, even if the folder's metafile got lost.
        partitions = {"": list(storage.list(""))}
    for partition_path in sorted(partitions):
        for status in partitions[partition_path]:
            yield partition_path, status.path, status.size


def _partitions(storage: Storage) -> dict[str, list[FileStatus]]:
    """Return the files of each partition: one listing for the base folder and one per folder in it."""
    files = _by_folder(storage.list(""))
    if _is_partition(files.get("", ())):
        return {"": files[""]}
    for folder in storage.list_folders(""):
        if folder != HOODIE_FOLDER:
            files.update(_by_folder(storage.list(folder, recursive=True)))
    found = {folder: members for folder, members in files.items() if _is_partition(members)}
    # A partition holds data, not partitions: one inside another is none.
    return {folder: members for folder, members in found.items() if not _has_ancestor(folder, found)}


def _by_folder(statuses: Iterable[FileStatus]) -> dict[str, list[FileStatus]]:
    folders: dict[str, list[FileStatus]] = {}
    for status in statuses:
        folders.setdefault(status.path.rpartition("/")[0], []).append(status)
    return folders


def _is_partition(members: Iterable[FileStatus]) -> bool:
    return any(status.path.rpartition("/")[2] in PARTITION_METADATA_NAMES for status in members)


def _has_ancestor(folder: str, partitions: dict[str, list[FileStatus]]) -> bool:
    parent = folder.rpartition("/")[0]
    while parent:
        if parent in partitions:
            return True
        parent = parent.rpartition("/")[0]
    return False
