"""What each of Hudi's payload classes makes of two rows, and how log files are folded with it."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.log_merge import LogBatch, comparable
from drawstring.data.partial_merge import FieldByField, PayloadMerge
from drawstring.data.payloads import by_field, change_streams, whole_records
from drawstring.data.payloads.choice import Pairs
from drawstring.data.payloads.classes import PAYLOAD_CLASSES
from drawstring.errors import UnsupportedTableError

GONE = "gone"


def merged(rule, older, newer, *, kinds=None, ordering_field="o", **marks):
    """Merge one pair of rows, given as fields; those that are not given are null."""
    names = dict.fromkeys([*older, *newer])
    schema = pa.schema([(n, (kinds or {}).get(n) or pa.array([older.get(n), newer.get(n)]).type) for n in names])
    old, new = (pa.Table.from_pylist([row], schema) for row in (older, newer))
    choice = rule(Pairs(old, new, ordering_field if ordering_field in names else None, **marks))
    if choice.nothing[0]:
        return GONE
    return {name: (newer if choice.of(name)[0] else older).get(name) for name in names}


def test_the_names_of_the_classes_are_those_of_java():
    model = "org.apache.hudi.common.model."
    assert {name.removeprefix(model) for name in PAYLOAD_CLASSES} == {
        "EventTimeAvroPayload",
        "FirstValueAvroPayload",
        "OverwriteNonDefaultsWithLatestAvroPayload",
        "PartialUpdateAvroPayload",
        "AWSDmsAvroPayload",
        "org.apache.hudi.payload.AWSDmsAvroPayload",
        "debezium.MySqlDebeziumAvroPayload",
        "debezium.PostgresDebeziumAvroPayload",
    }


@pytest.mark.parametrize(
    ("rule", "greater", "equal", "less"),
    [
        (whole_records.event_time, "new", "new", "old"),
        (whole_records.first_value, "new", "old", "old"),
    ],
)
def test_one_of_two_whole_records_stays_by_their_ordering_values(rule, greater, equal, less):
    found = [merged(rule, {"o": 5, "v": "old"}, {"o": o, "v": "new"})["v"] for o in (6, 5, 4)]
    assert found == [greater, equal, less]


@pytest.mark.parametrize("rule", [whole_records.event_time, whole_records.first_value])
def test_a_row_without_an_ordering_value_loses_to_a_lesser_one_than_zero(rule):
    kinds = {"o": pa.int64()}
    assert merged(rule, {"o": None, "v": "old"}, {"o": -1, "v": "new"}, kinds=kinds)["v"] == "new"


@pytest.mark.parametrize("rule", [whole_records.event_time, whole_records.first_value])
def test_an_update_without_an_ordering_value_is_refused(rule):
    with pytest.raises(UnsupportedTableError, match="'o' is null"):
        merged(rule, {"o": 1, "v": "old"}, {"o": None, "v": "new"}, kinds={"o": pa.int64()})


def test_the_mark_of_the_table_takes_the_place_of_the_built_in_one():
    rule = whole_records.first_value
    marks = {"delete_field": "op", "delete_marker": "D"}
    older = {"o": 1, "op": "I", "_hoodie_is_deleted": True}
    assert merged(rule, older, {"o": 2, "op": "U", "_hoodie_is_deleted": False}, **marks)["o"] == 2
    assert merged(rule, older, {"o": 2, "op": "D", "_hoodie_is_deleted": False}, **marks) == GONE
    assert merged(rule, {**older, "op": "D"}, {"o": 2, "op": "U", "_hoodie_is_deleted": False}, **marks) == GONE
    assert merged(rule, {**older, "o": 3}, {"o": 2, "op": "D", "_hoodie_is_deleted": False}, **marks)["o"] == 3


@pytest.mark.parametrize("name", [n for n in PAYLOAD_CLASSES if "Debezium" not in n and "Dms" not in n])
def test_a_row_that_was_marked_as_deleted_cannot_be_updated(name):
    older, newer = {"o": 1, "_hoodie_is_deleted": True}, {"o": 2, "_hoodie_is_deleted": False}
    assert merged(PAYLOAD_CLASSES[name].rule, older, newer) == GONE
    assert merged(PAYLOAD_CLASSES[name].rule, {**older, "_hoodie_is_deleted": False}, newer) == newer


def test_a_null_does_not_overwrite_whatever_the_ordering_values():
    for o in (1, 9):
        found = merged(by_field.overwrite_non_defaults, {"o": 5, "v": 1, "w": 2}, {"o": o, "v": None, "w": 3})
        assert found == {"o": o, "v": 1, "w": 3}


def test_a_late_partial_update_only_fills_nulls():
    found = merged(by_field.partial_update, {"o": 5, "v": 1, "w": None}, {"o": 4, "v": 7, "w": 8})
    assert found == {"o": 5, "v": 1, "w": 8}


def test_a_partial_update_of_an_equal_ordering_value_overwrites():
    found = merged(by_field.partial_update, {"o": 5, "v": 1, "w": 2}, {"o": 5, "v": 7, "w": None})
    assert found == {"o": 5, "v": 7, "w": 2}


def test_the_commit_of_a_late_partial_update_is_that_of_the_row():
    older = {"o": 5, "v": 1, "_hoodie_commit_time": "1", "_hoodie_record_key": "k"}
    newer = {"o": 4, "v": 7, "_hoodie_commit_time": "2", "_hoodie_record_key": None}
    kinds = {"_hoodie_record_key": pa.string()}
    assert merged(by_field.partial_update, older, newer, kinds=kinds) == {
        "o": 5,
        "v": 1,
        "_hoodie_commit_time": "2",
        "_hoodie_record_key": "k",
    }


@pytest.mark.parametrize(
    ("high", "low", "late"),
    [
        (5, 4, True),
        (5.0, 4.0, True),
        (dt.datetime(2024, 1, 2, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, tzinfo=dt.UTC), True),
        ("5", "4", False),
        (dt.date(2024, 1, 2), dt.date(2024, 1, 1), False),
        (Decimal("5.0"), Decimal("4.0"), False),
    ],
)
def test_a_partial_update_is_late_only_by_ordering_values_of_one_class_in_java(high, low, late):
    found = merged(by_field.partial_update, {"o": high, "v": "old"}, {"o": low, "v": "new"})
    assert found["v"] == ("old" if late else "new")


@pytest.mark.parametrize(("kind", "late"), [(pa.int32(), True), (pa.int64(), False)])
def test_a_partial_update_without_an_ordering_value_counts_as_zero_among_integers(kind, late):
    found = merged(by_field.partial_update, {"o": 5, "v": "old"}, {"o": None, "v": "new"}, kinds={"o": kind})
    assert found["v"] == ("old" if late else "new")
    found = merged(by_field.partial_update, {"o": -5, "v": "old"}, {"o": None, "v": "new"}, kinds={"o": kind})
    assert found["v"] == "new"


def test_a_dms_record_overwrites_or_deletes_whatever_its_ordering_value():
    rule = change_streams.dms
    assert merged(rule, {"o": 5, "Op": "I"}, {"o": 4, "Op": "U"}) == {"o": 4, "Op": "U"}
    assert merged(rule, {"o": 5, "Op": "I"}, {"o": 4, "Op": "d"}) == GONE
    assert merged(rule, {"o": 5, "Op": "I"}, {"o": 4, "Op": None}) == {"o": 4, "Op": None}


def test_an_update_of_a_dms_row_that_says_that_it_is_deleted_is_refused():
    with pytest.raises(UnsupportedTableError, match="Op is D"):
        merged(change_streams.dms, {"o": 5, "Op": "D"}, {"o": 6, "Op": "U"})


@pytest.mark.parametrize(
    ("older", "newer", "stays"),
    [
        ("00001.5", "00001.6", "new"),
        ("00001.5", "00001.5", "old"),
        ("00001.5", "00001.4", "old"),
        ("00001.9", "2.1", "new"),
        ("9.1", "10.1", "new"),
        ("10.1", "9.9", "old"),
        ("1", "2", "new"),
        (None, "1.1", "new"),
        ("1.5.7", "1.5.9", "old"),
    ],
)
def test_a_debezium_record_of_mysql_stays_where_it_is_further_in_the_binary_log(older, newer, stays):
    kinds = {"_event_seq": pa.string()}
    old, new = {"_event_seq": older, "v": "old"}, {"_event_seq": newer, "v": "new"}
    assert merged(change_streams.debezium_mysql, old, new, kinds=kinds)["v"] == stays


@pytest.mark.parametrize(
    ("older", "newer", "match"),
    [
        ("1.1", None, "null"),
        ("1.1", "bin.1", "file number"),
        ("x.1", "1.1", "file number"),
        ("1.1", "1", "no position"),
        ("1.1", "1.x", "no position"),
        ("1.1", "9999999999999999999.1", "64 bits"),
    ],
)
def test_a_place_in_the_binary_log_that_java_cannot_read_is_refused(older, newer, match):
    with pytest.raises(UnsupportedTableError, match=match):
        merged(
            change_streams.debezium_mysql,
            {"_event_seq": older},
            {"_event_seq": newer},
            kinds={"_event_seq": pa.string()},
        )


@pytest.mark.parametrize(("older", "newer", "stays"), [(5, 6, "new"), (5, 5, "new"), (5, 4, "old"), (None, 1, "new")])
def test_a_debezium_record_of_postgresql_stays_by_its_lsn(older, newer, stays):
    kinds = {"_event_lsn": pa.int64()}
    old, new = {"_event_lsn": older, "v": "old"}, {"_event_lsn": newer, "v": "new"}
    assert merged(change_streams.debezium_postgres, old, new, kinds=kinds)["v"] == stays


def test_an_unavailable_value_of_postgresql_is_the_older_one():
    text = change_streams.UNAVAILABLE
    older, newer = {"_event_lsn": 1, "s": "s", "b": b"b"}, {"_event_lsn": 2, "s": text, "b": text.encode()}
    assert merged(change_streams.debezium_postgres, older, newer) == {**older, "_event_lsn": 2}
    assert merged(change_streams.debezium_postgres, {**older, "_event_lsn": 3}, newer) == {**older, "_event_lsn": 3}
    none = merged(change_streams.debezium_postgres, {"_event_lsn": 1, "s": None}, {"_event_lsn": 2, "s": text})
    assert none == {"_event_lsn": 2, "s": None}


@pytest.mark.parametrize(
    ("rule", "field", "low", "high"),
    [
        (change_streams.debezium_postgres, "_event_lsn", 1, 2),
        (change_streams.debezium_mysql, "_event_seq", "1.1", "1.2"),
    ],
)
def test_a_debezium_record_that_deletes_leaves_nothing_where_it_stays(rule, field, low, high):
    def one(place, op):
        return {field: place, "_change_operation_type": op}

    assert merged(rule, one(low, "c"), one(high, "D")) == GONE
    assert merged(rule, one(high, "c"), one(low, "d")) == one(high, "c")
    assert merged(rule, one(low, "d"), one(high, "u")) == GONE


def test_an_lsn_that_is_null_or_no_long_is_refused():
    with pytest.raises(UnsupportedTableError, match="_event_lsn is null"):
        merged(change_streams.debezium_postgres, {"_event_lsn": 1}, {"_event_lsn": None})
    with pytest.raises(UnsupportedTableError, match="a long;"):
        merged(change_streams.debezium_postgres, {"_event_lsn": "1"}, {"_event_lsn": "2"})


SCHEMA = pa.schema([("id", pa.string()), ("o", pa.int64()), ("v", pa.string()), ("_hoodie_is_deleted", pa.bool_())])


def entries(*rows):
    """Entries of one block: (key, ordering value, value), or without a value a delete."""
    keys, orderings = [row[0] for row in rows], [row[1] for row in rows]
    deleted = np.array([len(row) == 2 for row in rows])
    records = [{"id": r[0], "o": r[1], "v": r[2]} for r in rows if len(r) > 2]
    ordering = comparable(pa.array(orderings, pa.int64()), pa.int64())
    absolute = deleted & np.array([o is None for o in orderings])
    return LogBatch(pa.array(keys), pa.Table.from_pylist(records, SCHEMA), ordering, deleted, absolute)


def folded(rule, base, *blocks):
    """Fold blocks, and merge them into rows (key, ordering value, value, mark) of a base file."""
    log = FieldByField(blocks, SCHEMA, merger=PayloadMerge(rule, rule, "o"))
    rows = [dict(zip(SCHEMA.names, (*row, *[None] * (4 - len(row))), strict=True)) for row in base]
    table = pa.Table.from_pylist(rows, SCHEMA)
    ordering = comparable(table.column("o").combine_chunks(), pa.int64())
    merged = log.merge(table, table.column("id").combine_chunks(), ordering)
    return [(row["id"], row["o"], row["v"]) for row in pa.concat_tables([merged, log.rest()]).to_pylist()]


def test_updates_of_one_key_are_folded_in_their_order_within_a_block_and_over_blocks():
    blocks = [entries(("a", 2, None), ("a", 3, "x"), ("b", 1, "b")), entries(("a", 1, "late"), ("b", 1, None))]
    assert folded(by_field.partial_update, [("a", 1, "base")], *blocks) == [("a", 3, "x"), ("b", 1, "b")]
    assert folded(by_field.overwrite_non_defaults, [("a", 1, "base")], *blocks) == [("a", 1, "late"), ("b", 1, "b")]


def test_a_delete_is_weighed_against_the_ordering_value_that_merging_has_left():
    """The late record's ordering value is not that of the row that it fills."""
    history = entries(("a", 9, None)), entries(("a", 1, "fill"))
    assert folded(by_field.partial_update, [], *history, entries(("a", 5))) == [("a", 9, "fill")]
    assert folded(by_field.partial_update, [], *history, entries(("a", 9))) == []
    assert folded(by_field.overwrite_non_defaults, [], *history, entries(("a", 5))) == []


