"""Which tables' record indexes are trusted to have all keys."""

from __future__ import annotations

import pytest

from drawstring.files import BaseFile, FileGroupId, FileSlice, LogFile, Snapshot
from drawstring.read.index_lookup import _has_every_key
from drawstring.timeline.timeline import Timeline
from unit.impl.read.tables import HandMadeTable, at

MERGE_ON_READ = {"hoodie.table.type": "MERGE_ON_READ"}
CUSTOM = {**MERGE_ON_READ, "hoodie.record.merge.mode": "CUSTOM", "hoodie.record.merge.strategy.id": "of-ones-own"}


def one(file_id: str, *, base: bool = True, logs: int = 0) -> FileSlice:
    group = FileGroupId("p", file_id)
    log_files = tuple(LogFile(f"p/.{file_id}_{n}", group, at(n + 2), 1) for n in range(logs))
    return FileSlice(group, at(1), BaseFile(f"p/{file_id}", group, at(1), 1) if base else None, log_files)


@pytest.mark.parametrize(
    ("properties", "slices", "expected"),
    [
        ({}, [one("f")], True),
        (MERGE_ON_READ, [one("f"), one("g")], True),
        (MERGE_ON_READ, [one("f", logs=1), one("g")], True),
        (MERGE_ON_READ, [one("f", logs=1), one("g", base=False, logs=1)], False),
        (MERGE_ON_READ, [one("00000000-f", logs=1), one("00000001-g")], False),
        (MERGE_ON_READ, [one("00000000-f"), one("00000001-g")], True),
        (CUSTOM, [one("f", logs=1)], False),
        (CUSTOM, [one("f")], True),
    ],
    ids=["cow", "no logs", "updates", "a group of logs", "buckets", "compacted", "payload class", "and compacted"],
)
def test_an_index_is_trusted_where_java_has_indexed_all_keys(properties, slices, expected):
    table = HandMadeTable(properties=properties)
    assert _has_every_key(table.context(), Snapshot(Timeline(()), at(9), tuple(slices))) is expected


def test_consistent_hashing_is_told_by_its_folder():
    table = HandMadeTable(properties=MERGE_ON_READ)
    table.storage.put(".hoodie/.bucket_index/consistent_hashing_metadata/p/x.hashing_meta", b"{}")
    assert not _has_every_key(table.context(), Snapshot(Timeline(()), at(9), (one("f", logs=1),)))
