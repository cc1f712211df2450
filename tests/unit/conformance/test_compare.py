"""The comparison that conformance rests on: it finds each difference, and only differences."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring_conformance.compare import difference

NESTED = pa.struct(
    [
        ("x", pa.int32()),
        ("l", pa.list_(pa.string())),
        ("m", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("b", pa.binary()),
    ]
)


def column(values, kind=None):
    return pa.table({"c": pa.array(values, kind)})


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ([1, 2, 2], [2, 1, 2], pa.int64()),
        ([math.nan, None], [None, math.nan], pa.float64()),
        ([0.0], [-0.0], pa.float64()),
        ([[("a", 1), ("b", 2)]], [[("b", 2), ("a", 1)]], pa.map_(pa.string(), pa.int64())),
        ([{"x": 1, "l": ["a"], "m": None, "b": b"\xff"}], [{"x": 1, "l": ["a"], "m": None, "b": b"\xff"}], NESTED),
        ([b"\xff\xfe"], [b"\xff\xfe"], pa.binary()),
        ([], [], NESTED),
    ],
)
def test_the_same_rows_in_any_order_are_no_difference(left, right, kind):
    assert difference(column(left, kind), column(right, kind)) == ""


@pytest.mark.parametrize(
    ("left", "right", "kind"),
    [
        ([1, 2], [1, 2, 2], pa.int64()),
        ([1, 1, 2], [1, 2, 2], pa.int64()),
        ([None], [0], pa.int64()),
        ([math.nan], [None], pa.float64()),
        ([["a", "b"]], [["b", "a"]], pa.list_(pa.string())),
        ([["a", None]], [["a"]], pa.list_(pa.string())),
        ([[]], [None], pa.list_(pa.string())),
        ([["a;b"]], [["a", "b"]], pa.list_(pa.string())),
        ([["~"]], [[None]], pa.list_(pa.string())),
        ([["1:a"]], [["a"]], pa.list_(pa.string())),
        ([[("a", 1)]], [[("a", 2)]], pa.map_(pa.string(), pa.int64())),
        ([{"x": None}], [None], pa.struct([("x", pa.int32())])),
        ([{"x": 1, "l": [], "m": [("k", [1])], "b": b"a"}], [{"x": 1, "l": [], "m": [("k", [2])], "b": b"a"}], NESTED),
        ([b"\xff"], [b"\xfe"], pa.binary()),
    ],
)
def test_other_rows_are_a_difference(left, right, kind):
    assert "rows" in difference(column(left, kind), column(right, kind))


def test_another_type_is_a_difference():
    assert "c: int32 instead of int64" in difference(column([1], pa.int32()), column([1], pa.int64()))


def test_another_name_or_order_of_columns_is_a_difference():
    table = pa.table({"a": [1], "b": [2]})
    assert "columns" in difference(table.select(["b", "a"]), table)


def test_what_a_lists_element_is_called_is_no_difference():
    left, right = pa.list_(pa.field("element", pa.int32())), pa.list_(pa.field("array", pa.int32(), nullable=False))
    assert difference(column([[1]], left), column([[1]], right)) == ""


def test_tables_without_columns_differ_by_their_rows():
    two, three = pa.table({"a": [1, 2]}).select([]), pa.table({"a": [1, 2, 3]}).select([])
    assert difference(two, two) == ""
    assert "2 rows instead of 3" in difference(two, three)


values = st.one_of(st.none(), st.text(alphabet="a;,:~1", max_size=3))
lists = st.one_of(st.none(), st.lists(values, max_size=3))


@given(st.lists(lists, max_size=5), st.lists(lists, max_size=5))
def test_lists_are_equal_exactly_if_they_are_so_in_python(left, right):
    kind = pa.list_(pa.string())
    same = sorted(map(repr, left)) == sorted(map(repr, right))
    assert (difference(column(left, kind), column(right, kind)) == "") is same
