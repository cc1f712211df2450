"""Writes of the metadata table whose blocks or files are gone.

Source: requirement MT-024. Whose duty: Java's reader passes over a block that is damaged or cut off, and over a file
that is not there; a listing that lacks what one write said of it makes rows vanish, or come twice. What the completed
writes say of themselves is therefore held against what is on storage. Their records are read only where something is
missing, so a sound table costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drawstring.errors import CorruptFileError
from drawstring.log_files.blocks import LogBlock
from drawstring.metadata.records import FILES
from drawstring.metadata.slices import INITIAL_PREFIX, Instants, MetadataSlice
from drawstring.protocol.commit_metadata import stats_of
from drawstring_spec.log_format import BlockType

_WAY_OUT = "Read with hoodie.metadata.enable=false; restore the file from a copy, or build the metadata table again."


def check_all_there(partition: str, one: MetadataSlice, blocks: Sequence[LogBlock], instants: Instants) -> None:
    """Check that a file slice has what the completed writes of the metadata table say that they put there.

    Each write puts something into ``files``; into a file group of another partition only some do, so there it is
    looked into where a block is damaged.

    Args:
        partition: of the slice.
        one: the newest slice of a file group.
        blocks: all blocks of its log files.
        instants: of the two timelines.

    Raises:
        CorruptFileError: a write is missing.

    """
    if partition != FILES and all(block.type is not BlockType.CORRUPT for block in blocks):
        return
    present = {block.instant_time for block in blocks}
    for instant in instants.own.completed_writes:
        time = instant.requested_time
        # What partitions were built with stands in their base files.
        is_initial = one.base_file is not None and time.startswith(INITIAL_PREFIX)
        is_below = time == one.base_time or (instant.completion_time or time) < one.base_time
        if is_below or is_initial or time in present:
            continue
        if one.file_id in instants.written_groups(instant, partition):
            raise CorruptFileError(
                f"The metadata table has a completed write {time}, and what it wrote to the file group "
                f"{one.file_id!r} of {partition!r} is gone: a file was lost, cut off or damaged.",
                rule="MT-024",
                way_out=_WAY_OUT,
            )


def check_any_there(partition: str, slices: Sequence[MetadataSlice], instants: Instants) -> None:
    """Check that the partition of listings has files. Raises `CorruptFileError`."""
    if partition == FILES and not slices and instants.own.completed_writes:
        raise CorruptFileError(
            "The metadata table has completed writes, and no file in its partition 'files'.",
            rule="MT-024",
            way_out=_WAY_OUT,
        )


def written_groups(record: Mapping[str, Any], partition: str) -> set[str]:
    """File ids of a partition that a commit's record says it wrote. Raises `CorruptFileError`."""
    return {stat["fileId"] for path, stat in stats_of(record) if path == partition}
