from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from drawstring.engine.inputs import arrow_table, key_table
from drawstring.errors import InputError
from unit.impl.engine.worlds import content, many

TABLE = pa.table({"a": [1, 2], "b": ["x", None]})


class Stream:
    """Something that exports a stream of columns, as DuckDB's results do."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        TABLE.to_pandas(),
        TABLE.to_pandas().set_index(pd.Index([7, 8], name="index")),
        pl.from_arrow(TABLE),
        Stream(),
    ],
    ids=["table", "batch", "reader", "pandas", "pandas with index", "polars", "stream"],
)
def test_columns_come_from_any_library(data):
    assert arrow_table(data).to_pylist() == TABLE.to_pylist()


@pytest.mark.parametrize("data", [None, 3, "path", [{"a": 1}], {"a": [1]}, pa.array([1])])
def test_what_has_no_columns_is_refused_with_a_way_out(data):
    with pytest.raises(InputError) as caught:
        arrow_table(data)
    assert "__arrow_c_stream__" in str(caught.value) or "pandas" in str(caught.value)


def test_a_data_frame_that_cannot_be_exported_is_refused():
    with pytest.raises(InputError, match="cannot be taken"):
        arrow_table(pd.DataFrame({"a": [1, "x"]}))


@pytest.mark.parametrize(
    "keys",
    [
        [1, 2],
        (1, 2),
        np.array([1, 2]),
        pd.Series([1, 2]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        pa.table({"k": [1, 2]}),
    ],
    ids=lambda keys: type(keys).__name__,
)
def test_keys_of_one_field_may_be_a_plain_list(keys):
    assert key_table(keys, ["k"]).to_pylist() == [{"k": 1}, {"k": 2}]


@pytest.mark.parametrize("keys", [[1, "x"], "k", 7, {1, 2}])
def test_keys_that_are_no_column_are_refused(keys):
    with pytest.raises(InputError):
        key_table(keys, ["k"])


@pytest.mark.parametrize("convert", [pa.Table.to_pandas, pl.from_arrow], ids=["pandas", "polars"])
def test_a_table_takes_rows_of_another_library(world, convert):
    table = world.create()
    table.upsert(convert(many([1, 2])))
    assert content(table) == {(1, "d"): "x", (2, "d"): "x"}
