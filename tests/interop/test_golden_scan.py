"""Golden tables as streams: whatever the batches, the columns and the filter, the rows are those of `read`.

That `read` answers as Java did is the matter of ``test_golden_embedded.py``.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case, Query, QueryType, load_cases

SNAPSHOTS = (QueryType.SNAPSHOT, QueryType.READ_OPTIMIZED, QueryType.TIME_TRAVEL)
NUM_QUERIES, NUM_CASES_WITH_ROWS = 470, 59
"""Counted in the case files, so that a loader that finds less is noticed."""


def queries(case: Case) -> tuple[Query, ...]:
    return tuple(query for query in case.queries if query.type in SNAPSHOTS)


def has_rows(case: Case) -> bool:
    """Whether Java had rows to give for the first query: without any, there is nothing to filter."""
    first = next(iter(queries(case)), None)
    return first is not None and pq.read_metadata(first.expected).num_rows > 0


def of(query: Query) -> dict:
    return {"as_of": query.as_of, "read_optimized": query.type is QueryType.READ_OPTIMIZED}


def halves(rows: pa.Table):
    """A condition on the first text column of the table's own that about half of the rows meet."""
    own = [f.name for f in rows.schema if not f.name.startswith("_hoodie_") and pa.types.is_string(f.type)]
    values = sorted(value for value in rows.column(own[0]).to_pylist() if value is not None)
    return pc.field(own[0]) >= values[len(values) // 2]


@pytest.fixture(scope="session")
def open_table(tmp_path_factory):
    def open_one(case: Case) -> ds.Table:
        return ds.Table.open(str(case.extract(tmp_path_factory.mktemp("golden") / case.name)))

    return open_one


@pytest.mark.parametrize("case", [c for c in load_cases() if queries(c)], ids=lambda case: case.name)
def test_every_stream_has_the_rows_of_a_read(case, open_table):
    table = open_table(case)
    for number, query in enumerate(queries(case)):
        expected = table.read(**of(query))
        assert table.scan(**of(query), batch_rows=1 + number % 3).read_all() == expected, query.id


@pytest.mark.parametrize("case", [c for c in load_cases() if has_rows(c)], ids=lambda case: case.name)
def test_columns_and_a_filter_change_nothing_else(case, open_table):
    table = open_table(case)
    query = queries(case)[0]
    rows = table.read(**of(query))
    condition, names = halves(rows), rows.column_names[::-2]
    found = table.scan(**of(query), columns=names, filter=condition, batch_rows=2).read_all()
    expected = rows.filter(condition).select(names)
    assert found.num_rows
    assert difference(found, expected) == ""


def test_no_golden_query_is_left_out():
    assert sum(map(has_rows, load_cases())) == NUM_CASES_WITH_ROWS
    assert sum(len(queries(case)) for case in load_cases()) == NUM_QUERIES


@pytest.mark.parametrize(
    "case", [c for c in load_cases() if c.table_type == "MERGE_ON_READ"], ids=lambda case: case.name
)
def test_merging_by_positions_and_by_keys_gives_the_same_rows(case, tmp_path):
    path = str(case.extract(tmp_path / case.name))
    by_position = ds.Table.open(path)
    by_key = ds.Table.open(path, options={"hoodie.merge.use.record.positions": False})
    for query in queries(case):
        assert by_position.read(**of(query)) == by_key.read(**of(query)), query.id
