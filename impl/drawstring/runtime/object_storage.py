"""Storage port over obstore: local folders, S3, GCS and Azure by one library.

Whose duty: the only code that turns paths of a table into calls on a real storage. Object stores honour
put-if-absent and put-if-match themselves; on a local folder put-if-absent is a hard link, put-if-match is made
atomic among processes of one machine by an advisory lock on the folder, and files are read by the system's own calls.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import obstore
from obstore.exceptions import AlreadyExistsError as StoreAlreadyExistsError
from obstore.exceptions import BaseError as StoreError
from obstore.exceptions import NotFoundError as StoreNotFoundError
from obstore.exceptions import PreconditionError
from obstore.store import LocalStore, from_url

from drawstring.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    InputError,
    NotFoundError,
    PreconditionFailedError,
    StorageError,
)
from drawstring.ports import Content, FileStatus
from drawstring.runtime.clock import SystemClock
from drawstring_spec.layout import TEMP_FOLDER

_CLOCK = SystemClock()
_REMOTE_GAP_BYTES: Final = 256 * 1024
_LOCAL_GAP_BYTES: Final = 64 * 1024


def check_path(path: str) -> str:
    """Return `path`, or raise `StorageError` where it could leave the table or name something else than it says."""
    if "\0" in path or "\\" in path or any(s in ("", ".", "..") for s in path.split("/")):
        raise StorageError(
            f"The path {path!r} does not name a file below the table's base path.",
            rule="SL-001",
            way_out="A table's metadata must name its files relative to the base path; it may be damaged.",
        )
    return path


def to_uri(location: str) -> str:
    """URI of a table's location: an object store's URI as it is, a local path as ``file:///...``.

    Raises:
        InputError: it is empty, or a ``file:`` URI that names a machine, or more than a path.

    """
    parts = urllib.parse.urlsplit(location)
    if parts.scheme in ("", "file"):
        foreign = parts.netloc not in ("", "localhost") or parts.query or parts.fragment
        local = urllib.parse.unquote(parts.path) if parts.scheme else location
        if not local or (parts.scheme and foreign):
            raise InputError(
                f"The location {location!r} names no folder of this machine.",
                way_out="Pass a path ('.' for the current folder), or a URI such as file:///data/trips, "
                "where ? and # are written %3F and %23.",
            )
        return Path(os.path.abspath(local)).as_uri()  # noqa: PTH100 -- resolve() would follow links
    return location.rstrip("/")


class ObjectStorage:
    """A table's files in a local folder or an object store. Picklable: it reopens itself from its URI."""

    def __init__(self, location: str) -> None:
        self._uri = to_uri(location)
        self._store: Any = None
        self._folder: Path | None = None
        if self._uri.startswith("file:"):
            self._folder = Path(urllib.parse.unquote(urllib.parse.urlsplit(self._uri).path))

    def __reduce__(self) -> tuple[object, ...]:
        return ObjectStorage, (self._uri,)

    @property
    def uri(self) -> str:
        """The base path as a URI."""
        return self._uri

    def _open(self, *, create: bool = False) -> Any:
        if self._store is None:
            if self._folder is None:
                self._store = _object_store(self._uri)
            elif create or self._folder.is_dir():
                self._store = LocalStore(self._folder, mkdir=create)
        return self._store

    def list(self, prefix: str, *, recursive: bool = False) -> Sequence[FileStatus]:
        """Files below a folder, sorted by path."""
        store = self._open()
        if store is None or not self._is_folder(prefix):
            return []
        with _translated(prefix):
            if recursive:
                found = [meta for chunk in obstore.list(store, prefix or None) for meta in chunk]
            else:
                found = list(obstore.list_with_delimiter(store, prefix or None)["objects"])
        files = sorted((_status(m) for m in found if not self._is_checksum(m["path"])), key=lambda s: s.path)
        self._refuse_links_among(files)
        return files

    def _is_checksum(self, path: str) -> bool:
        """Whether a file is Hadoop's checksum of another one; Hadoop's own listing leaves it out, too."""
        name = path.rpartition("/")[2]
        return self._folder is not None and name.startswith(".") and name.endswith(".crc")

    def list_folders(self, prefix: str) -> Sequence[str]:
        """Folders directly below a folder."""
        store = self._open()
        if store is None or not self._is_folder(prefix):
            return []
        with _translated(prefix):
            return sorted(str(p) for p in obstore.list_with_delimiter(store, prefix or None)["common_prefixes"])

    def _is_folder(self, prefix: str) -> bool:
        if prefix:
            self._check(prefix)
        return self._folder is None or (self._folder / prefix).is_dir()

    def _check(self, path: str) -> str:
        """Return `path`, or raise `StorageError` where it leaves the table, by its name or by a link on its way."""
        check_path(path)
        if self._folder is not None and self._has_link(path):
            base, real = (os.path.realpath(p) for p in (self._folder, self._folder / path))
            if os.path.commonpath((base, real)) != base:
                raise StorageError(
                    f"The path {path!r} is a symbolic link, or lies behind one, that leads out of the table.",
                    rule="SL-001",
                    way_out="Move what it points to into the table, or mount it there.",
                )
        return path

    def _has_link(self, path: str) -> bool:
        """Whether a file or folder on the way from the base path is a symbolic link."""
        names = path.split("/")
        return any(
            os.path.islink(f"{self._folder}/{'/'.join(names[:count])}")  # noqa: PTH114 -- a Path takes longer
            for count in range(1, len(names) + 1)
        )

    def _refuse_links_among(self, files: Sequence[FileStatus]) -> None:
        """Look at what was listed: each folder once, and files that are links."""
        if self._folder is not None:
            for folder in sorted({s.path.rpartition("/")[0] for s in files} - {""}):
                self._check(folder)
            for status in files:
                if os.path.islink(f"{self._folder}/{status.path}"):  # noqa: PTH114 -- a Path per file takes longer
                    self._check(status.path)

    def head(self, path: str) -> FileStatus:
        """Status of one file."""
        store = self._existing(path)
        with _translated(path):
            return _status(obstore.head(store, path))

    def read(self, path: str, start: int = 0, length: int | None = None) -> memoryview:
        """Bytes of a file, or of a part of it."""
        store = self._existing(path)
        if self._folder is not None:
            with _translated(path):
                return _read_file(f"{self._folder}/{path}", [(start, None if length is None else start + length)])[0]
        if length is None:
            with _translated(path):
                return memoryview(obstore.get(store, path).bytes())[start:]
        if length == 0:
            return memoryview(b"")
        try:
            with _translated(path):
                return memoryview(obstore.get_range(store, path, start=start, length=length))
        except StorageError:
            if start >= self.head(path).size:
                return memoryview(b"")  # as where a part of the range is there
            raise

    @property
    def part_gap_bytes(self) -> int:
        """So many bytes are read in the time that a request takes, or the call for another part of a local file."""
        return _REMOTE_GAP_BYTES if self._folder is None else _LOCAL_GAP_BYTES

    def read_parts(self, path: str, ranges: Sequence[tuple[int, int]]) -> Sequence[memoryview]:
        """Parts of a file at once; of an object store, by requests side by side."""
        store = self._existing(path)
        if self._folder is not None:
            with _translated(path):
                return _read_file(f"{self._folder}/{path}", ranges)
        starts, ends = [start for start, _ in ranges], [end for _, end in ranges]
        try:
            with _translated(path):
                return [
                    memoryview(one) for one in obstore.get_ranges(store, path, starts=starts, ends=ends, coalesce=0)
                ]
        except StorageError:
            return [self.read(path, start, end - start) for start, end in ranges]  # It may end before.

    def _existing(self, path: str) -> Any:
        self._check(path)
        store = self._open()
        if store is None:
            raise NotFoundError(f"There is no file {path!r} below {self._uri}: the folder does not exist.")
        return store

    def put(self, path: str, content: Content) -> FileStatus:
        """Create or replace a file."""
        return self._put(path, content, mode="overwrite")

    def put_if_absent(self, path: str, content: Content, *, not_after_ms: int | None = None) -> FileStatus:
        """Create a file."""
        _check_deadline(path, not_after_ms)
        return self._put(path, content, mode="create")

    def put_if_match(self, path: str, content: Content, etag: str, *, not_after_ms: int | None = None) -> FileStatus:
        """Replace a file of a known version."""
        if self._folder is None:
            _check_deadline(path, not_after_ms)
            return self._put(path, content, mode={"e_tag": etag})
        with _folder_lock(self._folder / Path(self._check(path)).parent):
            _check_deadline(path, not_after_ms)
            try:
                current = self.head(path).etag
            except NotFoundError:
                current = None
            if current != etag:
                raise PreconditionFailedError(f"{path!r} is no longer the version that was read.")
            return self._put(path, content, mode="overwrite")

    def _put(self, path: str, content: Content, *, mode: Any) -> FileStatus:
        self._check(path)
        with _translated(path):
            store = self._open(create=True)
        body = content if isinstance(content, bytes | memoryview) else b"".join(content)
        self._drop_hadoop_checksum(path)
        with _translated(path):
            result = obstore.put(
                store,
                path,
                bytes(body) if isinstance(body, memoryview) else body,
                mode=mode,
                use_multipart=False,
            )
            status = _status(obstore.head(store, path))
        if result["e_tag"] is not None and result["e_tag"] != status.etag:
            # Replaced at once by somebody else: what was put is described, not what stands there now.
            return FileStatus(path, len(body), status.mtime_ms, result["e_tag"])
        return status

    def delete(self, paths: Sequence[str], *, not_after_ms: int | None = None) -> None:
        """Delete files."""
        for path in paths:
            self._check(path)
        store = self._open()
        if store is None:
            return
        for path in paths:
            _check_deadline(path, not_after_ms)
            self._drop_hadoop_checksum(path)
            with contextlib.suppress(NotFoundError), _translated(path):
                obstore.delete(store, path)
            self._drop_empty_marker_folders(path)

    def _drop_hadoop_checksum(self, path: str) -> None:
        """Remove the checksum that Hadoop keeps beside each file of a local folder, before the file changes.

        Hadoop refuses to read a file that its checksum does not fit, and does without where there is none.
        """
        if self._folder is not None:
            folder, _, name = path.rpartition("/")
            (self._folder / folder / f".{name}.crc").unlink(missing_ok=True)

    def _drop_empty_marker_folders(self, path: str) -> None:
        """On a local folder, remove what deleting a marker left empty: each write would leave its folders for ever."""
        if self._folder is None or not path.startswith(f"{TEMP_FOLDER}/"):
            return
        parent = path.rpartition("/")[0]
        while parent != TEMP_FOLDER:
            try:
                (self._folder / parent).rmdir()
            except OSError:
                return  # Not empty, or gone already.
            parent = parent.rpartition("/")[0]


