"""Conditions on tables that Java Hudi wrote (``data_unseen``): our rows are those that Java's reader gave.

Where its answer contradicts the condition that it was asked, ours is held against the condition.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.read import arrow_reader
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import load_case, load_cases
from interop.unseen_filters import expression, filtered_queries, wrong_filtered

DATA = Path(__file__).with_name("data_unseen")
CASES = [case for case in load_cases(DATA) if filtered_queries(case)]
BY_TIME = "asked_by_partition_timestamp"
WRONG_IN_JAVA = {
    BY_TIME: {"filtered_8", "filtered_9"},
    "bootstrap_statistics_cow": {"filtered_1"},
    "not_a_number": {"filtered_0", "filtered_1", "filtered_3", "filtered_4"},
}
"""Conditions that Java holds against the name of the folder, though its rows have the value of the file; one that it
holds against statistics which know nothing of source files (`interop.test_unseen_bootstrap`); and some against
statistics of a file with NaN, whose bounds it takes for zeros."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conditions_give_the_rows_that_java_gave(case, tmp_path, record_property):
    record_property("queries", len(filtered_queries(case)))
    assert set(wrong_filtered(case, tmp_path)) == WRONG_IN_JAVA.get(case.name, set())


@pytest.mark.parametrize("name", sorted(WRONG_IN_JAVA[BY_TIME]))
def test_a_condition_on_a_column_of_formatted_times_is_one_of_its_own_values(name, tmp_path):
    """Java loses rows for which it holds, or returns rows for which it does not."""
    case = load_case(BY_TIME, DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    query = next(query for query in filtered_queries(case) if query["id"] == name)
    condition = expression(query["conditions"], table.read().schema)
    rows = pq.read_table(case.folder / "expected" / "snapshot_0.parquet").filter(condition)
    by_java = pq.read_table(case.folder / query["expect"])
    rows = rows.select(by_java.column_names)
    assert difference(table.read(filter=condition, columns=by_java.column_names), rows) == ""
    assert rows.num_rows == 3
    assert by_java.num_rows == 0 or by_java.filter(condition).num_rows < by_java.num_rows


@pytest.mark.parametrize("name", sorted(WRONG_IN_JAVA["not_a_number"]))
def test_a_file_with_nan_is_not_left_out(name, tmp_path):
    """Java loses the row for which the condition holds."""
    case = load_case("not_a_number", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    query = next(query for query in filtered_queries(case) if query["id"] == name)
    condition = expression(query["conditions"], table.read().schema)
    rows = pq.read_table(case.folder / "expected" / "snapshot_0.parquet").filter(condition)
    assert difference(table.read(filter=condition), rows) == ""
    assert rows.num_rows == 1
    assert pq.read_table(case.folder / query["expect"]).num_rows == 0


def test_a_folder_that_is_left_out_for_nothing_would_be_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_reader, "_pruned", lambda queries, *_: queries[1:])
    assert len(wrong_filtered(load_case(BY_TIME, DATA), tmp_path)) > len(WRONG_IN_JAVA[BY_TIME])
