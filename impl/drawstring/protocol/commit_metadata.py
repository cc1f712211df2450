"""Builds and reads what a commit publishes about itself. Source: Java ``HoodieCommitMetadata``, ``HoodieWriteStat``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from drawstring.errors import CorruptFileError
from drawstring.files import FileGroupId
from drawstring.write_stats import GroupWorkload, Operation, Workload, WriteStat

# Java writes numbers that it never set as 0, and objects as null.
_EMPTY_STAT: dict[str, Any] = {
    "fileId": "",
    "path": None,
    "prevCommit": "null",
    "numWrites": 0,
    "numDeletes": 0,
    "numUpdateWrites": 0,
    "totalWriteBytes": 0,
    "totalWriteErrors": 0,
    "partitionPath": None,
    "totalLogRecords": 0,
    "totalLogFiles": None,
    "totalUpdatedRecordsCompacted": 0,
    "numInserts": 0,
    "totalLogBlocks": 0,
    "totalCorruptLogBlock": 0,
    "totalRollbackBlocks": 0,
    "fileSizeInBytes": 0,
    "logVersion": None,
    "logOffset": None,
    "baseFile": None,
    "logFiles": None,
    "cdcStats": None,
    "prevBaseFile": None,
    "minEventTime": None,
    "maxEventTime": None,
    "runtimeStats": None,
    "totalLogFilesCompacted": 0,
    "totalLogReadTimeMs": 0,
    "totalLogSizeCompacted": 0,
    "tempPath": None,
    "numUpdates": 0,
}


def commit_record(
    operation: Operation, stats: Iterable[WriteStat], *, schema_json: str, extra_metadata: Mapping[str, str]
) -> dict[str, Any]:
    """Payload of a completed commit (``HoodieCommitMetadata``)."""
    return _record(
        operation, ((s.group.partition_path, _stat(s)) for s in stats), {"schema": schema_json, **extra_metadata}
    )


def inflight_record(operation: Operation, workload: Workload) -> dict[str, Any]:
    """Payload of an inflight commit: what is going to be touched (Java: workload profile)."""
    # As Java leaves it, the partition stands in the map's key only.
    stats = [
        (partition, {**_EMPTY_STAT, "numInserts": count})
        for partition, count in sorted(workload.new_group_inserts.items())
    ]
    stats += [(group.group.partition_path, _planned(group)) for group in workload.groups]
    return _record(operation, stats, {})


def _record(operation: Operation, stats: Iterable[tuple[str, dict[str, Any]]], extra: dict[str, str]) -> dict[str, Any]:
    by_partition: dict[str, list[dict[str, Any]]] = {}
    for partition, stat in stats:
        by_partition.setdefault(partition, []).append(stat)
    return {
        "partitionToWriteStats": by_partition,
        "compacted": False,
        "extraMetadata": extra,
        "version": None,
        "operationType": operation.value,
    }


def _planned(group: GroupWorkload) -> dict[str, Any]:
    return {
        **_EMPTY_STAT,
        "fileId": group.group.file_id,
        "prevCommit": group.base_instant_time,
        "numUpdateWrites": group.num_updates,
        "numInserts": group.num_inserts,
    }


def _stat(stat: WriteStat) -> dict[str, Any]:
    created = stat.prev_base_file is None
    return {
        **_EMPTY_STAT,
        "fileId": stat.group.file_id,
        "path": stat.path,
        "prevCommit": stat.prev_commit,
        "prevBaseFile": stat.prev_base_file,
        "numWrites": stat.num_writes,
        "numDeletes": stat.num_deletes,
        "numUpdateWrites": stat.num_update_writes,
        "numInserts": stat.num_inserts,
        "totalWriteBytes": stat.file_size_bytes,
        "fileSizeInBytes": stat.file_size_bytes,
        "partitionPath": stat.group.partition_path,
        "runtimeStats": {
            "totalScanTime": 0,
            "totalCreateTime": stat.duration_ms if created else 0,
            "totalUpsertTime": 0 if created else stat.duration_ms,
        },
    }


def stats_of(record: Mapping[str, Any]) -> tuple[tuple[str, dict[str, Any]], ...]:
    """Partition path and raw stat of each file in a commit's payload.

    Raises:
        CorruptFileError: a stat names no file group.

    """
    by_partition = record.get("partitionToWriteStats") or {}
    if not isinstance(by_partition, Mapping) or any(not isinstance(one or [], list) for one in by_partition.values()):
        raise CorruptFileError("The write stats of a commit are no lists by partition.", rule="WR-030")
    found = []
    for partition, stats in by_partition.items():
        for stat in stats or ():
            if not isinstance(stat, dict) or not isinstance(stat.get("fileId"), str):
                raise CorruptFileError(f"A write stat of partition {partition!r} has no fileId.", rule="WR-030")
            found.append((partition, stat))
    return tuple(found)


def groups_of(record: Mapping[str, Any]) -> frozenset[FileGroupId]:
    """File groups that a completed commit or replace commit wrote or replaced."""
    groups = {FileGroupId(partition, stat["fileId"]) for partition, stat in stats_of(record) if stat["fileId"]}
    for partition, file_ids in (record.get("partitionToReplaceFileIds") or {}).items():
        groups.update(FileGroupId(partition, file_id) for file_id in file_ids or ())
    return frozenset(groups)
