"""Parts of one file, as they were fetched: what is there is not fetched again, and nothing is copied together.

Whose duty: no more requests, and no more bytes between the parts, than the storage makes worth while.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from drawstring.errors import CorruptFileError
from drawstring.ports import ReadsParts, Storage

Ranges = npt.NDArray[np.int64]
"""Parts of a file, one in each row: where it begins, and behind it."""

MAX_GAP_BYTES: Final = 256 * 1024
"""Parts closer than this are fetched as one, where a storage does not say what a part costs."""


class FetchedParts:
    """What was fetched of a file.

    Args:
        storage: of the table.
        path: relative to the table's base path.
        corrupt: makes the error about the file; it gets what is wrong.

    """

    def __init__(self, storage: Storage, path: str, corrupt: Callable[[str], CorruptFileError]) -> None:
        self._storage, self._path, self._corrupt = storage, path, corrupt
        self._many = storage if isinstance(storage, ReadsParts) else None  # asked once: it looks at all of a protocol
        self._covered: Ranges = np.empty((0, 2), np.int64)
        self._starts: list[int] = []
        self._parts: list[memoryview] = []

    @property
    def num_bytes(self) -> int:
        """How much was fetched."""
        return sum(map(len, self._parts))

    def fetch(self, places: Ranges) -> None:
        """Fetch what is missing of some parts.

        Raises:
            CorruptFileError: the file ends before.
            NotFoundError: it is gone.

        """
        starts, ends = places[:, 0], places[:, 1]
        missing = starts < ends
        if len(self._covered):
            at = np.searchsorted(self._covered[:, 0], starts, side="right") - 1
            missing &= (at < 0) | (ends > self._covered[at, 1])
        if not missing.any():
            return
        gap = MAX_GAP_BYTES if self._many is None else self._many.part_gap_bytes
        wanted = _merged(places[missing], gap)
        ranges: list[tuple[int, int]] = list(map(tuple, wanted.tolist()))
        if self._many is not None:
            contents = self._many.read_parts(self._path, ranges)
        else:
            contents = [self._storage.read(self._path, start, end - start) for start, end in ranges]
        for (start, end), content in zip(ranges, contents, strict=True):
            if len(content) != end - start:
                raise self._corrupt(f"it ends before byte {end}")
            index = bisect.bisect_left(self._starts, start)
            self._starts.insert(index, start)
            self._parts.insert(index, content)
        self._covered = _merged(np.concatenate([self._covered, wanted]), 0)

    def part(self, start: int, end: int) -> memoryview:
        """Return bytes that were fetched, by one call or by several."""
        index = bisect.bisect_right(self._starts, start) - 1
        if index >= 0:
            found = self._parts[index][start - self._starts[index] : end - self._starts[index]]
            if len(found) == end - start:
                return found
        return memoryview(b"".join(self._pieces(start, end)))

    def _pieces(self, start: int, end: int) -> list[memoryview]:
        pieces = []
        while start < end:
            index = bisect.bisect_right(self._starts, start) - 1
            while index >= 0 and self._starts[index] + len(self._parts[index]) <= start:
                index -= 1
            if index < 0:
                raise ValueError(f"the bytes {start} to {end} were not fetched")
            pieces.append(self._parts[index][start - self._starts[index] : end - self._starts[index]])
            start += len(pieces[-1])
        return pieces


def one_range(start: int, end: int) -> Ranges:
    """Return a single part."""
    return np.array([(start, end)], np.int64)


def _merged(ranges: Ranges, gap: int) -> Ranges:
    """Ranges in their order, those with no more than a gap between them as one. There is one at least."""
    starts, ends = ranges[np.argsort(ranges[:, 0], kind="stable")].T
    ends = np.maximum.accumulate(ends)
    cuts = np.flatnonzero(starts[1:] > ends[:-1] + gap)
    return np.stack([starts[np.append(0, cuts + 1)], ends[np.append(cuts, len(ends) - 1)]], axis=1)
