from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from drawstring.data.base_files import FileStamp, stamp_rows
from drawstring.data.merge import (
    KEPT_META_FIELDS,
    deletes,
    latest_rows,
    merge_rows,
    ordering_values,
    remove_rows,
    sortable,
)
from drawstring.errors import InputError, SchemaError
from drawstring_spec.meta_fields import META_FIELDS

OLD = FileStamp("20240101000000000", 3, "p", "old.parquet")
NEW = FileStamp("20240202000000000", 5, "p", "new.parquet")
SCHEMA = pa.schema([("k", pa.string()), ("o", pa.int64()), ("v", pa.int32()), ("_hoodie_is_deleted", pa.bool_())])

KEYS = st.sampled_from("abcdefg")
ORDER = st.integers(0, 3)
CHANGE = st.tuples(KEYS, ORDER, st.integers(0, 99), st.sampled_from([None, False, True]))
CHANGES = st.lists(CHANGE, max_size=12)


def rows(values: list[tuple]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, value, strict=True)) for value in values], SCHEMA)


def keys(table: pa.Table) -> pa.Array:
    return table.column("k").combine_chunks()


def base(values: list[tuple]) -> pa.Table:
    table = rows(values)
    stamped = stamp_rows(table, keys(table), OLD)
    return stamped.select([*KEPT_META_FIELDS, *SCHEMA.names])


def latest_oracle(changes: list[tuple], *, by_event_time: bool) -> list[tuple]:
    """The row that stays of each key, one row at a time as Java's ``preCombine`` does."""
    stays: dict[str, int] = {}
    for index, change in enumerate(changes):
        old = stays.get(change[0])
        if old is None or not by_event_time or change[1] >= changes[old][1]:
            stays[change[0]] = index
    return [changes[index] for index in sorted(stays.values())]


def merge_oracle(old: list[tuple], changes: list[tuple], *, by_event_time: bool) -> list[tuple]:
    """Key, ordering and value of the file's rows afterwards, and whether each is new, as ``HoodieMergeHandle`` does."""
    pending = {change[0]: change for change in changes}
    result: list[tuple] = []
    for row in old:
        change = pending.pop(row[0], None)
        if change is None or (by_event_time and change[1] < row[1]):
            result.append((*row[:3], False))
        elif not change[3]:
            result.append((*change[:3], True))
    return result + [(*change[:3], True) for change in pending.values() if not change[3]]


@given(CHANGES, st.booleans())
@example([("a", 2, 1, None), ("a", 1, 2, None), ("a", 2, 3, None)], True)
def test_of_each_key_the_row_stays_that_java_keeps(changes, by_event_time):
    table = rows(changes)
    ordering = ordering_values(table, "o" if by_event_time else None)
    stays = latest_rows(keys(table), ordering)
    kept = changes if stays is None else [changes[index] for index in stays]
    assert kept == latest_oracle(changes, by_event_time=by_event_time)


@given(st.lists(CHANGE, max_size=7, unique_by=lambda c: c[0]), CHANGES, st.booleans())
@example([("a", 2, 1, None)], [("a", 2, 9, None)], True)
@example([("a", 2, 1, None)], [("a", 1, 9, True)], True)
def test_a_merged_file_is_what_one_row_at_a_time_gives(old, changes, by_event_time):
    changes = latest_oracle(changes, by_event_time=by_event_time)
    table = rows(changes)
    merged = merge_rows(base(old), table, keys(table), NEW, ordering_field="o" if by_event_time else None)
    expected = merge_oracle(old, changes, by_event_time=by_event_time)
    answer = merged.rows.to_pylist()
    assert [(r["k"], r["o"], r["v"], r["_hoodie_commit_time"] == NEW.requested_time) for r in answer] == expected
    fresh = [r["_hoodie_commit_seqno"] for r in answer if r["_hoodie_commit_time"] == NEW.requested_time]
    assert len(set(fresh)) == len(fresh)
    assert all(seqno.startswith(f"{NEW.requested_time}_5_") for seqno in fresh)
    assert {r["_hoodie_file_name"] for r in answer} <= {"new.parquet"}
    before, after = {row[0] for row in old}, {row[0] for row in expected}
    assert sorted(merged.inserted_keys.to_pylist()) == sorted(after - before)
    assert merged.num_deletes == len(before - after)
    assert merged.num_updates == sum(row[3] for row in expected if row[0] in before)


def test_rows_that_nobody_changed_keep_their_commit_time_and_sequence_number():
    old = base([("a", 1, 1, None), ("b", 1, 2, None)])
    table = rows([("b", 1, 3, None)])
    merged = merge_rows(old, table, keys(table), NEW, ordering_field="o").rows
    assert merged.column("_hoodie_commit_time").to_pylist() == [OLD.requested_time, NEW.requested_time]
    assert merged.column("_hoodie_commit_seqno").to_pylist() == [
        f"{OLD.requested_time}_3_0",
        f"{NEW.requested_time}_5_0",
    ]


