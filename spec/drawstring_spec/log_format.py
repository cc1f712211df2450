"""The vocabulary of log files: block types, header keys, sizes.

Source: technical specification, "Log Format"; Java ``HoodieLogBlock``, ``HoodieLogFormatWriter``. The text numbers
types and keys from 1 and has two length fields more; the numbers here are those on disk (errata L1 to L7).
"""

from __future__ import annotations

from enum import IntEnum

MAGIC = b"#HUDI#"
"""Begins every block."""
LOG_FORMAT_VERSION = 1
CONTENT_VERSION = 3
"""Of Avro, delete and CDC blocks."""
BLOCK_LENGTH_BYTES = 8
TRAILER_BYTES = 8


class BlockType(IntEnum):
    """What a block holds; the number stands in the block."""

    COMMAND = 0
    """An order to the reader: forget the blocks of an instant."""
    DELETE = 1
    """Keys of deleted records."""
    CORRUPT = 2
    """Never written: what a reader makes of bytes that are no block."""
    AVRO_DATA = 3
    HFILE_DATA = 4
    PARQUET_DATA = 5
    CDC = 6
    """Change records, in files of their own."""


class HeaderKey(IntEnum):
    """Entries of a block's header; the number stands in the block."""

    INSTANT_TIME = 0
    """Requested time of the action that wrote the block."""
    TARGET_INSTANT_TIME = 1
    """Of a rollback command: whose blocks are forgotten."""
    SCHEMA = 2
    """Avro JSON of the records, meta fields included."""
    COMMAND_BLOCK_TYPE = 3
    """``"0"`` for a rollback."""
    COMPACTED_BLOCK_TIMES = 4
    """Instants that a log compaction merged into this block, newest first, with commas between."""
    RECORD_POSITIONS = 5
    """Base64 of a 64-bit Roaring bitmap: rows of the base file that the block's records stand for."""
    BLOCK_IDENTIFIER = 6
    """``attempt,sequence``; not written by Hudi 1.0."""
    IS_PARTIAL = 7
    """``"true"`` where records carry only the columns that were assigned."""
    BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS = 8
    """Requested time of the base file that the positions refer to; not in the specification's text."""


ROLLBACK_COMMAND = "0"
