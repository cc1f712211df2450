"""The public face: a table is made, opened, written, read, and refuses what it cannot do."""

from __future__ import annotations

import importlib.metadata
import inspect
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.errors import EngineError, InputError, OptionError, SchemaError, TableExistsError, UnsupportedTableError
from drawstring.events import Event
from drawstring.options import Options
from drawstring.table_arguments import creation_arguments
from drawstring.table_properties import modify_properties
from drawstring_spec.meta_fields import META_FIELDS
from drawstring_spec.steps import Step
from unit.impl.protocol.world import START_MS

SCHEMA = pa.schema([("id", pa.string()), ("day", pa.string()), ("ts", pa.int64()), ("n", pa.int32())])


def rows(*ids: str, day: str = "x", ts: int = 1, n: int = 0) -> pa.Table:
    return pa.Table.from_pylist([{"id": i, "day": day, "ts": ts, "n": n} for i in ids], schema=SCHEMA)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "trips")


@pytest.fixture
def table(path: str) -> ds.Table:
    return ds.Table.create(path, SCHEMA, record_key="id", partition_by=["day"], ordering="ts")


def ids(table: ds.Table, **query) -> list[str]:
    return sorted(table.read(columns=["id"], **query)["id"].to_pylist())


def test_a_table_is_called_like_its_folder(table, path):
    assert table.config.name == "trips"
    assert table.uri == Path(path).as_uri()
    assert repr(table) == f"Table({Path(path).as_uri()!r})"


def test_a_table_can_be_given_a_name(path):
    assert ds.Table.create(path, SCHEMA, record_key="id", options={"hoodie.table.name": "t"}).config.name == "t"


def test_one_field_or_several_can_be_named(path):
    config = ds.Table.create(path, SCHEMA, record_key=["id", "n"], partition_by="day").config
    assert (config.record_key_fields, config.partition_fields) == (("id", "n"), ("day",))


def test_a_schema_may_come_from_whatever_exports_one(path):
    frame = pl.DataFrame({"id": ["a"], "n": [1]})
    table = ds.Table.create(path, frame.to_arrow().schema, record_key="id")
    table.insert(frame)
    assert table.read(meta_columns=False).to_pylist() == [{"id": "a", "n": 1}]


def test_writes_return_their_times_and_counts(table):
    inserted = table.insert(rows("a", "b", "c"))
    assert (inserted.num_inserts, inserted.num_updates, inserted.num_deletes) == (3, 0, 0)
    upserted = table.upsert(rows("b", "d", ts=2))
    assert (upserted.num_inserts, upserted.num_updates, upserted.num_deletes) == (1, 1, 0)
    deleted = table.delete(rows("a").select(["id", "day"]))
    assert (deleted.num_inserts, deleted.num_updates, deleted.num_deletes) == (0, 0, 1)
    assert inserted.requested_time < inserted.completion_time < upserted.requested_time


def test_each_version_of_a_table_can_be_read(table):
    first = table.bulk_insert(rows("a", "b"))
    second = table.upsert(rows("b", "c", ts=2, n=7))
    table.delete(rows("a"))
    assert ids(table) == ["b", "c"]
    assert ids(table, as_of=second.requested_time) == ["a", "b", "c"]
    assert ids(table, as_of=first.requested_time) == ["a", "b"]


def test_another_handle_sees_what_was_written(table, path):
    other = ds.Table.open(path)
    table.insert(rows("a"))
    assert ids(other) == ["a"]


def test_a_table_is_read_into_other_frames(table):
    table.insert(rows("a", n=5))
    assert table.to_pandas(columns=["id", "n"]).to_dict("records") == [{"id": "a", "n": 5}]
    assert table.to_polars(columns=["n"]).to_dicts() == [{"n": 5}]


def test_a_handle_is_itself_a_table_of_columns(table, tmp_path):
    table.insert(rows("a", "b"))
    assert pa.table(table).column_names == [*META_FIELDS, *SCHEMA.names]
    copy = ds.Table.create(str(tmp_path / "copy"), table.schema, record_key="id")
    copy.bulk_insert(table)
    assert ids(copy) == ["a", "b"]


def test_a_handle_declares_the_columns_that_it_exports(table):
    table.insert(rows("a"))
    assert pa.schema(table).equals(table.read().schema)


def test_what_a_table_consists_of_can_be_looked_at(table):
    written = table.insert(rows("a"))
    (only,) = table.file_slices()
    assert only.base_instant_time == written.requested_time
    assert table.timeline().last_write().requested_time == written.requested_time
    assert table.schema == SCHEMA
    assert table.properties["hoodie.table.name"] == "trips"


def test_a_listener_hears_the_steps_of_a_write(path):
    events: list[Event] = []
    table = ds.Table.create(path, SCHEMA, record_key="id", emit=events.append)
    table.insert(rows("a"))
    steps = [event.step for event in events]
    assert steps.index(Step.REQUEST_INSTANT) < steps.index(Step.WRITE_FILE) < steps.index(Step.COMPLETE_INSTANT)


