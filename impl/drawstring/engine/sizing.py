"""How large a row is in a base file: what earlier commits say, what the caller says, or what a sample says.

Source: Java ``AverageRecordSizeUtils`` (format chapter "File sizing"). Java takes a fixed estimate where no commit is
large enough to tell; here a sample of the rows is encoded instead, unless the estimate was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.data.base_files import BaseFileLayout, FileStamp, encode_base_file, stamp_rows
from drawstring.data.packing import SizeRules, average_record_bytes
from drawstring.files import Snapshot
from drawstring.timeline.load import read_payload

_RECENT_COMMITS: Final = 10
RECORD_SIZE_ESTIMATE: Final = "hoodie.copyonwrite.record.size.estimate"


def size_rules(context: TableContext) -> SizeRules:
    """Return the sizes that the options ask for."""
    return SizeRules(
        max_file_bytes=context.options["hoodie.parquet.max.file.size"],
        small_file_bytes=context.options["hoodie.parquet.small.file.limit"],
    )


def record_bytes(context: TableContext, snapshot: Snapshot, rows: pa.Table, keys: pa.Array) -> int:
    """Return what a row of the write takes in a base file, in bytes.

    Args:
        context: of the table.
        snapshot: whose commits are asked.
        rows: a sample of the write's, the table's own columns, not empty.
        keys: of the rows.

    """
    threshold = size_rules(context).small_file_bytes
    # A commit cannot have written more than stands there now, but for what was deleted since.
    if sum(file.size for file in snapshot.base_files()) > threshold:
        known = average_record_bytes(_recent_commits(context, snapshot), threshold)
        if known is not None:
            return known
    if RECORD_SIZE_ESTIMATE in context.options.given:
        return int(context.options[RECORD_SIZE_ESTIMATE])
    return _sampled(rows, keys, BaseFileLayout.from_options(context.options))


def _recent_commits(context: TableContext, snapshot: Snapshot) -> Iterator[tuple[int, int]]:
    for instant in snapshot.timeline.completed_writes[: -_RECENT_COMMITS - 1 : -1]:
        payload = read_payload(context.ports.storage, context.config, instant) or {}
        by_partition = payload.get("partitionToWriteStats") or {}
        stats = [stat for group in by_partition.values() for stat in group]
        yield (
            sum(stat.get("totalWriteBytes") or 0 for stat in stats),
            sum(stat.get("numWrites") or 0 for stat in stats),
        )


def _sampled(rows: pa.Table, keys: pa.Array, layout: BaseFileLayout) -> int:
    plain = BaseFileLayout(layout.codec, layout.row_group_bytes, bloom=None)
    sample = stamp_rows(rows, keys, FileStamp("0" * 17, 0, "", ""))
    size = int(encode_base_file(sample, "", plain).size)
    return max(1, size // max(int(rows.num_rows), 1))
