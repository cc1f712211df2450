"""A storage in memory: one `Disk` that everybody shares, and each incarnation's own `SimulatedStorage` to reach it.

Whose duty: the disk keeps the promises that `drawstring.ports.Storage` makes (atomic puts, put-if-absent,
put-if-match, deadlines) and none beyond. Modification times come from the disk's own clock, deadlines are checked on
the caller's monotonic clock at the very step that takes effect. A delete of several files is one step per file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from drawstring.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    NotFoundError,
    PreconditionFailedError,
    StorageError,
)
from drawstring.ports import Content, FileStatus
from drawstring_sim.clocks import START_MS, SimulatedClock
from drawstring_sim.kernel import Incarnation, Kernel
from drawstring_sim.recorder import Recorder

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Bytes, when they were written by the disk's clock (epoch milliseconds), and which write of the disk it was."""

    content: bytes
    mtime_ms: int
    write_number: int


@dataclass(slots=True)
class Disk:
    """What is stored.

    Attributes:
        files: by path.
        clock_skew_ms: what the disk's clock is ahead of the true time.
        honours_put_if_absent: whether creating a file that exists is refused; a storage that does not overwrites it.
        writes: how many writes there were.
        recorder: hears of every change; None for nobody.

    """

    files: dict[str, StoredFile] = field(default_factory=dict)
    clock_skew_ms: int = 0
    honours_put_if_absent: bool = True
    writes: int = 0
    recorder: Recorder | None = None

    def copy(self) -> Disk:
        """Return a disk of its own with the same files, unrecorded."""
        return Disk(dict(self.files), self.clock_skew_ms, self.honours_put_if_absent, self.writes)

    def contents(self) -> Mapping[str, bytes]:
        """Raw bytes by path, sorted by path: what the refinement check reads."""
        return {path: self.files[path].content for path in sorted(self.files)}


def check_path(path: str) -> str:
    """Return `path`, or raise `StorageError` where it does not name something below the base."""
    if "\0" in path or "\\" in path or any(segment in ("", ".", "..") for segment in path.split("/")):
        raise StorageError(f"The path {path!r} does not name a file below the table's base path.", rule="SL-001")
    return path


class SimulatedStorage:
    """The storage port of one incarnation.

    Args:
        kernel: makes each call one step.
        incarnation: whose calls they are.
        disk: what is stored.
        clock: the incarnation's clock, for deadlines.
        uri: base path, for messages.

    """

    def __init__(
        self, kernel: Kernel, incarnation: Incarnation, disk: Disk, clock: SimulatedClock, uri: str = "memory:///table"
    ) -> None:
        self._kernel = kernel
        self._incarnation = incarnation
        self._disk = disk
        self._clock = clock
        self._uri = uri

    @property
    def uri(self) -> str:
        """The base path."""
        return self._uri

    def _step(self, method: str, target: str, effect: Callable[[], Result]) -> Result:
        return self._kernel.call(self._incarnation, "storage", method, target, effect)

    def list(self, prefix: str, *, recursive: bool = False) -> Sequence[FileStatus]:
        """Files below a folder, sorted by path."""
        start = f"{check_path(prefix)}/" if prefix else ""

        def effect() -> list[FileStatus]:
            if self._disk.recorder is not None:
                self._disk.recorder.look(self._incarnation.name, prefix, self._kernel.now_ms)
            found = [path for path in self._disk.files if path.startswith(start)]
            return [self._status(p) for p in sorted(found) if recursive or "/" not in p[len(start) :]]

        return self._step("list", prefix, effect)

    def list_folders(self, prefix: str) -> Sequence[str]:
        """Folders directly below a folder, sorted."""
        start = f"{check_path(prefix)}/" if prefix else ""

        def effect() -> list[str]:
            below = [path[len(start) :] for path in self._disk.files if path.startswith(start)]
            return sorted({start + rest.split("/", 1)[0] for rest in below if "/" in rest})

        return self._step("list_folders", prefix, effect)

    def head(self, path: str) -> FileStatus:
        """Status of one file."""
        check_path(path)
        return self._step("head", path, lambda: self._status(path))

    def read(self, path: str, start: int = 0, length: int | None = None) -> memoryview:
        """Bytes of a file."""
        check_path(path)

        def effect() -> memoryview:
            content = self._existing(path).content
            return memoryview(content)[start : None if length is None else start + length]

        return self._step("read", path, effect)

    def put(self, path: str, content: Content) -> FileStatus:
        """Create or replace a file."""
        check_path(path)
        body = _joined(content)
        return self._step("put", path, lambda: self._write(path, body))

    def put_if_absent(self, path: str, content: Content, *, not_after_ms: int | None = None) -> FileStatus:
        """Create a file."""
        check_path(path)
        body = _joined(content)

        def effect() -> FileStatus:
            self._check_deadline(path, not_after_ms)
            if path in self._disk.files and self._disk.honours_put_if_absent:
                raise AlreadyExistsError(f"{path!r} exists already.")
            return self._write(path, body)

        return self._step("put_if_absent", path, effect)

    def put_if_match(self, path: str, content: Content, etag: str, *, not_after_ms: int | None = None) -> FileStatus:
        """Replace a file of a known version."""
        check_path(path)
        body = _joined(content)

        def effect() -> FileStatus:
            self._check_deadline(path, not_after_ms)
            if path not in self._disk.files or self._status(path).etag != etag:
                raise PreconditionFailedError(f"{path!r} is no longer the version that was read.")
            return self._write(path, body)

        return self._step("put_if_match", path, effect)

    def delete(self, paths: Sequence[str], *, not_after_ms: int | None = None) -> None:
        """Delete files, one step each."""
        for path in paths:
            self._delete_one(check_path(path), not_after_ms)

    def _delete_one(self, path: str, not_after_ms: int | None) -> None:
        def effect() -> None:
            self._check_deadline(path, not_after_ms)
            gone = self._disk.files.pop(path, None)
            if gone is not None:
                self._record(path, gone.content, None)

        self._step("delete", path, effect)

    def _existing(self, path: str) -> StoredFile:
        stored = self._disk.files.get(path)
        if stored is None:
            raise NotFoundError(f"There is no file {path!r}.")
        return stored

    def _status(self, path: str) -> FileStatus:
        stored = self._existing(path)
        return FileStatus(path, len(stored.content), stored.mtime_ms, f"etag-{stored.write_number}")

    def _write(self, path: str, content: bytes) -> FileStatus:
        self._disk.writes += 1
        mtime_ms = START_MS + self._kernel.now_ms + self._disk.clock_skew_ms
        before = self._disk.files.get(path)
        self._disk.files[path] = StoredFile(content, mtime_ms, self._disk.writes)
        self._record(path, before.content if before is not None else None, content)
        return self._status(path)

    def _record(self, path: str, before: bytes | None, after: bytes | None) -> None:
        if self._disk.recorder is not None:
            self._disk.recorder.change(self._incarnation.name, path, before, after, self._kernel.now_ms)

    def _check_deadline(self, path: str, not_after_ms: int | None) -> None:
        if not_after_ms is not None and self._clock.true_monotonic_ms() >= not_after_ms:
            raise DeadlineExceededError(f"The deadline for {path!r} passed before it was touched; nothing was done.")


def _joined(content: Content) -> bytes:
    return bytes(content) if isinstance(content, bytes | memoryview) else b"".join(content)
