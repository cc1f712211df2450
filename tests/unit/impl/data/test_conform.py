from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from drawstring.data.conform import conform, conform_columns, widen
from drawstring.errors import CorruptFileError, SchemaError

POINT = pa.struct([pa.field("x", pa.int64()), pa.field("y", pa.string())])


def one(array: pa.Array, target: pa.DataType, *, nullable: bool = True) -> pa.Array:
    table = conform(pa.table({"c": array}), pa.schema([pa.field("c", target, nullable)]))
    return table.column("c").combine_chunks()


def test_columns_may_come_in_any_order():
    table = conform(pa.table({"b": ["x"], "a": [1]}), pa.schema([("a", pa.int64()), ("b", pa.string())]))
    assert table.column_names == ["a", "b"]


def test_meta_columns_of_rows_that_were_read_are_left_out():
    data = pa.table({"_hoodie_commit_time": ["1"], "_hoodie_file_name": ["f"], "a": [1]})
    assert conform(data, pa.schema([("a", pa.int64())])).column_names == ["a"]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (pa.table({"a": [1]}), "b"),
        (pa.table({"a": [1], "b": ["x"], "c": [1]}), "c"),
        (pa.table([[1], [1], ["x"]], names=["a", "a", "b"]), "a"),
    ],
    ids=["missing", "extra", "twice"],
)
def test_a_column_too_few_or_too_many_is_refused_by_name(data, name):
    with pytest.raises(SchemaError, match=f"Column '{name}'"):
        conform(data, pa.schema([("a", pa.int64()), ("b", pa.string())]))


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([1, None], pa.int8()), pa.int32()),
        (pa.array([1, None], pa.int32()), pa.int64()),
        (pa.array([1, None], pa.int32()), pa.float64()),
        (pa.array([1.5, None], pa.float32()), pa.float64()),
        (pa.array(["a", None], pa.large_string()), pa.string()),
        (pa.array(["a", None]).dictionary_encode(), pa.string()),
        (pa.array([Decimal("1.5"), None], pa.decimal128(3, 1)), pa.decimal128(10, 4)),
        (pa.array([7, None], pa.int32()), pa.decimal128(12, 2)),
        (pa.nulls(2), pa.string()),
        (pa.array([[1], None], pa.large_list(pa.int16())), pa.list_(pa.int64())),
        (pa.array([b"ab", None], pa.binary(2)), pa.binary()),
    ],
)
def test_a_lossless_type_is_cast(array, target):
    cast = one(array, target)
    assert cast.type == target
    assert cast.to_pylist() == array.to_pylist()


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([1], pa.int64()), pa.int32()),
        (pa.array([1], pa.int64()), pa.float64()),
        (pa.array([1.0]), pa.float32()),
        (pa.array([1.0]), pa.int64()),
        (pa.array([1]), pa.string()),
        (pa.array(["1"]), pa.int64()),
        (pa.array([1], pa.uint64()), pa.int64()),
        (pa.array([b"x"]), pa.string()),
        (pa.array([Decimal("1.25")]), pa.decimal128(5, 1)),
        (pa.array([1], pa.int64()), pa.decimal128(18, 0)),
        (pa.array([{"x": 1}]), pa.string()),
        (pa.array([1]), POINT),
    ],
)
def test_a_lossy_type_is_refused_by_the_columns_name(array, target):
    with pytest.raises(SchemaError, match="Column 'c'"):
        one(array, target)


def test_nanoseconds_that_are_whole_microseconds_are_taken():
    array = pa.array([1_000, None], pa.timestamp("ns", "Asia/Tokyo"))
    assert one(array, pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist() == [1, None]


def test_nanoseconds_that_would_be_cut_off_are_refused():
    with pytest.raises(SchemaError, match="Column 'c'"):
        one(pa.array([1_001], pa.timestamp("ns", "UTC")), pa.timestamp("us", "UTC"))


def test_a_time_without_a_zone_is_no_instant():
    with pytest.raises(SchemaError, match="time zone"):
        one(pa.array([dt.datetime(2024, 1, 1)]), pa.timestamp("us", "UTC"))  # noqa: DTZ001 - that is the point


def test_members_of_structs_go_by_name_and_are_cast():
    array = pa.array(
        [{"y": "a", "x": 1}, None, {"y": None, "x": None}], pa.struct([("y", pa.string()), ("x", pa.int8())])
    )
    assert one(array, POINT).to_pylist() == [{"x": 1, "y": "a"}, None, {"x": None, "y": None}]


@pytest.mark.parametrize("fields", [[("x", pa.int64())], [("x", pa.int64()), ("y", pa.string()), ("z", pa.int8())]])
def test_a_member_too_few_or_too_many_is_refused_by_its_path(fields):
    with pytest.raises(SchemaError, match=r"Column 'c\.[yz]'"):
        one(pa.array([None], pa.struct(fields)), POINT)


def test_a_slice_of_nested_columns_keeps_its_own_rows():
    kind = pa.map_(pa.string(), pa.list_(pa.struct([("n", pa.int8())])))
    target = pa.map_(pa.string(), pa.list_(pa.struct([("n", pa.int64())])))
    values = [[("a", [{"n": 1}, None])], None, [("b", None)], [("c", [{"n": 3}]), ("d", [])]]
    assert one(pa.array(values, kind)[2:], target).to_pylist() == values[2:]


def test_nulls_are_refused_where_the_table_has_none():
    with pytest.raises(SchemaError, match="1 nulls"):
        one(pa.array([1, None]), pa.int64(), nullable=False)


def test_nulls_are_refused_in_members_that_have_none():
    target = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError, match=r"'c\.x'"):
        one(pa.array([{"x": None}], pa.struct([("x", pa.int8())])), target)


