"""An argument of a kind that is not taken is refused by a named error, before anything is touched."""

from __future__ import annotations

import pytest

import drawstring as ds
from drawstring.errors import InputError, OptionError, RecordKeyError, StorageError, TimeTravelError
from unit.impl.bad_input.conftest import SCHEMA, refusal, rows


@pytest.mark.parametrize("location", [None, 3, b"trips"])
def test_a_location_that_is_no_text_is_refused(location):
    with pytest.raises(InputError, match=type(location).__name__):
        ds.Table.open(location)


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
