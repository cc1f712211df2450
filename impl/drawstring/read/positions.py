"""Merging by the positions of rows in the base file, instead of by their keys.

Source: Java ``PositionBasedFileGroupRecordBuffer`` (``hoodie.merge.use.record.positions``). A writer that knows where
in the base file each record of a block belongs says so in the block's header. If all blocks of a slice do, for the base
file that the slice has, no record key has to be read or compared; else keys decide, as in Java, which falls back at the
first block that has no positions. A bitmap that cannot be read, or that does not have one position for each record, is
damage, in Java as here. A position beyond the base file is damage here; Java makes a new row of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from drawstring.data.log_merge import LogBatch
from drawstring.errors import CorruptFileError
from drawstring.files import BaseFile
from drawstring.log_files.blocks import LogBlock
from drawstring.log_files.decode import record_positions
from drawstring_spec.log_format import HeaderKey


def have_positions(blocks: Sequence[LogBlock], base: BaseFile) -> bool:
    """Whether all blocks say where in that base file their records belong."""
    return all(
        block.header.get(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS) == base.requested_time
        and block.header.get(HeaderKey.RECORD_POSITIONS)
        for block in blocks
    )


def by_position(block: LogBlock, batch: LogBatch) -> LogBatch:
    """Return what a block says with positions for keys. Raises `CorruptFileError`."""
    positions = record_positions(block)
    count = 0 if positions is None else len(positions)
    if positions is None or count != len(batch.deleted):
        raise CorruptFileError(
            f"The block at byte {block.offset} of {block.path} has {len(batch.deleted)} records at {count} positions.",
            rule="LF-018",
            way_out="Read with hoodie.merge.use.record.positions=false, which merges by keys.",
        )
    return replace(batch, keys=pa.array(positions.astype(np.int64)))


def check_all_seen(unseen: pa.Array, base: BaseFile) -> None:
    """Refuse positions that the base file does not have. Raises `CorruptFileError`."""
    if len(unseen):
        raise CorruptFileError(
            f"Log files have records at position {unseen[0]} and {len(unseen) - 1} more that the base file {base.path} "
            "does not have.",
            rule="LF-018",
            way_out="Read with hoodie.merge.use.record.positions=false, which merges by keys.",
        )
