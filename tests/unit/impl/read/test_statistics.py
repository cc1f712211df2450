"""What statistics promise about a slice of several files, and which filters may use them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from drawstring.metadata.merging import merge_payloads
from drawstring.metadata.partition import Source
from drawstring.metadata.records import Payload
from drawstring.read.data_skipping import _columns
from drawstring.read.statistics import bounds_of_slices
from unit.impl.metadata.made import stats
from unit.impl.metadata.test_merging import puts
from unit.impl.read.tables import HandMadeTable


def table_of(*entries) -> pa.Table:
    source: Source = puts({f"k{i}": entry for i, entry in enumerate(entries)})
    return merge_payloads([source], Payload.STATS)


def bounds(entries, positions=None, slices=None, kind=None):
    """Least, greatest, all null, may have nulls: of one slice with a file for each entry, unless it is said."""
    chosen = np.arange(len(entries)) if positions is None else np.array(positions)
    of = np.zeros(len(chosen), np.int64) if slices is None else np.array(slices)
    found = bounds_of_slices(table_of(*entries), chosen, of, int(of.max()) + 1, kind or pa.int64())
    columns = found.least.to_pylist(), found.greatest.to_pylist(), found.all_null.tolist(), found.has_nulls.tolist()
    return list(zip(*columns, strict=True))


def test_bounds_of_a_slice_are_those_of_all_its_files():
    assert bounds([stats("b", "c", 3, 5), stats("l", "c", 1, 4)]) == [(1, 5, False, False)]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (stats("l", "c", 9, None), (3, None, False, False)),
        (stats("l", "c", None, 1), (None, 5, False, False)),
        (stats("l", "c", None, None, count=2, nulls=1), (None, None, False, True)),
        (stats("l", "c", None, None, count=2, nulls=2), (3, 5, False, True)),
        (stats("l", "c", None, None, count=0), (3, 5, False, False)),
    ],
    ids=["no greatest", "no least", "no bounds", "only nulls", "only deletes"],
)
def test_a_bound_that_one_file_does_not_have_the_slice_does_not_have(other, expected):
    assert bounds([stats("b", "c", 3, 5), other]) == [expected]


@pytest.mark.parametrize(("kind", "wrapper"), [(pa.float32(), "FloatWrapper"), (pa.float64(), "DoubleWrapper")])
def test_two_zeros_are_no_bounds_of_floating_values(kind, wrapper):
    """Java writes them where a file has NaN, of which Parquet's footer then says nothing."""
    assert bounds([stats("b", "c", 0.0, 0.0, kind=wrapper)], kind=kind) == [(None, None, False, False)]
    assert bounds([stats("b", "c", 0.0, 2.0, kind=wrapper)], kind=kind) == [(0.0, 2.0, False, False)]


def test_a_file_without_statistics_leaves_its_slice_without_bounds():
    known = [stats("b", "c", 3, 5)]
    assert bounds(known, positions=[0, -1, 0], slices=[0, 0, 1]) == [(None, None, False, True), (3, 5, False, False)]


@pytest.mark.parametrize(
    "kind", [pa.struct([("a", pa.int32())]), pa.list_(pa.int32()), pa.map_(pa.string(), pa.int32())], ids=str
)
def test_a_nested_column_has_no_bounds(kind):
    entry = stats("b", "c", 3, 5)
    assert bounds([entry], kind=kind) == [(None, None, False, False)]
    assert bounds([entry], positions=[-1], kind=kind) == [(None, None, False, True)]


def test_a_slice_of_nulls_has_nothing_else():
    assert bounds([stats("b", "c", None, None, count=4, nulls=4)]) == [(None, None, True, True)]


@pytest.mark.parametrize(
    ("kind", "wrapper", "value", "expected"),
    [
        (pa.int64(), "IntWrapper", 5, 5),
        (pa.float64(), "FloatWrapper", 0.5, 0.5),
        (pa.float64(), "DoubleWrapper", float("nan"), None),
        (pa.string(), "IntWrapper", 5, None),
        (pa.int32(), "LongWrapper", 5, None),
        (pa.string(), "StringWrapper", "\ufffd", None),
        (pa.binary(), "BytesWrapper", b"a", None),
    ],
)
def test_bounds_count_only_where_they_order_as_the_column_does(kind, wrapper, value, expected):
    assert bounds([stats("b", "c", value, value, kind=wrapper)], kind=kind)[0][:2] == (expected, expected)


@pytest.mark.parametrize(
    ("condition", "used"),
    [
        (pc.field("x") > 1.0, True),
        ((pc.field("x") > 1.0) & (pc.field("n") == 1), True),
        (pc.field("x") != 1.0, False),
        (~(pc.field("x") > 1.0), False),
        (pc.field("x").isin([1.0]), False),
    ],
)
def test_a_filter_that_may_keep_nan_does_not_use_bounds_of_floats(condition, used):
    schema = pa.schema([("x", pa.float64()), ("n", pa.int64())])
    names = [field.name for field in _columns(HandMadeTable().context(), schema, condition)]
    assert ("x" in names) is used


def test_columns_whose_values_come_from_the_path_are_not_used():
    schema = pa.schema([("day", pa.string()), ("n", pa.int64())])
    condition = (pc.field("day") == "a") & (pc.field("n") == 1)
    assert [field.name for field in _columns(HandMadeTable().context(), schema, condition)] == ["n"]