def _object_store(uri: str) -> Any:
    try:
        return from_url(uri)
    except (StoreError, ValueError) as error:
        raise InputError(
            f"The location {uri!r} names no storage that is known: {str(error).partition(chr(10))[0]}",
            way_out="Pass a local path, or a URI such as s3://bucket/table, gs://bucket/table or az://container/table.",
        ) from error


def _read_file(name: str, ranges: Sequence[tuple[int, int | None]]) -> list[memoryview]:
    """Read parts of a local file, each up to its end or the file's.

    By the system's own calls: a request of obstore goes through a pool of threads, which takes ten times as long as
    reading a page does.
    """
    with open(name, "rb", buffering=0) as file:  # noqa: PTH123 -- a Path takes longer
        size = os.fstat(file.fileno()).st_size
        parts = []
        for start, end in ranges:
            stop = size if end is None else min(end, size)
            part, got = memoryview(bytearray(max(0, stop - start))), 0
            while count := os.preadv(file.fileno(), [part[got:]], start + got) if got < len(part) else 0:
                got += count
            parts.append(part[:got].toreadonly())
        return parts


def _status(meta: Any) -> FileStatus:
    mtime_ms = int(meta["last_modified"].timestamp() * 1000)
    return FileStatus(meta["path"], meta["size"], mtime_ms, meta["e_tag"] or f"{mtime_ms}-{meta['size']}")


def _check_deadline(path: str, not_after_ms: int | None) -> None:
    if not_after_ms is not None and _CLOCK.monotonic_ms() >= not_after_ms:
        raise DeadlineExceededError(f"The deadline for {path!r} passed before it was touched; nothing was done.")


@contextlib.contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except StoreAlreadyExistsError as error:
        raise AlreadyExistsError(f"{path!r} exists already.") from error
    except (StoreNotFoundError, FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(f"There is no file {path!r}.") from error
    except PreconditionError as error:
        raise PreconditionFailedError(f"{path!r} is no longer the version that was read.") from error
    except Exception as error:
        raise StorageError(
            f"The storage failed on {path!r}: {error}",
            way_out="Look at the storage, then try the operation again.",
        ) from error


@contextlib.contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Exclude other processes of this machine from put-if-match in one folder."""
    if not folder.is_dir():
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
