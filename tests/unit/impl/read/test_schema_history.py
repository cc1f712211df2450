"""Schemas whose columns have ids: what a file's columns are called now, however deep they are."""

from __future__ import annotations

import pyarrow as pa
import pytest

from drawstring.errors import CorruptFileError
from drawstring.read.schema_history import by_current_names, file_version, parse_internal_schema


def schema(*fields):
    return parse_internal_schema({"type": "record", "fields": [{"id": i, "name": n, "type": t} for i, n, t in fields]})


def record(*fields):
    return {"type": "record", "fields": [{"id": i, "name": n, "type": t} for i, n, t in fields]}


def array(identity, element):
    return {"type": "array", "element_id": identity, "element": element, "element_optional": True}


def mapping(key_id, value_id, value):
    return {"type": "map", "key_id": key_id, "value_id": value_id, "key": "string", "value": value}


XY, PQ = record((10, "x", "int"), (11, "y", "int")), record((11, "q", "int"), (12, "x", "int"))
STRUCT = pa.struct([("x", pa.int32()), ("y", pa.int32())])
RENAMED_STRUCT = pa.struct([("q", pa.int32())])


def renamed(kind, values, then, now):
    table = pa.table({"old": pa.array(values, kind)})
    return by_current_names(table, schema((1, "new", now)), schema((1, "old", then)))


@pytest.mark.parametrize(
    ("kind", "values", "then", "now", "expected"),
    [
        (STRUCT, [{"x": 1, "y": 2}, None], XY, PQ, [{"q": 2}, None]),
        (
            pa.list_(STRUCT),
            [[{"x": 1, "y": 2}, None], [], None],
            array(2, XY),
            array(2, PQ),
            [[{"q": 2}, None], [], None],
        ),
        (
            pa.map_(pa.string(), STRUCT),
            [[("k", {"x": 1, "y": 2}), ("l", None)], None],
            mapping(2, 3, XY),
            mapping(2, 3, PQ),
            [[("k", {"q": 2}), ("l", None)], None],
        ),
        (pa.list_(pa.int32()), [[1], None], array(2, "int"), array(2, "long"), [[1], None]),
        (
            pa.struct([("s", STRUCT)]),
            [{"s": {"x": 1, "y": 2}}],
            record((5, "s", XY)),
            record((5, "t", PQ)),
            [{"t": {"q": 2}}],
        ),
    ],
    ids=["struct", "list", "map", "plain list", "struct in struct"],
)
def test_a_renamed_member_keeps_its_values(kind, values, then, now, expected):
    assert renamed(kind, values, then, now)["new"].to_pylist() == expected


def test_a_slice_of_a_column_is_renamed_like_the_whole():
    table = pa.table({"old": pa.array([[{"x": 0, "y": 0}], [{"x": 1, "y": 2}], None], pa.list_(STRUCT))}).slice(1)
    found = by_current_names(table, schema((1, "new", array(2, PQ))), schema((1, "old", array(2, XY))))
    assert found["new"].to_pylist() == [[{"q": 2}], None]


def test_a_struct_that_kept_none_of_its_members_is_null():
    then, now = record((10, "x", "int")), record((20, "x", "int"))
    assert renamed(pa.struct([("x", pa.int32())]), [{"x": 1}], then, now)["new"].to_pylist() == [None]


def test_a_column_without_chunks_is_renamed():
    table = pa.table({"old": pa.chunked_array([], STRUCT)})
    assert by_current_names(table, schema((1, "new", PQ)), schema((1, "old", XY))).num_rows == 0


def test_types_that_are_described_by_an_object_have_no_children():
    (column,) = schema((1, "d", {"type": "fixed", "size": 16})).children
    assert column.children == ()


def test_a_file_has_the_last_version_made_at_or_before_it():
    first, second = schema((1, "a", "int")), schema((1, "b", "int"))
    history = ((5, first), (20, second))
    assert file_version(history, "4") is None
    assert file_version(history, "5") is first
    assert file_version(history, "19") is first
    assert file_version(history, "20") is second


def test_a_schema_that_is_nested_without_end_is_refused():
    kind = "int"
    for _ in range(100):
        kind = array(1, kind)
    with pytest.raises(CorruptFileError, match="64 levels"):
        schema((1, "deep", kind))
