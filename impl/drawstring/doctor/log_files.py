"""Checks of log files."""

from __future__ import annotations

from collections.abc import Iterator

from drawstring.doctor.examination import Examination
from drawstring.doctor.findings import Problem, Severity, check
from drawstring.errors import DrawstringError
from drawstring.log_files.decode import DATA_BLOCKS, data_records, delete_records, record_positions
from drawstring_spec.log_format import BlockType, HeaderKey
from drawstring_spec.names import BaseFileName


@check("log-blocks", "LF-001", "LF-002", "LF-003", "LF-004", says="every log file is a row of blocks", nested=True)
def log_blocks(table: Examination) -> Iterator[Problem]:
    """Readers refuse a file whose blocks cannot be told apart."""
    for file in table.log_files():
        table.block_headers(file)
        error = table.unreadable.get(file.status.path)
        if error is not None:
            yield Problem(file.status.path, error.message, rules=(error.rule,) if error.rule else ())


@check("corrupt-blocks", "LF-006", says="no block was cut off", severity=Severity.WARNING, nested=True)
def corrupt_blocks(table: Examination) -> Iterator[Problem]:
    """Readers pass over what was cut off, with the rows that it held."""
    for file in table.log_files():
        for block in table.block_headers(file):
            if block.type is BlockType.CORRUPT:
                yield Problem(file.status.path, f"{block.size} bytes from byte {block.offset} on are no whole block.")


@check("log-times", "SL-009", says="log blocks are of the operation that their file is named after")
def log_times(table: Examination) -> Iterator[Problem]:
    """Each block says who wrote it."""
    for file in table.log_files():
        for block in table.block_headers(file):
            if block.type is BlockType.CORRUPT or block.instant_time == file.requested_time:
                continue
            if not table.is_of_both(file.requested_time, block.instant_time):
                message = f"The block at byte {block.offset} is of the instant {block.instant_time!r}."
                yield Problem(file.status.path, message)


@check("log-bases", "SL-004", says="the base files that log blocks refer to are known")
def log_bases(table: Examination) -> Iterator[Problem]:
    """Positions in a block are rows of a base file of its group, which is there or was cleaned."""
    bases = {
        (file.group, file.requested_time) for file in table.data_files.values() if isinstance(file.name, BaseFileName)
    }
    for file in table.log_files():
        for block in table.block_headers(file):
            time = block.header.get(HeaderKey.BASE_FILE_INSTANT_TIME_OF_RECORD_POSITIONS)
            if time and (file.group, time) not in bases and not _was_removed(table, file.group.file_id, time):
                yield Problem(file.status.path, f"The block at byte {block.offset} is about a base file of {time}.")


def _was_removed(table: Examination, file_id: str, requested_time: str) -> bool:
    return any(name.startswith(f"{file_id}_") and f"_{requested_time}." in name for name in table.removed)


@check("log-records", "LF-007", says="the records of log blocks can be decoded", deep=True)
def log_records(table: Examination) -> Iterator[Problem]:
    """Rows in log files are part of every snapshot."""
    for file in table.log_files():
        for block in table.blocks(file):
            try:
                if block.type is BlockType.DELETE:
                    count = delete_records(block).num_rows
                elif block.type in DATA_BLOCKS:
                    count = data_records(block).num_rows
                else:
                    continue
                positions = record_positions(block)
            except DrawstringError as error:
                yield Problem(file.status.path, error.message, rules=(error.rule,) if error.rule else ())
                continue
            if positions is not None and len(positions) != count:
                message = f"The block at byte {block.offset} has {count} records and {len(positions)} positions."
                yield Problem(file.status.path, message)
