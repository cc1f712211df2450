"""Golden tables, read by the embedded engine: every answer is the one that Java Hudi gave.

Snapshots, time travel and read-optimized queries of all tables, copy-on-write and merge-on-read. All
columns and types are compared, meta columns included. What Java refused has to be refused here too. No query of
these types is left out; one that cannot be matched would have to be named here, with its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.errors import DrawstringError, SchemaError, TimeTravelError
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case, Query, QueryType, load_cases

KINDS = {
    "COPY_ON_WRITE": (QueryType.SNAPSHOT, QueryType.READ_OPTIMIZED, QueryType.TIME_TRAVEL),
    "MERGE_ON_READ": (QueryType.SNAPSHOT, QueryType.READ_OPTIMIZED, QueryType.TIME_TRAVEL),
}
NUM_CASES, NUM_ANSWERS, NUM_REFUSALS = 63, 470, 37
"""Counted in the case files, so that a loader that finds less is noticed."""


def cases() -> tuple[Case, ...]:
    return tuple(case for case in load_cases() if answers(case) or list(refusals(case)))


def answers(case: Case) -> tuple[Query, ...]:
    return tuple(query for query in case.queries if query.type in KINDS[case.table_type])


def refusals(case: Case) -> Iterator[Mapping[str, Any]]:
    return (query for query in case.details.get("failed_queries", ()) if query["type"] in KINDS[case.table_type])


@pytest.fixture(scope="session")
def open_table(tmp_path_factory):
    tables: dict[str, ds.Table] = {}

    def open_once(case: Case) -> ds.Table:
        if case.name not in tables:
            tables[case.name] = ds.Table.open(str(case.extract(tmp_path_factory.mktemp("golden") / case.name)))
        return tables[case.name]

    return open_once


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_every_answer_is_the_one_that_java_gave(case, open_table, record_property):
    table = open_table(case)
    wrong = {
        query.id: difference(
            table.read(as_of=query.as_of, read_optimized=query.type is QueryType.READ_OPTIMIZED),
            pq.read_table(query.expected),
        )
        for query in answers(case)
    }
    record_property("queries", len(wrong))
    assert not {name: text for name, text in wrong.items() if text}


REFUSED = [(case, query) for case in cases() for query in refusals(case)]


@pytest.mark.parametrize(("case", "query"), REFUSED, ids=[f"{case.name}-{query['id']}" for case, query in REFUSED])
def test_what_java_refused_is_refused(case, query, open_table):
    as_of = query.get("as_of")
    expected: type[DrawstringError] = SchemaError if as_of is None else TimeTravelError
    with pytest.raises(expected) as caught:
        open_table(case).read(as_of=as_of, read_optimized=query["type"] == QueryType.READ_OPTIMIZED)
    assert caught.value.way_out


def test_no_golden_query_is_left_out(capsys):
    counted = len(cases()), sum(len(answers(case)) for case in cases()), len(REFUSED)
    with capsys.disabled():
        print(  # noqa: T201 -- the number of queries is part of the answer
            f"\ngolden tables: {counted[0]} tables, {counted[1]} answers, {counted[2]} refusals"
        )
    assert counted == (NUM_CASES, NUM_ANSWERS, NUM_REFUSALS)
