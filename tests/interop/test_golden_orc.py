"""Tables with ORC base files that Java Hudi 1.0.2 wrote, and the rows that it returned.

Java writes such tables by default, and reads them with ``hoodie.file.group.reader.enabled=false``: copy-on-write
tables, and base files of merge-on-read ones. Log files on ORC no reader of Java's merges; there the judge is what its
compaction made of them.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import QueryType, load_case, load_cases

DATA = Path(__file__).with_name("data")
COMPACTED = load_case("orc_mor", DATA)


@pytest.fixture
def open_table(tmp_path):
    return lambda case: ds.Table.open(str(case.extract(tmp_path / case.name)))


QUERIES = [(case, query) for case in load_cases(DATA) for query in case.queries]


@pytest.mark.parametrize(("case", "query"), QUERIES, ids=[f"{case.name}-{query.id}" for case, query in QUERIES])
def test_every_answer_is_the_one_that_java_gave(case, query, open_table):
    table, expected = open_table(case), pq.read_table(query.expected)
    if case == COMPACTED and query.type is QueryType.SNAPSHOT:
        # Compaction gave the rows another file, and dropped the milliseconds of timestamps on the way.
        expected = expected.drop_columns(["_hoodie_file_name", "at"])
    asked = {"as_of": query.as_of, "read_optimized": query.type is QueryType.READ_OPTIMIZED}
    assert difference(table.read(**asked, columns=expected.column_names), expected) == ""
    assert table.scan(**asked, batch_rows=3).read_all() == table.read(**asked)


def test_all_columns_come_in_the_order_of_the_table(open_table):
    columns = open_table(load_case("orc_cow", DATA)).read().column_names
    assert columns[5:8] == ["id", "part", "ts"]
    assert columns[-1] == "nested"


def test_columns_and_filters_are_those_of_any_table(open_table):
    table = open_table(load_case("orc_cow", DATA))
    condition, names = pc.field("i32") > 20, ["nested", "tags", "id", "part"]
    found = table.read(columns=names, filter=condition)
    assert found.num_rows
    assert found == table.read().filter(condition).select(names)


def test_rows_are_looked_up_by_key(open_table):
    table = open_table(load_case("orc_cow", DATA))
    assert sorted(table.lookup(["k001", "k044", "k999"])["id"].to_pylist()) == ["k001", "k044"]


def test_the_instant_of_a_timestamp_does_not_depend_on_where_it_was_written(open_table):
    rows = open_table(load_case("orc_zone", DATA)).read()
    inner = pa.chunked_array([chunk.field("at") for chunk in rows["inner"].chunks])
    assert inner == rows["at"]
    # 2040 has daylight saving time in New York, too; milliseconds are what Java's writer drops.
    assert "2040-06-28 01:02:03.000817+00:00" in {str(value.as_py()) for value in rows["at"]}


def test_the_cases_are_those_that_were_written():
    assert [(case.name, len(case.queries)) for case in load_cases(DATA)] == [
        ("orc_cow", 4),
        ("orc_mor", 2),
        ("orc_zone", 1),
    ]