def test_a_merged_file_has_the_meta_columns_in_front_and_the_tables_own_nullability():
    schema = pa.schema([pa.field("k", pa.string(), nullable=False), ("o", pa.int64())])
    table = pa.table({"k": ["a"], "o": [1]}, schema=schema)
    old = stamp_rows(table, keys(table), OLD).select([*KEPT_META_FIELDS, "k", "o"])
    merged = merge_rows(old, table, keys(table), NEW, ordering_field=None).rows
    assert merged.column_names == [*META_FIELDS, "k", "o"]
    assert not merged.schema.field("k").nullable


def test_commit_times_read_as_text_merge_as_well():
    old = base([("a", 1, 1, None)])
    old = old.set_column(0, "_hoodie_commit_time", old.column(0).cast(pa.string()))
    table = rows([("b", 1, 3, None)])
    merged = merge_rows(old, table, keys(table), NEW, ordering_field="o").rows
    assert merged.column("_hoodie_commit_time").to_pylist() == [OLD.requested_time, NEW.requested_time]


def test_a_key_that_a_file_holds_twice_is_replaced_twice():
    old = base([("a", 1, 1, None), ("a", 1, 2, None)])
    table = rows([("a", 1, 9, None)])
    merged = merge_rows(old, table, keys(table), NEW, ordering_field="o")
    assert merged.rows.column("v").to_pylist() == [9, 9]
    assert merged.num_updates == 2


def test_a_row_of_the_file_without_an_ordering_value_gives_way():
    old = base([("a", None, 1, None)])
    table = rows([("a", 0, 9, None)])
    assert merge_rows(old, table, keys(table), NEW, ordering_field="o").rows.column("v").to_pylist() == [9]


def test_removed_rows_are_counted_and_the_others_stay():
    merged = remove_rows(base([("a", 9, 1, None), ("b", 9, 2, None)]), pa.array(["a", "x"]), NEW)
    assert merged.rows.column("k").to_pylist() == ["b"]
    assert merged.rows.column("_hoodie_commit_time").to_pylist() == [OLD.requested_time]
    assert merged.num_deletes == 1


@given(st.lists(st.floats(), min_size=2, max_size=2))
def test_floating_point_compares_as_javas_compare_does(pair):
    left, right = sortable(pa.array(pair, pa.float64())).to_pylist()

    def rank(value: float) -> tuple:
        return (math.isnan(value), 0 if math.isnan(value) else value, math.copysign(1, value) if value == 0 else 0)

    a, b = (rank(value) for value in pair)
    assert (left < right, left == right) == (a < b, a == b)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([2, 1, 2]),
        pa.array(["b", "a", "b"]),
        pa.array([True, False, True]),
        pa.array([Decimal("2.5"), Decimal(-1), Decimal("2.5")]),
        pa.array([2, 1, 2], pa.timestamp("us")),
        pa.array([2, 1, 2], pa.date32()),
        pa.array([float("nan"), 1e300, float("nan")]),
    ],
    ids=lambda values: str(values.type),
)
def test_any_ordered_type_orders_rows(values):
    ordering = ordering_values(pa.table({"o": values}), "o")
    assert latest_rows(pa.array(["k", "k", "x"]), ordering).tolist() == [0, 2]
    assert latest_rows(pa.array(["k", "k", "k"]), ordering).tolist() == [2]


def test_an_ordering_field_may_lie_in_a_struct():
    schema = pa.schema([("k", pa.string()), ("s", pa.struct([("o", pa.int64())]))])
    old = pa.Table.from_pylist([{"k": "a", "s": {"o": 2}}, {"k": "b", "s": {"o": 2}}], schema)
    new = pa.Table.from_pylist([{"k": "a", "s": {"o": 1}}, {"k": "b", "s": {"o": 3}}], schema)
    stamped = stamp_rows(old, keys(old), OLD).select([*KEPT_META_FIELDS, "k", "s"])
    merged = merge_rows(stamped, new, keys(new), NEW, ordering_field="s.o").rows
    assert merged.column("s").to_pylist() == [{"o": 2}, {"o": 3}]
    assert ordering_values(new, "s.o").to_pylist() == [1, 3]


def test_a_missing_ordering_value_is_refused_with_the_first_row():
    with pytest.raises(InputError, match=r"null in 1 rows; the first is row 1"):
        ordering_values(pa.table({"o": [1, None]}), "o")


@pytest.mark.parametrize("values", [[[1]], [{"x": 1}], [b"x"]])
def test_an_ordering_field_without_an_order_is_refused(values):
    with pytest.raises(SchemaError, match="'o'"):
        ordering_values(pa.table({"o": values}), "o")


def test_a_mark_of_deletion_that_is_no_boolean_is_refused():
    with pytest.raises(SchemaError, match="boolean"):
        deletes(pa.table({"_hoodie_is_deleted": ["yes"]}))
