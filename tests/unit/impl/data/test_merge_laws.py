"""The laws that merging keeps, and the one place where order decides."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.log_merge import WholeRecords
from unit.impl.data.test_log_merge import BASES, HISTORIES, KEYS, SCHEMA, as_dict, base_table, batch, merged

DISTINCT = st.lists(
    st.tuples(KEYS, st.sampled_from(["row", "delete"]), st.integers(10, 10**6), st.integers(0, 99)),
    min_size=1,
    max_size=6,
    unique_by=lambda entry: entry[2],
)


def in_columns(base, blocks, *, by_event_time):
    log = WholeRecords([batch(block, by_event_time=by_event_time) for block in blocks], SCHEMA)
    return as_dict(merged(log, base_table(base), by_event_time=by_event_time))


@given(base=BASES, entries=DISTINCT, data=st.data())
def test_merging_by_event_time_does_not_depend_on_the_order_where_no_two_values_are_equal(base, entries, data):
    shuffled = data.draw(st.permutations(entries))
    cut = data.draw(st.integers(0, len(shuffled)))
    blocks = [block for block in (shuffled[:cut], shuffled[cut:]) if block]

    assert in_columns(base, blocks, by_event_time=True) == in_columns(base, [entries], by_event_time=True)


@given(base=BASES, blocks=HISTORIES)
def test_merging_twice_changes_nothing(base, blocks):
    once = in_columns(base, blocks, by_event_time=False)

    assert in_columns(base, [*blocks, *blocks], by_event_time=False) == once


@pytest.mark.parametrize("apart", [False, True], ids=["in one block", "in two blocks"])
def test_among_equal_ordering_values_the_order_decides(apart):
    entries = [("a", "row", 1, 10), ("a", "row", 1, 20)]
    orders = [list(order) for order in itertools.permutations(entries)]
    histories = [[[entry] for entry in order] if apart else [order] for order in orders]
    results = [in_columns({}, history, by_event_time=True) for history in histories]

    assert results == [{"a": (1, 20)}, {"a": (1, 10)}]
