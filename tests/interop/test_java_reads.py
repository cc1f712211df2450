"""Java Hudi reads what we wrote: the same rows, the same history, the same statistics."""

from __future__ import annotations

import pytest

import drawstring as ds
from interop import tables
from interop.rows import data_columns, difference

pytestmark = pytest.mark.interop


@pytest.fixture(scope="module", params=tables.LAYOUTS, ids=lambda layout: layout.name)
def story(request, tmp_path_factory):
    """A table with a history, for each layout; the tests only read it."""
    return tables.write_history(tmp_path_factory.mktemp("ours") / "t", request.param)


def test_java_returns_the_snapshot_that_we_wrote(java, story):
    assert not difference(data_columns(java.read(story.path)), story.expected())


def test_java_returns_each_earlier_version_that_we_wrote(java, story):
    for requested_time, rows in story.versions.items():
        actual = data_columns(java.read(story.path, as_of=requested_time))
        assert not difference(actual, tables.to_table(rows)), requested_time


def test_java_returns_the_meta_columns_that_we_read(java, story):
    assert not difference(java.read(story.path), story.table.read())


def test_java_parses_each_instant_as_a_completed_commit(java, story):
    timeline = java.timeline(story.path)
    assert [i["requested_time"] for i in timeline] == list(story.versions)
    assert {(i["action"], i["state"]) for i in timeline} == {("commit", "COMPLETED")}


def test_java_accepts_our_properties(java, story):
    properties = java.properties(story.path)
    assert properties["hoodie.table.recordkey.fields"] == ",".join(story.layout.record_key)


def test_java_decodes_the_write_statistics_that_we_published(java, story):
    written, updated, deleted = [], [], []
    for requested_time in story.versions:
        stats = java.commit_metadata(story.path, requested_time)["partitionToWriteStats"].values()
        written.append(sum(s["numInserts"] for group in stats for s in group))
        updated.append(sum(s["numUpdateWrites"] for group in stats for s in group))
        deleted.append(sum(s["numDeletes"] for group in stats for s in group))
    # The late row of the upsert counts as an update or not, by who won: Java counts it as written.
    assert written == [30, 10, 10, 0]
    assert deleted == [0, 0, 0, 3]
    assert updated[0] == updated[2] == updated[3] == 0
    assert updated[1] in {10, 11}


def test_java_returns_all_types_as_we_wrote_them(java, tmp_path):
    table = ds.Table.create(
        str(tmp_path / "t"), tables.ALL_TYPES, record_key="id", partition_by=["part"], ordering="ts"
    )
    rows = tables.to_table([tables.all_types_row(n, ts=1) for n in range(20)], tables.ALL_TYPES)
    table.bulk_insert(rows)
    assert not difference(data_columns(java.read(tmp_path / "t")), rows)


def test_java_returns_no_rows_of_a_table_that_has_no_commit_yet(java, tmp_path):
    story = tables.create(tmp_path / "t", tables.LAYOUTS[1])
    assert java.read(story.path).num_rows == 0
