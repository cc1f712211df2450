"""The schema that a table has at a snapshot time."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from drawstring.errors import CorruptFileError, FormatError, SchemaError
from drawstring.read.arrow_reader import query_schema
from drawstring.read.schema import resolve_schema, table_schema
from drawstring.timeline.load import load_timeline
from drawstring.timeline.timeline import Timeline
from unit.impl.read.tables import SCHEMA, HandMadeTable, a_row, at, avro_text

WIDER = SCHEMA.append(pa.field("more", pa.float64()))
WIDEST = WIDER.append(pa.field("most", pa.bool_()))


def columns(table, as_of=None):
    context = table.context()
    return resolve_schema(context, load_timeline(context.ports.storage, context.config), as_of).columns


def test_a_new_table_has_the_schema_that_it_was_created_with():
    assert table_schema(HandMadeTable(schema=WIDER).context()) == WIDER


def test_the_newest_commit_by_requested_time_says_the_schema():
    table = HandMadeTable()
    table.commit(1, 9, schema=avro_text(WIDER))
    table.commit(2, 3, schema=avro_text(WIDEST))
    table.commit(4, schema=avro_text())
    assert columns(table) == WIDEST


def test_an_earlier_snapshot_has_the_schema_of_then():
    table = HandMadeTable()
    table.commit(1, 2, schema=avro_text(SCHEMA))
    table.commit(3, 4, schema=avro_text(WIDER))
    assert columns(table, at(2)) == SCHEMA
    assert columns(table, at(3)) == WIDER


def test_a_snapshot_before_the_first_commit_has_the_newest_schema():
    table = HandMadeTable()
    table.commit(3, 4, schema=avro_text(WIDER))
    assert columns(table, at(1)) == WIDER


@pytest.mark.parametrize("operation", ["CLUSTER", "COMPACT", "LOG_COMPACT", "INDEX"])
def test_an_operation_that_only_rewrites_says_nothing_about_the_schema(operation):
    table = HandMadeTable()
    table.commit(1, 2, schema=avro_text(WIDER))
    table.commit(3, 4, schema=avro_text(SCHEMA), operation=operation)
    assert columns(table) == WIDER


def test_a_commit_with_an_empty_schema_says_nothing():
    table = HandMadeTable()
    table.commit(1, 2, schema=avro_text(WIDER))
    table.commit(3, 4, schema="")
    assert columns(table) == WIDER


def test_meta_fields_in_a_commits_schema_are_no_columns():
    table = HandMadeTable()
    with_meta = json.loads(avro_text())
    with_meta["fields"].insert(0, {"name": "_hoodie_commit_time", "type": ["null", "string"]})
    table.commit(1, 2, schema=json.dumps(with_meta))
    assert columns(table) == SCHEMA


DROPPED = {"hoodie.datasource.write.drop.partition.columns": "true"}


def test_partition_columns_that_were_left_out_of_the_files_are_texts_at_the_end():
    table = HandMadeTable(partition_by=("day", "hour"), properties=DROPPED)
    table.commit(1, 2, schema=avro_text(pa.schema([SCHEMA.field("id"), SCHEMA.field("n")])))
    assert columns(table) == pa.schema([*list(SCHEMA)[:2], ("day", pa.string()), ("hour", pa.string())])


def test_partition_columns_that_a_commits_schema_has_keep_their_place():
    table = HandMadeTable(properties=DROPPED)
    table.commit(1, 2, schema=avro_text())
    assert columns(table) == SCHEMA


def test_a_schema_of_some_partition_columns_and_not_of_others_is_refused_as_in_java():
    table = HandMadeTable(partition_by=("day", "hour"), properties=DROPPED)
    table.commit(1, 2, schema=avro_text())
    with pytest.raises(SchemaError, match="lacks"):
        columns(table)


def test_without_any_schema_a_data_file_says_it():
    table = HandMadeTable(properties={"hoodie.table.create.schema": None})
    table.base_file("a", "f-0", 1, a_row("x", 1, "a"))
    table.commit(1, 2, schema="")
    assert columns(table) == SCHEMA


def test_a_table_that_nobody_gave_a_schema_is_refused():
    table = HandMadeTable(properties={"hoodie.table.create.schema": None})
    table.base_file("a", "f-0", 1)
    table.commit(1)
    with pytest.raises(SchemaError, match="no columns") as caught:
        columns(table)
    assert caught.value.way_out


@pytest.mark.parametrize("text", ["{", "[]", '"string"', '{"type":"record"}', "[" * 100_000])
def test_a_schema_that_is_none_is_refused(text):
    table = HandMadeTable()
    table.commit(1, 2, schema=text)
    with pytest.raises(FormatError):
        columns(table)


@pytest.mark.parametrize("text", ["{", "{}", '{"type":"record","fields":[{"name":"x"}]}', "[" * 100_000, "7"])
def test_a_schema_with_column_ids_that_is_none_is_refused(text):
    table = HandMadeTable()
    table.commit(1, 2, extra={"latest_schema": text})
    with pytest.raises(CorruptFileError):
        columns(table)


def test_a_query_can_ask_for_the_meta_columns_in_front():
    context = HandMadeTable().context()
    names = query_schema(context, resolve_schema(context, Timeline(()))).names
    assert names[:5] == [
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
    ]
    assert names[5:] == SCHEMA.names
