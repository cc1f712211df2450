"""Bulk inserts by Spark tasks: no row moves, and still no key is stored twice."""

from __future__ import annotations

import time

import pytest

import drawstring as ds
from drawstring.data.base_file_reader import open_base_file
from drawstring.errors import DuplicateKeyError, EngineError, RecordKeyError, SchemaError
from drawstring.runtime import open_storage
from drawstring_spec.instants import Action


def numbered(count, start=0):
    return [(f"k{n:04}", f"p{n % 3}", n, float(n)) for n in range(start, start + count)]


def test_every_row_is_there_once_after_a_bulk_insert(make_table, frame, rows_of):
    table = make_table()
    result = table.bulk_insert(frame(numbered(300), partitions=3))
    assert rows_of(table) == numbered(300)
    assert (result.num_inserts, result.num_updates, result.num_deletes) == (300, 0, 0)


def test_each_task_writes_one_file_per_partition_path(make_table, frame):
    table = make_table()
    result = table.bulk_insert(frame(numbered(300), partitions=2))
    assert result.num_files == 2 * 3
    assert {s.group.partition_path for s in result.stats} == {"p0", "p1", "p2"}
    assert sum(s.num_writes for s in result.stats) == 300


def test_a_task_begins_another_file_at_the_target_size(make_table, frame, rows_of):
    options = {"hoodie.parquet.max.file.size": 1000, "hoodie.copyonwrite.record.size.estimate": 20}
    table = make_table(**options)
    result = table.bulk_insert(frame([(f"k{n:04}", "p", n, 0.5) for n in range(120)]))
    assert sorted(s.num_writes for s in result.stats) == [20, 50, 50]
    assert len(rows_of(table)) == 120


def test_sequence_numbers_are_unique_among_all_files_of_a_write(make_table, frame):
    table = make_table()
    table.bulk_insert(frame(numbered(300), partitions=2))
    numbers = table.read(columns=["_hoodie_commit_seqno"]).column(0)
    assert len(numbers.unique()) == 300


def test_of_rows_with_one_key_in_one_task_the_greatest_ordering_value_stays(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 3, 1.0), ("a", "p", 7, 2.0), ("a", "p", 5, 3.0)]))
    assert rows_of(table) == [("a", "p", 7, 2.0)]


def test_of_rows_with_one_key_in_several_tasks_the_greatest_ordering_value_stays(make_table, frame, rows_of):
    table = make_table()
    # The session runs two tasks at once, so that two partitions are not put together.
    rows = [("a", "p", 3, 1.0), ("x", "p", 1, 0.0), ("a", "p", 7, 2.0), ("y", "p", 1, 0.0), ("a", "p", 5, 3.0)]
    result = table.bulk_insert(frame(rows, partitions=2))
    assert rows_of(table) == [("a", "p", 7, 2.0), ("x", "p", 1, 0.0), ("y", "p", 1, 0.0)]
    assert result.num_inserts == 3


def test_among_equal_ordering_values_of_several_tasks_the_later_row_stays(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 5, 1.0), ("a", "p", 5, 2.0), ("a", "p", 5, 3.0)], partitions=2))
    assert rows_of(table) == [("a", "p", 5, 3.0)]


def test_one_key_in_two_partition_paths_is_two_rows(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame([("a", "p", 1, 1.0), ("a", "q", 2, 2.0)], partitions=2))
    assert rows_of(table) == [("a", "p", 1, 1.0), ("a", "q", 2, 2.0)]


def test_many_keys_are_compared_by_a_shuffle_with_the_same_answer(make_table, frame, rows_of, monkeypatch):
    monkeypatch.setattr("drawstring.spark.uniqueness.COUNTED_IN_ONE_TASK", 0)
    table = make_table()
    table.bulk_insert(frame([("a", "p", 3, 1.0), ("b", "p", 1, 0.0), ("a", "p", 7, 2.0)], partitions=2))
    assert rows_of(table) == [("a", "p", 7, 2.0), ("b", "p", 1, 0.0)]


def test_only_files_that_a_commit_names_are_left_on_storage(make_table, frame):
    table = make_table()
    result = table.bulk_insert(frame([("a", "p", n, float(n)) for n in range(4)], partitions=4))
    storage = open_storage(table.uri)
    stored = {s.path for s in storage.list("p") if s.path.endswith(".parquet")}
    assert stored == {s.path for s in result.stats}
    assert storage.list(".hoodie/.temp", recursive=True) == []


def test_a_bulk_insert_of_a_known_key_is_refused_and_leaves_the_table_as_it_was(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame(numbered(10)))
    with pytest.raises(DuplicateKeyError, match="'k0003' in 'p0'"):
        table.bulk_insert(frame([("k0003", "p0", 99, 9.0), ("new", "p0", 1, 1.0)]))
    assert rows_of(table) == numbered(10)
    assert table.timeline().pending_writes == ()


