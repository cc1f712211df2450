"""Which rows the entries of a delete block remove, by the kind of their ordering values."""

from __future__ import annotations

import io
import json
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest

from drawstring.data.log_merge import comparable
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.view import load_snapshot
from drawstring_spec.log_format import BlockType, HeaderKey
from drawstring_spec.merge_modes import PAYLOAD_CLASSES, STRATEGY_IDS, MergeMode
from drawstring_spec.payloads import NAMESPACE, SCHEMAS
from unit.impl.log_files.test_blocks import block
from unit.impl.read.tables import HandMadeTable, at, avro_text

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64()), ("day", pa.string())])
BY_EVENT_TIME = {
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.precombine.field": "n",
    "hoodie.record.merge.mode": MergeMode.EVENT_TIME_ORDERING,
    "hoodie.record.merge.strategy.id": STRATEGY_IDS[MergeMode.EVENT_TIME_ORDERING],
    "hoodie.compaction.payload.class": PAYLOAD_CLASSES[MergeMode.EVENT_TIME_ORDERING],
}

AVRO_COLUMNS = [("id", "string"), ("n", "long"), ("day", "string")]


def delete_block(ordering) -> bytes:
    entry = {"recordKey": "k", "partitionPath": "p", "orderingVal": ordering}
    content = io.BytesIO()
    fastavro.schemaless_writer(content, SCHEMAS["HoodieDeleteRecordList"], {"deleteRecordList": [entry]})
    raw = content.getvalue()
    framed = (3).to_bytes(4, "big") + len(raw).to_bytes(4, "big") + raw
    return block(BlockType.DELETE, {HeaderKey.INSTANT_TIME: at(3)}, framed)


def rows_left(ordering, kind=None) -> int:
    """How many rows of a file with one row, of ordering value 7, are left by a delete with `ordering`."""
    schema = SCHEMA if kind is None else SCHEMA.set(1, pa.field("n", kind))
    value = pa.array([7], pa.int32() if kind == pa.date32() else pa.int64()).cast(schema.field("n").type)
    row = pa.table([pa.array(["k"]), value, pa.array(["p"])], schema=schema)
    table = HandMadeTable(schema=schema, properties=BY_EVENT_TIME)
    table.base_file("p", "f-0", 1, row)
    table.commit(1, 2, schema=avro_text(schema))
    table.storage.put(f"p/.f-0_{at(3)}.log.1_0-0-0", delete_block(ordering))
    table.commit(3, 4, schema=avro_text(schema))
    context = table.context()
    return read_snapshot(context, load_snapshot(context)).num_rows


def rows_left_by_records(
    *records: dict, more: pa.Field | None = None, kind: pa.DataType | None = None, **properties: str
) -> list[dict]:
    """What is left of a file with the row `k` by a data block of records that keep their kind of change.

    `more` is one more column of the table, which is null in the file; `kind` is the type of `n`.
    """
    columns = SCHEMA if kind is None else SCHEMA.set(1, pa.field("n", kind))
    columns = columns if more is None else columns.append(more)
    own = [] if more is None else [(more.name, "boolean" if more.type == pa.bool_() else "string")]
    named = [(name, "int" if name == "n" and kind == pa.int32() else type_) for name, type_ in AVRO_COLUMNS]
    fields = [("_hoodie_record_key", "string"), ("_hoodie_operation", "string"), *named, *own]
    schema = {
        "type": "record",
        "name": "r",
        "fields": [{"name": name, "type": ["null", type_], "default": None} for name, type_ in fields],
    }
    content = (3).to_bytes(4, "big") + len(records).to_bytes(4, "big")
    for record in records:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, {**record, "_hoodie_record_key": record["id"]})
        content += len(out.getvalue()).to_bytes(4, "big") + out.getvalue()
    header = {HeaderKey.INSTANT_TIME: at(3), HeaderKey.SCHEMA: json.dumps(schema)}
    table = HandMadeTable(schema=columns, properties={**BY_EVENT_TIME, **properties})
    row = {"id": ["k"], "n": [7], "day": ["p"], **({} if more is None else {more.name: [None]})}
    table.base_file("p", "f-0", 1, pa.table(row, schema=columns))
    table.commit(1, 2, schema=avro_text(columns))
    table.storage.put(f"p/.f-0_{at(3)}.log.1_0-0-0", block(BlockType.AVRO_DATA, header, content))
    table.commit(3, 4, schema=avro_text(columns))
    context = table.context()
    return read_snapshot(context, load_snapshot(context), columns=["id", "n"]).to_pylist()


def wrapped(kind: str, value) -> tuple[str, dict]:
    return f"{NAMESPACE}.{kind}", {"value": value}


@pytest.mark.parametrize(
    ("ordering", "left"),
    [(wrapped("LongWrapper", 6), 1), (wrapped("LongWrapper", 7), 0), (wrapped("LongWrapper", 8), 0)],
    ids=["older", "equal", "newer"],
)
def test_a_delete_of_the_columns_own_type_removes_what_is_not_newer(ordering, left):
    assert rows_left(ordering) == left


