"""The rows of a snapshot as columns: projection, filters, files of older schemas, damaged and missing files."""

from __future__ import annotations

import datetime as dt
import io
import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drawstring.data import base_file_reader
from drawstring.data.schema import arrow_to_avro
from drawstring.errors import CorruptFileError, InputError, NotFoundError
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.view import load_snapshot
from drawstring_conformance.compare import difference
from drawstring_spec.meta_fields import META_FIELDS
from unit.impl.read import tables
from unit.impl.read.tables import SCHEMA, HandMadeTable, at, avro_text

STAMP = pa.timestamp("us", tz="UTC")


def read(table, **query):
    context = table.context()
    as_of = query.pop("as_of", None)
    return read_snapshot(context, load_snapshot(context, as_of=as_of), **query)


def rows(*ids, day="a"):
    return pa.table({"id": list(ids), "n": pa.array(range(len(ids)), pa.int32()), "day": [day] * len(ids)})


@pytest.fixture
def table():
    table = HandMadeTable()
    table.base_file("a", "f-0", 1, rows("a", "b", "c"))
    table.base_file("b", "g-0", 1, rows("d", "e", day="b"))
    table.commit(1, 2)
    return table


def test_all_columns_come_back_meta_columns_first_then_the_tables_order(table):
    found = read(table)
    assert found.column_names == [*META_FIELDS, *SCHEMA.names]
    assert found["id"].to_pylist() == ["a", "b", "c", "d", "e"]
    assert found["_hoodie_commit_time"].to_pylist() == [at(1)] * 5
    assert found.schema.field("_hoodie_file_name").type == pa.string()


def test_the_meta_columns_can_be_left_out(table):
    assert read(table, meta_columns=False).schema == SCHEMA


def test_columns_come_in_the_order_that_is_asked_for(table):
    assert read(table, columns=["day", "_hoodie_record_key", "id"]).column_names == ["day", "_hoodie_record_key", "id"]


def test_no_columns_still_have_rows(table):
    found = read(table, columns=[])
    assert (found.num_rows, found.num_columns) == (5, 0)


def test_only_partition_columns_are_known_without_the_files_own(table):
    assert read(table, columns=["day"])["day"].to_pylist() == ["a", "a", "a", "b", "b"]


def test_only_the_bytes_of_the_wanted_columns_are_fetched(monkeypatch):
    monkeypatch.setattr(base_file_reader, "_TAIL_BYTES", 4096)
    wide = pa.schema([("id", pa.string()), ("big", pa.string()), ("day", pa.string())])
    table = HandMadeTable(schema=wide)
    texts = [f"{i}" * 50 for i in range(20_000)]
    table.base_file("a", "f-0", 1, pa.table({"id": ["x"] * 20_000, "big": texts, "day": ["a"] * 20_000}))
    table.commit(1, 2, schema=avro_text(wide))
    fetched = []
    inner = table.storage.read

    def counting(path, start=0, length=None):
        content = inner(path, start, length)
        if path.endswith(".parquet"):
            fetched.append(len(content))
        return content

    table.storage.read = counting
    assert read(table, columns=["id"]).num_rows == 20_000
    (size,) = [s.size for s in table.storage.list("a") if s.path.endswith(".parquet")]
    assert 0 < sum(fetched) < size / 2


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        (pc.field("n") > 1, ["c"]),
        ([("n", ">", 1)], ["c"]),
        ([("day", "==", "b"), ("n", "==", 0)], ["d"]),
        ([[("id", "==", "a")], [("id", "==", "e")]], ["a", "e"]),
        ([("id", "in", ["a", "b"])], ["a", "b"]),
        (pc.field("_hoodie_partition_path") == "b", ["d", "e"]),
        (pc.field("id").is_null(), []),
    ],
)
def test_a_filter_keeps_the_rows_that_it_is_true_for(table, condition, ids):
    assert read(table, filter=condition)["id"].to_pylist() == ids


