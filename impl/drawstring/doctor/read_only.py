"""A storage that nothing can be written to: what examines a table gets no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from drawstring.errors import StorageError
from drawstring.ports import Content, FileStatus, Storage


class ReadOnlyStorage:
    """A `drawstring.ports.Storage` whose writes all raise `StorageError`."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @property
    def uri(self) -> str:
        """As `Storage.uri`."""
        return self._storage.uri

    def list(self, prefix: str, *, recursive: bool = False) -> Sequence[FileStatus]:
        """As `Storage.list`."""
        return self._storage.list(prefix, recursive=recursive)

    def list_folders(self, prefix: str) -> Sequence[str]:
        """As `Storage.list_folders`."""
        return self._storage.list_folders(prefix)

    def head(self, path: str) -> FileStatus:
        """As `Storage.head`."""
        return self._storage.head(path)

    def read(self, path: str, start: int = 0, length: int | None = None) -> memoryview:
        """As `Storage.read`."""
        return self._storage.read(path, start, length)

    def put(self, path: str, content: Content) -> FileStatus:
        """Refuse."""
        del content
        _refuse(path)

    def put_if_absent(self, path: str, content: Content, *, not_after_ms: int | None = None) -> FileStatus:
        """Refuse."""
        del content, not_after_ms
        _refuse(path)

    def put_if_match(self, path: str, content: Content, etag: str, *, not_after_ms: int | None = None) -> FileStatus:
        """Refuse."""
        del content, etag, not_after_ms
        _refuse(path)

    def delete(self, paths: Sequence[str], *, not_after_ms: int | None = None) -> None:
        """Refuse."""
        del not_after_ms
        _refuse(", ".join(paths))


def _refuse(path: str) -> NoReturn:
    raise StorageError(f"{path!r} was to be written while the table is only examined.")