def test_an_absent_struct_has_no_members_that_could_be_null():
    target = pa.struct([pa.field("x", pa.int64(), nullable=False)])
    members = pa.array([None, 1], pa.int8())
    array = pa.StructArray.from_arrays([members], ["x"], mask=pa.array([True, False]))
    assert one(array, target).to_pylist() == [None, {"x": 1}]


def test_keys_of_a_wider_integer_type_fit_by_their_values():
    table = conform_columns(pa.table({"k": [5], "other": ["x"]}), pa.schema([("k", pa.int32())]), ["k"])
    assert table.column("k").type == pa.int32()
    with pytest.raises(SchemaError, match="'k'"):
        conform_columns(pa.table({"k": [2**40]}), pa.schema([("k", pa.int32())]), ["k"])


def test_a_missing_key_column_is_named():
    with pytest.raises(SchemaError, match="'k'"):
        conform_columns(pa.table({"a": [1]}), pa.schema([("k", pa.int32())]), ["k"])


def test_a_file_of_an_older_schema_gets_nulls_and_wider_types():
    file = pa.table({"a": pa.array([1], pa.int32()), "s": pa.array([{"x": 1}], pa.struct([("x", pa.int32())]))})
    schema = pa.schema([("b", pa.string()), ("s", POINT), ("a", pa.int64())])
    assert widen(file, schema, path="f").to_pylist() == [{"b": None, "s": {"x": 1, "y": None}, "a": 1}]


def test_an_integer_column_that_became_text_is_read_as_text():
    assert widen(pa.table({"a": [12]}), pa.schema([("a", pa.string())]), path="f").to_pylist() == [{"a": "12"}]


def test_an_integer_column_that_became_floats_is_rounded_as_java_rounds():
    file = pa.table({"a": pa.array([2**31 - 1, 16_777_217, -7, None], pa.int32())})
    widened = widen(file, pa.schema([("a", pa.float32())]), path="f")
    assert widened["a"].to_pylist() == [2.0**31, 16_777_216.0, -7.0, None]


@pytest.mark.parametrize(
    ("kind", "values", "texts"),
    [
        (pa.float32(), [0.1, -1e10, 3.0, None, 1.5e-5], ["0.1", "-1.0E10", "3.0", None, "1.5E-5"]),
        (pa.float64(), [0.1, 1e300, 1e7, 9999999.0, -0.0], ["0.1", "1.0E300", "1.0E7", "9999999.0", "-0.0"]),
        (pa.float64(), [0.001, 0.00099, 0.0125, 120.5, 0.25], ["0.001", "9.9E-4", "0.0125", "120.5", "0.25"]),
        (pa.float64(), [12345678.9, 1e-300], ["1.23456789E7", "1.0E-300"]),
        (pa.float64(), [float("nan"), float("inf"), -float("inf"), 0.0], ["NaN", "Infinity", "-Infinity", "0.0"]),
        (pa.float64(), [], []),
    ],
)
def test_a_column_of_floats_that_became_text_has_the_texts_of_java(kind, values, texts):
    file = pa.table({"a": pa.array(values, kind)})
    assert widen(file, pa.schema([("a", pa.string())]), path="f")["a"].to_pylist() == texts


def test_a_two_level_list_of_java_is_a_list():
    file = pa.table({"a": pa.array([[1, 2]], pa.list_(pa.field("array", pa.int32(), nullable=False)))})
    schema = pa.schema([("a", pa.list_(pa.field("element", pa.int32())))])
    assert widen(file, schema, path="f").schema.equals(schema)


def test_a_file_that_never_fitted_the_table_is_corrupt():
    with pytest.raises(CorruptFileError, match=r"x/f\.parquet"):
        widen(pa.table({"a": ["t"]}), pa.schema([("a", pa.int64())]), path="x/f.parquet")


def test_a_file_without_a_column_that_has_no_nulls_is_corrupt():
    with pytest.raises(CorruptFileError, match="'b'"):
        widen(pa.table({"a": [1]}), pa.schema([pa.field("b", pa.int64(), nullable=False)]), path="f")


def test_nulls_in_rows_outside_of_a_slice_do_not_count():
    target = pa.list_(pa.field("element", pa.int64(), nullable=False))
    array = pa.array([[None], [1]], pa.list_(pa.int8()))
    assert one(array[1:], target).to_pylist() == [[1]]
    with pytest.raises(SchemaError, match=r"c\.element"):
        one(array, target)


@pytest.mark.parametrize(("view", "plain"), [(pa.string_view(), pa.string()), (pa.binary_view(), pa.binary())])
def test_a_dictionary_of_views_which_polars_has_for_categories_is_taken(view, plain):
    array = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.uint32()), pa.array(["x", "y"]).cast(view))
    assert one(array, plain).to_pylist() == pa.array(["y", None, "x"]).cast(plain).to_pylist()
