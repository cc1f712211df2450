"""Java Hudi's services run on our tables, and we go on reading and writing afterwards."""

from __future__ import annotations

import pytest

import drawstring as ds
from drawstring.errors import TimeTravelError
from interop import tables
from interop.rows import data_columns, difference

pytestmark = pytest.mark.interop
LAYOUT = tables.LAYOUTS[1]
WITHOUT_METADATA = {"hoodie.metadata.enable": "false"}
ARCHIVE_SOON = {
    **WITHOUT_METADATA,
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}


@pytest.fixture
def story(tmp_path):
    return tables.write_history(tmp_path / "t", LAYOUT)


def upsert(java, story, numbers, *, ts, options):
    rows = [tables.row(LAYOUT, n, ts=ts, name="by Java") for n in numbers]
    story.remember(java.write(story.path, "upsert", tables.to_table(rows), options=options), rows)


def assert_we_go_on(java, story):
    """We read what Java left, write, and both read the result."""
    story.table = ds.Table.open(str(story.path), options=WITHOUT_METADATA)
    assert not difference(data_columns(story.table.read()), story.expected())
    story.write("upsert", [tables.row(LAYOUT, n, ts=900, name="after it") for n in (7, 8, 77)])
    assert not difference(data_columns(story.table.read()), story.expected())
    assert not difference(data_columns(java.read(story.path)), story.expected())


def test_we_go_on_after_java_cleaned_and_archived_our_commits(java, story):
    for number in range(5):
        upsert(java, story, [number + 10], ts=500 + number, options=ARCHIVE_SOON)
    on_timeline = {i["requested_time"] for i in java.timeline(story.path)}
    assert min(story.versions) not in on_timeline
    assert any(i["action"] == "clean" for i in java.timeline(story.path))
    assert_we_go_on(java, story)


def test_a_version_that_java_cleaned_away_is_refused_and_not_answered_wrongly(java, story):
    for number in range(5):
        upsert(java, story, [number + 10], ts=500 + number, options=ARCHIVE_SOON)
    with pytest.raises(TimeTravelError):
        ds.Table.open(str(story.path)).read(as_of=min(story.versions))


def test_we_go_on_after_java_clustered_our_file_groups(java, story):
    options = {**WITHOUT_METADATA, "hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
    upsert(java, story, [10, 11], ts=500, options=options)
    assert any(i["action"] == "replacecommit" for i in java.timeline(story.path))
    assert_we_go_on(java, story)


def test_we_read_each_version_before_and_after_a_clustering(java, story):
    options = {**WITHOUT_METADATA, "hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
    upsert(java, story, [10, 11], ts=500, options=options)
    for requested_time, rows in story.versions.items():
        actual = data_columns(ds.Table.open(str(story.path)).read(as_of=requested_time))
        assert not difference(actual, tables.to_table(rows)), requested_time


def test_we_go_on_after_java_overwrote_our_partitions(java, story):
    rows = [tables.row(LAYOUT, n, ts=500, name="by Java") for n in range(0, 9, 3)]
    java.write(story.path, "insert_overwrite", tables.to_table(rows), options=WITHOUT_METADATA)
    story.rows = {key: row for key, row in story.rows.items() if row["region"] != rows[0]["region"]}
    story.rows |= {row["id"]: row for row in rows}
    assert_we_go_on(java, story)


def test_we_go_on_after_java_overwrote_our_table(java, story):
    rows = [tables.row(LAYOUT, n, ts=500, name="by Java") for n in range(5)]
    java.write(story.path, "insert_overwrite_table", tables.to_table(rows), options=WITHOUT_METADATA)
    story.rows = {row["id"]: row for row in rows}
    assert_we_go_on(java, story)


def test_we_go_on_after_java_deleted_one_of_our_partitions(java, story):
    gone = tables.PLAIN_REGIONS[0]
    options = {**WITHOUT_METADATA, "hoodie.datasource.write.partitions.to.delete": f"region={gone}"}
    java.write(story.path, "delete_partition", story.expected().slice(0, 1), options=options)
    story.rows = {key: row for key, row in story.rows.items() if row["region"] != gone}
    assert_we_go_on(java, story)


def test_we_go_on_after_java_rolled_our_last_commit_back(java, story):
    last = max(story.versions)
    java.call(story.path, "rollback_to_instant", f"instant_time => '{last}'")
    del story.versions[last]
    story.rows = {row["id"]: row for row in story.versions[max(story.versions)]}
    assert_we_go_on(java, story)


def test_we_go_on_after_java_restored_our_table_to_a_savepoint(java, story):
    saved = sorted(story.versions)[1]
    java.call(story.path, "create_savepoint", f"commit_time => '{saved}'")
    java.call(story.path, "rollback_to_savepoint", f"instant_time => '{saved}'")
    story.rows = {row["id"]: row for row in story.versions[saved]}
    assert_we_go_on(java, story)


def test_we_go_on_after_java_added_a_column(java, story):
    rows = tables.to_table([tables.row(LAYOUT, n, ts=500, name="by Java") for n in range(3)])
    wider = rows.append_column("added", [[f"new {n}" for n in range(3)]])
    java.write(story.path, "upsert", wider, options=WITHOUT_METADATA)
    table = ds.Table.open(str(story.path), options=WITHOUT_METADATA)
    table.upsert(wider.slice(0, 1).set_column(wider.column_names.index("added"), "added", [["by us"]]))
    added = dict(zip(*table.read(columns=["id", "added"]).to_pydict().values(), strict=True))
    assert [added[f"key-{n:03}"] for n in (0, 2, 4)] == ["by us", "new 2", None]
    assert not difference(java.read(story.path), table.read())
