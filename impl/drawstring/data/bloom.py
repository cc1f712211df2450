"""The bloom filter of record keys in a base file's footer.

Source: Java ``SimpleBloomFilter``, ``HoodieDynamicBoundedBloomFilter``, ``InternalDynamicBloomFilter`` (format chapter
"Bloom filter in base files"). A filter never forgets a key; how often it takes a stranger for one is its rate. Filters
come from files, so every length is checked against the bytes that are there before anything is allocated.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from drawstring.data.murmur import hash_positions, mixed_keys
from drawstring.errors import FormatError, OptionError
from drawstring_spec.footers import (
    BLOOM_FILTER,
    BLOOM_TYPE_CODE,
    DYNAMIC_BLOOM_FILTER,
    LEGACY_BLOOM_FILTER,
    SIMPLE_BLOOM_FILTER,
)

Bits = npt.NDArray[np.uint8]

_VERSION: Final = -1
_MURMUR: Final = 1
_HEADER: Final = struct.Struct(">iibi")
_DYNAMIC_HEADER: Final = struct.Struct(">iii")
_MAX_HASHES: Final = 1024
_MAX_BITS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class BloomParameters:
    """How a new filter is laid out.

    Attributes:
        num_entries: keys that a row of the filter is laid out for.
        false_positive_rate: at that many keys.
        dynamic: grow by further rows (``DYNAMIC_V0``), or keep one (``SIMPLE``).
        max_entries: keys up to which a dynamic filter grows.

    """

    num_entries: int = 60_000
    false_positive_rate: float = 1e-9
    dynamic: bool = True
    max_entries: int = 100_000

    def num_bits(self) -> int:
        """Bits of one row. Raises `OptionError` where a filter cannot be that large."""
        bits = math.ceil(self.num_entries * (-math.log(self.false_positive_rate) / (math.log(2) * math.log(2))))
        if not 1 <= bits <= _MAX_BITS:
            raise OptionError(
                f"A bloom filter of {self.num_entries} keys with the rate {self.false_positive_rate} has {bits} bits.",
                way_out="Set hoodie.index.bloom.num_entries and hoodie.index.bloom.fpp (between 0 and 1) smaller.",
            )
        return bits

    def num_hashes(self) -> int:
        """Hash functions of one row."""
        return math.ceil(math.log(2) * self.num_bits() / self.num_entries)

    def max_rows(self) -> int:
        """Rows that the filter grows to."""
        return max(1, math.ceil(self.max_entries / self.num_entries)) if self.dynamic else 1


@dataclass(slots=True)
class BloomFilter:
    """A filter of record keys; `add` changes it.

    Attributes:
        num_hashes: hash functions per key.
        num_bits: per row.
        rows: bits of each row, eight to a byte, least significant first.
        dynamic: whether it is a ``DYNAMIC_V0`` filter.
        row_entries: keys that a row of a dynamic filter takes; 0 in a simple one.
        last_row_entries: keys that were added since the last row was.
        max_rows: rows that a dynamic filter grows to.

    """

    num_hashes: int
    num_bits: int
    rows: list[Bits]
    dynamic: bool
    row_entries: int = 0
    last_row_entries: int = 0
    max_rows: int = 1

    @classmethod
    def empty(cls, parameters: BloomParameters) -> Self:
        """Return a filter without keys."""
        bits = parameters.num_bits()
        return cls(
            parameters.num_hashes(),
            bits,
            [_no_bits(bits)],
            parameters.dynamic,
            parameters.num_entries if parameters.dynamic else 0,
            0,
            parameters.max_rows(),
        )

    def num_keys(self, *, at_least: int) -> int:
        """Return how many keys were added: a dynamic filter counts them, of a simple one only `at_least` is known."""
        return max(at_least, (len(self.rows) - 1) * self.row_entries + self.last_row_entries)

    def add(self, keys: pa.Array) -> None:
        """Add keys (``pa.string()``, no nulls), as if one after the other."""
        start = 0
        while self.dynamic and start < len(keys):
            if self.last_row_entries >= self.row_entries and len(self.rows) < self.max_rows:
                self.rows.append(_no_bits(self.num_bits))
                self.last_row_entries = 0
            room = self.row_entries - self.last_row_entries
            if room <= 0:
                break
            taken = keys.slice(start, room)
            self._set(taken, len(self.rows) - 1, 1)
            self.last_row_entries += len(taken)
            start += len(taken)
        rest = keys.slice(start)
        if self.dynamic:
            # Full grown: keys go to the rows in turn.
            self._set(rest, 0, len(self.rows))
            self.last_row_entries += len(rest)
        else:
            self._set(rest, 0, 1)

    def _set(self, keys: pa.Array, first: int, turns: int) -> None:
        """Set the bits of key ``i`` in row ``first + i mod turns``."""
        if len(keys) == 0:
            return
        width = self.num_bits
        marks = np.zeros(turns * width, np.bool_)
        for group in mixed_keys(keys):
            base = (group.rows % turns) * width
            for positions in hash_positions(group, self.num_hashes, width):
                if turns > 1:
                    np.add(positions, base, out=positions)
                marks[positions] = True
        for turn in range(turns):
            self.rows[first + turn] |= np.packbits(marks[turn * width : (turn + 1) * width], bitorder="little")

    def might_contain(self, keys: pa.Array) -> npt.NDArray[np.bool_]:
        """Return, per key, False where it was certainly never added."""
        found = np.zeros(len(keys), np.bool_)
        for group in mixed_keys(keys):
            hits = np.ones((len(self.rows), len(group.rows)), np.bool_)
            for positions in hash_positions(group, self.num_hashes, self.num_bits):
                byte, bit = positions >> 3, (positions & 7).astype(np.uint8)
                for index, row in enumerate(self.rows):
                    hits[index] &= ((row[byte] >> bit) & 1).view(np.bool_)
                if not hits.any():
                    break
            found[group.rows] = hits.any(axis=0)
        return found

    def serialise(self) -> bytes:
        """Return the filter's bytes, as Java writes them."""
        header = _HEADER.pack(_VERSION, self.num_hashes, _MURMUR, self.num_bits)
        rows = [header + row.tobytes() for row in self.rows]
        if not self.dynamic:
            return rows[0]
        own = _DYNAMIC_HEADER.pack(self.row_entries, min(self.last_row_entries, _MAX_BITS), len(rows))
        return b"".join([header, own, *rows])

    def to_footer(self) -> dict[str, str]:
        """Return the filter's footer entries."""
        entries = {BLOOM_FILTER: base64.b64encode(self.serialise()).decode("ascii")}
        if self.dynamic:
            entries[BLOOM_TYPE_CODE] = DYNAMIC_BLOOM_FILTER
        return entries

    @classmethod
    def from_footer(cls, entries: Mapping[str, bytes], *, path: str) -> Self | None:
        """Return the filter of a base file; None where it has none, or one of an older kind that is not tested.

        Args:
            entries: key/value metadata of the footer.
            path: of the file, for the message.

        Raises:
            FormatError: there is a filter, and it is damaged.

        """
        text = entries.get(BLOOM_FILTER, entries.get(LEGACY_BLOOM_FILTER))
        if text is None:
            return None
        code = entries.get(BLOOM_TYPE_CODE, SIMPLE_BLOOM_FILTER.encode()).decode("ascii", errors="replace")
        if code not in {SIMPLE_BLOOM_FILTER, DYNAMIC_BLOOM_FILTER}:
            return None
        try:
            content = base64.b64decode(text, validate=True)
            return cls._parse(content, dynamic=code == DYNAMIC_BLOOM_FILTER)
        except (binascii.Error, struct.error, ValueError) as error:
            raise FormatError(f"The bloom filter in the footer of {path} is damaged: {error}.") from error

    @classmethod
    def _parse(cls, content: bytes, *, dynamic: bool) -> Self | None:
        header = _parse_header(content, 0)
        if header is None:
            return None
        if not dynamic:
            return cls(*header, [_parse_row(content, _HEADER.size, header[1])], dynamic=False)
        row_entries, last, count = _DYNAMIC_HEADER.unpack_from(content, _HEADER.size)
        at = _HEADER.size + _DYNAMIC_HEADER.size
        size = _HEADER.size + (header[1] + 7) // 8
        if row_entries < 1 or last < 0 or count < 1 or at + count * size != len(content):
            raise ValueError(f"{count} rows of {header[1]} bits do not make {len(content)} bytes")
        rows: list[Bits] = []
        for start in range(at, at + count * size, size):
            if _parse_header(content, start) != header:
                raise ValueError("its rows are not alike")
            rows.append(_parse_row(content, start + _HEADER.size, header[1]))
        return cls(*header, rows, dynamic=True, row_entries=row_entries, last_row_entries=last, max_rows=count)


def _no_bits(num_bits: int) -> Bits:
    return np.zeros((num_bits + 7) // 8, np.uint8)


def _parse_header(content: bytes, at: int) -> tuple[int, int] | None:
    """Return hash functions and bits; None for a filter of an older version or with other hashes."""
    version, num_hashes, hash_type, num_bits = _HEADER.unpack_from(content, at)
    if version != _VERSION or hash_type != _MURMUR:
        return None
    if not 1 <= num_hashes <= _MAX_HASHES or num_bits < 1:
        raise ValueError(f"it has {num_hashes} hash functions and {num_bits} bits")
    return num_hashes, num_bits


def _parse_row(content: bytes, at: int, num_bits: int) -> Bits:
    size = (num_bits + 7) // 8
    if at + size > len(content):
        raise ValueError(f"{num_bits} bits do not fit into {len(content)} bytes")
    return np.frombuffer(content, np.uint8, size, at).copy()
