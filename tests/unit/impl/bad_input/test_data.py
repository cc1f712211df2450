"""Data that does not fit the table is refused by the column's or key's name; nothing is written."""

from __future__ import annotations

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.errors import DuplicateKeyError, InputError, RecordKeyError, SchemaError, TimeTravelError
from unit.impl.bad_input.conftest import SCHEMA, refusal, rows, visible

WRITES = ["bulk_insert", "insert", "upsert"]


@pytest.fixture
def table(table_path):
    return ds.Table.open(str(table_path))


@pytest.mark.parametrize("operation", WRITES)
def test_a_column_of_another_type_is_refused(table, table_path, operation):
    wrong = rows("x").set_column(3, "amount", pa.array(["much"]))
    with refusal(table_path.parent, SchemaError, "amount"):
        getattr(table, operation)(wrong)


@pytest.mark.parametrize("operation", WRITES)
def test_a_column_that_the_table_does_not_have_is_refused(table, table_path, operation):
    wrong = rows("x").append_column("surprise", pa.array([1]))
    with refusal(table_path.parent, SchemaError, "surprise"):
        getattr(table, operation)(wrong)


@pytest.mark.parametrize("operation", WRITES)
def test_a_missing_column_is_refused(table, table_path, operation):
    with refusal(table_path.parent, SchemaError, "amount"):
        getattr(table, operation)(rows("x").drop_columns(["amount"]))


@pytest.mark.parametrize("operation", WRITES)
def test_a_null_key_is_refused(table, table_path, operation):
    with refusal(table_path.parent, RecordKeyError, "id"):
        getattr(table, operation)(rows("x", None))


@pytest.mark.parametrize("operation", WRITES)
def test_an_empty_key_is_refused(table, table_path, operation):
    with refusal(table_path.parent, RecordKeyError, "id"):
        getattr(table, operation)(rows("x", ""))


@pytest.mark.parametrize("operation", WRITES)
def test_data_without_the_key_column_is_refused(table, table_path, operation):
    with refusal(table_path.parent, SchemaError, "id"):
        getattr(table, operation)(rows("x").drop_columns(["id"]))


@pytest.mark.parametrize("operation", WRITES)
def test_data_without_the_partition_column_is_refused(table, table_path, operation):
    with refusal(table_path.parent, SchemaError, "region"):
        getattr(table, operation)(rows("x").drop_columns(["region"]))


@pytest.mark.parametrize("operation", [*WRITES, "delete"])
def test_what_is_no_table_of_columns_is_refused(table, table_path, operation):
    with refusal(table_path.parent, InputError):
        getattr(table, operation)(42)


def test_deleting_a_null_key_is_refused(table, table_path):
    with refusal(table_path.parent, RecordKeyError, "id"):
        table.delete(rows("a", None).select(["id", "region"]))


def test_deleting_without_the_key_column_is_refused(table, table_path):
    with refusal(table_path.parent, SchemaError, "id"):
        table.delete(rows("a").select(["ts"]))


def test_inserting_a_key_that_exists_is_refused(table, table_path):
    before = visible(table_path)
    with pytest.raises(DuplicateKeyError, match="'a' in 'north'") as caught:
        table.insert(rows("a"))
    assert caught.value.way_out
    assert visible(table_path) == before


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.null(), pa.month_day_nano_interval()], ids=str)
def test_a_type_that_hudi_has_no_mapping_for_makes_no_table(tmp_path, kind):
    with refusal(tmp_path, SchemaError, "strange"):
        ds.Table.create(str(tmp_path / "new"), SCHEMA.append(pa.field("strange", kind)), record_key="id")


def test_a_column_named_like_a_meta_column_makes_no_table(tmp_path):
    schema = SCHEMA.append(pa.field("_hoodie_record_key", pa.string()))
    with refusal(tmp_path, SchemaError, "_hoodie_record_key"):
        ds.Table.create(str(tmp_path / "new"), schema, record_key="id")


def test_two_columns_of_one_name_make_no_table(tmp_path):
    with refusal(tmp_path, SchemaError, "ts"):
        ds.Table.create(str(tmp_path / "new"), SCHEMA.append(pa.field("ts", pa.string())), record_key="id")


@pytest.mark.parametrize("as_of", ["yesterday", "2024", "9" * 30, ""])
def test_a_snapshot_time_that_is_none_is_refused(table, table_path, as_of):
    with refusal(table_path.parent, TimeTravelError):
        table.read(as_of=as_of)


def test_reading_a_column_that_is_not_there_is_refused(table, table_path):
    with refusal(table_path.parent, InputError, "no_such_column"):
        table.read(columns=["no_such_column"])


@pytest.mark.parametrize("field", ["record_key", "partition_by"])
@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.list_(pa.string()), pa.binary()], ids=str)
def test_a_key_or_partition_of_a_type_without_a_sure_text_is_refused_by_name(tmp_path, field, kind):
    """Better when the table is made than when its first rows come."""
    schema = SCHEMA.append(pa.field("strange", kind))
    arguments = {"record_key": "id", field: "strange"}
    with refusal(tmp_path, RecordKeyError, "strange", str(kind)):
        ds.Table.create(str(tmp_path / "new"), schema, **arguments)


def test_an_ordering_column_whose_values_have_no_order_makes_no_table(tmp_path):
    schema = SCHEMA.append(pa.field("strange", pa.list_(pa.string())))
    with refusal(tmp_path, SchemaError, "strange"):
        ds.Table.create(str(tmp_path / "new"), schema, record_key="id", ordering="strange")
