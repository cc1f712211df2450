"""Nouns of the reader: file groups, file slices and the snapshot that a query or a writer works on."""

from __future__ import annotations

from dataclasses import dataclass, field

from drawstring.ports import Storage
from drawstring.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True, order=True)
class FileGroupId:
    """A file group: all versions of one set of records of one partition.

    Attributes:
        partition_path: relative to the table's base path; ``""`` in an unpartitioned table.
        file_id: UUID plus ``-<n>``.

    """

    partition_path: str
    file_id: str


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The file that a skeleton file of a bootstrap table stands for: it has the rows' own columns.

    Attributes:
        base_path: of the source files, as the table has it; nothing is opened by it.
        path: relative to that base path.
        size: in bytes, when the table was made.
        storage: of the source files, where a user said so; None where nobody did.

    """

    base_path: str
    path: str
    size: int
    storage: Storage | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, order=True)
class BaseFile:
    """A base file on storage.

    Attributes:
        path: relative to the table's base path.
        group: the file group that it belongs to.
        requested_time: of the operation that wrote it, as its name says.
        size: in bytes.
        source: where its rows' own columns lie, if it is a skeleton file; None where it has them itself.

    """

    path: str
    group: FileGroupId
    requested_time: str
    size: int
    source: SourceFile | None = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True, order=True)
class LogFile:
    """A log file on storage; its attributes are those of a `BaseFile`."""

    path: str
    group: FileGroupId
    requested_time: str
    size: int


@dataclass(frozen=True, slots=True)
class FileSlice:
    """One version of a file group: an optional base file and the log files on top of it.

    Attributes:
        group: the file group.
        base_instant_time: requested time that names the slice.
        base_file: None where the slice consists of log files only.
        log_files: in the order in which they are merged.

    """

    group: FileGroupId
    base_instant_time: str
    base_file: BaseFile | None
    log_files: tuple[LogFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a query or a writer sees: a timeline and the file slices that it makes visible.

    Attributes:
        timeline: as loaded; its completed instants are the snapshot.
        as_of: requested time that the slices were chosen for; None where the table has no completed write.
        slices: sorted by file group.
        archived_before: what was requested before it is archived, and so completed; None where nothing that matters
            here is.
        metadata: the metadata table that the slices were listed from, opened; None where there is none, or it was not
            asked (see `drawstring.read.listing.metadata_of`).
        without_logs: whether log files were left out: then indexes of rows know what the slices do not have.

    """

    timeline: Timeline
    as_of: str | None
    slices: tuple[FileSlice, ...]
    archived_before: str | None = None
    metadata: object = field(default=None, compare=False, repr=False)
    without_logs: bool = False

    def base_files(self) -> tuple[BaseFile, ...]:
        """The base files of the slices, in their order."""
        return tuple(s.base_file for s in self.slices if s.base_file is not None)