def test_a_filter_may_use_columns_that_are_not_wanted(table):
    found = read(table, columns=["id"], filter=(pc.field("n") == 1) & (pc.field("day") == "b"))
    assert found.to_pylist() == [{"id": "e"}]


def read_paths(table):
    """Paths of the base files that are read from now on."""
    paths, inner = set(), table.storage.read

    def noting(path, start=0, length=None):
        if path.endswith(".parquet"):
            paths.add(path.partition("/")[0])
        return inner(path, start, length)

    table.storage.read = noting
    return paths


@pytest.mark.parametrize(
    ("condition", "partitions"),
    [
        ([("day", "==", "b")], {"b"}),
        ([("day", "==", "b"), ("n", ">", 0)], {"b"}),
        ([[("day", "==", "b")], [("day", "==", "a"), ("n", ">", 0)]], {"a", "b"}),
        ([[("day", "==", "b")], [("n", ">", 0)]], {"a", "b"}),
        ([("day", "==", "nowhere")], set()),
        (pc.field("day") == "b", {"b"}),
        ((pc.field("day") == "b") & (pc.field("n") > 0), {"b"}),
        (pc.field("n") > 0, {"a", "b"}),
    ],
)
def test_a_partition_that_a_filter_rules_out_is_not_read(table, condition, partitions):
    everything = read(table)
    paths = read_paths(table)
    found = read(table, filter=condition)
    assert paths == partitions
    expression = condition if isinstance(condition, pc.Expression) else pq.filters_to_expression(condition)
    assert not difference(found, everything.filter(expression))


def test_a_file_whose_folders_decide_nothing_is_read_whatever_the_filter():
    schema = pa.schema([("id", pa.string()), ("x", pa.string()), ("y", pa.string())])
    table = HandMadeTable(partition_by=("x", "y"), schema=schema)
    table.base_file("only-one-folder", "f-0", 1, pa.table({"id": ["a"], "x": ["1"], "y": ["2"]}))
    table.commit(1, 2, schema=avro_text(schema))
    assert read(table, filter=[("x", "==", "1")])["id"].to_pylist() == ["a"]
    assert read(table, filter=[("x", "==", "3")]).num_rows == 0


def test_a_row_of_which_a_filter_cannot_tell_is_left_out():
    table = HandMadeTable()
    values = pa.table({"id": ["a", "b"], "n": pa.array([None, 1], pa.int32()), "day": ["a", "a"]})
    table.base_file("a", "f-0", 1, values)
    table.commit(1, 2)
    assert read(table, filter=pc.field("n") < 5)["id"].to_pylist() == ["b"]


@pytest.mark.parametrize(
    "condition",
    [pc.field("nowhere") == 1, [("nowhere", "==", 1)], [("n", "~", 1)], "n > 1", 7, pc.field("n") == "text"],
)
def test_a_filter_that_does_not_fit_is_refused(table, condition):
    with pytest.raises(InputError, match="filter") as caught:
        read(table, filter=condition)
    assert "id, n, day" in caught.value.way_out


@pytest.mark.parametrize("columns", [None, ["id"], []])
def test_a_filter_that_asks_for_no_column_keeps_all_rows_or_none(table, columns):
    kept = [read(table, filter=pc.scalar(truth), columns=columns).num_rows for truth in (True, False)]
    assert kept == [5, 0]


def test_a_filter_that_names_a_column_by_its_position_is_refused(table):
    with pytest.raises(InputError, match="position"):
        read(table, filter=pc.field(6) > 1, columns=["n"])


def test_a_text_that_looks_like_a_position_may_be_asked_for(table):
    assert read(table, filter=pc.field("id") == 'x "FieldPath(6)').num_rows == 0


@pytest.mark.parametrize("columns", [None, ["id"]])
def test_a_filter_that_cannot_be_told_of_a_value_is_refused(table, columns):
    with pytest.raises(InputError, match="cannot be told"):
        read(table, filter=pc.field("id").cast("int64") > 1, columns=columns)


