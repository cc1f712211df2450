"""Writers beside the table services of others: a clustering that is pending, a clean, a restore, an archival."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drawstring.codec.avro_container import encode
from drawstring.errors import ConcurrencyError, ConflictError
from drawstring.timeline import transitions
from drawstring.timeline.load import load_timeline
from drawstring_spec.instants import Action
from unit.impl.protocol.test_write import A, B, completed, write
from unit.impl.protocol.world import OCC, World

SERVICE_TIME = "29990101000000000"
SYNC_MARKER = bytes(16)


def request_clustering(world: World, file_id: str) -> None:
    """Java plans a clustering of one file group."""
    slices = [{"fileId": file_id, "partitionPath": "p", "version": 1}]
    groups = [{"slices": slices, "numOutputFileGroups": 1, "version": 1}]
    plan = {"operationType": "CLUSTER", "clusteringPlan": {"inputGroups": groups, "version": 1}, "version": 1}
    content = encode("HoodieRequestedReplaceMetadata", plan, sync_marker=SYNC_MARKER)
    transitions.request(world.context(), SERVICE_TIME, Action.CLUSTERING, content)


def request_restore(world: World) -> None:
    """Java begins to take the table back to a savepoint."""
    transitions.request(
        world.context(), SERVICE_TIME, Action.RESTORE, encode("HoodieRestorePlan", {}, sync_marker=SYNC_MARKER)
    )


def test_an_update_of_a_file_group_that_is_being_clustered_is_refused():
    world = World()
    write(world, {A: "k1"}, OCC)
    with pytest.raises(ConflictError, match="is rewriting"):
        write(world, {A: "k1"}, OCC, after_lookup=lambda: request_clustering(world, A))
    assert len(completed(world)) == 1


def test_an_update_of_another_file_group_completes_beside_a_clustering():
    world = World()
    write(world, {A: "k1"}, OCC)
    write(world, {B: "k2"}, OCC, after_lookup=lambda: request_clustering(world, A))
    assert len(completed(world)) == 2


def test_a_writer_leaves_a_pending_clustering_where_it_is():
    world = World()
    request_clustering(world, A)
    write(world, {B: "k2"}, OCC)
    assert len(load_timeline(world.storage, world.context().config).pending(Action.CLUSTERING)) == 1


def request_clean(world: World, file_id: str, requested_time: str) -> None:
    """Java plans to remove the version of a file group that was written at `requested_time`."""
    name = f"{file_id}_0-0-0_{requested_time}.parquet"
    deleted = {"p": [{"filePath": f"file:/table/p/{name}", "isBootstrapBaseFile": False}]}
    plan = {"policy": "KEEP_LATEST_FILE_VERSIONS", "version": 2, "filePathsToBeDeletedPerPartition": deleted}
    content = encode("HoodieCleanerPlan", plan, sync_marker=SYNC_MARKER)
    transitions.request(world.context(), SERVICE_TIME, Action.CLEAN, content)


def update_and_clean(world: World, updated: str, cleaned: str) -> None:
    """Another writer adds a version to a file group, and Java cleans the version before of one."""
    (first,) = completed(world)
    write(world, {updated: "k1"}, OCC)
    request_clean(world, cleaned, first)


def test_an_insert_beside_a_clean_that_took_the_version_it_was_looked_up_in_is_refused():
    world = World()
    write(world, {A: "k1"}, OCC)
    with pytest.raises(ConflictError, match=r"The clean \d+ takes files"):
        write(world, {B: "k1"}, OCC, after_lookup=lambda: update_and_clean(world, A, A))


def test_an_insert_beside_a_clean_of_file_groups_that_nobody_wrote_meanwhile_completes():
    world = World()
    write(world, {A: "k1"}, OCC)
    write(world, {B: "k2"}, OCC, after_lookup=lambda: update_and_clean(world, A, B.replace("b", "c")))
    assert len(completed(world)) == 3


def test_a_restore_that_begins_during_a_write_stops_it():
    world = World()
    with pytest.raises(ConflictError, match="restore"):
        write(world, {A: "k1"}, OCC, after_lookup=lambda: request_restore(world))
    assert completed(world) == []


def test_a_restore_that_is_pending_stops_a_write_before_it_begins():
    world = World()
    request_restore(world)
    before = dict(world.storage.files)
    with pytest.raises(ConcurrencyError, match="pending"):
        write(world, {A: "k1"}, OCC)
    assert world.storage.files == before


EARLY_TIME = "20200101000000000"
EARLY_COMPLETION = "20200101000001000"
HISTORY = ".hoodie/timeline/history"


def begin_early_write(world: World) -> None:
    """Another writer, whose heart beats, requests an instant before ours, and is slow."""
    world.storage.put(f".hoodie/.heartbeat/{EARLY_TIME}", b"")
    transitions.request(world.context(), EARLY_TIME, Action.COMMIT, b"")


def forget(world: World) -> None:
    """The early write leaves the active timeline."""
    world.storage.delete([path for path in world.storage.files if EARLY_TIME in path])


def archive(world: World) -> None:
    """The early write completes, and an archiver takes it to the archive."""
    forget(world)
    row = {"instantTime": [EARLY_TIME], "completionTime": [EARLY_COMPLETION], "action": ["commit"], "metadata": [b""]}
    written = pa.table({**row, "plan": pa.array([None], pa.binary()), "version": pa.array([1], pa.int32())})
    file = pa.BufferOutputStream()
    pq.write_table(written, file)
    name = f"{EARLY_TIME}_{EARLY_TIME}_0.parquet"
    content = file.getvalue().to_pybytes()
    world.storage.put(f"{HISTORY}/{name}", content)
    manifest = {"files": [{"fileName": name, "fileLen": len(content)}]}
    world.storage.put(f"{HISTORY}/manifest_1", json.dumps(manifest).encode())
    world.storage.put(f"{HISTORY}/_version_", b"1")


def test_a_write_beside_one_that_completed_and_was_archived_is_refused():
    world = World()
    write(world, {A: "k1"}, OCC)
    begin_early_write(world)
    with pytest.raises(ConflictError, match=f"The write {EARLY_TIME} completed and was archived"):
        write(world, {B: "k2"}, OCC, after_lookup=lambda: archive(world))
    assert len(completed(world)) == 1


def test_a_write_beside_one_that_was_rolled_back_completes():
    world = World()
    write(world, {A: "k1"}, OCC)
    begin_early_write(world)
    write(world, {B: "k2"}, OCC, after_lookup=lambda: forget(world))
    assert len(completed(world)) == 2