def test_a_table_is_not_made_over_another(table, path):
    table.insert(rows("a"))
    with pytest.raises(TableExistsError):
        ds.Table.create(path, SCHEMA, record_key="n")
    assert ids(ds.Table.open(path)) == ["a"]


@pytest.mark.parametrize(
    ("arguments", "error", "word"),
    [
        ({"record_key": "nowhere"}, InputError, "nowhere"),
        ({"record_key": []}, InputError, "record key"),
        ({"record_key": 7}, InputError, "record_key"),
        ({"record_key": "id", "partition_by": ["nowhere"]}, InputError, "nowhere"),
        ({"record_key": "id", "ordering": "nowhere"}, InputError, "nowhere"),
        ({"record_key": "id", "type": "COPY_ON_READ"}, InputError, "COPY_ON_READ"),
        ({"record_key": "id", "type": "MERGE_ON_READ"}, UnsupportedTableError, "MERGE_ON_READ"),
        ({"record_key": "id", "options": {"hoodie.nowhere": 1}}, OptionError, "hoodie.nowhere"),
        (
            {"record_key": "id", "options": {"hoodie.datasource.write.recordkey.field": "n"}},
            OptionError,
            "hoodie.datasource.write.recordkey.field",
        ),
    ],
)
def test_arguments_that_do_not_fit_make_no_table(path, arguments, error, word):
    with pytest.raises(error, match=word) as caught:
        ds.Table.create(path, SCHEMA, **arguments)
    assert caught.value.way_out
    assert not Path(path).exists()


@pytest.mark.parametrize("schema", [7, "id string", None])
def test_what_is_no_schema_makes_no_table(path, schema):
    with pytest.raises(SchemaError):
        ds.Table.create(path, schema, record_key="id")
    assert not Path(path).exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.table.name", "another"),
        ("hoodie.datasource.write.hive_style_partitioning", "true"),
        ("hoodie.datasource.write.keygenerator.type", "COMPLEX"),
        ("hoodie.write.record.merge.mode", "COMMIT_TIME_ORDERING"),
        ("hoodie.datasource.write.recordkey.field", "n"),
        ("hoodie.datasource.write.partitionpath.field", "n"),
        ("hoodie.datasource.write.precombine.field", "n"),
    ],
)
def test_an_option_that_contradicts_the_table_is_refused(table, path, key, value):
    with pytest.raises(OptionError, match=key):
        ds.Table.open(path, options={key: value})


def test_options_that_say_what_the_table_says_are_taken(table, path):
    ds.Table.open(
        path,
        options={
            "hoodie.table.name": "trips",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "day",
            "hoodie.datasource.write.precombine.field": "ts",
            "hoodie.datasource.write.hive_style_partitioning": "false",
        },
    )


@pytest.mark.parametrize("operation", ["insert", "upsert", "bulk_insert", "delete"])
def test_a_table_that_changed_since_it_was_opened_is_refused_by_what_it_is_now(table, operation):
    """The check comes before the data is looked at: 42 is no data either."""
    storage = table._context.ports.storage
    modify_properties(storage, now_ms=START_MS, updates={"hoodie.table.cdc.enabled": "true"})
    with pytest.raises(UnsupportedTableError, match=r"hoodie\.table\.cdc\.enabled"):
        getattr(table, operation)(42)


def test_the_signatures_are_those_that_were_promised():
    promised = {
        ds.Table.create: ["uri", "schema", "record_key", "partition_by", "ordering", "type", "engine", "options"],
        ds.Table.open: ["uri", "engine", "options"],
    }
    for function, names in promised.items():
        assert list(inspect.signature(function).parameters)[: len(names)] == names
    read = list(inspect.signature(ds.Table.read).parameters)
    assert read == ["self", "as_of", "columns", "filter", "read_optimized", "meta_columns"]


def test_importing_drawstring_does_not_import_pyspark():
    code = "import drawstring, sys; drawstring.Table; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, env=dict(os.environ)).returncode == 0


def test_what_is_exported_is_there():
    assert {"Table", "EmbeddedEngine", "SparkEngine", "WriteResult", "DrawstringError"} <= set(dir(ds))
    assert ds.Table.__module__ == "drawstring.table"
    with pytest.raises(AttributeError, match="no attribute 'Tables'"):
        ds.Tables  # noqa: B018 -- the look-up is what is tested


def test_a_location_without_a_name_needs_the_tables_name():
    with pytest.raises(InputError, match=r"s3://bucket"):
        creation_arguments("s3://bucket", SCHEMA, ("id",), (), None, Options.parse())
    named = creation_arguments("s3://bucket", SCHEMA, ("id",), (), None, Options.parse({"hoodie.table.name": "t"}))
    assert named.name == "t"


def test_without_polars_the_error_says_how_to_get_it(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(EngineError, match="polars") as caught:
        table.to_polars()
    assert "pip install" in caught.value.way_out


def test_the_version_is_that_of_the_distribution():
    assert ds.__version__ == importlib.metadata.version("drawstring")