def test_a_record_after_a_delete_begins_anew():
    blocks = entries(("a", 2, "x")), entries(("a", 3)), entries(("a", 4, None))
    assert folded(by_field.partial_update, [], *blocks) == [("a", 4, None)]
    assert folded(by_field.partial_update, [], *blocks[:2], entries(("a", 2, "late"))) == []


def test_a_delete_without_an_ordering_value_takes_any_row_away():
    for rule in (by_field.partial_update, whole_records.first_value):
        assert folded(rule, [("a", 9, "base")], entries(("a", None))) == []
        assert folded(rule, [("a", 9, "base")], entries(("a", 8))) == [("a", 9, "base")]


def test_what_a_payload_leaves_empty_is_gone_from_a_base_file_and_changes_nothing_in_log_files():
    """Java takes the empty answer for "the record that is there stays" while it reads log files."""

    def leaves_nothing(pairs):
        choice = by_field.overwrite_non_defaults(pairs)
        choice.nothing[:] = True
        return choice

    assert folded(leaves_nothing, [], entries(("a", 1, "x")), entries(("a", 2, "y"))) == [("a", 1, "x")]
    assert folded(leaves_nothing, [("a", 1, "base"), ("b", 1, "b")], entries(("a", 2, "y"))) == [("b", 1, "b")]


