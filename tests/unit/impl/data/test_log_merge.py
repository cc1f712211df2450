"""Merging log entries in columns gives what merging them one by one, as Java does, gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawstring.data import partial_merge
from drawstring.data.log_merge import LogBatch, WholeRecords, comparable, take_rows
from drawstring.data.partial_merge import FieldByField

SCHEMA = pa.schema([("id", pa.string()), ("o", pa.int64()), ("v", pa.int64()), ("w", pa.int64())])
KEYS = st.sampled_from("abcde")
ORDER = st.integers(0, 3)
VALUE = st.integers(0, 99)


@st.composite
def entries(draw):
    """One log entry: (key, kind, ordering, value); an absolute delete has no ordering value."""
    kind = draw(st.sampled_from(["row", "row", "delete", "absolute"]))
    return draw(KEYS), kind, draw(ORDER) if kind != "absolute" else 0, draw(VALUE)


HISTORIES = st.lists(st.lists(entries(), min_size=1, max_size=5), min_size=1, max_size=4)
BASES = st.dictionaries(KEYS, st.tuples(ORDER, VALUE), max_size=5)


def one_by_one(base, blocks, *, by_event_time):
    """Merge as Java's buffers do, entry by entry."""
    log = {}
    for key, kind, order, value in (entry for block in blocks for entry in block):
        old = log.get(key)
        if old is None or not by_event_time or kind == "absolute" or order >= old[1]:
            log[key] = (kind, order, value)
    result = dict(base)
    for key, (kind, order, value) in log.items():
        if by_event_time and kind != "absolute" and key in base and base[key][0] > order:
            continue
        result.pop(key, None)
        if kind == "row":
            result[key] = (order, value)
    return result


def batch(block, *, by_event_time, present=None):
    deleted = np.array([kind != "row" for _, kind, _, _ in block])
    rows = [{"id": k, "o": o, "v": v, "w": v} for k, kind, o, v in block if kind == "row"]
    ordering = pa.array([o for _, _, o, _ in block], pa.int64()) if by_event_time else None
    absolute = np.array([kind == "absolute" or (kind != "row" and not by_event_time) for _, kind, _, _ in block])
    return LogBatch(
        pa.array([k for k, *_ in block]), pa.Table.from_pylist(rows, SCHEMA), ordering, deleted, absolute, present
    )


def base_table(base):
    return pa.Table.from_pylist([{"id": k, "o": o, "v": v, "w": v} for k, (o, v) in sorted(base.items())], SCHEMA)


def as_dict(table):
    found = {row["id"]: (row["o"], row["v"]) for row in table.to_pylist()}
    assert len(found) == table.num_rows
    return found


def merged(log, table, *, by_event_time=True, part_rows=100):
    """Merge a base file part by part."""
    parts = []
    for start in range(0, table.num_rows, part_rows):
        part = table.slice(start, part_rows).combine_chunks()
        ordering = part.column("o").combine_chunks() if by_event_time else None
        parts.append(log.merge(part, part.column("id").combine_chunks(), ordering))
    return pa.concat_tables([*parts, log.rest()])


@pytest.mark.parametrize("merge", [WholeRecords, FieldByField])
@pytest.mark.parametrize("by_event_time", [True, False])
@given(base=BASES, blocks=HISTORIES, part_rows=st.integers(1, 6))
def test_records_merge_as_they_would_one_by_one_whatever_the_parts(base, blocks, part_rows, by_event_time, merge):
    log = merge([batch(block, by_event_time=by_event_time) for block in blocks], SCHEMA)
    found = merged(log, base_table(base), by_event_time=by_event_time, part_rows=part_rows)
    assert as_dict(found) == one_by_one(base, blocks, by_event_time=by_event_time)


LISTED = st.tuples(KEYS, st.sampled_from(["delete", "absolute"]), ORDER, VALUE)
OF_KINDS = st.one_of(
    st.tuples(st.just("records"), st.lists(entries(), min_size=1, max_size=5)),
    st.tuples(st.sampled_from(["deletes", "deletes of another class"]), st.lists(LISTED, min_size=1, max_size=5)),
)


def as_java_processes(blocks):
    """What Java's buffer holds of each key after blocks of records and of deletes; see ``FileGroupRecordBuffer``."""
    log = {}
    for kind_of_block, block in blocks:
        for key, kind, order, value in block:
            old = log.get(key)
            if old is not None and kind_of_block == "records" and kind != "absolute" and order < old[1]:
                continue
            if old is not None and kind_of_block != "records" and kind != "absolute":
                compares = kind_of_block == "deletes"
                if old[0] == "absolute" or (compares and old[1] > order):
                    continue
            log[key] = (kind, 0 if kind == "absolute" else order, value)
    return log


def block_of(kind_of_block, block):
    """A block of records, which may be deletes by themselves, or one that lists deletes."""
    made = batch([(k, kind, 0 if kind == "absolute" else o, v) for k, kind, o, v in block], by_event_time=True)
    return made if kind_of_block == "records" else replace(made, rows=None, overrules=kind_of_block != "deletes")


