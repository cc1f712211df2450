"""MurmurHash 2 as Hadoop computes it, on whole columns of keys.

Source: Java ``org.apache.hudi.common.util.hash.MurmurHash`` (format chapter "Bloom filter"): 32 bits, and the one to
three bytes behind the last whole word are sign-extended. A bloom filter hashes each key many times, with the last
hash as the next seed; what a word contributes does not depend on the seed, so it is mixed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

UInts = npt.NDArray[np.uint32]

CHUNK_KEYS: Final = 32_768
"""Keys that are hashed together: their working set stays in the processor's cache."""

_M: Final = np.uint32(0x5BD1E995)
_WORD: Final = 4


@dataclass(frozen=True, slots=True)
class MixedKeys:
    """Keys of one length, ready to be hashed with any seed.

    Attributes:
        rows: positions of the keys in their column.
        length: in bytes.
        words: per whole word, its mixed value for each key.
        tail: what the remaining bytes contribute; None where there are none.

    """

    rows: npt.NDArray[np.intp]
    length: int
    words: tuple[UInts, ...]
    tail: UInts | None


def mixed_keys(keys: pa.Array) -> Iterator[MixedKeys]:
    """Yield a column's keys (``pa.string()`` or ``pa.binary()``, no nulls) in chunks of one length each."""
    if len(keys) == 0:
        return
    _, offsets_buffer, data_buffer = keys.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", np.uint8)[offsets[0] : offsets[-1]]
    starts = offsets[:-1] - offsets[0]
    lengths = np.diff(offsets)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        for low in range(0, len(rows), CHUNK_KEYS):
            chunk = rows[low : low + CHUNK_KEYS]
            yield _mix(data, starts[chunk], chunk, int(length))


def _mix(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], rows: npt.NDArray[np.intp], length: int
) -> MixedKeys:
    whole = length // _WORD
    words: list[UInts] = []
    if whole:
        # One unaligned little-endian word at each byte of the data.
        at_byte: UInts = np.ndarray((len(data) - _WORD + 1,), "<u4", data, strides=(1,))
        for index in range(whole):
            word = at_byte[starts + _WORD * index] * _M
            word ^= word >> np.uint32(24)
            word *= _M
            words.append(word)
    tail: UInts | None = None
    for back in range(1, length % _WORD + 1):
        byte = data[starts + (length - back)].view(np.int8).astype(np.int32) << (8 * (back - 1))
        tail = byte.view(np.uint32) if tail is None else tail ^ byte.view(np.uint32)
    return MixedKeys(rows, length, tuple(words), tail)


def murmur2(keys: MixedKeys, seed: UInts, scratch: UInts) -> UInts:
    """Return the hash of each key with its seed.

    Args:
        keys: of one length.
        seed: one per key; it is overwritten, and is what is returned.
        scratch: as long as `seed`; it is overwritten.

    """
    h = seed
    h ^= np.uint32(keys.length)
    for word in keys.words:
        h *= _M
        h ^= word
    if keys.tail is not None:
        h ^= keys.tail
        h *= _M
    h ^= np.right_shift(h, np.uint32(13), out=scratch)
    h *= _M
    h ^= np.right_shift(h, np.uint32(15), out=scratch)
    return h


def hash_positions(keys: MixedKeys, num_hashes: int, num_bits: int) -> Iterator[npt.NDArray[np.int64]]:
    """Yield, per hash function, each key's position in a filter of `num_bits` bits.

    The position is ``|h rem num_bits|`` with Java's truncated remainder of the signed hash. The array that is
    yielded is used again for the next one.
    """
    h: UInts = np.zeros(len(keys.rows), np.uint32)
    scratch, quotient = np.empty_like(h), np.empty_like(h)
    positions: npt.NDArray[np.int64] = np.empty(len(h), np.int64)
    bits = np.uint32(num_bits)
    for _ in range(num_hashes):
        h = murmur2(keys, h, scratch)
        np.abs(h.view(np.int32), out=scratch.view(np.int32))  # The least integer stays: as unsigned it is right.
        # Dividing by a constant and taking the rest by hand is faster than NumPy's remainder.
        np.floor_divide(scratch, bits, out=quotient)
        quotient *= bits
        np.subtract(scratch, quotient, out=positions, dtype=np.uint32, casting="unsafe")
        yield positions
