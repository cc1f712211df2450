"""Keys of the metadata table's records, and the file group that a key belongs to.

Source: Java ``HashID``, ``ColumnIndexID``, ``PartitionIndexID``, ``FileIndexID``,
``HoodieTableMetadataUtil.mapRecordKeyToFileGroupIndex``, ``SecondaryIndexKeyUtils``.
"""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

ALL_PARTITIONS: Final = "__all_partitions__"
"""Key of the record that names all partitions."""
UNPARTITIONED: Final = "."
"""What the partition of an unpartitioned table is called."""
HASHED_NAME_CHARS: Final = 12
"""Of a column's or a partition's hash in a key."""

_SEED: Final = 0xFFFFFFFFDABADABA
_MASK: Final = 0xFFFFFFFFFFFFFFFF
_PRIMES: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


def partition_identifier(partition_path: str) -> str:
    """Name of a partition in keys and records."""
    return partition_path or UNPARTITIONED


def hashed_name(name: str) -> str:
    """Hash of a column's or a partition's name, 12 characters."""
    return base64.b64encode(struct.pack(">Q", xxh64(name.encode(), _SEED))).decode()


def hashed_file(name: str) -> str:
    """Hash of a file's name, 24 characters."""
    return base64.b64encode(hashlib.md5(name.encode(), usedforsecurity=False).digest()).decode()


def bloom_filter_key(partition_path: str, file_name: str) -> str:
    """Key of a base file's bloom filter."""
    return hashed_name(partition_identifier(partition_path)) + hashed_file(file_name)


def secondary_prefix(value: str) -> str:
    """What the keys of a secondary value begin with."""
    return value.replace("\\", "\\\\").replace("$", "\\$") + "$"


def split_secondary_keys(keys: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Return the secondary values and the record keys that keys consist of; null where a key has no such parts."""
    parts = pc.extract_regex(keys, r"(?s)^(?P<value>(?:[^\\$]|\\.)*)\$(?P<key>.*)$")
    value, key = pc.struct_field(parts, "value"), pc.struct_field(parts, "key")
    pattern, replacement = r"\\([\\$])", r"\1"
    return (
        pc.replace_substring_regex(value, pattern, replacement),
        pc.replace_substring_regex(key, pattern, replacement),
    )


def file_group_indexes(keys: pa.Array, num_groups: int) -> npt.NDArray[np.int64]:
    """File group of each key: Java's hash of the text, modulo their number.

    Args:
        keys: ``string`` without nulls.
        num_groups: file groups of the partition, at least 1.

    """
    hashes = java_hashes(keys).astype(np.int64)
    # Math.abs of the least int is that int itself; Java takes the absolute value once more after the remainder.
    absolute = np.abs(hashes.astype(np.int32)).astype(np.int64)
    remainder = np.where(absolute >= 0, absolute % num_groups, -((-absolute) % num_groups))
    return np.abs(remainder)


def java_hashes(texts: pa.Array) -> npt.NDArray[np.int32]:
    """``String.hashCode`` of each text (``string`` without nulls): over its UTF-16 units."""
    whole = "".join(texts.to_pylist())
    units = np.frombuffer(whole.encode("utf-16-le"), np.uint16)
    lengths = pc.utf8_length(texts).to_numpy().astype(np.int64)
    if len(units) != len(whole):  # characters beyond the first plane take two units
        lengths = np.array([len(text.encode("utf-16-le")) // 2 for text in texts.to_pylist()], np.int64)
    starts = np.cumsum(lengths) - lengths
    hashes = np.zeros(len(texts), np.uint32)
    for position in range(int(lengths.max(initial=0))):
        longer = np.flatnonzero(lengths > position)
        hashes[longer] = hashes[longer] * np.uint32(31) + units[starts[longer] + position]
    return hashes.view(np.int32)


def xxh64(content: bytes, seed: int) -> int:
    """XXH64, 64 bits of hash. Source: the algorithm's description by its author."""
    one, two, three, four, five = _PRIMES
    position, size = 0, len(content)
    if size >= 32:
        lanes = [(seed + one + two) & _MASK, (seed + two) & _MASK, seed, (seed - one) & _MASK]
        while position + 32 <= size:
            words = struct.unpack_from("<4Q", content, position)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            position += 32
        result = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            result = ((result ^ _round(0, lane)) * one + four) & _MASK
    else:
        result = (seed + five) & _MASK
    result = (result + size) & _MASK
    while position + 8 <= size:
        (word,) = struct.unpack_from("<Q", content, position)
        result = (_rotate(result ^ _round(0, word), 27) * one + four) & _MASK
        position += 8
    if position + 4 <= size:
        (word,) = struct.unpack_from("<I", content, position)
        result = (_rotate(result ^ (word * one & _MASK), 23) * two + three) & _MASK
        position += 4
    for byte in content[position:]:
        result = _rotate(result ^ (byte * five & _MASK), 11) * one & _MASK
    result = ((result ^ (result >> 33)) * two) & _MASK
    result = ((result ^ (result >> 29)) * three) & _MASK
    return result ^ (result >> 32)


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _PRIMES[1]) & _MASK, 31) * _PRIMES[0] & _MASK


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK
