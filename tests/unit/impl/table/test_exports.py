"""A table's rows in other libraries: streams, polars, DuckDB."""

from __future__ import annotations

import sys

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import drawstring as ds
from drawstring.errors import CorruptFileError, EngineError, InputError
from drawstring_conformance.compare import difference

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64()), ("price", pa.float64()), ("day", pa.string())])


def rows(*numbers, day="a"):
    count = len(numbers)
    prices = [n / 2 for n in numbers]
    return pa.table([[f"{n}" for n in numbers], pa.array(numbers, pa.int64()), prices, [day] * count], schema=SCHEMA)


@pytest.fixture
def table(tmp_path):
    table = ds.Table.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="day")
    table.insert(rows(1, 2, 3))
    table.insert(rows(4, 5, day="b"))
    return table


def damage_partition_b(table):
    from pathlib import Path
    from urllib.parse import urlparse

    file = next(Path(urlparse(table.uri).path).glob("b/*.parquet"))
    file.write_bytes(b"PAR1 is not enough PAR1")


def test_a_scan_is_a_stream_of_the_rows_of_read(table):
    reader = table.scan(batch_rows=2)
    assert isinstance(reader, pa.RecordBatchReader)
    assert reader.read_all() == table.read()


def test_a_scan_sees_the_snapshot_of_the_time_when_it_was_asked_for(table):
    before = table.read()
    reader = table.scan()
    table.insert(rows(9))
    assert reader.read_all() == before


def test_a_scan_goes_back_in_time(table):
    first = min(table.read()["_hoodie_commit_time"].to_pylist())
    assert table.scan(as_of=first, columns=["id"]).read_all()["id"].to_pylist() == ["1", "2", "3"]


def test_a_table_handle_is_a_stream_of_its_newest_rows(table):
    assert pa.RecordBatchReader.from_stream(table).read_all() == table.read()


def test_polars_has_the_rows_and_types_that_arrow_has(table):
    frame = table.to_polars(columns=["id", "n"], filter=pc.field("n") > 2, batch_rows=1)
    assert frame.equals(pl.DataFrame({"id": ["3", "4", "5"], "n": [3, 4, 5]}))


def test_polars_of_no_rows_has_the_columns(table):
    frame = table.to_polars(filter=pc.field("n") > 99)
    assert frame.columns == table.read().column_names
    assert frame.height == 0


def test_polars_is_told_which_file_is_damaged(table):
    damage_partition_b(table)
    with pytest.raises(CorruptFileError, match=r"b/.*parquet"):
        table.to_polars()


def test_a_relation_of_duckdb_can_be_asked_more_than_once(table):
    relation = table.to_duckdb()
    assert relation.aggregate("sum(n), count(*)").fetchall() == [(15, 5)]
    assert relation.filter("day = 'b' and n > 4").project("id").fetchall() == [("5",)]
    assert difference(relation.to_arrow_table(), table.read()) == ""


def test_a_relation_of_duckdb_stays_at_its_snapshot(table):
    relation = table.to_duckdb()
    table.insert(rows(9))
    assert relation.aggregate("count(*)").fetchall() == [(5,)]
    assert table.to_duckdb().aggregate("count(*)").fetchall() == [(6,)]


def test_a_relation_of_duckdb_lives_in_the_connection_that_is_given(table):
    import duckdb

    with duckdb.connect() as connection:
        trips = table.to_duckdb(connection, columns=["id", "n"])
        trips.create_view("trips")
        assert connection.sql("select max(n) from trips").fetchall() == [(5,)]


def test_duckdb_reads_no_file_that_its_condition_rules_out(table):
    damage_partition_b(table)
    assert table.to_duckdb().filter("day = 'a' and n >= 2").aggregate("sum(n)").fetchall() == [(5,)]


def test_duckdb_is_told_which_file_is_damaged(table):
    damage_partition_b(table)
    with pytest.raises(Exception, match=r"b/.*parquet"):
        table.to_duckdb().fetchall()


def test_a_handle_can_be_named_in_sql(table):
    import duckdb

    trips = table  # noqa: F841 -- DuckDB looks for the name
    assert duckdb.sql("select sum(n) from trips").fetchall() == [(15,)]


def test_conditions_on_nulls_and_texts_answer_as_duckdb_would(tmp_path):
    table = ds.Table.create(str(tmp_path / "t"), SCHEMA, record_key="id", partition_by="day")
    values = [None, 0.0, -1.5, float("nan"), float("inf")]
    data = pa.table([list("abcde"), pa.array(range(5), pa.int64()), values, ["a"] * 5], schema=SCHEMA)
    table.insert(data)
    import duckdb

    for condition in ("price > 0", "price = 'nan'", "price is null", "price <> 0", "id in ('a', 'c')", "id like 'b%'"):
        expected = duckdb.from_arrow(data).filter(condition).project("id").order("id").fetchall()
        assert table.to_duckdb().filter(condition).project("id").order("id").fetchall() == expected, condition


def test_without_duckdb_the_error_says_how_to_get_it(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(EngineError, match="duckdb") as caught:
        table.to_duckdb()
    assert "pip install" in caught.value.way_out


def test_a_wrong_column_is_refused_when_the_relation_is_made(table):
    with pytest.raises(InputError, match="nothing"):
        table.to_duckdb(columns=["nothing"])


def test_a_relation_of_duckdb_without_columns_is_refused(table):
    with pytest.raises(InputError, match="column"):
        table.to_duckdb(columns=[])


def test_keys_may_come_as_a_dictionary_of_texts(table):
    assert table.lookup(pa.array(["2", "5", "2"]).dictionary_encode())["n"].to_pylist() == [2, 5]
