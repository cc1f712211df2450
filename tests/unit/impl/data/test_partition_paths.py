from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.partition_paths import partition_paths
from drawstring.errors import RecordKeyError
from drawstring_spec.partition_paths import partition_segment


@dataclass(frozen=True)
class Config:
    partition_fields: tuple[str, ...]
    hive_style: bool = False
    url_encode: bool = False


VALUES = st.one_of(st.none(), st.sampled_from(["", "a", "b c", "x=1", "ü", "50%", "__HIVE_DEFAULT_PARTITION__"]))


@given(st.lists(st.tuples(VALUES, VALUES), max_size=20), st.booleans(), st.booleans())
def test_paths_are_what_one_row_at_a_time_gives(rows, hive_style, url_encode):
    table = pa.table(
        {"p": pa.array([r[0] for r in rows], pa.string()), "q": pa.array([r[1] for r in rows], pa.string())}
    )
    paths = partition_paths(table, Config(("p", "q"), hive_style, url_encode))
    one_by_one = [
        "/".join(
            partition_segment(name, value, hive_style=hive_style, url_encode=url_encode)
            for name, value in zip(("p", "q"), row, strict=True)
        )
        for row in rows
    ]
    assert paths.to_pylist() == one_by_one


def test_an_unpartitioned_table_has_one_empty_path():
    assert partition_paths(pa.table({"a": [1, 2]}), Config(())).to_pylist() == ["", ""]


def test_each_path_is_in_the_dictionary_once_in_order_of_appearance():
    # Null and empty text are the same folder, and so are the values of the two levels below.
    table = pa.table({"p": ["b", None, "a", "", "b"]})
    paths = partition_paths(table, Config(("p",)))
    assert paths.dictionary.to_pylist() == ["b", "__HIVE_DEFAULT_PARTITION__", "a"]


def test_values_that_no_row_has_make_no_path():
    column = pa.DictionaryArray.from_arrays(pa.array([1, 1], pa.int8()), pa.array(["../unused", "a"]))
    assert partition_paths(pa.table({"p": column}), Config(("p",))).to_pylist() == ["a", "a"]


def test_dates_and_numbers_are_written_as_java_writes_them():
    table = pa.table({"d": [dt.date(2024, 1, 2)], "n": [7], "b": [True]})
    assert partition_paths(table, Config(("d", "n", "b"), hive_style=True)).to_pylist() == ["d=2024-01-02/n=7/b=true"]


def test_a_slash_in_a_value_is_a_nested_folder_unless_it_is_escaped():
    table = pa.table({"p": ["2024/01"]})
    assert partition_paths(table, Config(("p",))).to_pylist() == ["2024/01"]
    assert partition_paths(table, Config(("p",), url_encode=True)).to_pylist() == ["2024%2F01"]


@pytest.mark.parametrize("value", ["..", ".", "a/../../b", "/etc", "a//b", "a/", "x\0y", ".hoodie", ".hoodie/timeline"])
def test_a_value_that_leads_astray_is_refused(value):
    with pytest.raises(RecordKeyError, match="partition path"):
        partition_paths(pa.table({"p": ["fine", value]}), Config(("p",)))


def test_parts_that_only_together_lead_out_are_refused():
    with pytest.raises(RecordKeyError):
        partition_paths(pa.table({"p": ["a"], "q": [".."]}), Config(("p", "q")))


def test_a_floating_point_partition_is_refused():
    with pytest.raises(RecordKeyError, match="'p'"):
        partition_paths(pa.table({"p": [1.5]}), Config(("p",)))
