"""What is known of a table under examination: each fact is read once, when the first check asks for it.

Whose duty: reading, not judging. A fact that cannot be read raises `BlockedError`; the check whose subject it is reads
it by itself and says what is wrong. Payloads are untrusted: a file that cannot be decoded has none, and says so in
`unreadable`.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import fastavro

from drawstring.codec import avro_container
from drawstring.context import TableContext
from drawstring.data.base_file_reader import BaseFileReader, open_base_file
from drawstring.doctor.findings import BlockedError
from drawstring.doctor.read_only import ReadOnlyStorage
from drawstring.errors import CorruptFileError, DrawstringError, FormatError, NotFoundError
from drawstring.files import FileGroupId, Snapshot
from drawstring.log_files.blocks import LogBlock, read_blocks
from drawstring.metadata import MetadataTable
from drawstring.options import Options
from drawstring.ports import FileStatus, Ports, Storage
from drawstring.read.view import load_snapshot
from drawstring.runtime.tasks import ThreadTasks
from drawstring.table_config import TableConfig, load_table_config
from drawstring.timeline.archived import ArchivedTimeline, load_archived, read_archived_payloads
from drawstring.timeline.load import load_timeline, timeline_folder
from drawstring.timeline.timeline import WRITE_ACTIONS, Timeline
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.layout import HOODIE_FOLDER
from drawstring_spec.names import BaseFileName, LogFileName, TimelineFileName, parse_data_file_name

_REMOVERS: Final = (Action.CLEAN, Action.ROLLBACK, Action.RESTORE)
_REMOVED_IN: Final = ("successDeleteFiles", "failedDeleteFiles", "deletePathPatterns", "filesToBeDeleted")


@dataclass(frozen=True, slots=True)
class TimelineFile:
    """A file on the active timeline, and the instant in its state."""

    status: FileStatus
    instant: Instant


@dataclass(frozen=True, slots=True)
class DataFile:
    """A base or log file outside of ``.hoodie``."""

    status: FileStatus
    group: FileGroupId
    name: BaseFileName | LogFileName

    @property
    def requested_time(self) -> str:
        """Of the operation that wrote it, as its name says."""
        return self.name.requested_time


class Examination:
    """One table under examination.

    Args:
        ports: of the table; its storage is never written to.
        step: is called with what is being read, for progress displays.

    """

    def __init__(self, ports: Ports, step: Callable[[str], None] = lambda _: None) -> None:
        self.storage: Storage = ReadOnlyStorage(ports.storage)
        self.ports = dataclasses.replace(ports, storage=self.storage, tasks=ThreadTasks(self.storage))
        self.step = step
        self.unreadable: dict[str, DrawstringError] = {}
        self._payloads: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._footers: dict[str, BaseFileReader | None] = {}
        self._block_headers: dict[str, list[LogBlock]] = {}

    @cached_property
    def files(self) -> dict[str, FileStatus]:
        """Every file of the table, by path."""
        self.step("listing files")
        return {status.path: status for status in self.storage.list("", recursive=True)}

    @cached_property
    def config(self) -> TableConfig:
        """The table's properties. Raises `BlockedError`."""
        with blocked("hoodie.properties"):
            return load_table_config(self.storage)

    @cached_property
    def context(self) -> TableContext:
        """As readers have it, without the metadata table: what lies on storage is the truth."""
        return TableContext(self.ports, self.config, Options.parse({"hoodie.metadata.enable": False}))

    @cached_property
    def timeline(self) -> Timeline:
        """The active timeline."""
        return load_timeline(self.storage, self.config)

    @cached_property
    def timeline_files(self) -> tuple[TimelineFile, ...]:
        """Files of the active timeline whose names are instants', sorted by path."""
        found = []
        for status in self._in_timeline_folder():
            try:
                found.append(TimelineFile(status, TimelineFileName.parse(file_name(status.path)).instant))
            except FormatError:
                continue
        return tuple(found)

    @cached_property
    def timeline_strangers(self) -> tuple[FileStatus, ...]:
        """Other files in the timeline's folder."""
        known = {file.status.path for file in self.timeline_files}
        return tuple(status for status in self._in_timeline_folder() if status.path not in known)

    def _in_timeline_folder(self) -> Iterator[FileStatus]:
        folder = timeline_folder(self.config)
        return (status for path, status in self.files.items() if path.rpartition("/")[0] == folder)

    @cached_property
    def archived(self) -> ArchivedTimeline:
        """The archived timeline. Raises `BlockedError`."""
        with blocked("the archived timeline"):
            return load_archived(self.storage, self.config)

    @cached_property
    def completed_times(self) -> frozenset[str]:
        """Requested times of all writes that are known to be completed, archived ones too."""
        instants = (*self.timeline.completed_writes, *self.archived.completed_writes)
        return frozenset(instant.requested_time for instant in instants)

    @cached_property
    def clustering_times(self) -> frozenset[str]:
        """Requested times of clusterings, pending or completed, archived ones too.

        Where buckets of consistent hashing are being split, a write puts its records into the new ones as well, in log
        files that have the clustering's time in their names and its own in their blocks. Source: a table that Java
        Hudi 1.0.2 wrote (``consistent_resize``). Raises `BlockedError`.
        """
        kinds = {Action.CLUSTERING, Action.REPLACE_COMMIT}
        instants = (*self.timeline, *self.archived.completed_writes)
        return frozenset(instant.requested_time for instant in instants if instant.action in kinds)

    @cached_property
    def pending_times(self) -> frozenset[str]:
        """Requested times of all that is pending, whatever it does."""
        return frozenset(i.requested_time for i in self.timeline if i.state is not State.COMPLETED)

    def is_of_both(self, named_time: str, written_time: str | None) -> bool:
        """Whether a log file of that name may hold what a write of that time put beside a clustering under way."""
        return written_time is not None and named_time < written_time and named_time in self.clustering_times

    def payload(self, status: FileStatus) -> Mapping[str, Any]:
        """Return what a timeline file holds; nothing where it is empty or cannot be read."""
        return self._decoded(status)[1]

    def payload_schema(self, status: FileStatus) -> str | None:
        """Return the name of the record in a timeline file; None where there is none."""
        return self._decoded(status)[0] or None

    def _decoded(self, status: FileStatus) -> tuple[str, Mapping[str, Any]]:
        if status.path not in self._payloads:
            name, record = "", dict[str, Any]()
            try:
                content = bytes(self.storage.read(status.path)) if status.size else b""
                if content:
                    record = avro_container.decode(content, path=status.path)
                    schema = fastavro.reader(io.BytesIO(content)).writer_schema
                    name = str(schema.get("name", "")).rpartition(".")[2] if isinstance(schema, dict) else ""
            except DrawstringError as error:
                self.unreadable[status.path] = error
            self._payloads[status.path] = (name, record)
        return self._payloads[status.path]

    @cached_property
    def commits(self) -> tuple[tuple[TimelineFile, tuple[Mapping[str, Any], ...]], ...]:
        """Completed writes of the active timeline with their write statistics."""
        self.step("reading commits")
        return tuple(
            (file, tuple(_stats(self.payload(file.status))))
            for file in self.timeline_files
            if file.instant.state is State.COMPLETED and file.instant.action in WRITE_ACTIONS
        )

    @cached_property
    def data_files(self) -> dict[str, DataFile]:
        """Base and log files of the partitions, by path."""
        found: dict[str, DataFile] = {}
        for path, status in self.files.items():
            if path.startswith(f"{HOODIE_FOLDER}/"):
                continue
            folder, _, name = path.rpartition("/")
            try:
                parsed = parse_data_file_name(name)
            except FormatError:
                continue
            found[path] = DataFile(status, FileGroupId(folder, parsed.file_id), parsed)
        return found

    def base_files(self) -> Iterator[DataFile]:
        """The Parquet base files, but for those of pending writes, which may be half written."""
        for file in self._written():
            if isinstance(file.name, BaseFileName) and file.name.extension == "parquet":
                yield file

    def log_files(self) -> Iterator[DataFile]:
        """The log files, those of change data too; but for those of pending writes."""
        return (file for file in self._written() if isinstance(file.name, LogFileName))

    def _written(self) -> Iterator[DataFile]:
        return (file for file in self.data_files.values() if file.requested_time not in self.pending_times)

    def footer(self, file: DataFile) -> BaseFileReader | None:
        """Return a base file with its footer read; None where it cannot be read."""
        path = file.status.path
        if path not in self._footers:
            try:
                self._footers[path] = open_base_file(self.storage, path, file.status.size)
            except (CorruptFileError, NotFoundError) as error:
                self._footers[path] = None
                self.unreadable[path] = error
        return self._footers[path]

    def blocks(self, file: DataFile) -> list[LogBlock]:
        """Return the blocks of a log file up to where it cannot be read; then the file is in `unreadable`."""
        found: list[LogBlock] = []
        path = file.status.path
        try:
            found.extend(read_blocks(self.storage.read(path), path=path))
        except DrawstringError as error:
            self.unreadable[path] = error
        return found

    def block_headers(self, file: DataFile) -> list[LogBlock]:
        """Return the blocks of a log file without what they hold; the file is read once."""
        path = file.status.path
        if path not in self._block_headers:
            self._block_headers[path] = [dataclasses.replace(b, content=memoryview(b"")) for b in self.blocks(file)]
        return self._block_headers[path]

    @cached_property
    def removed(self) -> frozenset[str]:
        """Names of files that cleans, rollbacks and restores deleted or were to delete, archived ones too."""
        names: set[str] = set()
        for file in self.timeline_files:
            if file.instant.action in _REMOVERS:
                names.update(_removed_names(self.payload(file.status)))
        with blocked("the archived timeline"):
            archived = [i for i in self.archived.instants if i.action in _REMOVERS]
            for payload in read_archived_payloads(self.storage, self.archived, archived).values():
                names.update(_removed_names(payload or {}))
        return frozenset(names)

    @cached_property
    def metadata_table(self) -> MetadataTable | None:
        """The metadata table; None where the table has none. Raises `BlockedError`."""
        context = TableContext(self.ports, self.config, Options.parse({}))
        with blocked("the metadata table"):
            return MetadataTable.open(context, self.timeline)

    @cached_property
    def snapshot(self) -> Snapshot:
        """The newest snapshot, as the folders say. Raises `BlockedError`."""
        with blocked("the newest snapshot"):
            return load_snapshot(self.context)


@contextmanager
def blocked(what: str) -> Iterator[None]:
    """Turn an error about a fact into a `BlockedError`."""
    try:
        yield
    except BlockedError:
        raise
    except DrawstringError as error:
        raise BlockedError(f"{what} cannot be read: {error.message}", rule=error.rule) from error


def file_name(path: str) -> str:
    """Return the last segment of a path."""
    return path.rpartition("/")[2]


def _stats(payload: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    by_partition = payload.get("partitionToWriteStats")
    for stats in by_partition.values() if isinstance(by_partition, dict) else ():
        for stat in stats if isinstance(stats, list) else ():
            if isinstance(stat, dict):
                yield stat


def _removed_names(node: object) -> Iterator[str]:
    """Names of files below the keys that hold deleted files, wherever they stand in a record."""
    pending: list[object] = [node]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            for key, value in found.items():
                if key in _REMOVED_IN and isinstance(value, list):
                    yield from (file_name(path) for path in value if isinstance(path, str))
                elif key == "filePath" and isinstance(value, str):
                    yield file_name(value)
                else:
                    pending.append(value)
        elif isinstance(found, list):
            pending.extend(found)
