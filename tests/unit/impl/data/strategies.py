"""Schemas and columns of all types that Hudi has, for property tests."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c_1", "_d", "Long_Name", "e", "f"])

FLAT = st.one_of(
    st.sampled_from(
        [
            pa.bool_(),
            pa.int32(),
            pa.int64(),
            pa.float32(),
            pa.float64(),
            pa.string(),
            pa.binary(),
            pa.date32(),
            pa.time32("ms"),
            pa.time64("us"),
            pa.timestamp("ms", "UTC"),
            pa.timestamp("us", "UTC"),
            pa.timestamp("ms"),
            pa.timestamp("us"),
            pa.binary(16),
        ]
    ),
    st.integers(1, 38).flatmap(lambda p: st.builds(pa.decimal128, st.just(p), st.integers(0, p))),
)


def _fields(types: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[list[pa.Field]]:
    field = st.builds(pa.field, NAMES, types, st.booleans())
    return st.lists(field, min_size=1, max_size=4, unique_by=lambda f: f.name)


TYPES = st.recursive(
    FLAT,
    lambda inner: st.one_of(
        st.builds(lambda t, n: pa.list_(pa.field("element", t, n)), inner, st.booleans()),
        st.builds(lambda t, n: pa.map_(pa.string(), pa.field("value", t, n)), inner, st.booleans()),
        _fields(inner).map(pa.struct),
    ),
    max_leaves=6,
)

SCHEMAS = _fields(TYPES).map(pa.schema)
