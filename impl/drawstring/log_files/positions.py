"""Record positions: which rows of a base file the records of a log block stand for.

Source: "Roaring bitmap specification", 64-bit extension, portable form; Java ``LogReaderUtils.decodeRecordPositions``.
Whose duty: bytes to ascending numbers. The bytes are untrusted, and runs of a few bytes may stand for billions of
positions, so containers are checked against each other and counted before anything of their size is made. Libraries of
Roaring bitmaps believe what a container says of itself, and write beyond their buffers where it is not so.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.uint64]
_Lows = npt.NDArray[np.uint16]

_COOKIE: Final = 12346
_COOKIE_WITH_RUNS: Final = 12347
_OFFSETS_FROM: Final = 4
"""Containers from which on a bitmap with runs names their offsets."""

_MAX_ARRAY: Final = 4096
_BITSET_BYTES: Final = 8192
_CONTAINER_ROWS: Final = 65_536
_MIN_BITMAP_BYTES: Final = 8  # key, cookie


@dataclass
class _Reader:
    """Takes fields off the front of bytes. Raises `ValueError` beyond their end."""

    content: memoryview
    at: int = 0

    def number(self, form: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(value)

    def take(self, size: int) -> memoryview:
        if size > len(self.content) - self.at:
            raise ValueError(f"it ends at byte {len(self.content)}, where {self.at + size} belong")
        self.at += size
        return self.content[self.at - size : self.at]

    def shorts(self, count: int) -> _Lows:
        return np.frombuffer(self.take(2 * count), "<u2")


def parse_positions(content: bytes, *, most: int) -> Positions:
    """Return the positions of a bitmap, ascending.

    Args:
        content: the bitmap, in its portable form.
        most: how many positions there may be.

    Raises:
        ValueError: the bytes are no bitmap, or one of more positions.

    """
    reader = _Reader(memoryview(content))
    bitmaps = reader.number("<Q")
    if bitmaps > len(content) // _MIN_BITMAP_BYTES:
        raise ValueError(f"it claims {bitmaps} bitmaps in {len(content)} bytes")
    parts: list[Positions] = []
    last, left = -1, most
    for _ in range(bitmaps):
        high = reader.number("<I")
        if high <= last:
            raise ValueError("its bitmaps do not ascend")
        last = high
        for key, lows in _containers(reader, left):
            left -= len(lows)
            parts.append(lows.astype(np.uint64) + np.uint64((high << 32) + (key << 16)))
    if reader.at != len(content):
        raise ValueError(f"it has {len(content) - reader.at} bytes too many")
    return np.concatenate(parts) if parts else np.empty(0, np.uint64)


def _containers(reader: _Reader, most: int) -> list[tuple[int, _Lows]]:
    """Containers of one 32-bit bitmap: upper half of their positions, and lower halves."""
    cookie = reader.number("<I")
    runs = np.zeros(0, np.bool_)
    if cookie & 0xFFFF == _COOKIE_WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = np.frombuffer(reader.take((count + 7) // 8), np.uint8)
        runs = np.unpackbits(flags, count=count, bitorder="little").astype(np.bool_)
    elif cookie == _COOKIE:
        count = reader.number("<I")
        if count > _CONTAINER_ROWS:
            raise ValueError(f"it claims {count} containers")
    else:
        raise ValueError(f"a bitmap begins with {cookie}")
    heads = reader.shorts(2 * count).reshape(-1, 2)
    keys, sizes = heads[:, 0].astype(np.int64), heads[:, 1].astype(np.int64) + 1
    if count > 1 and int(np.diff(keys).min()) <= 0:
        raise ValueError("its containers do not ascend")
    if int(sizes.sum()) > most:
        raise ValueError(f"it has more than {most} positions")
    if not len(runs) or count >= _OFFSETS_FROM:
        reader.take(4 * count)  # offsets: containers stand one after the other
    return [(int(keys[i]), _container(reader, int(sizes[i]), is_run=bool(len(runs) and runs[i]))) for i in range(count)]


def _container(reader: _Reader, size: int, *, is_run: bool) -> _Lows:
    """Lower halves of one container's positions, which are as many as its head says."""
    if is_run:
        lows = _runs(reader.shorts(2 * reader.number("<H")).reshape(-1, 2).astype(np.int64), size)
    elif size <= _MAX_ARRAY:
        lows = reader.shorts(size)
    else:
        bits = np.unpackbits(np.frombuffer(reader.take(_BITSET_BYTES), np.uint8), bitorder="little")
        lows = np.flatnonzero(bits).astype(np.uint16)
    if len(lows) != size:
        raise ValueError(f"a container of {size} positions has {len(lows)}")
    if size > 1 and not bool((lows[1:] > lows[:-1]).all()):
        raise ValueError("positions of a container do not ascend")
    return lows


def _runs(pairs: npt.NDArray[np.int64], size: int) -> _Lows:
    """Positions of runs, each its first one and how many follow it; only as many as the container's head says."""
    starts, lengths = pairs[:, 0], pairs[:, 1] + 1
    if int(lengths.sum()) != size or (len(pairs) and int((starts + lengths).max()) > _CONTAINER_ROWS):
        raise ValueError(f"runs of a container do not make {size} positions")
    behind = np.cumsum(lengths)
    return (np.arange(size) + np.repeat(starts - behind + lengths, lengths)).astype(np.uint16)
