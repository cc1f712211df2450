"""The least and the greatest of record keys, in the order in which Java compares texts.

Source: Java ``String.compareTo``, by which ``HoodieBloomIndex`` prunes files. Java orders by UTF-16 code units, Arrow
by UTF-8 bytes. The two differ only where characters from U+E000 on meet those beyond U+FFFF, so almost always Arrow's
answer is Java's.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_FIRST_DIFFERENT: Final = 0xEE  # lead byte of U+E000
_SWAPS: Final = {0xEE: 0xFD, 0xEF: 0xFE}  # U+E000 to U+FFFF, behind what lies beyond U+FFFF; bytes that UTF-8 never has
_LAST_BEFORE: Final = "\ud7ff"


def key_range(keys: pa.Array) -> tuple[str, str] | None:
    """Return the least and the greatest key in Java's order; None where there are no keys.

    Args:
        keys: ``pa.string()``, no nulls.

    """
    if len(keys) == 0:
        return None
    if _same_in_both(keys):
        limits = pc.min_max(keys)
        return limits["min"].as_py(), limits["max"].as_py()
    limits = pc.min_max(_swapped(keys))
    least, greatest = (_restored(limits[end].as_py()) for end in ("min", "max"))
    return least, greatest


def same_order(text: str) -> bool:
    """Whether every text compares alike with this one in Java's order and in Arrow's."""
    return max(text, default="") <= _LAST_BEFORE


def _bytes_of(keys: pa.Array) -> tuple[int, int, pa.Buffer | None]:
    _, offsets_buffer, data = keys.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)
    return int(offsets[keys.offset]), int(offsets[keys.offset + len(keys)]), data


def _same_in_both(keys: pa.Array) -> bool:
    start, end, data = _bytes_of(keys)
    if data is None or start == end:
        return True
    return bool(np.frombuffer(data, np.uint8, end - start, start).max() < _FIRST_DIFFERENT)


def _swapped(keys: pa.Array) -> pa.Array:
    """Return keys as bytes whose order is Java's."""
    table = np.arange(256, dtype=np.uint8)
    for byte, stand_in in _SWAPS.items():
        table[byte] = stand_in
    _, offsets, data = keys.buffers()
    swapped = pa.py_buffer(table[np.frombuffer(data, np.uint8)])
    return pa.Array.from_buffers(pa.binary(), len(keys), [None, offsets, swapped], 0, keys.offset)


def _restored(swapped: bytes) -> str:
    for byte, stand_in in _SWAPS.items():
        swapped = swapped.replace(bytes([stand_in]), bytes([byte]))
    return swapped.decode("utf-8")
