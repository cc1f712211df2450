"""What happened to a table, gathered for people: its operations, and the versions of its file groups.

Whose duty: facts only, as values; `drawstring.commands.display` makes them readable. Nothing but the timeline, the
commits' metadata and one listing is read, so it is quick on large tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drawstring.errors import FormatError, NotFoundError
from drawstring.files import FileGroupId
from drawstring.ports import FileStatus, Storage
from drawstring.read.listing import list_partitions
from drawstring.table_config import TableConfig
from drawstring.timeline.load import load_timeline, read_payload
from drawstring_spec.instants import Instant, State
from drawstring_spec.names import BaseFileName


@dataclass(frozen=True, slots=True)
class OperationFacts:
    """One instant of the timeline.

    Attributes:
        number: position on the timeline, from 1.
        instant: as the timeline has it.
        operation: what the commit's metadata call it; the action where they don't.
        num_inserts: rows with a new key; None where the instant says nothing about rows. So the next three.
        num_updates: rows that replaced one of the same key.
        num_deletes: rows that were removed.
        num_files: base files written.
        written_bytes: their size together.

    """

    number: int
    instant: Instant
    operation: str
    num_inserts: int | None = None
    num_updates: int | None = None
    num_deletes: int | None = None
    num_files: int | None = None
    written_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class FileVersionFacts:
    """One base file.

    Attributes:
        operation: number of the operation that wrote it; None where that has left the timeline.
        requested_time: of that operation.
        num_rows: as its commit says; None where there is no such commit.
        size: in bytes.

    """

    operation: int | None
    requested_time: str
    num_rows: int | None
    size: int


@dataclass(frozen=True, slots=True)
class FileGroupFacts:
    """One file group and its base files, oldest first."""

    group: FileGroupId
    versions: tuple[FileVersionFacts, ...]


@dataclass(frozen=True, slots=True)
class History:
    """All that is shown of a table."""

    operations: tuple[OperationFacts, ...]
    file_groups: tuple[FileGroupFacts, ...]


def load_history(storage: Storage, config: TableConfig) -> History:
    """Gather the history of a table as it stands on storage.

    Raises:
        CorruptFileError: the metadata of a commit cannot be read.

    """
    operations: list[OperationFacts] = []
    rows_of_file: dict[str, int] = {}
    for number, instant in enumerate(load_timeline(storage, config), start=1):
        payload = _payload(storage, config, instant)
        stats = _stats(payload)
        if instant.state is State.COMPLETED:
            rows_of_file.update({stat["path"]: stat["numWrites"] or 0 for stat in stats if stat.get("path")})
        operations.append(_facts(number, instant, payload, stats))
    statuses = [status for partition in list_partitions(storage) for status in storage.list(partition)]
    return History(tuple(operations), _file_groups(statuses, operations, rows_of_file))


def _payload(storage: Storage, config: TableConfig, instant: Instant) -> Mapping[str, Any]:
    try:
        return read_payload(storage, config, instant) or {}
    except NotFoundError:
        return {}  # It moved on between the listing and now.


def _stats(payload: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [stat for stats in (payload.get("partitionToWriteStats") or {}).values() for stat in stats or ()]


def _facts(
    number: int, instant: Instant, payload: Mapping[str, Any], stats: Sequence[Mapping[str, Any]]
) -> OperationFacts:
    operation = payload.get("operationType") or instant.action.value
    if instant.state is not State.COMPLETED or "partitionToWriteStats" not in payload:
        return OperationFacts(number, instant, operation)

    def total(field: str) -> int:
        return sum(stat.get(field) or 0 for stat in stats)

    return OperationFacts(
        number,
        instant,
        operation,
        num_inserts=total("numInserts"),
        num_updates=total("numUpdateWrites"),
        num_deletes=total("numDeletes"),
        num_files=len(stats),
        written_bytes=total("fileSizeInBytes"),
    )


def _file_groups(
    statuses: Iterable[FileStatus], operations: Sequence[OperationFacts], rows_of_file: Mapping[str, int]
) -> tuple[FileGroupFacts, ...]:
    numbers = {facts.instant.requested_time: facts.number for facts in operations}
    versions: dict[FileGroupId, list[FileVersionFacts]] = {}
    for status in statuses:
        folder, _, file_name = status.path.rpartition("/")
        try:
            name = BaseFileName.parse(file_name)
        except FormatError:
            continue  # Partition metadata, log files, strangers.
        version = FileVersionFacts(
            numbers.get(name.requested_time), name.requested_time, rows_of_file.get(status.path), status.size
        )
        versions.setdefault(FileGroupId(folder, name.file_id), []).append(version)
    return tuple(
        FileGroupFacts(group, tuple(sorted(versions[group], key=lambda v: v.requested_time)))
        for group in sorted(versions, key=_natural_order)
    )


def _natural_order(group: FileGroupId) -> tuple[tuple[tuple[int, int, str], ...], str]:
    """Order ``month=2`` before ``month=10``."""
    parts = group.partition_path.replace("/", "=").split("=")
    return tuple((0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts), group.file_id
