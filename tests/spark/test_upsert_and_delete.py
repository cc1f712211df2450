"""Inserts, upserts and deletions by Spark: native tagging, one Arrow task per file."""

from __future__ import annotations

import pyarrow as pa
import pytest

from drawstring.errors import DuplicateKeyError, InputError, RecordKeyError

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])


def numbered(count, start=0, part=3):
    return [(f"k{n:04}", f"p{n % part}", n, float(n)) for n in range(start, start + count)]


def test_an_upsert_replaces_known_rows_and_adds_the_others(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame(numbered(90), partitions=2))
    changes = [(key, part, ts + 1000, -1.0) for key, part, ts, _ in numbered(60, start=60)]
    result = table.upsert(frame(changes, partitions=2))
    assert rows_of(table) == sorted(numbered(60) + changes)
    assert (result.num_updates, result.num_inserts, result.num_deletes) == (30, 30, 0)


def test_an_upsert_keeps_the_file_groups_and_packs_new_rows_into_small_files(make_table, frame):
    table = make_table()
    before = table.bulk_insert(frame(numbered(30)))
    after = table.upsert(frame(numbered(60)))
    assert {s.group for s in after.stats} == {s.group for s in before.stats}
    assert all(s.prev_base_file is not None for s in after.stats)


def test_new_rows_go_to_new_file_groups_where_files_are_large(make_table, frame):
    table = make_table(**{"hoodie.parquet.small.file.limit": 0})
    before = table.bulk_insert(frame(numbered(30)))
    after = table.upsert(frame(numbered(30, start=30)))
    assert not {s.group for s in after.stats} & {s.group for s in before.stats}
    assert all(s.prev_base_file is None for s in after.stats)


def test_new_rows_of_one_partition_are_spread_over_as_many_files_as_they_need(make_table, frame, rows_of):
    options = {"hoodie.parquet.max.file.size": 1000, "hoodie.copyonwrite.record.size.estimate": 10}
    table = make_table(**{**options, "hoodie.parquet.small.file.limit": 0})
    result = table.insert(frame(numbered(300, part=1), partitions=2))
    assert result.num_files == 3
    assert rows_of(table) == numbered(300, part=1)


def test_an_older_ordering_value_does_not_replace_a_row(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 5, 1.0), ("b", "p", 5, 1.0)]))
    table.upsert(frame([("a", "p", 4, 2.0), ("b", "p", 5, 2.0)]))
    assert rows_of(table) == [("a", "p", 5, 1.0), ("b", "p", 5, 2.0)]


def test_of_incoming_rows_with_one_key_the_winner_of_the_batch_is_merged(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 5, 1.0)]))
    rows = [("a", "p", 8, 2.0), ("n", "p", 2, 0.0), ("a", "p", 9, 3.0), ("n", "p", 1, 1.0), ("a", "p", 7, 4.0)]
    result = table.upsert(frame(rows, partitions=5))
    assert rows_of(table) == [("a", "p", 9, 3.0), ("n", "p", 2, 0.0)]
    assert (result.num_updates, result.num_inserts) == (1, 1)


def test_among_equal_incoming_rows_the_later_one_stays(make_table, frame, rows_of):
    table = make_table()
    table.upsert(frame([("a", "p", 5, float(n)) for n in range(6)], partitions=3))
    assert rows_of(table) == [("a", "p", 5, 5.0)]


def test_a_key_is_looked_for_in_its_own_partition_only(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 1, 1.0)]))
    table.upsert(frame([("a", "q", 2, 2.0)]))
    assert rows_of(table) == [("a", "p", 1, 1.0), ("a", "q", 2, 2.0)]


def test_files_of_partitions_without_incoming_rows_are_left_alone(make_table, frame):
    table = make_table()
    table.bulk_insert(frame(numbered(30)))
    result = table.upsert(frame([("k0001", "p1", 99, 9.0)]))
    assert [s.group.partition_path for s in result.stats] == ["p1"]


def test_changed_rows_take_the_new_commit_time_and_others_keep_theirs(make_table, frame):
    table = make_table()
    first = table.bulk_insert(frame([("a", "p", 1, 1.0), ("b", "p", 1, 1.0)]))
    second = table.upsert(frame([("a", "p", 2, 2.0)]))
    answer = table.read(columns=["id", "_hoodie_commit_time", "_hoodie_file_name"]).sort_by("id").to_pylist()
    assert [row["_hoodie_commit_time"] for row in answer] == [second.requested_time, first.requested_time]
    assert {row["_hoodie_file_name"] for row in answer} == {second.stats[0].path.rpartition("/")[2]}


def test_an_insert_of_a_known_key_is_refused(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame(numbered(9)))
    with pytest.raises(DuplicateKeyError, match="'k0003' in 'p0'"):
        table.insert(frame([("k0003", "p0", 99, 9.0), ("new", "p0", 1, 1.0)]))
    assert rows_of(table) == numbered(9)


def test_an_insert_leaves_known_keys_out_if_told_so(make_table, frame, rows_of):
    table = make_table(**{"hoodie.datasource.insert.dup.policy": "drop"})
    table.bulk_insert(frame(numbered(9)))
    result = table.insert(frame([("k0003", "p0", 99, 9.0), ("new", "p0", 1, 1.0)], partitions=2))
    assert rows_of(table) == sorted([*numbered(9), ("new", "p0", 1, 1.0)])
    assert (result.num_inserts, result.num_updates) == (1, 0)


