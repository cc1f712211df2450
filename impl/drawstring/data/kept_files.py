"""Open base files that are kept from one look-up to the next, with what was fetched of them.

Whose duty: a bounded number of bytes, and no file in two hands at once. What is kept is no part of the answer: where a
task runs in another process, nothing is there, and files are opened anew.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Final

from drawstring.data.paged_file import PagedFile
from drawstring.ports import Storage

KEPT_BYTES: Final = 64 * 1024 * 1024


class KeptFiles:
    """Files that nobody reads at the moment, the one that was read last at the end. Pickled, it is empty.

    Args:
        most_bytes: what was fetched of all of them has no more bytes, unless it is a single file.

    """

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self._most_bytes = most_bytes
        self._files: OrderedDict[tuple[str, int], PagedFile] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[object, ...]:
        return KeptFiles, (self._most_bytes,)

    @property
    def num_bytes(self) -> int:
        """What was fetched of all files that are kept."""
        return sum(one.num_fetched_bytes for one in list(self._files.values()))

    def take(self, storage: Storage, path: str, size: int) -> PagedFile:
        """Return a file that is kept, and keep it no longer, or open it. Raises as `PagedFile`."""
        with self._lock:
            kept = self._files.pop((path, size), None)
        return PagedFile(storage, path, size) if kept is None else kept

    def keep(self, file: PagedFile) -> None:
        """Keep a file that nobody reads any more; those that were not read for longest give way."""
        with self._lock:
            self._files[file.path, file.size] = file
            self._files.move_to_end((file.path, file.size))
            while len(self._files) > 1 and self.num_bytes > self._most_bytes:
                self._files.popitem(last=False)
