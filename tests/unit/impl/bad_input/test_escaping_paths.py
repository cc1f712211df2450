"""No path leaves the table, wherever it comes from: partition values, properties, payloads of the timeline."""

from __future__ import annotations

import shutil
import uuid
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.codec import avro_container
from drawstring.errors import CorruptFileError, FormatError, RecordKeyError, StorageError
from drawstring.runtime.object_storage import ObjectStorage
from unit.impl.bad_input.conftest import SCHEMA, contents, refusal, rows

ESCAPING = ["..", "../outside", "../../outside", "a/../../outside", "/etc", ".", "a//b", "a/./b", "a\0b", ".hoodie"]
WITH_SLASHES = {"hoodie.datasource.write.hive_style_partitioning": "false"}


@pytest.fixture
def plain_table(tmp_path):
    """A table whose partition folders are called as the values are, neither hive-style nor encoded."""
    path = tmp_path / "table"
    ds.Table.create(str(path), SCHEMA, record_key="id", partition_by=["region"], ordering="ts", options=WITH_SLASHES)
    ds.Table.open(str(path)).insert(rows("a"))
    return path


@pytest.mark.parametrize("value", ESCAPING)
@pytest.mark.parametrize("operation", ["bulk_insert", "insert", "upsert"])
def test_a_partition_value_that_leaves_the_table_is_refused(plain_table, operation, value):
    with refusal(plain_table.parent, RecordKeyError, repr(value)):
        getattr(ds.Table.open(str(plain_table)), operation)(rows("x", region=value))


def test_a_hive_style_partition_value_cannot_leave_the_table_either(tmp_path):
    options = {"hoodie.datasource.write.hive_style_partitioning": "true"}
    table = ds.Table.create(
        str(tmp_path / "table"), SCHEMA, record_key="id", partition_by=["region"], ordering="ts", options=options
    )
    with refusal(tmp_path, RecordKeyError, "region=a/../../outside"):
        table.insert(rows("x", region="a/../../outside"))


@pytest.mark.parametrize("value", ["x:y", "12:00", "s3://elsewhere/t"])
def test_a_partition_value_that_java_takes_for_a_uri_is_refused(plain_table, value):
    with refusal(plain_table.parent, RecordKeyError, repr(value)):
        ds.Table.open(str(plain_table)).upsert(rows("x", region=value))


def test_a_partition_value_with_a_colon_in_a_deeper_folder_is_taken(plain_table):
    ds.Table.open(str(plain_table)).upsert(rows("x", region="a/x:y"))
    assert (plain_table / "a" / "x:y").is_dir()


def test_an_encoded_partition_value_stays_below_the_table(tmp_path):
    options = {**WITH_SLASHES, "hoodie.datasource.write.partitionpath.urlencode": "true"}
    table = ds.Table.create(
        str(tmp_path / "table"), SCHEMA, record_key="id", partition_by=["region"], ordering="ts", options=options
    )
    table.insert(rows("x", region="../outside"))
    assert [p.name for p in tmp_path.iterdir()] == ["table"]
    assert table.read(columns=["region"])["region"].to_pylist() == ["../outside"]


@pytest.mark.parametrize("key", ["hoodie.timeline.path", "hoodie.timeline.history.path"])
@pytest.mark.parametrize("value", ["../../elsewhere", "/etc", "timeline/../../..", "."])
def test_a_timeline_folder_outside_of_the_table_is_refused(edit_properties, key, value):
    path = edit_properties({key: value})
    with refusal(path.parent, FormatError, key, value):
        ds.Table.open(str(path)).read()


def leave_pending_rollback(table: Path, victim: str) -> None:
    """A rollback that another writer planned and did not do, whose plan names `victim`."""
    timeline = table / ".hoodie" / "timeline"
    failed, rollback = "20240101000000000", "20240101000000001"
    (timeline / f"{failed}.commit.requested").touch()
    (timeline / f"{failed}.inflight").touch()
    plan = {
        "instantToRollback": {"commitTime": failed, "action": "commit"},
        "RollbackRequests": [
            {
                "partitionPath": "north",
                "fileId": "",
                "latestBaseInstant": "",
                "filesToBeDeleted": [victim],
                "logBlocksToBeDeleted": {},
            }
        ],
        "version": 1,
    }
    content = avro_container.encode("HoodieRollbackPlan", plan, sync_marker=bytes(16))
    (timeline / f"{rollback}.rollback.requested").write_bytes(content)


@pytest.mark.parametrize("form", ["{outside}", "file://{outside}", "../outside.txt", "{table}/../outside.txt"])
def test_a_rollback_plan_cannot_delete_what_lies_outside_of_the_table(table_path, form):
    outside = table_path.parent / "outside.txt"
    leave_pending_rollback(table_path, form.format(outside=outside, table=table_path))
    with suppress(FormatError):
        ds.Table.open(str(table_path)).upsert(rows("e", ts=3))
    assert outside.read_text(encoding="utf-8") == "outside of the table"


