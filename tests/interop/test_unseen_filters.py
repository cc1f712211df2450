"""Filters on tables whose metadata table has every index: with data skipping, without it, and as Java's rows say.

The rows that Java returned, filtered, are what is right: an index may make a query faster, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case, load_cases

DATA = Path(__file__).with_name("data_unseen")
CASES = [
    case
    for case in load_cases(DATA)
    if "column_stats" in case.table_properties.get("hoodie.table.metadata.partitions", "")
]
WITHOUT_INDEXES = {"hoodie.metadata.enable": "false"}


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


def asked(case: Case) -> pa.Table:
    return pq.read_table(next(query.expected for query in case.queries if query.type == "snapshot"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_filter_gives_the_same_rows_with_every_index_and_without(case, tmp_path):
    path, rows = str(case.extract(tmp_path / case.name)), asked(case)
    indexed, plain = ds.Table.open(path), ds.Table.open(path, options=WITHOUT_INDEXES)
    tried = 0
    for condition in conditions(rows):
        expected = rows.filter(pq.filters_to_expression(condition))
        assert difference(indexed.read(filter=condition), expected) == "", condition
        if not tried % 10:
            assert difference(plain.read(filter=condition), expected) == "", condition
        tried += 1
    assert tried > 50


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_keys_are_looked_up_whatever_index_there_is(case, tmp_path):
    path, rows = str(case.extract(tmp_path / case.name)), asked(case)
    keys = [*rows["id"].to_pylist()[::7], "nobody"]
    expected = rows.filter(pc.is_in(rows["id"], value_set=pa.array(keys)))
    for options in ({}, WITHOUT_INDEXES):
        assert difference(ds.Table.open(path, options=options).lookup(keys), expected) == ""


def test_tables_with_indexes_are_tried():
    assert len(CASES) >= 3
