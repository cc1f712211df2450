"""Java Hudi continues our tables and we continue Java's; its metadata table is never left behind unnoticed."""

from __future__ import annotations

import pytest

import drawstring as ds
from drawstring.errors import UnsupportedTableError
from interop import tables
from interop.rows import data_columns, difference

pytestmark = pytest.mark.interop

HIVE_LAYOUT = tables.LAYOUTS[1]
WITHOUT_METADATA = {"hoodie.metadata.enable": "false"}


def java_upserts(java, story, numbers, *, ts):
    rows = [tables.row(story.layout, n, ts=ts, name="by Java") for n in numbers]
    story.remember(java.write(story.path, "upsert", tables.to_table(rows)), rows)


def java_deletes(java, story, numbers):
    rows = [story.rows[f"key-{n:03}"] for n in numbers]
    story.forget(java.write(story.path, "delete", tables.to_table(rows)), rows)


def assert_both_read_the_story(java, story, table):
    assert not difference(data_columns(java.read(story.path)), story.expected())
    assert not difference(data_columns(table.read()), story.expected())


@pytest.fixture
def continued(java, tmp_path):
    """Our table after Java wrote into it: from then on it has a metadata table."""
    story = tables.write_history(tmp_path / "t", HIVE_LAYOUT)
    java_upserts(java, story, range(15, 60), ts=400)
    return story


@pytest.mark.parametrize("layout", tables.LAYOUTS, ids=lambda layout: layout.name)
def test_java_upserts_and_deletes_in_our_table_and_we_read_the_result(java, tmp_path, layout):
    story = tables.write_history(tmp_path / "t", layout)
    java_upserts(java, story, range(15, 60), ts=400)
    java_deletes(java, story, [2, 30, 55])
    assert_both_read_the_story(java, story, ds.Table.open(str(story.path)))


def test_we_read_each_version_of_a_table_that_both_wrote(java, continued):
    java_deletes(java, continued, [2, 30, 55])
    table = ds.Table.open(str(continued.path))
    for requested_time, rows in continued.versions.items():
        actual = data_columns(table.read(as_of=requested_time))
        assert not difference(actual, tables.to_table(rows)), requested_time


def test_java_keeps_no_duplicate_of_a_key_that_both_wrote(java, continued):
    keys = java.read(continued.path)["id"].to_pylist()
    assert len(keys) == len(set(keys))


def test_java_updates_our_file_groups_and_makes_no_new_ones_for_their_keys(java, tmp_path):
    story = tables.write_history(tmp_path / "t", HIVE_LAYOUT)
    ours = {name.partition("_")[0] for name in story.table.read()["_hoodie_file_name"].to_pylist()}
    java_upserts(java, story, range(10, 20), ts=400)
    after = {name.partition("_")[0] for name in java.read(story.path)["_hoodie_file_name"].to_pylist()}
    assert after == ours


def test_a_write_is_refused_by_name_once_java_made_a_metadata_table(continued):
    table = ds.Table.open(str(continued.path))
    with pytest.raises(UnsupportedTableError, match=r"hoodie\.metadata\.enable=false"):
        table.upsert(tables.to_table([tables.row(HIVE_LAYOUT, 1, ts=500, name="refused")]))


def test_a_refused_write_leaves_javas_table_as_it_was(java, continued):
    before = sorted(p for p in continued.path.rglob("*") if p.is_file())
    with pytest.raises(UnsupportedTableError):
        ds.Table.open(str(continued.path)).delete(tables.to_table([continued.rows["key-016"]]))
    assert sorted(p for p in continued.path.rglob("*") if p.is_file()) == before
    assert java.validate(continued.path)["problems"] == []


def test_a_write_that_gives_the_metadata_table_up_removes_it_and_its_properties(continued):
    table = ds.Table.open(str(continued.path), options=WITHOUT_METADATA)
    table.upsert(tables.to_table([tables.row(HIVE_LAYOUT, 1, ts=500, name="after Java")]))
    properties = (continued.path / ".hoodie" / "hoodie.properties").read_text(encoding="latin-1")
    assert "hoodie.table.metadata.partitions=" not in properties
    assert not [p for p in (continued.path / ".hoodie" / "metadata").rglob("*") if p.is_file()]


def test_both_read_what_we_wrote_after_giving_the_metadata_table_up(java, continued):
    continued.table = ds.Table.open(str(continued.path), options=WITHOUT_METADATA)
    continued.write("upsert", [tables.row(HIVE_LAYOUT, n, ts=500, name="after Java") for n in range(50, 70)])
    continued.delete([4])
    assert_both_read_the_story(java, continued, continued.table)


def test_java_builds_its_metadata_table_again_over_our_files_and_finds_it_valid(java, continued):
    continued.table = ds.Table.open(str(continued.path), options=WITHOUT_METADATA)
    continued.write("upsert", [tables.row(HIVE_LAYOUT, n, ts=500, name="after Java") for n in range(50, 70)])
    java_upserts(java, continued, range(65, 75), ts=600)
    assert java.validate(continued.path)["problems"] == []
    assert_both_read_the_story(java, continued, ds.Table.open(str(continued.path)))


def test_java_merges_all_types_that_we_wrote(java, tmp_path):
    table = ds.Table.create(
        str(tmp_path / "t"), tables.ALL_TYPES, record_key="id", partition_by=["part"], ordering="ts"
    )
    rows = [tables.all_types_row(n, ts=1) for n in range(20)]
    table.bulk_insert(tables.to_table(rows, tables.ALL_TYPES))
    newer = [tables.all_types_row(n, ts=2) for n in range(10, 25)]
    java.write(tmp_path / "t", "upsert", tables.to_table(newer, tables.ALL_TYPES))
    expected = tables.to_table(rows[:10] + newer, tables.ALL_TYPES)
    assert not difference(data_columns(ds.Table.open(str(tmp_path / "t")).read()), expected)


def test_we_upsert_into_a_table_that_java_made(java, golden):
    path = golden("cow_nonpartitioned")
    before = data_columns(java.read(path))
    changed = before.slice(0, 3).set_column(before.column_names.index("name"), "name", [["a", "b", "c"]])
    ds.Table.open(str(path), options=WITHOUT_METADATA).upsert(changed)
    rows = {row["id"]: row for row in before.to_pylist()} | {row["id"]: row for row in changed.to_pylist()}
    expected = type(before).from_pylist(list(rows.values()), schema=before.schema)
    assert not difference(data_columns(java.read(path)), expected)


def test_java_reads_a_file_of_its_own_that_we_changed_on_a_local_folder(java, continued):
    """Hadoop keeps a checksum beside each local file; one that no longer fits would make the table unreadable."""
    assert (continued.path / ".hoodie" / ".hoodie.properties.crc").exists()
    ds.Table.open(str(continued.path), options=WITHOUT_METADATA).delete(tables.to_table([continued.rows["key-016"]]))
    assert java.properties(continued.path)["hoodie.table.name"] == "t"
