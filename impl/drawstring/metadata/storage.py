"""A folder of a table's storage as a storage of its own: the metadata table lies inside of the table it is about."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from drawstring.ports import Content, FileStatus, Storage


class SubStorage:
    """What lies below one folder: a `drawstring.ports.Storage` whose paths are relative to the folder."""

    def __init__(self, storage: Storage, folder: str) -> None:
        self._storage = storage
        self._prefix = f"{folder}/"

    @property
    def uri(self) -> str:
        """Location of the folder."""
        return f"{self._storage.uri}/{self._prefix[:-1]}"

    def list(self, prefix: str, *, recursive: bool = False) -> Sequence[FileStatus]:
        """As `Storage.list`."""
        found = self._storage.list(self.path_of(prefix), recursive=recursive)
        return [dataclasses.replace(status, path=status.path[len(self._prefix) :]) for status in found]

    def list_folders(self, prefix: str) -> Sequence[str]:
        """As `Storage.list_folders`."""
        return [path[len(self._prefix) :] for path in self._storage.list_folders(self.path_of(prefix))]

    def head(self, path: str) -> FileStatus:
        """As `Storage.head`."""
        return dataclasses.replace(self._storage.head(self.path_of(path)), path=path)

    def read(self, path: str, start: int = 0, length: int | None = None) -> memoryview:
        """As `Storage.read`."""
        return self._storage.read(self.path_of(path), start, length)

    def put(self, path: str, content: Content) -> FileStatus:
        """As `Storage.put`."""
        return dataclasses.replace(self._storage.put(self.path_of(path), content), path=path)

    def put_if_absent(self, path: str, content: Content, *, not_after_ms: int | None = None) -> FileStatus:
        """As `Storage.put_if_absent`."""
        status = self._storage.put_if_absent(self.path_of(path), content, not_after_ms=not_after_ms)
        return dataclasses.replace(status, path=path)

    def put_if_match(self, path: str, content: Content, etag: str, *, not_after_ms: int | None = None) -> FileStatus:
        """As `Storage.put_if_match`."""
        status = self._storage.put_if_match(self.path_of(path), content, etag, not_after_ms=not_after_ms)
        return dataclasses.replace(status, path=path)

    def delete(self, paths: Sequence[str], *, not_after_ms: int | None = None) -> None:
        """As `Storage.delete`."""
        self._storage.delete([self.path_of(path) for path in paths], not_after_ms=not_after_ms)

    def path_of(self, path: str) -> str:
        """Path of a file of the folder below the base of the storage around it."""
        return (self._prefix + path).rstrip("/")