def test_a_deletion_removes_the_rows_of_its_keys(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame(numbered(30)))
    result = table.delete(frame(numbered(10)).select("id", "part"))
    assert rows_of(table) == numbered(20, start=10)
    assert result.num_deletes == 10


def test_a_deletion_without_partition_columns_looks_everywhere(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 1, 1.0), ("a", "q", 1, 1.0), ("b", "q", 1, 1.0)]))
    result = table.delete(frame([("a", "", 0, 0.0), ("z", "", 0, 0.0)]).select("id"))
    assert rows_of(table) == [("b", "q", 1, 1.0)]
    assert result.num_deletes == 2


def test_a_deletion_in_another_partition_finds_nothing_and_says_so(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 1, 1.0)]))
    result = table.delete(frame([("a", "q", 0, 0.0)]).select("id", "part"))
    assert (result.num_deletes, result.num_files) == (0, 0)
    assert rows_of(table) == [("a", "p", 1, 1.0)]


def test_a_deletion_needs_the_key_columns(make_table, frame):
    table = make_table()
    with pytest.raises(InputError, match="'id'"):
        table.delete(frame([("a", "q", 0, 0.0)]).select("part"))


def test_a_null_key_in_an_upsert_is_refused_before_anything_is_written(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 1, 1.0)]))
    with pytest.raises(RecordKeyError):
        table.upsert(frame([(None, "p", 1, 1.0)]))
    assert rows_of(table) == [("a", "p", 1, 1.0)]


DELETABLE = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))


def marked(spark, rows):
    table = pa.Table.from_pylist([dict(zip(DELETABLE.names, row, strict=True)) for row in rows], schema=DELETABLE)
    return spark.createDataFrame(table)


def test_rows_marked_as_deleted_remove_theirs_if_they_are_not_older(make_table, spark, rows_of):
    table = make_table(schema=DELETABLE)
    table.upsert(marked(spark, [("a", "p", 5, 1.0, None), ("b", "p", 5, 1.0, False), ("c", "p", 5, 1.0, False)]))
    changes = [("a", "p", 6, 1.0, True), ("b", "p", 4, 1.0, True), ("new", "p", 1, 1.0, True)]
    result = table.upsert(marked(spark, changes))
    assert rows_of(table) == [("b", "p", 5, 1.0), ("c", "p", 5, 1.0)]
    assert result.num_deletes == 1


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_a_marked_row_that_wins_its_batch_is_not_inserted(make_table, spark, rows_of, operation):
    table = make_table(schema=DELETABLE)
    rows = [("a", "p", 1, 1.0, False), ("a", "p", 2, 1.0, True), ("b", "p", 2, 1.0, False), ("b", "p", 1, 1.0, True)]
    getattr(table, operation)(marked(spark, rows))
    assert rows_of(table) == [("b", "p", 2, 1.0)]


def test_a_small_batch_is_handed_to_the_embedded_engine_with_the_same_result(make_table, frame, rows_of, monkeypatch):
    table = make_table(**{"drawstring.spark.embedded.max.rows": 5})
    table.bulk_insert(frame(numbered(30)))
    handed: list[int] = []
    from drawstring.engine.embedded import EmbeddedEngine

    real = EmbeddedEngine.prepare_write
    monkeypatch.setattr(
        EmbeddedEngine, "prepare_write", lambda self, c, o, data: handed.append(data.num_rows) or real(self, c, o, data)
    )
    few = [(f"k{n:04}", f"p{n % 3}", 100 + n, -1.0) for n in range(5)]
    table.upsert(frame(few, partitions=2))
    table.upsert(frame([*few, ("k0009", "p0", 200, -2.0)]))
    assert handed == [5]
    assert rows_of(table)[:5] == few


def test_a_small_batch_on_large_files_stays_with_spark(make_table, frame, rows_of, monkeypatch):
    table = make_table(**{"drawstring.spark.embedded.max.rows": 5, "drawstring.spark.embedded.max.bytes": 1})
    table.bulk_insert(frame(numbered(30)))
    monkeypatch.setattr("drawstring.engine.embedded.EmbeddedEngine.prepare_write", None)
    table.upsert(frame([("k0001", "p1", 99, 9.0)]))
    assert ("k0001", "p1", 99, 9.0) in rows_of(table)


def test_nothing_that_grows_with_the_data_comes_to_the_driver(make_table, spark, rows_of, monkeypatch):
    from pyspark.sql.classic.dataframe import DataFrame

    collected: list[int] = []
    collect, to_arrow = DataFrame.collect, DataFrame.toArrow

    def counted(answer, size):
        collected.append(size)
        return answer

    monkeypatch.setattr(DataFrame, "collect", lambda self: counted(rows := collect(self), len(rows)))
    monkeypatch.setattr(DataFrame, "toArrow", lambda self: counted(rows := to_arrow(self), rows.num_rows))
    table = make_table()
    many = spark.range(0, 30_000, 1, 2).selectExpr("concat('k', id) id", "concat('p', id % 2) part", "id ts", "0.5D v")
    table.bulk_insert(many)
    table.upsert(many.selectExpr("id", "part", "ts + 1 as ts", "1.5D v"))
    table.delete(many.where("ts % 2 = 0").select("id", "part"))
    assert len(rows_of(table)) == 15_000
    assert collected
    assert max(collected) <= 1_000
