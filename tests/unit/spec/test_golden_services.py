"""What Java's table services leave on the timeline, read off every golden table that has them."""

from __future__ import annotations

import pytest

from drawstring_spec.instants import Action, State
from drawstring_spec.names import BaseFileName, LogFileName
from unit.spec.golden_timelines import DATA_TIMELINE, METADATA_TIMELINE, completions, files_of, timeline_files


def merge_order(name: LogFileName):
    return name.sort_key


def operations(action):
    for file in files_of(action, State.REQUESTED):
        for operation in file.record["operations"]:
            yield file, operation


def test_a_compaction_plan_names_the_files_of_a_slice_without_their_folders():
    for file, operation in operations(Action.COMPACTION):
        logs = [LogFileName.parse(name) for name in operation["deltaFilePaths"]]
        assert logs == sorted(logs, key=merge_order), "log files stand in the order in which they are merged"
        assert {log.file_id for log in logs} == {operation["fileId"]}
        assert operation["baseInstantTime"] < file.instant.requested_time
        if operation["dataFilePath"]:
            base = BaseFileName.parse(operation["dataFilePath"])
            assert (base.file_id, base.requested_time) == (operation["fileId"], operation["baseInstantTime"])


def test_a_compaction_plan_holds_only_log_files_that_completed_before_it_was_requested():
    judged = 0
    for file, operation in operations(Action.COMPACTION):
        times = completions(file.case)
        for name in operation["deltaFilePaths"]:
            requested = LogFileName.parse(name).requested_time
            if requested in times:  # what is archived has its completion time elsewhere
                judged += 1
                assert times[requested] < file.instant.requested_time
    assert judged > 0


@pytest.mark.parametrize(
    ("pending", "completed", "operation"),
    [
        (Action.COMPACTION, Action.COMMIT, "COMPACT"),
        (Action.LOG_COMPACTION, Action.DELTA_COMMIT, "LOG_COMPACT"),
        (Action.CLUSTERING, Action.REPLACE_COMMIT, "CLUSTER"),
    ],
)
def test_a_rewriting_service_completes_as_a_write_that_names_it(pending, completed, operation):
    planned = {(file.case.name, file.instant.requested_time) for file in files_of(pending, State.REQUESTED)}
    written = [
        file
        for file in files_of(completed, State.COMPLETED)
        if (file.case.name, file.instant.requested_time) in planned
    ]
    assert written
    for file in written:
        assert file.record["operationType"] == operation
        assert file.record["compacted"] is (pending is not Action.CLUSTERING)


def test_a_compaction_writes_a_base_file_of_each_planned_group_under_its_own_time():
    plans = {
        (file.case.name, file.instant.requested_time): {op["fileId"] for op in file.record["operations"]}
        for file in files_of(Action.COMPACTION, State.REQUESTED)
    }
    judged = 0
    for file in files_of(Action.COMMIT, State.COMPLETED):
        key = (file.case.name, file.instant.requested_time)
        if key in plans:
            judged += 1
            names = [
                s["path"].rpartition("/")[2] for stats in file.record["partitionToWriteStats"].values() for s in stats
            ]
            bases = [BaseFileName.parse(name) for name in names]
            assert {base.file_id for base in bases} == plans[key]
            assert {base.requested_time for base in bases} == {file.instant.requested_time}
    assert judged > 0


def test_a_clustering_plan_names_whole_paths_and_the_log_files_newest_first():
    for file in files_of(Action.CLUSTERING, State.REQUESTED):
        assert file.record["operationType"] == "CLUSTER"
        for group in file.record["clusteringPlan"]["inputGroups"]:
            for group_slice in group["slices"]:
                logs = group_slice["deltaFilePaths"]
                assert all("/" in path for path in [*logs, *filter(None, [group_slice["dataFilePath"]])])
                names = [LogFileName.parse(path.rpartition("/")[2]) for path in logs]
                assert names == sorted(names, key=merge_order, reverse=True)