def test_a_marker_list_cannot_delete_what_lies_outside_of_the_table(table_path):
    """Java's timeline server keeps markers as lines of text, which may say anything."""
    failed = "20240101000000000"
    victim = f"{uuid.UUID(int=7)}-0_0-1-1_{failed}.parquet"
    (table_path.parent / victim).write_text("outside of the table", encoding="utf-8")
    timeline, markers = table_path / ".hoodie" / "timeline", table_path / ".hoodie" / ".temp" / failed
    (timeline / f"{failed}.commit.requested").touch()
    (timeline / f"{failed}.inflight").touch()
    markers.mkdir(parents=True)
    (markers / "MARKERS.type").write_text("TIMELINE_SERVER_BASED", encoding="utf-8")
    (markers / "MARKERS0").write_text(f"../{victim}.marker.CREATE\n", encoding="utf-8")
    with pytest.raises(CorruptFileError, match=victim) as caught:
        ds.Table.open(str(table_path)).upsert(rows("e", ts=3))
    assert caught.value.way_out
    assert (table_path.parent / victim).exists()


def test_a_rollback_plan_cannot_delete_files_of_other_instants(table_path):
    kept = {k: v for k, v in contents(table_path).items() if k.endswith(".parquet")}
    leave_pending_rollback(table_path, str(table_path / next(iter(kept))))
    with suppress(FormatError):
        ds.Table.open(str(table_path)).upsert(rows("e", ts=3))
    after = contents(table_path)
    assert {k: after.get(k) for k in kept} == kept


def test_write_statistics_that_name_an_outside_file_are_not_followed(table_path):
    timeline = table_path / ".hoodie" / "timeline"
    newest = max(timeline.glob("*.commit"))
    record = avro_container.decode(newest.read_bytes(), path=newest.name)
    for stats in record["partitionToWriteStats"].values():
        for stat in stats:
            stat["path"] = "../outside.txt"
    newest.write_bytes(avro_container.encode("HoodieCommitMetadata", record, sync_marker=bytes(16)))
    before = contents(table_path.parent)
    assert sorted(ds.Table.open(str(table_path)).read()["id"].to_pylist()) == ["a", "b", "c", "d"]
    assert contents(table_path.parent) == before


def test_deleting_by_a_partition_value_that_leaves_the_table_is_refused(plain_table):
    keys = pa.table({"id": ["x"], "region": ["../outside"]})
    with refusal(plain_table.parent, RecordKeyError, "'../outside'"):
        ds.Table.open(str(plain_table)).delete(keys)


@pytest.fixture
def elsewhere(table_path):
    """A folder beside the table that looks like a partition of it, with a data file that it could have."""
    folder = table_path.parent / "elsewhere"
    folder.mkdir()
    (folder / ".hoodie_partition_metadata").write_text("partitionDepth=1\n", encoding="utf-8")
    source = next(table_path.glob("north/*.parquet"))
    (folder / source.name).write_bytes(source.read_bytes())
    return folder


@pytest.mark.parametrize("metadata", ["true", "false"])
def test_a_partition_that_is_a_link_out_of_the_table_is_refused(table_path, elsewhere, metadata):
    shutil.rmtree(table_path / "north")
    (table_path / "north").symlink_to(elsewhere)
    table = ds.Table.open(str(table_path), options={"hoodie.metadata.enable": metadata})
    with refusal(table_path.parent, StorageError, "'north", "symbolic link"):
        table.read()


def test_a_data_file_that_is_a_link_out_of_the_table_is_refused(table_path, elsewhere):
    for path in table_path.glob("north/*.parquet"):
        path.unlink()
        path.symlink_to(next(elsewhere.glob("*.parquet")))
    with refusal(table_path.parent, StorageError, "'north/", "symbolic link"):
        ds.Table.open(str(table_path)).read()


def test_nothing_is_written_or_deleted_behind_a_link_out_of_the_table(table_path, elsewhere):
    (table_path / "south").symlink_to(elsewhere)
    before = contents(elsewhere)
    with pytest.raises(StorageError, match="symbolic link"):
        ds.Table.open(str(table_path)).insert(rows("s", region="south"))
    storage = ObjectStorage(str(table_path))
    with pytest.raises(StorageError, match="symbolic link"):
        storage.delete([f"south/{name}" for name in before])
    assert contents(elsewhere) == before


def test_a_link_inside_of_the_table_and_a_table_behind_a_link_are_read(table_path):
    expected = ds.Table.open(str(table_path)).read()
    (table_path / "store").mkdir()
    for path in table_path.glob("north/*.parquet"):
        path.rename(table_path / "store" / path.name)
        path.symlink_to(table_path / "store" / path.name)
    (table_path.parent / "alias").symlink_to(table_path)
    assert ds.Table.open(str(table_path.parent / "alias")).read().equals(expected)
