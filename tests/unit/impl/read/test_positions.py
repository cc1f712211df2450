"""Merging by positions: the rows that keys would give, fewer columns read, and damage that is named."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
import pytest

from drawstring.errors import CorruptFileError
from drawstring.log_files.blocks import read_blocks
from drawstring.read import merge_reader, positions
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.stream import scan_snapshot
from drawstring.read.view import load_snapshot
from drawstring_spec.log_format import HeaderKey
from unit.impl.read.golden_memory import GoldenTable

NAME = "mor_event_time_ordering"
BY_KEYS = {"hoodie.merge.use.record.positions": False}


@pytest.fixture
def table():
    return GoldenTable(NAME)


@pytest.fixture
def ways(monkeypatch):
    """How each slice with log files is merged, from now on."""
    found = []
    inner = merge_reader._merges_by_position

    def noting(blocks, query):
        found.append(inner(blocks, query))
        return found[-1]

    monkeypatch.setattr(merge_reader, "_merges_by_position", noting)
    return found


def read(table, options=None, **query):
    context = table.context(options)
    return read_snapshot(context, load_snapshot(context), **query)


def positions_text(table):
    """A bitmap as a log file has it, and the file."""
    for path in table.paths("", without=".parquet"):
        if ".log." in path:
            for block in read_blocks(memoryview(table.storage.files[path][0]), path=path):
                if block.header.get(HeaderKey.RECORD_POSITIONS):
                    return path, block.header[HeaderKey.RECORD_POSITIONS]
    raise AssertionError("no block has positions")


def test_positions_and_keys_give_the_same_rows(table, ways):
    assert read(table) == read(table, BY_KEYS)
    assert True in ways
    assert ways.count(True) < len(ways)


@pytest.mark.parametrize("batch_rows", [1, 3, 50])
def test_parts_of_a_base_file_know_where_they_begin(table, ways, batch_rows, monkeypatch):
    context = table.context()
    # Parts are made larger where log files have many entries: here they are as small as asked for.
    inner = merge_reader.base_file_parts
    monkeypatch.setattr(merge_reader, "base_file_parts", lambda task, query, _: inner(task, query, batch_rows))
    found = scan_snapshot(context, load_snapshot(context), batch_rows=batch_rows).read_all()
    assert found == read(table, BY_KEYS)
    assert True in ways


def test_keys_are_not_read_where_nobody_asks_for_them(table, monkeypatch):
    asked = []
    inner = merge_reader.read_base_file
    monkeypatch.setattr(
        merge_reader, "read_base_file", lambda task, query: asked.append(query.columns.names) or inner(task, query)
    )
    columns = [name for name in read(table).column_names if not name.startswith("_hoodie") and name != "id"][:1]
    asked.clear()
    found = read(table, columns=columns)
    assert any("_hoodie_record_key" not in names for names in asked)
    assert found == read(table, BY_KEYS, columns=columns)


def test_a_filter_of_keys_sees_all_rows_where_keys_decide(table):
    key = read(table)["_hoodie_record_key"][0].as_py()
    condition = pc.field("_hoodie_record_key") == key
    assert read(table, filter=condition) == read(table, BY_KEYS, filter=condition)


def test_a_bitmap_that_cannot_be_read_is_named_and_keys_are_the_way_out(table):
    expected = read(table)
    path, text = positions_text(table)
    content = table.storage.files[path][0]
    table.storage.put(path, content.replace(text.encode(), b"!" * len(text)))
    with pytest.raises(CorruptFileError, match="positions"):
        read(table)
    assert read(table, BY_KEYS) == expected


@pytest.mark.parametrize(
    "damage", [lambda p: p[:-1], lambda p: np.append(p[:-1], p.max() + np.uint64(10**6)), lambda p: p[:0]]
)
def test_positions_that_do_not_fit_are_refused_and_name_the_way_out(table, monkeypatch, damage):
    inner = positions.record_positions
    monkeypatch.setattr(positions, "record_positions", lambda block: damage(inner(block)))
    with pytest.raises(CorruptFileError, match="position") as caught:
        read(table)
    assert "hoodie.merge.use.record.positions" in caught.value.way_out


def test_positions_of_another_base_file_are_not_used(table, ways, monkeypatch):
    expected = read(table, BY_KEYS)
    inner = merge_reader.have_positions
    monkeypatch.setattr(
        merge_reader,
        "have_positions",
        lambda blocks, base: inner(blocks, type(base)(base.path, base.group, "20000101000000000", base.size)),
    )
    ways.clear()
    assert read(table) == expected
    assert True not in ways