def test_names_of_columns_may_come_from_an_iterator(table):
    assert read(table, columns=iter(["n", "id"])).column_names == ["n", "id"]


@pytest.mark.parametrize(
    ("columns", "word"), [(["nowhere"], "nowhere"), (["id", "id"], "twice"), ("id", "list"), (5, "list")]
)
def test_columns_that_do_not_fit_are_refused(table, columns, word):
    with pytest.raises(InputError, match=word):
        read(table, columns=columns)


def test_a_table_without_rows_has_its_columns():
    found = read(HandMadeTable())
    assert found.num_rows == 0
    assert found.column_names == [*META_FIELDS, *SCHEMA.names]


def test_a_partition_column_has_the_value_of_the_path_whatever_the_file_says():
    table = HandMadeTable()
    table.base_file("a", "f-0", 1, rows("x", day="something else"))
    table.base_file("__HIVE_DEFAULT_PARTITION__", "g-0", 1, rows("y", day="y"))
    table.commit(1, 2)
    assert read(table, columns=["id", "day"]).to_pylist() == [{"id": "y", "day": None}, {"id": "x", "day": "a"}]


def test_a_column_that_was_added_later_is_null_in_older_files():
    wider = SCHEMA.insert(1, pa.field("more", pa.struct([("x", pa.int64())])))
    table = HandMadeTable()
    table.base_file("a", "f-0", 1, rows("a"))
    table.commit(1, 2)
    table.commit(3, 4, schema=avro_text(wider))
    assert read(table, meta_columns=False).to_pylist() == [{"id": "a", "more": None, "n": 0, "day": "a"}]


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        (pa.array([7], pa.int32()), pa.int64(), 7),
        (pa.array([7], pa.int32()), pa.float64(), 7.0),
        (pa.array([7], pa.int64()), pa.string(), "7"),
        (pa.array([0.1], pa.float32()), pa.float64(), 0.1),
    ],
)
def test_a_column_whose_type_became_wider_is_read_in_the_new_type(old, new, value):
    table = HandMadeTable()
    table.base_file("a", "f-0", 1, pa.table({"id": ["a"], "n": old, "day": ["a"]}))
    table.commit(1, 2)
    table.commit(3, 4, schema=avro_text(pa.schema([("id", pa.string()), ("n", new), ("day", pa.string())])))
    assert read(table, columns=["n"]).to_pylist() == [{"n": value}]


def test_a_column_whose_type_never_was_the_tables_is_named():
    table = HandMadeTable()
    name = table.base_file("a", "f-0", 1, pa.table({"id": ["a"], "n": [b"bytes"], "day": ["a"]}))
    table.commit(1, 2)
    with pytest.raises(CorruptFileError, match=f"{name}.*'n'"):
        read(table)


def test_a_base_file_that_is_no_parquet_is_named(table):
    path = next(s.path for s in table.storage.list("a") if s.path.endswith(".parquet"))
    table.storage.put(path, b"PAR1" + b"x" * 50)
    with pytest.raises(CorruptFileError, match=path) as caught:
        read(table)
    assert caught.value.way_out


def test_a_base_file_that_the_cleaner_removed_meanwhile_is_named(table):
    context = table.context()
    snapshot = load_snapshot(context)
    gone = snapshot.base_files()[0].path
    table.storage.delete([gone])
    with pytest.raises(NotFoundError, match=gone) as caught:
        read_snapshot(context, snapshot)
    assert "again" in caught.value.way_out


def test_a_table_without_meta_columns_has_none_to_give():
    table = HandMadeTable(properties={"hoodie.populate.meta.fields": "false"})
    table.base_file("a", "f-0", 1, rows("a"))
    table.commit(1, 2)
    assert read(table).schema == SCHEMA


ID_KINDS = {pa.string(): "string", pa.int32(): "int"}