@pytest.mark.parametrize(
    ("kind", "wrapper"),
    [
        (pa.timestamp("us", "UTC"), "LongWrapper"),
        (pa.date32(), "IntWrapper"),
        (pa.decimal128(21, 2), "DecimalWrapper"),
    ],
    ids=["timestamp", "date", "decimal"],
)
@pytest.mark.parametrize(("number", "left"), [(6, 1), (7, 0), (8, 0)], ids=["older", "equal", "newer"])
def test_a_delete_has_times_as_numbers_and_decimals_of_one_type(kind, wrapper, number, left):
    value = Decimal(number).quantize(Decimal("1e-15")) if wrapper == "DecimalWrapper" else number
    assert rows_left(wrapped(wrapper, value), kind) == left


def test_no_value_is_nought_where_the_column_is_a_short_decimal():
    kind = pa.decimal128(10, 2)
    assert comparable(pa.nulls(1, kind), kind).to_pylist() == [Decimal("0.00")]


@pytest.mark.parametrize("ordering", [None, wrapped("IntWrapper", 0)], ids=["none", "the integer nought"])
def test_a_delete_without_an_ordering_value_removes_whatever_is_there(ordering):
    assert rows_left(ordering) == 0


@pytest.mark.parametrize("ordering", [wrapped("IntWrapper", 6), wrapped("StringWrapper", "6")])
def test_a_delete_whose_value_is_of_another_type_removes_whatever_is_there(ordering):
    assert rows_left(ordering) == 0


def rows_left_in_log(kind, value, ordering) -> int:
    """How many rows are left where only log files have a key: a record with `value`, then a delete with `ordering`."""
    schema = SCHEMA.set(1, pa.field("n", kind))
    avro = json.loads(avro_text(schema))
    avro["fields"].insert(0, {"name": "_hoodie_record_key", "type": ["null", "string"], "default": None})
    out = io.BytesIO()
    fastavro.schemaless_writer(out, avro, {"_hoodie_record_key": "k", "id": "k", "n": value, "day": "p"})
    content = (3).to_bytes(4, "big") + (1).to_bytes(4, "big") + len(out.getvalue()).to_bytes(4, "big") + out.getvalue()
    record = block(BlockType.AVRO_DATA, {HeaderKey.INSTANT_TIME: at(3), HeaderKey.SCHEMA: json.dumps(avro)}, content)
    table = HandMadeTable(schema=schema, properties=BY_EVENT_TIME)
    table.base_file("p", "f-0", 1, schema.empty_table())
    table.commit(1, 2, schema=avro_text(schema))
    table.storage.put(f"p/.f-0_{at(3)}.log.1_0-0-0", record + delete_block(ordering))
    table.commit(3, 4, schema=avro_text(schema))
    context = table.context()
    return read_snapshot(context, load_snapshot(context)).num_rows


@pytest.mark.parametrize(
    ("kind", "value", "ordering", "left"),
    [
        (pa.int64(), 7, wrapped("LongWrapper", 6), 1),
        (pa.string(), "7", wrapped("StringWrapper", "6"), 0),
        (pa.decimal128(10, 2), Decimal("7.00"), wrapped("DecimalWrapper", Decimal(6).quantize(Decimal("1e-15"))), 0),
    ],
    ids=["numbers compare", "texts do not", "decimals do not"],
)
def test_a_delete_wins_over_a_record_of_a_log_file_whose_class_java_does_not_compare(kind, value, ordering, left):
    assert rows_left_in_log(kind, value, ordering) == left


@pytest.mark.parametrize(("operation", "left"), [("D", 0), ("-U", 0), ("I", 1), ("+U", 1), (None, 1)])
def test_a_record_whose_kind_of_change_is_a_delete_is_no_row_though_the_table_does_not_list_the_column(operation, left):
    record = {"id": "k", "n": 8, "day": "p", "_hoodie_operation": operation}
    assert len(rows_left_by_records(record)) == left


def test_a_deleting_record_that_is_older_than_the_row_leaves_it():
    assert rows_left_by_records({"id": "k", "n": 6, "day": "p", "_hoodie_operation": "D"}) == [{"id": "k", "n": 7}]


@pytest.mark.parametrize(("kind", "left"), [(pa.int32(), 0), (pa.int64(), 1)], ids=["an int", "a long"])
def test_a_deleting_record_with_the_integer_0_removes_whatever_is_there(kind, left):
    record = {"id": "k", "n": 0, "day": "p", "_hoodie_operation": "D"}
    assert len(rows_left_by_records(record, kind=kind)) == left


@pytest.mark.parametrize(("says", "left"), [(True, 0), (False, 1), (None, 1)])
def test_a_record_that_says_of_itself_that_it_is_deleted_is_no_row(says, left):
    record = {"id": "k", "n": 8, "day": "p", "_hoodie_is_deleted": says}
    assert len(rows_left_by_records(record, more=pa.field("_hoodie_is_deleted", pa.bool_()))) == left


@pytest.mark.parametrize(("says", "left"), [("gone", 0), ("there", 1), (None, 1)])
def test_a_record_with_the_mark_that_the_table_names_is_no_row(says, left):
    record = {"id": "k", "n": 8, "day": "p", "op": says}
    named = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "gone"}
    assert len(rows_left_by_records(record, more=pa.field("op", pa.string()), **named)) == left