def one_by_one(rule, base, entries):
    """Merge as Java's reader does, entry by entry: what is left of each key, as (ordering value, value)."""
    log = {}
    for key, o, *value in entries:
        new, old = (o, *value), log.get(key)
        if old is None:
            log[key] = new
        elif len(old) == 2 and len(new) == 2:
            log[key] = as_pair(rule, old, new, old)
        elif (len(new) == 1 and o is None) or (o or 0) >= (old[0] or 0):
            log[key] = new
    result = {key: tuple(row) for key, *row in base}
    result.update({key: row for key, row in log.items() if key not in result and len(row) == 2})
    for key in log.keys() & result.keys():
        old, new = result[key], log[key]
        if len(new) == 2:
            result[key] = new if old is new else as_pair(rule, old, new, None)
        elif new[0] is None or new[0] >= (old[0] or 0):
            result[key] = None
    return {key: row for key, row in result.items() if row is not None}


def as_pair(rule, old, new, otherwise):
    rows = ({"o": row[0], "v": row[1]} for row in (old, new))
    found = merged(rule, *rows, kinds={"o": pa.int64(), "v": pa.string()})
    return otherwise if found == GONE else (found["o"], found["v"])


KEYS = st.sampled_from("abc")
RECORDS = st.tuples(KEYS, st.integers(-1, 3), st.none() | st.sampled_from("xyz"))
DELETES = st.tuples(KEYS, st.none() | st.integers(-1, 3))
BASES = st.lists(st.tuples(KEYS, st.none() | st.integers(-1, 3), st.sampled_from("pq")), unique_by=lambda row: row[0])


@pytest.mark.parametrize(
    "rule",
    [
        by_field.partial_update,
        by_field.overwrite_non_defaults,
        whole_records.event_time,
        whole_records.first_value,
    ],
)
@given(base=BASES, blocks=st.lists(st.lists(RECORDS | DELETES, min_size=1, max_size=6), min_size=1, max_size=4))
def test_log_files_are_folded_as_they_would_be_entry_by_entry(rule, base, blocks):
    found = folded(rule, base, *(entries(*block) for block in blocks))
    assert len(found) == len({key for key, *_ in found})
    assert {key: tuple(row) for key, *row in found} == one_by_one(rule, base, list(itertools.chain(*blocks)))


def test_many_updates_of_one_key_cost_what_they_merge_and_not_the_whole_log():
    merged_rows = []

    def noting(pairs):
        merged_rows.append(pairs.older.num_rows)
        return by_field.overwrite_non_defaults(pairs)

    often = entries(*(("often", n, f"{n}") for n in range(50)))
    once = entries(*((f"k{n}", 1, "x") for n in range(200)))
    assert len(folded(noting, [], once, often, entries(("k7", 2, "y")))) == 201
    assert sum(merged_rows) == 50