def with_ids(version, fields):
    """A version of a schema with column ids: id, name and type (or a list of fields) of each column."""

    def column(identity, name, kind):
        nested = {"type": "record", "fields": [column(*f) for f in kind]} if isinstance(kind, list) else kind
        return {"id": identity, "name": name, "optional": True, "type": nested}

    return {"max_column_id": 99, "version_id": version, "type": "record", "fields": [column(*f) for f in fields]}


FIRST = [(1, "id", "string"), (2, "n", "int"), (3, "day", "string"), (4, "s", [(5, "x", "int"), (6, "y", "int")])]
RENAMED = [(1, "id", "string"), (3, "day", "string"), (4, "t", [(6, "z", "int"), (7, "x", "int")]), (8, "n", "int")]


def test_a_renamed_column_keeps_its_rows_and_a_dropped_one_does_not_come_back():
    """n was dropped and another n added; s became t, its y became z, its x was dropped and another x added."""
    inner = pa.struct([("x", pa.int32()), ("y", pa.int32())])
    before = pa.schema([("id", pa.string()), ("n", pa.int32()), ("day", pa.string()), ("s", inner)])
    now = pa.schema(
        [
            ("id", pa.string()),
            ("day", pa.string()),
            ("t", pa.struct([("z", pa.int32()), ("x", pa.int32())])),
            ("n", pa.int32()),
        ]
    )
    table = HandMadeTable(schema=before)
    old = [{"id": "a", "n": 1, "day": "a", "s": {"x": 2, "y": 3}}, {"id": "b", "n": 4, "day": "a", "s": None}]
    table.base_file("a", "f-0", 1, pa.Table.from_pylist(old, schema=before))
    table.commit(1, 2, schema=avro_text(before))
    latest = json.dumps(with_ids(int(at(3)), RENAMED))
    avro = json.dumps(arrow_to_avro(now, name="t", namespace="x"))
    table.commit(3, 4, schema=avro, extra={"latest_schema": latest}, operation="ALTER_SCHEMA")
    history = {"schemas": [with_ids(int(at(3)), RENAMED), with_ids(0, FIRST)]}
    table.storage.put(f".hoodie/.schema/{at(3)}_{at(4)}.schemacommit", json.dumps(history).encode())
    new = pa.Table.from_pylist([{"id": "c", "day": "a", "t": {"z": 5, "x": 6}, "n": 7}], schema=now)
    table.base_file("a", "g-0", 5, new)
    table.commit(5, 6, schema=avro, extra={"latest_schema": latest})
    expected = [
        {"id": "a", "day": "a", "t": {"z": 3, "x": None}, "n": None},
        {"id": "b", "day": "a", "t": None, "n": None},
        {"id": "c", "day": "a", "t": {"z": 5, "x": 6}, "n": 7},
    ]
    assert not difference(read(table, meta_columns=False), pa.Table.from_pylist(expected, schema=now))
    assert read(table, columns=["n"]).to_pylist() == [{"n": None}, {"n": None}, {"n": 7}]
    assert not difference(read(table, as_of=at(2), meta_columns=False), pa.Table.from_pylist(old, schema=before))


def test_a_file_of_the_operation_that_changed_the_schema_has_the_new_one():
    table = HandMadeTable(schema=pa.schema([("id", pa.string()), ("m", pa.int32()), ("day", pa.string())]))
    now = with_ids(int(at(3)), [(1, "id", "string"), (2, "m", "int"), (3, "day", "string")])
    then = with_ids(0, [(1, "id", "string"), (2, "n", "int"), (3, "day", "string")])
    table.base_file("a", "f-0", 1, rows("a"))
    table.base_file("a", "g-0", 3, pa.table({"id": ["b"], "m": pa.array([5], pa.int32()), "day": ["a"]}))
    table.commit(1, 2)
    table.commit(3, 4, schema=table.context().config.create_schema, extra={"latest_schema": json.dumps(now)})
    content = json.dumps({"schemas": [now, then]}).encode()
    table.storage.put(f".hoodie/.schema/{at(3)}_{at(4)}.schemacommit", content)
    assert read(table, columns=["id", "m"]).to_pylist() == [{"id": "a", "m": 0}, {"id": "b", "m": 5}]


