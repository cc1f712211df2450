"""File sizes: which new rows go into existing small files, and how many new files the rest makes.

Source: Java ``UpsertPartitioner``, ``AverageRecordSizeUtils`` (format chapter "File sizing"). Java spreads rows over
files by a hash of their keys, which is only statistical; here rows go in their order, so the same write makes the same
files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SizeRules:
    """How large files should be.

    Attributes:
        max_file_bytes: at which the next file is begun.
        small_file_bytes: below which an existing file takes more rows; 0 for never.

    """

    max_file_bytes: int
    small_file_bytes: int


@dataclass(frozen=True, slots=True)
class ExistingFile:
    """A base file that may take more rows.

    Attributes:
        file_id: of its file group.
        size: in bytes.
        rewritten: the write gives it a new version anyway.

    """

    file_id: str
    size: int
    rewritten: bool


@dataclass(frozen=True, slots=True)
class Packing:
    """Where new rows of one partition go, in the order of the rows.

    Attributes:
        existing: file id and number of rows, per file that takes some.
        new_files: number of rows of each new file.

    """

    existing: tuple[tuple[str, int], ...]
    new_files: tuple[int, ...]


def pack(num_rows: int, files: Sequence[ExistingFile], record_bytes: int, rules: SizeRules) -> Packing:
    """Distribute the new rows of one partition.

    Files that are rewritten anyway come first, since they cost nothing more; then the others by file id.

    Args:
        num_rows: new rows.
        files: the partition's base files.
        record_bytes: what a row takes in a file, in bytes.
        rules: sizes to aim at.

    """
    small = [f for f in files if f.size < rules.small_file_bytes]
    left = num_rows
    existing: list[tuple[str, int]] = []
    for file in sorted(small, key=lambda f: (not f.rewritten, f.file_id)):
        room = min(left, max(0, rules.max_file_bytes - file.size) // max(record_bytes, 1))
        if room > 0:
            existing.append((file.file_id, room))
            left -= room
    return Packing(tuple(existing), split(left, max(1, rules.max_file_bytes // max(record_bytes, 1))))


def split(num_rows: int, max_rows: int) -> tuple[int, ...]:
    """Return the rows of each file: as few files as do, all of about the same size."""
    if num_rows == 0:
        return ()
    files = -(-num_rows // max(1, max_rows))
    share, more = divmod(num_rows, files)
    return tuple(share + (index < more) for index in range(files))


def average_record_bytes(commits: Iterable[tuple[int, int]], threshold_bytes: int) -> int | None:
    """Return the size of a row by the newest commit that wrote enough to tell; None where none did.

    Args:
        commits: bytes and rows written, newest first.
        threshold_bytes: what a commit must exceed to count.

    """
    for written_bytes, written_rows in commits:
        if written_bytes > threshold_bytes and written_rows > 0:
            return -(-written_bytes // written_rows)
    return None
