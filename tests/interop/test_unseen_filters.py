"""Filters on tables whose metadata table has every index: with data skipping, without it, and as Java's rows say.

The rows that Java returned, filtered, are what is right: an index may make a query faster, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring_conformance.compare import difference
from interop.unseen_recording import Recorder
from interop.unseen_stories import STORIES

pytestmark = [pytest.mark.interop, pytest.mark.slow]
WITHOUT_INDEXES = {"hoodie.metadata.enable": "false"}
TOLD = ("indexed_cow", "indexed_buckets")


@pytest.fixture(scope="module", params=TOLD)
def told(request, java, tmp_path_factory) -> tuple[str, pa.Table]:
    """A table that Java has just written, and its rows as Java returns them."""
    folder = tmp_path_factory.mktemp("told")
    story = STORIES[request.param]
    recorder = Recorder(java, folder / story.name, story.options)
    story.tell(recorder)
    made = recorder.properties["hoodie.table.metadata.partitions"].split(",")
    assert {"column_stats", "partition_stats", "expr_index_idx_at"} <= set(made)
    return str(recorder.path), java.read(recorder.path)


def conditions(rows: pa.Table) -> Iterator[list[tuple[str, str, Any]]]:
    """Conditions on each column by its least, middle and greatest value, and by what lies beyond them."""
    for field in rows.schema:
        if pa.types.is_nested(field.type) or field.name.startswith("_hoodie_commit"):
            continue
        values = pc.unique(rows[field.name].drop_null())
        values = values.take(pc.sort_indices(values)).to_pylist()
        beyond = [values[0] - 1, values[-1] + 1] if pa.types.is_integer(field.type) else ["", "\U0010ffff"]
        for value in [values[0], values[len(values) // 2], values[-1], *beyond]:
            yield from ([(field.name, comparison, value)] for comparison in ("=", "!=", "<", ">="))
        yield [(field.name, "in", [values[0], values[-1]])]
        yield [(field.name, ">", values[0]), ("v", "<", 1000)]


def test_a_filter_gives_the_same_rows_with_every_index_and_without(told):
    path, rows = told
    indexed, plain = ds.Table.open(path), ds.Table.open(path, options=WITHOUT_INDEXES)
    tried = 0
    for condition in conditions(rows):
        expected = rows.filter(pq.filters_to_expression(condition))
        assert difference(indexed.read(filter=condition), expected) == "", condition
        if not tried % 10:
            assert difference(plain.read(filter=condition), expected) == "", condition
        tried += 1
    assert tried > 50


def test_keys_are_looked_up_whatever_index_there_is(told):
    path, rows = told
    keys = [*rows["id"].to_pylist()[::7], "nobody"]
    expected = rows.filter(pc.is_in(rows["id"], value_set=pa.array(keys)))
    for options in ({}, WITHOUT_INDEXES):
        assert difference(ds.Table.open(path, options=options).lookup(keys), expected) == ""
