"""The sixth meta column: tables that Java Hudi 1.0.2 wrote with ``hoodie.allow.operation.metadata.field``.

Java has the column where the files of the newest write have it, in time travel too; its batch writers fill in nulls.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import load_case, load_cases
from drawstring_spec.meta_fields import OPERATION

DATA = Path(__file__).with_name("data_operation")
QUERIES = [(case, query) for case in load_cases(DATA) for query in case.queries]
WITH_COLUMN = {"operation_added", "operation_cow", "operation_mor"}


@pytest.fixture
def open_table(tmp_path):
    return lambda name: ds.Table.open(str(load_case(name, DATA).extract(tmp_path / name)))


@pytest.mark.parametrize(("case", "query"), QUERIES, ids=[f"{case.name}-{query.id}" for case, query in QUERIES])
def test_every_answer_is_the_one_that_java_gave(case, query, open_table):
    expected = pq.read_table(query.expected)
    assert difference(open_table(case.name).read(as_of=query.as_of), expected) == ""
    assert (OPERATION in expected.column_names) is (case.name in WITH_COLUMN)


def test_streams_and_changes_have_the_column_that_a_snapshot_has(open_table):
    table = open_table("operation_mor")
    names = table.read().column_names
    assert names.index(OPERATION) == 5
    assert table.scan().read_all().column_names == names
    assert table.changes("0", None).column_names == names
    assert table.lookup(["k1"]).column_names == names


def test_it_is_a_meta_column_which_may_be_named_and_left_out(open_table):
    table = open_table("operation_cow")
    assert OPERATION not in table.read(meta_columns=False).column_names
    assert table.read(columns=["id", OPERATION]).column_names == ["id", OPERATION]
    assert table.read(columns=["id"], filter=pc.field(OPERATION).is_null()).num_rows == len(table.read())


def test_a_table_whose_newest_write_left_it_out_does_not_have_it(open_table):
    with pytest.raises(ds.errors.InputError, match=OPERATION):
        open_table("operation_left_out").read(columns=[OPERATION])


def test_no_file_is_looked_into_where_nobody_asks_for_the_column(open_table, monkeypatch):
    table = open_table("operation_cow")
    monkeypatch.setattr("drawstring.read.operation_field.open_row_file", None)
    assert table.read(columns=["id"]).num_rows
    assert table.read(meta_columns=False).num_rows
    with pytest.raises(TypeError):
        table.read()


def test_where_the_newest_file_is_gone_the_table_is_read_without_the_column(open_table, monkeypatch):
    def gone(*_):
        raise ds.errors.NotFoundError("cleaned")

    table = open_table("operation_cow")
    monkeypatch.setattr("drawstring.read.operation_field.open_row_file", gone)
    assert OPERATION not in table.read().column_names
