"""Changes on Spark: the answers of the embedded engine, read by tasks."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

import drawstring as ds
from drawstring.errors import InputError, TimeTravelError, UnsupportedTableError
from drawstring.read import mergers
from drawstring.runtime import open_storage
from drawstring.table_properties import modify_properties
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import QueryType, load_case, load_cases
from spark.golden_changes import KINDS, ask, ask_format, judge

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("v", pa.int64())])
FALLBACK = "hoodie.datasource.read.incr.fallback.fulltablescan.enable"


def sample():
    """One query of each kind of each table, half of them asked through options."""
    number = 0
    for case in load_cases():
        for kind in KINDS:
            found = [query for query in case.queries if query.type is kind]
            if found:
                number += 1
                yield case, found[number % len(found)], ask_format if number % 2 else ask


def test_a_sample_of_golden_queries_has_the_answers_that_java_gave(spark, tmp_path, record_property):
    wrong, tables, asked = {}, {}, 0
    for case, query, way in sample():
        if case.name not in tables:
            tables[case.name] = ds.Table.open(str(case.extract(tmp_path / case.name)))
        text = judge(query, tables[case.name], way(spark, tables[case.name], query).toArrow())
        asked += 1
        if text:
            wrong[case.name, query.id] = text
    record_property("queries", asked)
    assert not wrong
    assert asked >= 50


def rows(*ids, part="p", v=0):
    return pa.table({"id": list(ids), "part": [part] * len(ids), "v": [v] * len(ids)}, schema=SCHEMA)


@pytest.fixture
def table(table_uri):
    made = ds.Table.create(table_uri, SCHEMA, record_key="id", partition_by="part")
    made.upsert(rows("a", "b"))
    made.upsert(rows("c", part="q"))
    return made


def test_columns_types_and_rows_are_those_of_the_embedded_engine(spark, table):
    frame, checkpoint = table.changes_to_spark(spark, "earliest", bounds="(]")
    expected = table.changes("earliest", bounds="(]")
    assert difference(frame.toArrow(), expected) == ""
    assert checkpoint == ds.checkpoint(expected)


def test_a_consumer_goes_on_from_its_checkpoint(spark, table):
    _, checkpoint = table.changes_to_spark(spark, "earliest", bounds="(]")
    table.upsert(rows("b", "d", v=1))
    frame, later = table.changes_to_spark(spark, checkpoint, bounds="(]", columns=["id", "v"])
    assert sorted(map(tuple, frame.collect())) == [("b", 1), ("d", 1)]
    nothing, last = table.changes_to_spark(spark, later, bounds="(]")
    assert nothing.count() == 0
    assert last == later > checkpoint


@pytest.mark.parametrize(
    "condition",
    [
        lambda: [("part", "==", "q")],
        lambda: pc.field("id") == "c",
        lambda: F.col("id") == "c",
        lambda: [[("v", ">", 5)], [("id", "in", ["c"])]],
    ],
    ids=["partition", "expression", "column", "or"],
)
def test_a_filter_keeps_the_rows_that_are_wanted(spark, table, condition):
    frame, _ = table.changes_to_spark(spark, "earliest", bounds="(]", filter=condition(), columns=["part", "v"])
    assert frame.columns == ["part", "v"]
    assert list(map(tuple, frame.collect())) == [("q", 0)]


def test_a_filter_of_the_partition_leaves_files_out(spark, table):
    frame, _ = table.changes_to_spark(spark, "earliest", bounds="(]", filter=[("part", "==", "q")])
    whole, _ = table.changes_to_spark(spark, "earliest", bounds="(]")
    assert frame.rdd.getNumPartitions() < whole.rdd.getNumPartitions()


def test_change_data_can_be_filtered_and_projected(spark, tmp_path):
    table = ds.Table.open(str(load_case("cdc_mor").extract(tmp_path / "golden")))
    query = {"cdc": True, "bounds": "(]", "columns": ["ts_ms", "op"], "filter": [("op", "==", "d")]}
    frame, checkpoint = table.changes_to_spark(spark, "earliest", **query)
    expected = table.changes("earliest", **query)
    assert expected.num_rows
    assert difference(frame.toArrow(), expected) == ""
    assert checkpoint == ds.checkpoint(expected)


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"start": "yesterday"}, InputError, "no form that is known"),
        ({"start": "earliest", "bounds": "[)"}, InputError, "bounds"),
        ({"start": "earliest", "columns": ["nowhere"]}, InputError, "nowhere"),
        ({"start": "earliest", "cdc": True}, UnsupportedTableError, "does not log changes"),
    ],
    ids=["no time", "bounds", "column", "no change data"],
)
def test_what_cannot_be_asked_is_refused_before_a_job_runs(spark, table, arguments, kind, words):
    with pytest.raises(kind, match=words):
        table.changes_to_spark(spark, **arguments)


def test_a_range_that_ends_before_it_begins_is_empty_as_in_java(spark, table):
    last = table.timeline().completed_writes[-1].completion_time
    asked = {"start": last, "end": str(int(last) - 1)}
    assert table.changes(**asked).num_rows == table.changes_to_spark(spark, **asked).rows.count() == 0


def test_an_archived_range_is_refused_where_that_is_wanted(spark, tmp_path):
    folder = load_case("archival_lsm").extract(tmp_path / "golden")
    table = ds.Table.open(str(folder), options={FALLBACK: False})
    with pytest.raises(TimeTravelError, match="archived"):
        table.changes_to_spark(spark, "earliest")


def test_a_merger_of_the_callers_own_goes_with_the_tasks(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(mergers, "_mergers", {})
    strategy = "11111111-2222-3333-4444-555555555555"
    own = {"hoodie.record.merge.mode": "CUSTOM", "hoodie.record.merge.strategy.id": strategy}
    folder = str(load_case("mor_event_time_ordering").extract(tmp_path / "golden"))
    expected = ds.Table.open(folder).changes("earliest", bounds="(]")
    modify_properties(open_storage(folder), now_ms=0, updates=own, remove=[])
    table = ds.Table.open(folder)
    with pytest.raises(PySparkException, match=strategy):
        table.changes_to_spark(spark, "earliest", bounds="(]").rows.collect()
    ds.register_merger(strategy, lambda older, newer: newer)
    assert difference(table.changes_to_spark(spark, "earliest", bounds="(]").rows.toArrow(), expected) == ""


INCREMENTAL = {"hoodie.datasource.query.type": "incremental"}
BEGIN, END = "hoodie.datasource.read.begin.instanttime", "hoodie.datasource.read.end.instanttime"
FORMAT = "hoodie.datasource.query.incremental.format"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (INCREMENTAL, f"needs the option '{BEGIN}'"),
        ({**INCREMENTAL, BEGIN: "yesterday"}, "no form that is known"),
        ({**INCREMENTAL, BEGIN: "000", "as.of.instant": "20260101"}, "'as.of.instant' is not honoured"),
        ({**INCREMENTAL, BEGIN: "000", FORMAT: "cdc"}, "does not log changes"),
        ({**INCREMENTAL, BEGIN: "000", FORMAT: "avro"}, f"'{FORMAT}' has the value avro"),
        ({**INCREMENTAL, BEGIN: "000", "hoodie.datasource.streaming.startOffset": "earliest"}, "both given"),
        ({"hoodie.datasource.streaming.startOffset": "earliest"}, "startOffset' is not honoured for a batch"),
        ({BEGIN: "000"}, f"'{BEGIN}' is not honoured for the query type 'snapshot'"),
        ({FORMAT: "cdc"}, f"'{FORMAT}' is not honoured for the query type 'snapshot'"),
        ({"hoodie.datasource.query.type": "timetravel"}, "query.type' has the value timetravel"),
        ({"hoodie.datasource.merge.type": "skip_merge"}, "merge.type' has the value skip_merge"),
        ({"hoodie.datasource.read.paths": "p"}, "'hoodie.datasource.read.paths' is not honoured"),
        ({"hoodie.datasource.read.incr.path.glob": "*"}, "'hoodie.datasource.read.incr.path.glob' is not honoured"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_options_that_are_not_honoured_are_refused_by_name(spark, table, options, words):
    with pytest.raises(PySparkException) as error:
        spark.read.format("drawstring").options(**options).load(table.uri).collect()
    assert words.lower() in str(error.value).lower()


def test_a_range_of_options_is_closed_at_both_ends_as_in_java(spark, table):
    table.upsert(rows("d", part="r"))
    first, second, _ = [instant.completion_time for instant in table.timeline().completed_writes]
    options = {**INCREMENTAL, BEGIN.upper(): first, END: second}
    frame = spark.read.format("drawstring").options(**options).load(table.uri)
    assert sorted(row["id"] for row in frame.collect()) == ["a", "b", "c"]
    assert frame.columns == table.changes(first, second).column_names


def test_a_golden_query_of_each_kind_is_in_the_sample():
    assert {query.type for _, query, _ in sample()} == {QueryType.INCREMENTAL, QueryType.CDC}
