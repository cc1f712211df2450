"""An argument of a kind that is not taken is refused by a named error, before anything is touched."""

from __future__ import annotations

import copy
import pickle

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.errors import InputError, OptionError, RecordKeyError, StorageError, TimeTravelError
from unit.impl.bad_input.conftest import SCHEMA, refusal, rows


@pytest.mark.parametrize("location", [None, 3, b"trips"])
def test_a_location_that_is_no_text_is_refused(location):
    with pytest.raises(InputError, match=type(location).__name__):
        ds.Table.open(location)


@pytest.mark.parametrize(
    "location",
    ["", "file://", "file://elsewhere/trips", "file:///trips?as=of", "ftp://host/trips", "hdfs://host/trips", "s3://"],
)
def test_a_location_that_names_no_storage_is_refused(location):
    with pytest.raises(InputError, match="location"):
        ds.Table.open(location)


@pytest.mark.parametrize("keys", ["k1", {"id": "k1"}, ["\ud800"], None, 5, [5], pa.array([b"k1"])])
def test_what_is_no_list_of_keys_is_not_looked_up(table_path, keys):
    with refusal(table_path, InputError, "keys"):
        ds.Table.open(str(table_path)).lookup(keys)


@pytest.mark.parametrize(("start", "end"), [(5, None), ("earliest", 5), (b"1", None)])
def test_an_end_of_a_range_that_is_no_text_is_refused(table_path, start, end):
    with refusal(table_path, InputError, "end"):
        ds.Table.open(str(table_path)).changes(start, end)


@pytest.mark.parametrize("take", [pickle.dumps, copy.deepcopy])
def test_a_handle_does_not_leave_its_process(table_path, take):
    table = ds.Table.open(str(table_path))
    with refusal(table_path, InputError, "process"):
        take(table)


def test_a_path_object_is_refused_with_a_way_out(table_path):
    with refusal(table_path, InputError, "not a text"):
        ds.Table.open(table_path)


def test_a_table_is_not_created_where_a_file_is(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    with refusal(tmp_path, StorageError, "exists"):
        ds.Table.create(str(tmp_path / "file"), SCHEMA, record_key="id")


@pytest.mark.parametrize("options", [["hoodie.metadata.enable"], {3: "true"}])
def test_options_that_are_no_values_by_key_are_refused(table_path, options):
    with refusal(table_path, OptionError, "options"):
        ds.Table.open(str(table_path), options=options)


def test_a_snapshot_time_that_is_no_text_is_refused(table_path):
    with refusal(table_path, TimeTravelError, "20240229"):
        ds.Table.open(str(table_path)).read(as_of=20240229000000)


@pytest.mark.parametrize("character", ["\n", "\t", "\x01", "\x7f"])
def test_a_control_character_in_a_partition_is_refused_before_anything_is_written(tmp_path, character):
    table = ds.Table.create(str(tmp_path / "new"), SCHEMA, record_key="ts", partition_by="id")
    with refusal(tmp_path, RecordKeyError, "control character"):
        table.upsert(rows(f"a{character}b"))
