"""Golden tables: every query for changes, by the embedded engine, has the answer that Java Hudi gave.

Incremental queries and change data, of all tables, merge-on-read ones too. Rows of incremental queries are compared in
all columns and types. Images of change data are compared as parsed JSON without null members: Java writes them in two
dialects. The answers that are known to be wrong in Java are named in `LOST_BY_JAVA`, with what proves it.
"""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.errors import DrawstringError
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case, Query, QueryType, load_case, load_cases

NUM_INCREMENTAL, NUM_CDC = 367, 48
"""Counted in the case files, so that a loader that finds less is noticed."""

OVERWRITTEN, REPLACE_TIME = "cdc_insert_overwrite", "20261121035351024"
LOST_BY_JAVA = {(OVERWRITTEN, name) for name in ("cdc_0", "cdc_1", "cdc_2", "cdc_3", "cdc_6")}
"""Ranges that cover the insert overwrite. Java keeps the rows of the replaced file group in a map whose values are one
and the same row object, so all deletes carry the image of the row that was read last. Their number is right."""


def queries(case: Case, kind: QueryType) -> tuple[Query, ...]:
    return tuple(query for query in case.queries if query.type is kind)


def cases(kind: QueryType) -> tuple[Case, ...]:
    return tuple(case for case in load_cases() if queries(case, kind))


@pytest.fixture(scope="module")
def open_table(tmp_path_factory):
    tables: dict[str, ds.Table] = {}

    def open_once(case: Case) -> ds.Table:
        if case.name not in tables:
            tables[case.name] = ds.Table.open(str(case.extract(tmp_path_factory.mktemp("golden") / case.name)))
        return tables[case.name]

    return open_once


def image(text: str | None) -> str | None:
    members = None if text is None else json.loads(text)
    if members is None:
        return None
    return json.dumps({key: value for key, value in members.items() if value is not None}, sort_keys=True)


def counted(changes: pa.Table) -> Counter:
    rows = changes.select(["op", "ts_ms", "before", "after"]).to_pylist()
    return Counter((row["op"], row["ts_ms"], image(row["before"]), image(row["after"])) for row in rows)


@pytest.mark.parametrize("case", cases(QueryType.INCREMENTAL), ids=lambda case: case.name)
def test_every_incremental_answer_is_the_one_that_java_gave(case, open_table, record_property):
    table = open_table(case)
    wrong = {
        query.id: difference(table.changes(query.start, query.end), pq.read_table(query.expected))
        for query in queries(case, QueryType.INCREMENTAL)
    }
    record_property("queries", len(wrong))
    assert not {name: text for name, text in wrong.items() if text}


@pytest.mark.parametrize("case", cases(QueryType.CDC), ids=lambda case: case.name)
def test_all_change_data_is_what_java_returned(case, open_table, record_property):
    table = open_table(case)
    right = [query for query in queries(case, QueryType.CDC) if (case.name, query.id) not in LOST_BY_JAVA]
    record_property("queries", len(right))
    for query in right:
        actual = counted(table.changes(query.start, query.end, cdc=True))
        expected = counted(pq.read_table(query.expected))
        assert actual == expected, query.id


@pytest.mark.parametrize("name", sorted(name for _, name in LOST_BY_JAVA))
def test_deletes_by_an_overwrite_have_the_images_of_the_rows_that_it_replaced(name, open_table):
    case = load_case(OVERWRITTEN)
    table = open_table(case)
    query = next(query for query in case.queries if query.id == name)
    actual = counted(table.changes(query.start, query.end, cdc=True))
    expected = counted(pq.read_table(query.expected))
    deleted = Counter({change: n for change, n in actual.items() if change[:2] == ("d", REPLACE_TIME)})
    by_java = Counter({change: n for change, n in expected.items() if change[:2] == ("d", REPLACE_TIME)})

    # Beside these deletes the answers agree, and Java has as many: but of one row each file group.
    assert actual - deleted == expected - by_java
    assert deleted.total() == by_java.total() > len(by_java)
    partitions = {json.loads(before)["part"] for _, _, before, _ in deleted}
    before = table.read(as_of=str(int(REPLACE_TIME) - 1))
    replaced = before.filter(pc.is_in(before["part"], value_set=pa.array(sorted(partitions))))
    assert {image(json.dumps(row)) for row in replaced.to_pylist()} == {change[2] for change in deleted}


@pytest.mark.parametrize("case", cases(QueryType.CDC), ids=lambda case: case.name)
def test_going_on_from_checkpoint_to_checkpoint_sees_each_change_once(case, open_table):
    table = open_table(case)
    whole = counted(table.changes("earliest", cdc=True, bounds="(]"))
    ends = [instant.completion_time for instant in table.timeline().completed_writes]
    seen: Counter = Counter()
    start = "earliest"
    for end in ends:
        part = table.changes(start, max(end, start) if start != "earliest" else end, cdc=True, bounds="(]")
        seen += counted(part)
        start = ds.checkpoint(part)
    assert seen == whole
    assert start == max(ends)


@pytest.mark.parametrize("name", ["nbcc", "occ_out_of_order_cow", "cow_clustering", "mor_basic"])
def test_a_consumer_of_rows_ends_where_it_began_to_see_nothing(name, open_table):
    table = open_table(load_case(name))
    last = ds.checkpoint(table.changes("earliest", bounds="(]"))
    nothing = table.changes(last, bounds="(]")
    assert nothing.num_rows == 0
    assert ds.checkpoint(nothing) == last


def test_the_timeline_goes_back_to_what_is_archived(open_table):
    case = load_case("archival_lsm")
    whole = open_table(case).timeline(archived=True)
    stated = [*case.details["archived_instants"], *case.details["timeline"]]
    assert {(i.requested_time, i.completion_time, i.action.value) for i in whole} == {
        (i["begin"], i["completion"], i["action"]) for i in stated
    }
    assert len(whole.instants) > len(open_table(case).timeline().instants)


def test_change_data_is_refused_where_none_is_logged(open_table):
    with pytest.raises(DrawstringError, match="does not log changes"):
        open_table(load_case("cow_clustering")).changes("earliest", cdc=True)


def test_changes_are_refused_where_rows_do_not_say_who_wrote_them(open_table):
    with pytest.raises(DrawstringError, match="no meta fields"):
        open_table(load_case("no_meta_fields_cow")).changes("earliest")


def test_no_golden_query_is_left_out(capsys):
    found = [sum(len(queries(case, kind)) for case in load_cases()) for kind in (QueryType.INCREMENTAL, QueryType.CDC)]
    with capsys.disabled():
        print(  # noqa: T201 -- the number of queries is part of the answer
            f"\ngolden tables: {found[0]} incremental queries, {found[1]} of change data, "
            f"{len(LOST_BY_JAVA)} of them answered wrongly by Java"
        )
    assert found == [NUM_INCREMENTAL, NUM_CDC]