@pytest.mark.parametrize("merge", [WholeRecords, FieldByField])
@given(base=BASES, blocks=st.lists(OF_KINDS, min_size=1, max_size=5))
@example(base={"a": (9, 9)}, blocks=[("deletes", [("a", "absolute", 0, 0)]), ("deletes", [("a", "delete", 3, 0)])])
@example(base={}, blocks=[("records", [("a", "row", 3, 1)]), ("deletes of another class", [("a", "delete", 2, 0)])])
def test_entries_of_delete_blocks_merge_as_java_processes_them(base, blocks, merge):
    found = merged(merge([block_of(*block) for block in blocks], SCHEMA), base_table(base))
    expected = dict(base)
    for key, (kind, order, value) in as_java_processes(blocks).items():
        if kind != "absolute" and key in base and base[key][0] > order:
            continue
        expected.pop(key, None)
        if kind == "row":
            expected[key] = (order, value)
    assert as_dict(found) == expected


def partial(block, columns, *, by_event_time=True):
    return batch(block, by_event_time=by_event_time, present=frozenset(columns))


def folded(base, batches, merger=None):
    return merged(FieldByField(batches, SCHEMA, merger=merger), base_table(base)).to_pylist()


def test_a_partial_update_leaves_the_other_fields_as_they_were():
    assert folded({"a": (1, 7)}, [partial([("a", "row", 2, 9)], {"id", "o", "v"})]) == [
        {"id": "a", "o": 2, "v": 9, "w": 7}
    ]


def test_a_late_partial_update_fills_only_what_nobody_newer_has_said():
    first = partial([("a", "row", 5, 1)], {"id", "o", "v"})
    late = partial([("a", "row", 3, 2)], {"id", "o", "v", "w"})
    assert folded({}, [first, late]) == [{"id": "a", "o": 5, "v": 1, "w": 2}]


def test_a_field_that_was_assigned_null_overwrites():
    assigned = LogBatch(
        pa.array(["a"]),
        pa.Table.from_pylist([{"id": "a", "o": 2, "v": None, "w": None}], SCHEMA),
        pa.array([2]),
        np.array([False]),
        np.array([False]),
        frozenset({"id", "o", "v"}),
    )
    assert folded({"a": (1, 7)}, [assigned]) == [{"id": "a", "o": 2, "v": None, "w": 7}]


def test_a_new_partial_record_has_nulls_where_nothing_was_said():
    found = folded({}, [partial([("z", "row", 2, 9)], {"id", "o", "v"})])
    assert [(row["id"], row["v"]) for row in found] == [("z", 9)]


LATE = [("a", "row", 3, 1), ("b", "row", 4, 2), ("c", "row", 9, 3)]
DELETES = [("a", "delete", 5, 0), ("b", "delete", 2, 0), ("b", "row", 1, 7), ("c", "delete", 5, 0)]
UPDATE = partial([("z", "row", 1, 9)], {"id", "o", "v"})


@pytest.mark.parametrize(("position", "values"), [(0, [1, 2, 3]), (1, [1, 2, 3]), (2, [2, 3])])
def test_from_the_first_partial_update_on_late_records_come_back_over_deletes_as_in_java(position, values):
    blocks = [batch(DELETES, by_event_time=True), batch(LATE, by_event_time=True)]
    blocks.insert(position, UPDATE)
    found = folded({}, blocks)
    assert [row["v"] for row in found if row["id"] != "z"] == values


def test_a_record_that_came_back_over_a_delete_is_compared_by_its_own_ordering_value():
    blocks = [[("a", "delete", 5, 0)], [("a", "row", 2, 1)], [("a", "delete", 1, 0)], [("a", "row", 3, 2)]]
    found = folded({}, [UPDATE, *(batch(block, by_event_time=True) for block in blocks)])
    assert [(row["o"], row["v"]) for row in found if row["id"] == "a"] == [(3, 2)]


def test_beside_partial_updates_a_late_delete_of_log_files_wins_over_a_base_row_as_in_java():
    late = batch([("a", "delete", 5, 0)], by_event_time=True)
    assert [row["id"] for row in folded({"a": (9, 1), "b": (9, 1)}, [late])] == ["a", "b"]
    assert [row["id"] for row in folded({"a": (9, 1), "b": (9, 1)}, [late, UPDATE])] == ["b", "z"]


CARRIED = st.sampled_from([None, frozenset({"id", "o"}), frozenset({"id", "o", "v"}), frozenset({"id", "o", "w"})])
PARTIAL_HISTORIES = st.lists(st.tuples(st.lists(entries(), min_size=1, max_size=6), CARRIED), min_size=1, max_size=6)


def states_of(blocks, *, by_event_time):
    """The entries of some blocks as they are folded, and the numbers of their keys."""
    batches = [batch(block, by_event_time=by_event_time, present=present) for block, present in blocks]
    ranks, _ = partial_merge._ranks(batches)
    each = [partial_merge._state_of(one, rank, SCHEMA, partial=False) for one, rank in zip(batches, ranks, strict=True)]
    state = partial_merge._concat(each)
    return state, pa.compute.dictionary_encode(state.keys).indices.to_numpy().astype(np.int64)


