"""Partitions inside one another are refused: no reader lists the inner one, so its rows would be lost."""

from __future__ import annotations

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.errors import RecordKeyError
from drawstring.protocol import data_files

SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.string())])


def rows(*pairs):
    return pa.table({"k": [k for k, _ in pairs], "p": [p for _, p in pairs]}, schema=SCHEMA)


def keys(table):
    return sorted(table.read(columns=["k"]).column("k").to_pylist())


@pytest.fixture
def table(tmp_path):
    return ds.Table.create(str(tmp_path / "t"), SCHEMA, record_key="k", partition_by="p")


@pytest.mark.parametrize(("first", "second"), [("a/b", "a"), ("a", "a/b"), ("a/b/c", "a"), ("a", "a/b/c")])
def test_a_partition_inside_another_is_refused_and_no_row_is_lost(table, first, second):
    table.insert(rows((1, first)))
    with pytest.raises(RecordKeyError, match="one another") as caught:
        table.insert(rows((2, second)))
    assert "urlencode" in str(caught.value.way_out)
    assert keys(table) == [1]


def test_partitions_inside_one_another_in_one_batch_are_refused_before_anything_is_written(table):
    with pytest.raises(RecordKeyError, match="inside"):
        table.insert(rows((1, "a/b"), (2, "a")))
    table.insert(rows((2, "a")))
    assert keys(table) == [2]


def test_partitions_of_one_depth_may_share_their_first_folders(table):
    table.insert(rows((1, "2024/01"), (2, "2024/02"), (3, "2025/01")))
    table.insert(rows((4, "2024/03")))
    assert keys(table) == [1, 2, 3, 4]


def test_escaped_values_may_lie_inside_one_another(tmp_path):
    options = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
    table = ds.Table.create(str(tmp_path / "t"), SCHEMA, record_key="k", partition_by="p", options=options)
    table.insert(rows((1, "a/b")))
    table.insert(rows((2, "a")))
    assert keys(table) == [1, 2]


def test_without_the_check_rows_would_vanish(table, monkeypatch):
    monkeypatch.setattr(data_files, "_refuse_nested", lambda *_: None)
    table.insert(rows((1, "a/b")))
    table.insert(rows((2, "a")))
    assert keys(table) == [2]
