"""A damaged file of the table is an error that names it, for readers and writers; nothing is changed."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import drawstring as ds
from drawstring.errors import CorruptFileError
from drawstring_conformance.vectors import load_case
from unit.impl.bad_input.conftest import refusal, rows, visible


def newest_base_file(table: Path) -> Path:
    return max(table.rglob("*.parquet"), key=lambda p: p.name.rsplit("_", 1)[1])


def newest_commit(table: Path) -> Path:
    return max((table / ".hoodie" / "timeline").glob("*.commit"))


def truncate(file: Path, keep: float) -> Path:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * keep)])
    return file


@pytest.mark.parametrize("keep", [0, 0.5, 0.99])
def test_reading_a_truncated_base_file_names_it(table_path, keep):
    damaged = truncate(newest_base_file(table_path), keep)
    with refusal(table_path, CorruptFileError, damaged.name):
        ds.Table.open(str(table_path)).read()


@pytest.mark.parametrize("keep", [0, 0.5, 0.99])
def test_reading_a_log_file_that_is_shorter_than_the_metadata_table_says_names_it(tmp_path, keep):
    table_path = load_case("mor_basic").extract(tmp_path / "table")
    table = ds.Table.open(str(table_path))
    log = next(log for one in table.file_slices() for log in one.log_files)
    damaged = truncate(table_path / log.path, keep)
    with refusal(table_path, CorruptFileError, damaged.name, str(log.size)):
        table.read()


@pytest.mark.parametrize("case", ["mor_basic", "index_record_mor", "clean_commits"])
@pytest.mark.parametrize("keep", [None, 0, 0.5, 0.99])
def test_listings_of_which_a_file_was_lost_or_cut_off_are_refused(tmp_path, case, keep):
    table_path = load_case(case).extract(tmp_path / "table")
    whole = ds.Table.open(str(table_path)).read()
    listings = table_path / ".hoodie" / "metadata" / "files"
    refused = 0
    for path in (path for pattern in (".*.log.*", "*.hfile") for path in listings.glob(pattern)):
        content = path.read_bytes()
        if keep is None:
            path.unlink()
        else:
            truncate(path, keep)
        try:
            assert ds.Table.open(str(table_path)).read().equals(whole), path.name  # a file that counts no more
        except CorruptFileError:
            refused += 1
        path.write_bytes(content)
    assert refused


def test_a_table_whose_listings_lost_a_file_is_read_without_them(tmp_path):
    table_path = load_case("mor_basic").extract(tmp_path / "table")
    whole = ds.Table.open(str(table_path)).read()
    lost = max((table_path / ".hoodie" / "metadata" / "files").glob(".*.log.1_*"))
    lost.unlink()
    with refusal(table_path, CorruptFileError, "'files-0000-0' of 'files' is gone"):
        ds.Table.open(str(table_path)).read()
    listed = ds.Table.open(str(table_path), options={"hoodie.metadata.enable": "false"}).read()
    assert listed.sort_by("_hoodie_record_key").equals(whole.sort_by("_hoodie_record_key"))


def test_a_record_index_whose_log_file_is_cut_off_is_refused(tmp_path):
    table_path = load_case("index_record").extract(tmp_path / "table")
    keys = ds.Table.open(str(table_path)).read().column("_hoodie_record_key")
    for path in (table_path / ".hoodie" / "metadata" / "record_index").glob(".record-index-*.log.*"):
        truncate(path, 0.9)
    with refusal(table_path, CorruptFileError, "'record_index' is gone"):
        ds.Table.open(str(table_path)).lookup(keys)


def test_reading_a_base_file_whose_pages_are_damaged_names_it(table_path):
    damaged = newest_base_file(table_path)
    content = bytearray(damaged.read_bytes())
    content[4:200] = b"\xff" * 196
    damaged.write_bytes(content)
    with refusal(table_path, CorruptFileError, damaged.name):
        ds.Table.open(str(table_path)).read()


def test_upserting_into_a_truncated_base_file_names_it_and_shows_nothing(table_path):
    damaged = truncate(newest_base_file(table_path), 0.5)
    before = visible(table_path)
    with pytest.raises(CorruptFileError, match=damaged.name) as caught:
        ds.Table.open(str(table_path)).upsert(rows("a", ts=9))
    assert caught.value.way_out
    assert visible(table_path) == before


@pytest.mark.parametrize("keep", [0.01, 0.5, 0.99])
def test_reading_with_a_truncated_commit_names_it(table_path, keep):
    damaged = truncate(newest_commit(table_path), keep)
    with refusal(table_path, CorruptFileError, damaged.name):
        ds.Table.open(str(table_path)).read()


def test_writing_with_a_truncated_commit_names_it(table_path):
    damaged = truncate(newest_commit(table_path), 0.5)
    with refusal(table_path, CorruptFileError, damaged.name):
        ds.Table.open(str(table_path)).upsert(rows("a", ts=9))


def zigzag(number: int) -> bytes:
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


BOMBS = {
    "metadata entries": b"Obj\x01" + zigzag(2**50),
    "length of a key": b"Obj\x01" + zigzag(1) + zigzag(2**50),
    "negative length": b"Obj\x01" + zigzag(1) + zigzag(-5),
    "not avro": b"PAR1" + bytes(100),
    "json": b'{"partitionToWriteStats": {}}',
    "parquet length": b"PAR1" + struct.pack("<I", 2**31) + b"PAR1",
}


@pytest.mark.parametrize("content", BOMBS.values(), ids=BOMBS.keys())
def test_a_commit_that_is_no_avro_file_is_named_and_allocates_nothing(table_path, content):
    damaged = newest_commit(table_path)
    damaged.write_bytes(content)
    with refusal(table_path, CorruptFileError, damaged.name):
        ds.Table.open(str(table_path)).read()


def test_a_commit_whose_block_claims_more_than_the_file_holds_is_named(table_path):
    damaged = newest_commit(table_path)
    content = damaged.read_bytes()
    marker = content[-16:]
    header = content[: content.index(marker) + 16]
    damaged.write_bytes(header + zigzag(1) + zigzag(2**50) + b"\x00" * 8 + marker)
    with refusal(table_path, CorruptFileError, damaged.name):
        ds.Table.open(str(table_path)).read()


@pytest.mark.parametrize("name", ["notes.txt", "20240101.commit", "x.commit", "20240101000000000.nonsense.requested"])
def test_a_stranger_on_the_timeline_changes_no_answer(table_path, name):
    expected = ds.Table.open(str(table_path)).read()
    (table_path / ".hoodie" / "timeline" / name).write_bytes(b"anything")
    assert ds.Table.open(str(table_path)).read().equals(expected)


def test_a_stranger_in_a_partition_changes_no_answer(table_path):
    expected = ds.Table.open(str(table_path)).read()
    partition = newest_base_file(table_path).parent
    (partition / "notes.txt").write_bytes(b"anything")
    (partition / "part-00000.snappy.parquet").write_bytes(b"anything")
    assert ds.Table.open(str(table_path)).read().equals(expected)
