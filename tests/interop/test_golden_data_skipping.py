"""Statistics that Java wrote leave files out, and never a row: on every golden table that has some."""

from __future__ import annotations

import dataclasses
import functools

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyarrow import types as pat

import drawstring as ds
from drawstring.metadata import MetadataTable
from drawstring.read.arrow_reader import query_schema, read_snapshot
from drawstring.read.data_skipping import slices_with_rows
from drawstring.read.expression_index import slices_by_expression_indexes
from drawstring.read.index_lookup import slices_by_secondary_index
from drawstring.read.schema import resolve_schema
from drawstring.read.view import load_snapshot
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case, QueryType, load_case, load_cases

NUM_CASES = 8
PARTITIONS = "hoodie.table.metadata.partitions"


def has_statistics(case: Case) -> bool:
    stated = case.table_properties.get(PARTITIONS, "")
    readable = any(query.type is QueryType.SNAPSHOT for query in case.queries)
    return readable and ("column_stats" in stated or "partition_stats" in stated)


CASES = [case for case in load_cases() if has_statistics(case)]


def filters(name: str, values: pa.ChunkedArray) -> list[pc.Expression]:
    """Comparisons with values that are there, in the middle and at both ends, and beyond them."""
    column = pc.field(name)
    present = pc.unique(values.drop_null())
    present = present.take(pc.sort_indices(present)) if not pat.is_boolean(present.type) else present
    chosen = [present[i] for i in sorted({0, len(present) // 2, len(present) - 1})] if len(present) else []
    made = [column.is_null(), column.is_valid()]
    for value in chosen:
        made += [column == value, column < value, column > value, column >= value, column != value, ~(column <= value)]
    return made


def is_ordered(kind: pa.DataType) -> bool:
    return not (pat.is_nested(kind) or pat.is_binary(kind) or pat.is_fixed_size_binary(kind))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_filter_loses_a_row_by_statistics(case, tmp_path, monkeypatch):
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    context = table._refreshed()
    snapshot = load_snapshot(context)
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
    available = query_schema(context, schema)
    metadata = MetadataTable.open(context, snapshot.timeline)
    monkeypatch.setattr(MetadataTable, "open", lambda *_: metadata)
    for name in ("column_stats", "partition_stats"):  # answered once for each column: there are hundreds of filters
        answer = functools.cache(getattr(metadata, name))
        monkeypatch.setattr(metadata, name, lambda columns, answer=answer: answer(tuple(columns)))
    rows = {one: read_snapshot(context, dataclasses.replace(snapshot, slices=(one,))) for one in snapshot.slices}
    whole = pa.concat_tables(rows.values())
    for field in [f for f in whole.schema if is_ordered(f.type)]:
        for condition in filters(field.name, whole[field.name]):
            kept = slices_with_rows(context, snapshot, schema, available, condition)
            assert not [one for one in rows if one not in kept and rows[one].filter(condition).num_rows], condition


def test_a_filter_beyond_all_values_opens_no_file_of_a_golden_table(tmp_path, monkeypatch):
    case = next(case for case in CASES if case.name == "index_col_stats_cow")
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    rows = table.read()
    monkeypatch.setattr("drawstring.read.base_query.open_rows", None)
    beyond = pc.field("ts") > pc.max(rows["ts"])
    assert difference(table.read(filter=beyond), rows.slice(0, 0)) == ""


def test_statistics_of_partitions_with_log_files_are_no_bounds(tmp_path):
    """Java's own defect, which is why they are not used: it says so of rows that it wrote itself."""
    case = next(case for case in CASES if case.name == "mor_basic")
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    metadata = table.metadata()
    stated = metadata.partition_stats(["ts"])
    least = {row["fileName"]: row["minValue"]["member2"]["value"] for row in stated.to_pylist()}
    rows = table.read(filter=pc.field("part") == "a")
    assert stated["isTightBound"].to_pylist() == [True, True]
    assert pc.min(rows["ts"]).as_py() < least["a"]


def test_tables_with_statistics_are_tried():
    assert len(CASES) == NUM_CASES


def opened(name, tmp_path):
    """A golden table, its context, its newest snapshot and the columns that a filter may use."""
    table = ds.Table.open(str(load_case(name).extract(tmp_path / name)))
    context = table._refreshed()
    snapshot = load_snapshot(context)
    return table, context, snapshot, query_schema(context, resolve_schema(context, snapshot.timeline, snapshot.as_of))


def test_the_secondary_index_names_the_file_groups_of_a_value(tmp_path):
    table, context, snapshot, available = opened("index_secondary", tmp_path)
    rows = table.read()
    left_out = 0
    for city in [*pc.unique(rows["city"].drop_null()).to_pylist(), "no such city"]:
        condition = [("city", "=", city)]
        kept = slices_by_secondary_index(context, table.metadata(), snapshot, snapshot.slices, available, condition)
        left_out += len(snapshot.slices) - len(kept)
        expected = rows.filter(pc.equal(rows["city"], city))
        assert difference(table.read(filter=condition), expected) == ""
    assert left_out > 0


def test_a_read_optimized_query_finds_values_that_log_files_have_changed_since(tmp_path):
    table = ds.Table.open(str(load_case("index_record_mor").extract(tmp_path / "table")))
    rows = table.read(read_optimized=True)
    gone = set(rows["city"].drop_null().to_pylist()) - set(table.read()["city"].to_pylist())
    found = [table.read(read_optimized=True, filter=[("city", "=", city)]) for city in sorted(gone)[:5]]
    assert len(found) == 5
    assert all(part.num_rows for part in found)


@pytest.mark.parametrize(
    "condition",
    [[("n", "=", 1)], [("city", ">", "a")], [[("city", "=", "a")], [("n", "=", 1)]], pc.field("city") == "a", None],
)
def test_the_secondary_index_is_not_asked_what_it_cannot_tell(condition, tmp_path):
    _, context, snapshot, available = opened("index_secondary", tmp_path)
    metadata = MetadataTable.open(context)
    assert slices_by_secondary_index(context, metadata, snapshot, snapshot.slices, available, condition) is None


@pytest.fixture
def expression_indexes(tmp_path):
    """A table of Java's with bloom filters of a column, statistics of its small letters and of days of seconds."""
    table, context, snapshot, available = opened("index_expression", tmp_path)
    metadata = MetadataTable.open(context)

    def ask(condition):
        expression = pq.filters_to_expression(condition)
        columns = [available.field(name) for name, _, _ in condition]
        kept = slices_by_expression_indexes(
            context, metadata, snapshot.slices, columns, available, expression, condition
        )
        return {one.group.partition_path for one in kept}

    return table, ask


def test_the_expression_indexes_name_the_files_of_a_value(expression_indexes):
    table, ask = expression_indexes
    rows = table.read()
    for city in pc.unique(rows["city"].drop_null()).to_pylist():
        holding = rows.filter(pc.equal(rows["city"], city))
        assert ask([("city", "=", city)]) == set(holding["part"].to_pylist()), city
        assert difference(table.read(filter=[("city", "=", city)]), holding) == ""


@pytest.mark.parametrize(
    "condition",
    [[("city", "=", "zzz")], [("ts", ">", 1_700_100_000)], [("ts", "<", 1_699_800_000)], [("city", "in", ["0", "1"])]],
    ids=str,
)
def test_the_expression_indexes_rule_out_what_no_file_has(condition, expression_indexes):
    table, ask = expression_indexes
    assert ask(condition) == set()
    assert table.read(filter=condition).num_rows == 0


def test_the_expression_indexes_keep_what_files_may_have(expression_indexes):
    table, ask = expression_indexes
    seconds = table.read()["ts"]
    for condition in [[("ts", ">=", pc.max(seconds).as_py())], [("ts", "<=", pc.min(seconds).as_py())]]:
        assert ask(condition) >= set(table.read(filter=condition)["part"].to_pylist())
        assert ask(condition)