def test_a_clustering_replaces_exactly_the_file_groups_that_it_planned():
    planned = {
        (file.case.name, file.instant.requested_time): {
            (group_slice["partitionPath"], group_slice["fileId"])
            for group in file.record["clusteringPlan"]["inputGroups"]
            for group_slice in group["slices"]
        }
        for file in files_of(Action.CLUSTERING, State.REQUESTED)
    }
    judged = 0
    for file in files_of(Action.REPLACE_COMMIT, State.COMPLETED):
        key = (file.case.name, file.instant.requested_time)
        replaced = {(p, i) for p, ids in file.record["partitionToReplaceFileIds"].items() for i in ids}
        written = {(p, s["fileId"]) for p, stats in file.record["partitionToWriteStats"].items() for s in stats}
        assert not replaced & written, "what replaces is never what is replaced"
        if key in planned:
            judged += 1
            assert replaced == planned[key]
    assert judged > 0


def test_a_clean_plans_whole_paths_and_reports_names():
    plans = files_of(Action.CLEAN, State.REQUESTED)
    paths = [
        info["filePath"]
        for file in plans
        for infos in (file.record["filePathsToBeDeletedPerPartition"] or {}).values()
        for info in infos
    ]
    assert paths
    assert all(path.startswith(("/", "file:")) for path in paths)
    deleted = [
        name
        for file in files_of(Action.CLEAN, State.COMPLETED)
        for partition in file.record["partitionMetadata"].values()
        for name in partition["successDeleteFiles"]
    ]
    assert deleted
    assert all("/" not in name for name in deleted)


def test_a_clean_never_deletes_what_the_newest_slice_holds():
    judged = 0
    for file in files_of(Action.CLEAN, State.COMPLETED):
        newest = {}
        times = completions(file.case)
        for path in file.case.file_names:
            name = path.rpartition("/")[2]
            if name.endswith(".parquet") and not path.startswith(".hoodie/"):
                base = BaseFileName.parse(name)
                if base.requested_time in times:
                    newest[base.file_id] = max(newest.get(base.file_id, ""), base.requested_time)
        for partition in file.record["partitionMetadata"].values():
            for name in partition["successDeleteFiles"]:
                if not name.startswith("."):
                    gone = BaseFileName.parse(name)
                    judged += 1
                    assert gone.requested_time < newest.get(gone.file_id, "9")
    assert judged > 0


def test_a_clean_repeats_its_plan_when_it_starts_and_what_it_keeps_when_it_ends():
    starts = {(f.case.name, f.instant.requested_time): f.record for f in files_of(Action.CLEAN, State.INFLIGHT)}
    ends = {(f.case.name, f.instant.requested_time): f.record for f in files_of(Action.CLEAN, State.COMPLETED)}
    for plan in files_of(Action.CLEAN, State.REQUESTED):
        key = (plan.case.name, plan.instant.requested_time)
        assert starts[key] == plan.record
        earliest = plan.record["earliestInstantToRetain"]
        assert ends[key]["earliestCommitToRetain"] == (earliest["timestamp"] if earliest else "")


def test_a_rollback_plans_and_reports_whole_paths_of_files_that_bear_the_failed_time():
    judged = 0
    for file in files_of(Action.ROLLBACK, State.REQUESTED):
        failed = file.record["instantToRollback"]["commitTime"]
        for request in file.record["RollbackRequests"] or ():
            assert not request["logBlocksToBeDeleted"], "no block is undone in place"
            for path in request["filesToBeDeleted"]:
                judged += 1
                assert "/" in path
                assert f"_{failed}." in path
    for file in files_of(Action.ROLLBACK, State.COMPLETED):
        assert [info["commitTime"] for info in file.record["instantsRollback"]] == file.record["commitsRollback"]
        for partition in file.record["partitionMetadata"].values():
            assert all("/" in path for path in partition["successDeleteFiles"])
    assert judged > 0


