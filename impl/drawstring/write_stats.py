"""What a write did, per file: the write statistics that a commit publishes (Java: ``HoodieWriteStat``).

Whose duty: engines fill them in truthfully from what they wrote; the protocol publishes them, compares them with
other commits' and rolls back by them. Nothing here touches storage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from drawstring.files import BaseFile, FileGroupId, Snapshot


class Operation(StrEnum):
    """Kind of a write, by the name that a commit's metadata records (Java: ``WriteOperationType``)."""

    INSERT = "INSERT"
    UPSERT = "UPSERT"
    BULK_INSERT = "BULK_INSERT"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class WriteStat:
    """One base file that a write produced.

    Attributes:
        group: its file group.
        path: relative to the table's base path.
        prev_commit: base instant of the version that this file replaces; ``"null"`` for a new file group.
        prev_base_file: name of the file that this one replaces; None for a new file group.
        num_writes: rows in the file.
        num_inserts: rows whose key the file group did not hold.
        num_update_writes: rows that replaced one of the same key.
        num_deletes: rows of the replaced file that are not in this one.
        file_size_bytes: size of the file.
        duration_ms: what creating or merging took.

    """

    group: FileGroupId
    path: str
    prev_commit: str
    prev_base_file: str | None
    num_writes: int
    num_inserts: int
    num_update_writes: int
    num_deletes: int
    file_size_bytes: int
    duration_ms: int = 0


@dataclass(frozen=True, slots=True)
class GroupWorkload:
    """What a write is going to do to one existing file group."""

    group: FileGroupId
    base_instant_time: str
    num_updates: int
    num_inserts: int


@dataclass(frozen=True, slots=True)
class Workload:
    """What a write is going to do, as found by `WriteBody.lookup_keys` (Java: ``WorkloadProfile``).

    Attributes:
        groups: existing file groups that will get a new version.
        new_group_inserts: per partition path, rows that go to new file groups.

    """

    groups: tuple[GroupWorkload, ...] = ()
    new_group_inserts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilePlan:
    """A data file that is about to be written: its marker is created before it is.

    Attributes:
        path: relative to the table's base path.
        replaces: whether the file is a new version of an existing file group (marker type MERGE, else CREATE).

    """

    path: str
    replaces: bool


class WriteBody(Protocol):
    """An engine's part of one write; the protocol (``drawstring.protocol.write``) calls it in this order.

    `lookup_keys` once, then `write_files` once, then `find_key_conflicts` at most once, under the table lock.
    """

    @property
    def operation(self) -> Operation:
        """What kind of write it is."""
        ...

    @property
    def schema_json(self) -> str:
        """Avro JSON of the writer's schema, without meta fields, for the commit's ``schema`` entry."""
        ...

    def lookup_keys(self, snapshot: Snapshot) -> Workload:
        """Find the file group of each incoming key in `snapshot`.

        Raises `drawstring.errors.InputError` (null keys, keys that exist already, ...) before anything is written.
        """
        ...

    def write_files(self, requested_time: str) -> Sequence[WriteStat]:
        """Write all data files of the operation, a marker before each, and say what was written.

        Only files that are named in the answer belong to the write: others (of failed attempts) are removed later.
        """
        ...

    def find_key_conflicts(self, concurrent: Sequence[BaseFile]) -> Sequence[str]:
        """At most ten record keys that this write inserted and that `concurrent` files hold too, same partition."""
        ...

    def discard(self) -> None:
        """The operation is over, well or badly: let go of cached data."""
        ...
