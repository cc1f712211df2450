"""hudi-rs, a reader that nobody here wrote, returns the rows that we wrote. Needs no Java."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import drawstring as ds
from interop import tables
from interop.rows import data_columns, difference

hudi = pytest.importorskip("hudi")


def hudi_rs_rows(path: Path, *, as_of: str | None = None) -> pa.Table:
    options = hudi.HudiReadOptions()
    if as_of is not None:
        options = options.with_as_of_timestamp(as_of)
    batches = hudi.HudiTableBuilder.from_base_uri(str(path)).build().read(options)
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("layout", tables.LAYOUTS, ids=lambda layout: layout.name)
def test_hudi_rs_returns_the_snapshot_that_we_wrote(tmp_path, layout):
    story = tables.write_history(tmp_path / "t", layout)
    assert not difference(data_columns(hudi_rs_rows(story.path)), story.expected())


@pytest.mark.parametrize("layout", tables.LAYOUTS, ids=lambda layout: layout.name)
def test_hudi_rs_returns_each_earlier_version_that_we_wrote(tmp_path, layout):
    story = tables.write_history(tmp_path / "t", layout)
    for requested_time, rows in story.versions.items():
        actual = data_columns(hudi_rs_rows(story.path, as_of=requested_time))
        assert not difference(actual, tables.to_table(rows)), requested_time


def test_hudi_rs_returns_all_types_as_we_wrote_them(tmp_path):
    table = ds.Table.create(
        str(tmp_path / "t"), tables.ALL_TYPES, record_key="id", partition_by=["part"], ordering="ts"
    )
    rows = tables.to_table([tables.all_types_row(n, ts=1) for n in range(20)], tables.ALL_TYPES)
    table.bulk_insert(rows)
    assert not difference(data_columns(hudi_rs_rows(tmp_path / "t")), rows)


def test_hudi_rs_sees_the_meta_columns_that_we_read(tmp_path):
    story = tables.write_history(tmp_path / "t", tables.LAYOUTS[1])
    assert not difference(hudi_rs_rows(story.path), story.table.read())