def test_a_savepoint_names_the_data_files_of_its_snapshot_by_partition():
    for file in files_of(Action.SAVEPOINT, State.COMPLETED):
        assert file.record["partitionMetadata"]
        for partition, kept in file.record["partitionMetadata"].items():
            assert kept["partitionPath"] == partition
            for name in kept["savepointDataFile"]:
                parse = LogFileName.parse if name.startswith(".") else BaseFileName.parse
                assert parse(name).requested_time <= file.instant.requested_time
                assert f"{partition}/{name}".lstrip("/") in file.case.file_names


def test_a_restore_takes_back_all_that_was_requested_after_its_savepoint_newest_first():
    for file in files_of(Action.RESTORE, State.REQUESTED):
        times = [info["commitTime"] for info in file.record["instantsToRollback"]]
        assert times
        assert times == sorted(times, reverse=True)
        assert min(times) > file.record["savepointToRestoreTimestamp"]
        assert file.record["version"] == 2
        assert not set(times) & set(completions(file.case)), "none of them is on the timeline any more"


def test_an_index_plan_names_each_index_and_the_instant_up_to_which_it_is_built():
    for file in files_of(Action.INDEXING, State.REQUESTED):
        assert file.record["version"] == 1
        for info in file.record["indexPartitionInfos"]:
            assert info["metadataPartitionPath"]
            assert info["indexUptoInstant"] < file.instant.requested_time


def write_stats(record):
    return [(p, stat) for p, stats in (record["partitionToWriteStats"] or {}).items() for stat in stats]


@pytest.mark.parametrize("action", [Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT])
def test_paths_in_write_statistics_are_below_the_tables_base_path(action):
    judged = 0
    for file in files_of(action, State.COMPLETED):
        for partition, stat in write_stats(file.record):
            judged += 1
            folder, _, name = stat["path"].rpartition("/")
            assert folder == partition
            parse = LogFileName.parse if name.startswith(".") else BaseFileName.parse
            assert parse(name).file_id == stat["fileId"]
    assert judged > 0


def test_where_the_index_cannot_find_keys_in_log_files_new_keys_go_to_base_files_of_a_delta_commit():
    in_base_files = 0
    for file in files_of(Action.DELTA_COMMIT, State.COMPLETED):
        if file.case.name == "nbcc":
            continue
        for _, stat in write_stats(file.record):
            if stat["path"].endswith(".parquet"):
                in_base_files += stat["numInserts"]
            else:
                assert stat["numInserts"] == 0, (file.case.name, stat["path"])
    assert in_base_files > 0


def test_buckets_of_writers_that_do_not_block_each_other_take_new_keys_into_log_files():
    logged = sum(
        stat["numInserts"]
        for file in files_of(Action.DELTA_COMMIT, State.COMPLETED)
        if file.case.name == "nbcc"
        for _, stat in write_stats(file.record)
        if not stat["path"].endswith(".parquet")
    )
    assert logged > 0


def test_the_metadata_table_completes_an_operation_before_the_table_does():
    judged = 0
    indexing = {(file.case.name, file.instant.requested_time) for file in files_of(Action.INDEXING, State.COMPLETED)}
    for case in {file.case.name: file.case for file in timeline_files()}.values():
        table, metadata = completions(case), completions(case, folder=METADATA_TIMELINE)
        for requested in set(table) & set(metadata):
            if (case.name, requested) not in indexing:  # those may complete in either order
                judged += 1
                assert metadata[requested] < table[requested]
    assert judged > 300


def test_an_index_of_the_metadata_table_is_made_under_a_numbered_time():
    numbered = [
        file.instant.requested_time
        for file in files_of(Action.DELTA_COMMIT, State.COMPLETED, in_metadata_table=True)
        if file.instant.requested_time.startswith("0")
    ]
    assert "0" * 17 in numbered
    assert all(len(time) == 17 and int(time) < 100 for time in numbered)


def test_the_timelines_of_the_golden_tables_hold_every_service():
    held = {file.instant.action for file in timeline_files() if file.folder == DATA_TIMELINE}
    assert held == set(Action) - {Action.SCHEMA_COMMIT}