def test_a_formatted_timestamp_column_comes_back_as_text():
    table = HandMadeTable(properties={"hoodie.table.keygenerator.type": "TIMESTAMP"})
    table.change_properties({"hoodie.table.partition.fields": "n"})
    table.base_file("2023/11/14", "f-0", 1, rows("a", "b"))
    table.commit(1, 2)
    assert read(table, columns=["n"]).to_pylist() == [{"n": "0"}, {"n": "1"}]


def test_a_timestamp_column_that_a_custom_key_generator_formats_keeps_its_type():
    table = HandMadeTable(properties={"hoodie.table.keygenerator.type": "CUSTOM"})
    table.change_properties({"hoodie.table.partition.fields": "n:TIMESTAMP"})
    table.base_file("19700101", "f-0", 1, rows("a", "b"))
    table.commit(1, 2)
    assert read(table, columns=["n"]) == pa.table({"n": pa.array([0, 1], pa.int32())})


def test_the_schema_history_of_a_failed_operation_does_not_count():
    table = HandMadeTable()
    table.base_file("a", "f-0", 1, rows("a"))
    plain = [(1, "id", "string"), (2, "n", "int"), (3, "day", "string")]
    table.commit(1, 2, extra={"latest_schema": json.dumps(with_ids(int(at(1)), plain))})
    good = {"schemas": [with_ids(int(at(1)), plain)]}
    wrong = {"schemas": [with_ids(int(at(1)), [(9, "id", "string")])]}
    table.storage.put(f".hoodie/.schema/{at(1)}_{at(2)}.schemacommit", json.dumps(good).encode())
    table.storage.put(f".hoodie/.schema/{at(3)}_{at(4)}.schemacommit", json.dumps(wrong).encode())
    assert read(table, columns=["id", "n"]).to_pylist() == [{"id": "a", "n": 0}]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"schemas": 7}', b'{"schemas": [{"version_id": "x"}]}'])
def test_a_schema_history_that_cannot_be_read_is_named(content):
    table = HandMadeTable()
    table.base_file("a", "f-0", 1, rows("a"))
    table.commit(1, 2, extra={"latest_schema": json.dumps(with_ids(1, [(1, "id", "string")]))})
    table.storage.put(f".hoodie/.schema/{at(1)}_{at(2)}.schemacommit", content)
    with pytest.raises(CorruptFileError, match="schemacommit"):
        read(table)


def test_times_of_sparks_older_form_are_times_in_utc(monkeypatch):
    """INT96, which Java's row writer makes where it is asked to; it reaches farther than nanoseconds in 64 bits."""
    schema = pa.schema([*SCHEMA, ("at", pa.timestamp("us", tz="UTC")), ("st", pa.struct([("t", STAMP)]))])
    times = [dt.datetime(year, 5, 24, 1, 2, 3, 27505, tzinfo=dt.UTC) for year in (1500, 2024, 9999)]
    wanted = rows("a", "b", "c").append_column("at", pa.array(times, STAMP))
    wanted = wanted.append_column("st", pa.array([{"t": time} for time in times], schema.field("st").type))
    table = HandMadeTable(schema=schema)
    monkeypatch.setattr(tables, "parquet", _in_int96)
    table.base_file("a", "f-0", 1, wanted)
    table.commit(1, 2, schema=avro_text(schema))

    answer = read(table, meta_columns=False)

    assert answer.schema.field("at").type == STAMP
    assert answer["at"].to_pylist() == [row["t"] for row in answer["st"].to_pylist()] == times
    assert read(table, filter=pc.field("at") == times[0]).num_rows == 1


def _in_int96(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows, sink, use_deprecated_int96_timestamps=True)
    types = {column.path: column.physical_type for column in pq.ParquetFile(sink).schema}
    assert types["at"] == types["st.t"] == "INT96"
    return sink.getvalue()