def test_a_bulk_insert_leaves_known_keys_out_if_told_so(make_table, frame, rows_of):
    table = make_table(**{"hoodie.datasource.insert.dup.policy": "drop"})
    table.bulk_insert(frame(numbered(10)))
    rows = [("k0003", "p0", 99, 9.0), ("new", "p0", 1, 1.0), ("new", "p0", 2, 2.0), ("k0004", "p1", 99, 9.0)]
    result = table.bulk_insert(frame(rows, partitions=2))
    assert rows_of(table) == sorted([*numbered(10), ("new", "p0", 2, 2.0)])
    assert result.num_inserts == 1


def test_a_file_whose_rows_are_all_known_is_not_written(make_table, frame, rows_of):
    table = make_table(**{"hoodie.datasource.insert.dup.policy": "drop"})
    table.bulk_insert(frame(numbered(10)))
    result = table.bulk_insert(frame(numbered(10)))
    assert (result.num_files, result.num_inserts) == (0, 0)
    assert rows_of(table) == numbered(10)


def test_an_empty_frame_makes_an_empty_commit(make_table, frame, rows_of):
    table = make_table()
    result = table.bulk_insert(frame([]))
    assert result.num_files == 0
    assert [i.action for i in table.timeline().completed_writes] == [Action.COMMIT]
    assert rows_of(table) == []


def test_a_null_key_is_refused_by_name_and_nothing_stays(make_table, frame, rows_of):
    table = make_table()
    with pytest.raises(RecordKeyError, match="record key"):
        table.bulk_insert(frame([("a", "p", 1, 1.0), (None, "p", 1, 1.0)], partitions=2))
    storage = open_storage(table.uri)
    assert [s.path for s in storage.list("p") if s.path.endswith(".parquet")] == []
    assert table.timeline().pending_writes == ()


def test_a_column_that_does_not_fit_is_refused_before_a_job_runs(make_table, frame):
    table = make_table()
    with pytest.raises(SchemaError, match="'v'"):
        table.bulk_insert(frame([("a", "p", 1, 1.0)]).selectExpr("id", "part", "ts", "cast(v as string) v"))
    assert table.timeline().instants == ()


def test_a_frame_is_evaluated_once(make_table, frame, spark):
    table = make_table()
    evaluated = spark.sparkContext.accumulator(0)

    def count(batches):
        for batch in batches:
            evaluated.add(batch.num_rows)
            yield batch

    rows = frame([("a", "p", 1, 1.0), ("a", "p", 2, 2.0)], partitions=2)
    table.bulk_insert(rows.mapInArrow(count, rows.schema))
    assert evaluated.value == 2


def test_footers_say_key_range_and_hold_a_bloom_filter(make_table, frame):
    table = make_table()
    table.bulk_insert(frame([("b", "p", 1, 1.0), ("a", "p", 1, 1.0), ("c", "p", 1, 1.0)]))
    (file,) = (s.base_file for s in table.file_slices())
    reader = open_base_file(open_storage(table.uri), file.path, file.size)
    assert reader.key_range() == ("a", "c")
    assert reader.bloom_filter() is not None


def test_a_failing_frame_is_an_engine_error_and_nothing_stays(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(frame(numbered(10)))
    failing = frame(numbered(5, start=100)).selectExpr("id", "part", "raise_error('no') as ts", "v")
    failing = failing.selectExpr("id", "part", "cast(ts as bigint) ts", "v")
    with pytest.raises(EngineError, match="no"):
        table.bulk_insert(failing)
    assert rows_of(table) == numbered(10)
    assert table.timeline().pending_writes == ()


def test_an_unpartitioned_table_is_written_into_its_base_folder(make_table, frame, rows_of):
    table = make_table(partition_by=())
    result = table.bulk_insert(frame(numbered(20), partitions=2))
    assert {s.group.partition_path for s in result.stats} == {""}
    assert rows_of(table) == numbered(20)


def test_data_that_is_in_this_process_already_goes_to_the_embedded_engine(make_table, frame, rows_of):
    table = make_table()
    table.bulk_insert(ds.Table.open(table.uri).read(columns=["id", "part", "ts", "v"]))
    table.bulk_insert(frame(numbered(5)).toPandas())
    assert rows_of(table) == numbered(5)


def test_the_tasks_of_a_failed_write_have_ended_when_the_error_is_raised(make_table, frame, spark):
    table = make_table()

    def fail_or_linger(batches):
        for batch in batches:
            if batch.column(0)[0].as_py() == "fails":
                time.sleep(1)
                raise RuntimeError("made to fail")
            time.sleep(5)
            yield batch

    rows = frame([("fails", "p", 1, 1.0), ("lingers", "p", 1, 1.0)], partitions=2)
    with pytest.raises(EngineError, match="made to fail"):
        table.bulk_insert(rows.mapInArrow(fail_or_linger, rows.schema))
    executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    assert sum(info.numRunningTasks() for info in executors) == 0
    assert [s.path for s in open_storage(table.uri).list("p") if s.path.endswith(".parquet")] == []
