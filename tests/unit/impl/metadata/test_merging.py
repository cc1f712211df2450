"""What the entries of one key make together, against the rules told one by one."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import CorruptFileError
from drawstring.metadata.merging import merge_files, merge_payloads
from drawstring.metadata.partition import Source
from drawstring.metadata.records import Payload
from unit.impl.metadata.made import SCHEMA, encode, files, location, stats


def puts(records: dict) -> Source:
    keys = sorted(records)
    values = pa.chunked_array([[encode(records[key]) for key in keys]], pa.large_binary())
    return Source(
        pa.chunked_array([[key.encode() for key in keys]], pa.large_binary()), values, json.dumps(SCHEMA), "f"
    )


def deletes(*keys: str) -> Source:
    return Source(pa.chunked_array([[key.encode() for key in keys]], pa.large_binary()), None, "", "f")


def listing(table: pa.Table) -> dict:
    return {(row["key"], row["name"]): (row["size"], row["isDeleted"]) for row in table.to_pylist()}


def fold_one_by_one(steps: list[dict]) -> dict:
    state: dict = {}
    for step in steps:
        for name, size in step.items():
            old = state.pop(name, None)
            if size is not None:
                state[name] = (max(size, old[0]) if old else size, False)
            elif old is None or old[1]:
                state[name] = (0, True)
    return {("p", name): value for name, value in state.items()}


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 9), max_size=3), max_size=6))
def test_files_are_folded_as_java_folds_them(steps):
    assert listing(merge_files([puts({"p": files(**step)}) for step in steps])) == fold_one_by_one(steps)


def test_a_deleted_listing_begins_anew():
    sources = [puts({"p": files(a=1), "q": files(a=2)}), deletes("p"), puts({"p": files(b=3)})]
    assert listing(merge_files(sources)) == {("p", "b"): (3, False), ("q", "a"): (2, False)}


def test_of_the_record_index_the_last_word_counts():
    sources = [puts({"k": location("p", "f1"), "m": location("p", "f1")}), puts({"k": location("q", "f2")})]
    rows = merge_payloads(sources, Payload.RECORD_INDEX).to_pylist()
    assert [(row["key"], row["partitionName"], row["fileId"]) for row in rows] == [("k", "q", "f2"), ("m", "p", "f1")]


@pytest.mark.parametrize(("after", "keys"), [([], ["m"]), ([puts({"k": location("q", "f2")})], ["k", "m"])])
def test_a_deleted_key_is_gone_until_it_is_put_again(after, keys):
    first = puts({"k": location("p", "f1"), "m": location("p", "f1")})
    rows = merge_payloads([first, deletes("k", "no such key"), *after], Payload.RECORD_INDEX)
    assert sorted(rows["key"].to_pylist()) == keys


def bounds(rows: pa.Table) -> list:
    named = rows.to_pylist()
    return [(r["minValue"]["member2"]["value"], r["maxValue"]["member2"]["value"], r["valueCount"]) for r in named]


@pytest.mark.parametrize(
    ("tight", "expected"),
    [((False, False, False), (1, 9, 6)), ((False, True, False), (1, 5, 5)), ((True, True, True), (3, 4, 3))],
)
def test_statistics_are_widened_unless_the_newer_are_tight(tight, expected):
    entries = [(5, 9, 1), (1, 5, 2), (3, 4, 3)]
    sources = [
        puts({"k": stats("f", "c", low, high, count=count, tight=flag)})
        for (low, high, count), flag in zip(entries, tight, strict=True)
    ]
    assert bounds(merge_payloads(sources, Payload.STATS)) == [expected]


def test_statistics_before_a_delete_do_not_count():
    sources = [puts({"k": stats("f", "c", 0, 99)}), deletes("k"), puts({"k": stats("f", "c", 5, 6)})]
    assert bounds(merge_payloads(sources, Payload.STATS)) == [(5, 6, 1)]


def test_nothing_makes_an_empty_table():
    assert merge_files([]).num_rows == merge_payloads([], Payload.STATS).num_rows == 0
    assert merge_payloads([deletes("k")], Payload.RECORD_INDEX).num_rows == 0


def test_a_listing_that_says_something_else_is_refused():
    with pytest.raises(CorruptFileError):
        merge_files([puts({"p": location("p", "f")})])


def test_a_key_that_is_no_text_is_refused():
    source = Source(
        pa.chunked_array([[b"\xff"]], pa.large_binary()),
        puts({"k": location("p", "f")}).values,
        json.dumps(SCHEMA),
        "f",
    )
    with pytest.raises(CorruptFileError, match="UTF-8"):
        merge_payloads([source], Payload.RECORD_INDEX)
