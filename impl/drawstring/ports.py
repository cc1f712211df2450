"""The ports: everything that the protocol needs of the outside world, and nothing else.

Whose duty: the protocol (``drawstring.protocol``, ``drawstring.timeline``, ``drawstring.locks``) calls these and is
otherwise plain synchronous code; production passes the adapters of ``drawstring.runtime``, the simulator its own.
Each call is one atomic step at which a writer can be suspended, delayed, failed or crashed. Outside the ports
nothing reads the time, the environment, a file or randomness. No port may be called from native code (an Arrow
callback, say): bytes are fetched first, then Arrow sees buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable
from uuid import UUID

from drawstring.events import Listener, ignore

Item = TypeVar("Item")
Result = TypeVar("Result")
Content = bytes | memoryview | Iterable[bytes | memoryview]


@dataclass(frozen=True, slots=True)
class FileStatus:
    """A file as the storage describes it.

    Attributes:
        path: relative to the table's base path, with ``/`` between segments and none in front.
        size: in bytes.
        mtime_ms: the storage's own clock at the last write, epoch milliseconds.
        etag: changes with each write of the path; opaque.

    """

    path: str
    size: int
    mtime_ms: int
    etag: str


@runtime_checkable
class Storage(Protocol):
    """Files below one base path. Picklable, so that executor tasks can carry it.

    Every path is relative to the base. A path that leaves the base (``..``, absolute) raises
    `drawstring.errors.StorageError` before anything is touched.
    """

    @property
    def uri(self) -> str:
        """The base path as a URI, ``file:///...`` or ``s3://...``."""
        ...

    def list(self, prefix: str, *, recursive: bool = False) -> Sequence[FileStatus]:
        """Files below the folder `prefix` (``""`` is the base), sorted by path; empty where there is none.

        With `recursive` false only the folder's own files; sub-folders are not named.
        """
        ...

    def list_folders(self, prefix: str) -> Sequence[str]:
        """Paths of the folders directly below the folder `prefix`, sorted."""
        ...

    def head(self, path: str) -> FileStatus:
        """Status of one file. Raises `NotFoundError`."""
        ...

    def read(self, path: str, start: int = 0, length: int | None = None) -> memoryview:
        """Bytes ``[start, start + length)`` of a file, to its end where `length` is None. Raises `NotFoundError`."""
        ...

    def put(self, path: str, content: Content) -> FileStatus:
        """Create or replace a file, atomically."""
        ...

    def put_if_absent(self, path: str, content: Content, *, not_after_ms: int | None = None) -> FileStatus:
        """Create a file, or raise `AlreadyExistsError` and leave it.

        Args:
            path: the file.
            content: its bytes.
            not_after_ms: on the writer's monotonic clock; from then on the call must not take effect. It raises
                `DeadlineExceededError` instead. This is what keeps a writer that lost its lock from completing.

        """
        ...

    def put_if_match(self, path: str, content: Content, etag: str, *, not_after_ms: int | None = None) -> FileStatus:
        """Replace a file whose etag is still `etag`, or raise `PreconditionFailedError` and leave it."""
        ...

    def delete(self, paths: Sequence[str], *, not_after_ms: int | None = None) -> None:
        """Delete files; one that is not there is no error. `not_after_ms` as in `put_if_absent`."""
        ...


class Clock(Protocol):
    """Time as this process sees it."""

    def wall_ms(self) -> int:
        """Epoch milliseconds. May jump, and may differ from other machines'."""
        ...

    def monotonic_ms(self) -> int:
        """Milliseconds that never go back; only differences mean anything."""
        ...

    def local_offset_ms(self, wall_ms: int) -> int:
        """What this machine's local time is ahead of UTC at `wall_ms`, in milliseconds."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Do nothing for a while."""
        ...


class Entropy(Protocol):
    """Randomness."""

    def uuid(self) -> UUID:
        """A fresh random UUID (version 4)."""
        ...


@dataclass(frozen=True, slots=True)
class Lease:
    """A table lock as its holder knows it.

    Attributes:
        owner: unique to this acquisition.
        fencing_token: grows with each acquisition of the lock.
        not_after_ms: on the holder's monotonic clock: from then on the holder must regard the lock as lost.
            None where the lock cannot be lost (in one process).

    """

    owner: str
    fencing_token: int
    not_after_ms: int | None


@runtime_checkable
class ReadsParts(Protocol):
    """A storage that reads several parts of a file at once, for less than one by one."""

    @property
    def part_gap_bytes(self) -> int:
        """So many bytes cost as much as another part: what lies closer together had better be one."""
        ...

    def read_parts(self, path: str, ranges: Sequence[tuple[int, int]]) -> Sequence[memoryview]:
        """Bytes ``[start, end)`` for each range, in their order; what lies beyond the end is left out.

        Raises `NotFoundError`.
        """
        ...


class LockProvider(Protocol):
    """The table lock: at most one lease is valid at any time. Not re-entrant."""

    def acquire(self, *, timeout_ms: int) -> Lease:
        """Wait for the lock. Raises `LockTimeoutError`."""
        ...

    def renew(self, lease: Lease) -> Lease:
        """Extend a lease. Raises `LostLockError`."""
        ...

    def release(self, lease: Lease) -> None:
        """Give the lock back; nothing happens where it is lost already. Never releases another holder's lock."""
        ...


class Duty(Protocol):
    """A periodic duty that was started."""

    def stop(self) -> None:
        """No further run begins after this returns."""
        ...


class Background(Protocol):
    """Runs periodic duties (heartbeats, lease renewal) beside the writer."""

    def every(self, interval_ms: int, duty: Callable[[], None], *, name: str) -> Duty:
        """Run `duty` each `interval_ms`, first after one interval. A duty that raises is not run again."""
        ...


@dataclass(frozen=True, slots=True)
class TaskContext:
    """What a task on files may use, wherever it runs.

    Attributes:
        storage: the table's storage.
        task_index: position of the task in its batch, from 0.
        attempt: how often this task was started before, from 0.
        emit: hears the events of the task; tasks in other processes pass `events.ignore`.

    """

    storage: Storage
    task_index: int
    attempt: int
    emit: Listener = ignore


class Tasks(Protocol):
    """Runs tasks on files, in parallel where it can. A task may run more than once: its files carry the attempt."""

    def run(
        self, function: Callable[[TaskContext, Item], Result], items: Sequence[Item], *, label: str
    ) -> list[Result]:
        """Results in the order of `items`; the first failure is raised after all tasks ended.

        Args:
            function: a module-level function (picklable).
            items: one per task (picklable where tasks run in other processes).
            label: what the tasks do, in words, for progress displays.

        """
        ...


@dataclass(frozen=True, slots=True)
class Ports:
    """All ports of one table handle.

    `source_files` has what a bootstrap table was made of, where the user said where that is: it is read only.
    """

    storage: Storage
    clock: Clock
    lock: LockProvider
    entropy: Entropy
    background: Background
    tasks: Tasks
    source_files: Storage | None = None
