"""The file slices of the metadata table, and which of its blocks count.

Source: Java ``HoodieTableMetadataUtil.getValidInstantTimestamps``, ``getPartitionLatestMergedFileSlices``. Two
timelines decide together: a commit reaches the metadata table before it is complete in the table itself, so what the
metadata table says of a pending action of the table is passed over. That is what makes the two commits one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from drawstring.errors import CorruptFileError, FormatError
from drawstring.hfile.reader import CACHE_BYTES, HFileReader
from drawstring.metadata.storage import SubStorage
from drawstring.ports import FileStatus
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import Instant, State
from drawstring_spec.names import BaseFileName, LogFileName, parse_data_file_name

INITIAL_PREFIX: Final = "0" * 14
"""Instants with which partitions are built begin so; the table itself has no such instants."""

ArchivedTimes = Callable[[Collection[str]], Mapping[str, str]]
WrittenGroups = Callable[[Instant, str], Collection[str]]

_PARTITION: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
WHOLE_FILE_BYTES: Final = 1024 * 1024
"""Up to this size one request for all of a file is cheaper than one for its index and one for a block."""


@dataclass(frozen=True, slots=True)
class MetadataSlice:
    """The latest slice of a file group.

    Attributes:
        file_id: of the file group.
        base_file: an HFile; None where no record has reached the group yet, or none was compacted.
        log_files: on top of it, in the order in which they are merged.
        base_time: requested time of what wrote the base file; empty without one.

    """

    file_id: str
    base_file: FileStatus | None
    log_files: tuple[FileStatus, ...]
    base_time: str


@dataclass(frozen=True)
class Instants:
    """What the two timelines say.

    Attributes:
        own: timeline of the metadata table.
        pending: requested times of actions that are pending in the table itself.
        look_for_history: says whether the metadata table has archived instants; asked only where it matters.
        archived_times: completion times of archived writes, by requested time; asked only where they matter.
        written_groups: file ids that a completed write put something into, of one partition; likewise.

    """

    own: Timeline
    pending: frozenset[str]
    look_for_history: Callable[[], bool]
    archived_times: ArchivedTimes
    written_groups: WrittenGroups

    @classmethod
    def of(
        cls,
        own: Timeline,
        table: Timeline,
        look_for_history: Callable[[], bool],
        archived_times: ArchivedTimes,
        written_groups: WrittenGroups,
    ) -> Instants:
        """Compare two timelines."""
        completed = {i.requested_time for i in table.instants if i.state is State.COMPLETED}
        pending = {i.requested_time for i in table.instants if i.state is not State.COMPLETED}
        return cls(own, frozenset(pending - completed), look_for_history, archived_times, written_groups)

    def is_committed(self, requested_time: str) -> bool:
        """Whether the metadata table completed a write, whatever the table itself says."""
        if self.own.completion_time(requested_time) is not None:
            return True
        return self.own.is_completed(requested_time) and self._has_history

    @cached_property
    def _has_history(self) -> bool:
        return self.look_for_history()

    def is_valid(self, requested_time: str) -> bool:
        """Whether what a write says counts."""
        if not self.is_committed(requested_time):
            return False
        return requested_time.startswith(INITIAL_PREFIX) or requested_time not in self.pending

    def completion_times(self, requested_times: Collection[str]) -> dict[str, str]:
        """When committed writes were complete; their requested time where even the archive does not know."""
        archived = {time for time in requested_times if self.own.completion_time(time) is None}
        found = self.archived_times(archived) if archived else {}
        return {time: self.own.completion_time(time) or found.get(time) or time for time in requested_times}


def latest_slices(storage: SubStorage, partition: str, instants: Instants) -> list[MetadataSlice]:
    """Latest slice of each file group of a partition, sorted by file id: that is the order that keys are hashed to.

    Raises:
        FormatError: the partition has a name that none has.

    """
    if not _PARTITION.fullmatch(partition):
        raise FormatError(
            f"The metadata table has no partition {partition!r}.",
            rule="MT-002",
            way_out="Correct hoodie.table.metadata.partitions in hoodie.properties; nothing was read from there.",
        )
    bases: dict[str, tuple[BaseFileName, FileStatus]] = {}
    logs: dict[str, list[tuple[LogFileName, FileStatus]]] = {}
    for status in storage.list(partition):
        try:
            name = parse_data_file_name(status.path.rpartition("/")[2])
        except FormatError:
            continue  # the partition's metafile
        logs.setdefault(name.file_id, [])
        if not instants.is_committed(name.requested_time):
            continue
        if isinstance(name, LogFileName):
            logs[name.file_id].append((name, status))
        elif name.extension == "hfile":
            best = bases.get(name.file_id)
            if best is None or (best[0].requested_time, best[1].path) < (name.requested_time, status.path):
                bases[name.file_id] = (name, status)
    base_times = {file_id: bases[file_id][0].requested_time if file_id in bases else "" for file_id in logs}
    # Where a log file was requested before the base file, it is its completion that decides.
    earlier = {
        n.requested_time for file_id, of in logs.items() for n, _ in of if n.requested_time < base_times[file_id]
    }
    times = instants.completion_times(earlier)
    return [_slice(file_id, bases.get(file_id), logs[file_id], times) for file_id in sorted(logs)]


def _slice(
    file_id: str,
    base: tuple[BaseFileName, FileStatus] | None,
    logs: list[tuple[LogFileName, FileStatus]],
    completion_times: Mapping[str, str],
) -> MetadataSlice:
    # A write that was requested before a compaction and completed after it lies on top of the compaction's file:
    # it happens at every compaction of a metadata table.
    base_time = base[0].requested_time if base else ""
    above = [(n, s) for n, s in logs if completion_times.get(n.requested_time, n.requested_time) >= base_time]
    above.sort(key=lambda pair: (pair[0].requested_time, pair[0].version, pair[0].write_token or ""))
    return MetadataSlice(file_id, base[1] if base else None, tuple(status for _, status in above), base_time)


def open_hfile(storage: SubStorage, status: FileStatus, *, cache_bytes: int = CACHE_BYTES) -> HFileReader:
    """Open a base file; small ones are fetched whole. It keeps up to `cache_bytes` of uncompressed blocks."""
    path = storage.path_of(status.path)
    if status.size <= WHOLE_FILE_BYTES:
        content = storage.read(status.path)
        if len(content) != status.size:
            raise CorruptFileError(
                f"{path} has {len(content)} bytes where its listing says {status.size}.", rule="HF-001"
            )
        return HFileReader.from_bytes(content, path=path, cache_bytes=cache_bytes)

    def fetch(offset: int, length: int) -> memoryview:
        return storage.read(status.path, offset, length)

    return HFileReader(fetch, status.size, path=path, cache_bytes=cache_bytes)
