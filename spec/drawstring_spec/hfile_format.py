"""The vocabulary of HFile version 3, as Hudi 1.0 writes it: magics, sizes, trailer fields, keys of the file info.

Source: Java ``HFileBlock``, ``HFileTrailer``, ``HFileInfo``; HBase 2.4 wrote the files that this was checked on.
"""

from __future__ import annotations

from enum import IntEnum

BLOCK_HEADER_BYTES = 33
TRAILER_BYTES = 4096
TRAILER_VERSION = b"\x03\x00\x00\x03"
"""Last bytes of the file: minor version 3 in one byte, major version 3 in three."""

MAGIC_DATA = b"DATABLK*"
MAGIC_LEAF_INDEX = b"IDXLEAF2"
MAGIC_INTERMEDIATE_INDEX = b"IDXINTE2"
MAGIC_ROOT_INDEX = b"IDXROOT2"
MAGIC_META = b"METABLKc"
MAGIC_FILE_INFO = b"FILEINF2"
MAGIC_TRAILER = b'TRABLK"$'
FILE_INFO_PREFIX = b"PBUF"

KEY_OVERHEAD_BYTES = 12
"""Of a key beside its row: two bytes of length, one of family length, eight of time, one of type."""


class Codec(IntEnum):
    """Compression of all blocks of a file."""

    LZO = 0
    GZ = 1
    NONE = 2
    SNAPPY = 3
    LZ4 = 4
    BZIP2 = 5
    ZSTD = 6


class ChecksumType(IntEnum):
    """What the bytes behind a block's data are."""

    NONE = 0
    CRC32 = 1
    CRC32C = 2


class TrailerField(IntEnum):
    """Fields of the trailer's message."""

    FILE_INFO_OFFSET = 1
    LOAD_ON_OPEN_OFFSET = 2
    UNCOMPRESSED_DATA_INDEX_SIZE = 3
    TOTAL_UNCOMPRESSED_BYTES = 4
    DATA_INDEX_COUNT = 5
    META_INDEX_COUNT = 6
    ENTRY_COUNT = 7
    DATA_INDEX_LEVELS = 8
    FIRST_DATA_BLOCK_OFFSET = 9
    LAST_DATA_BLOCK_OFFSET = 10
    COMPARATOR = 11
    CODEC = 12


MAX_MVCC_KEY = b"MAX_MEMSTORE_TS_KEY"
"""File info entry that must be zero: entries with versions of their own are not Hudi's."""
SCHEMA_KEY = b"schema"
"""File info entry with the values' Avro schema."""
BLOOM_FILTER_META_BLOCK = "bloomFilter"