def told(state):
    """All that a fold says of each key; of a deleted one, not what its fields are."""
    present = [dict(zip(state.present, one, strict=True)) for one in zip(*state.present.values(), strict=True)]
    each = zip(
        state.keys.to_pylist(), state.rows.to_pylist(), present, state.rank, state.deleted, state.absolute, strict=True
    )
    return [(key, row if not gone else None, has, rank, gone, whole) for key, row, has, rank, gone, whole in each]


@pytest.mark.parametrize("by_event_time", [True, False])
@given(blocks=PARTIAL_HISTORIES)
def test_folding_all_entries_at_once_gives_what_folding_one_after_the_other_gives(blocks, by_event_time):
    state, codes = states_of(blocks, by_event_time=by_event_time)
    assert told(partial_merge._at_once(state, codes)) == told(partial_merge._in_rounds(state, codes, None))


def test_a_key_of_many_entries_takes_no_step_for_each(monkeypatch):
    monkeypatch.setattr(partial_merge, "_pairwise", None)
    updates = [partial([("a", "row", n, n)], {"id", "o", "v"}) for n in range(1, 200)]
    first = batch([("a", "row", 0, -1)], by_event_time=True)
    assert FieldByField([first, *updates], SCHEMA).rest().to_pylist() == [{"id": "a", "o": 199, "v": 199, "w": -1}]


def test_a_merger_of_the_callers_own_is_given_older_and_newer_rows():
    def add(older: pa.Table, newer: pa.Table) -> pa.Table:
        total = pa.compute.add(older.column("v"), newer.column("v"))
        return newer.set_column(2, "v", total)

    blocks = [[("a", "row", 1, 10)], [("a", "row", 0, 5), ("b", "row", 1, 1)]]
    found = folded({"a": (0, 100)}, [batch(block, by_event_time=True) for block in blocks], merger=add)
    assert [(row["id"], row["o"], row["v"]) for row in found] == [("a", 1, 115), ("b", 1, 1)]


def marking_odd(older: pa.Table, newer: pa.Table) -> pa.Table:
    odd = pa.compute.equal(pa.compute.bit_wise_and(newer.column("v"), 1), 1)
    return newer.append_column("_hoodie_is_deleted", odd)


def test_a_row_that_a_merger_marks_is_deleted_from_base_and_log_files():
    blocks = [[("a", "row", 1, 10), ("b", "row", 1, 10)], [("a", "row", 2, 5), ("b", "row", 2, 6), ("c", "row", 1, 1)]]
    log = [batch(block, by_event_time=True) for block in blocks]
    found = folded({"b": (0, 1), "c": (0, 2), "d": (0, 3)}, log, merger=marking_odd)
    assert {row["id"] for row in found} == {"b", "d"}


def test_a_row_that_a_merger_has_deleted_comes_back_with_what_is_newer():
    blocks = [[("a", "row", 1, 10)], [("a", "row", 2, 5)], [("a", "row", 3, 7)]]
    found = folded({}, [batch(block, by_event_time=True) for block in blocks], merger=marking_odd)
    assert [(row["id"], row["v"]) for row in found] == [("a", 7)]


def test_a_missing_ordering_value_counts_as_zero_as_in_java():
    assert comparable(pa.array([None, 3]), pa.int64()).to_pylist() == [0, 3]


def test_rows_that_no_log_mentions_stay_in_their_order():
    table = base_table({k: (1, i) for i, k in enumerate("abcde")})
    changed = batch([("c", "row", 2, 9), ("x", "row", 1, 1)], by_event_time=True)
    found = merged(WholeRecords([changed], SCHEMA), table)
    assert found.column("id").to_pylist() == ["a", "b", "c", "d", "e", "x"]


@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0, 1], [1, 2], [0, 1], [0, 0, 1], []])
def test_rows_are_taken_in_the_order_in_which_they_are_asked_for(rows):
    table = pa.table({"n": [10, 11, 12]})
    assert take_rows(table, np.array(rows, np.int64)) == table.take(pa.array(rows, pa.int64()))


@pytest.mark.parametrize("merge", [WholeRecords, FieldByField])
@pytest.mark.parametrize("part_rows", [1, 2, 100])
def test_of_rows_with_one_key_the_first_is_merged_and_the_others_stay(part_rows, merge):
    """Java takes the entry of a key away with the first row that it meets, and its compaction does."""
    values = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5), ("a", 6)]
    base = pa.Table.from_pylist([{"id": k, "o": 1, "v": v, "w": v} for k, v in values], SCHEMA)
    log = merge([batch([("a", "row", 2, 10), ("b", "delete", 2, 0), ("c", "row", 0, 9)], by_event_time=True)], SCHEMA)
    rows = merged(log, base, part_rows=part_rows).select(["id", "v"]).to_pylist()
    assert [(row["id"], row["v"]) for row in rows] == [("a", 10), ("a", 3), ("c", 4), ("b", 5), ("a", 6)]
