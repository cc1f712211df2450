"""Avro records of the timeline: what each kind of timeline file holds.

Source: Java's generated classes in ``org.apache.hudi.avro.model``, checked against the schemas inside of files that
Java wrote. Order of fields and of union branches is order on storage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from drawstring_spec.avro_types import STRING, array_of, field, map_of, optional

Records = Mapping[str, Sequence[dict[str, Any]]]
"""Fields of records, by the records' names."""

_VERSIONED = ["int", "null"]
"""A version: the int comes first, so that the default may be one."""

COMMIT_PAYLOADS: Records = {
    "HoodieCommitMetadata": [
        field("partitionToWriteStats", optional(map_of(array_of("HoodieWriteStat"))), None),
        field("compacted", optional("boolean"), None),
        field("extraMetadata", optional(map_of(STRING)), None),
        field("version", _VERSIONED, 1),
        field("operationType", optional(STRING), None),
    ],
    "HoodieWriteStat": [
        field("fileId", optional(STRING), None),
        field("path", optional(STRING), None),
        field("prevCommit", optional(STRING), None),
        field("numWrites", optional("long"), None),
        field("numDeletes", optional("long"), None),
        field("numUpdateWrites", optional("long"), None),
        field("totalWriteBytes", optional("long"), None),
        field("totalWriteErrors", optional("long"), None),
        field("partitionPath", optional(STRING), None),
        field("totalLogRecords", optional("long"), None),
        field("totalLogFiles", optional("long"), None),
        field("totalUpdatedRecordsCompacted", optional("long"), None),
        field("numInserts", optional("long"), None),
        field("totalLogBlocks", optional("long"), None),
        field("totalCorruptLogBlock", optional("long"), None),
        field("totalRollbackBlocks", optional("long"), None),
        field("fileSizeInBytes", optional("long"), None),
        field("logVersion", optional("int"), None),
        field("logOffset", optional("long"), None),
        field("baseFile", optional(STRING), None),
        field("logFiles", optional(array_of(STRING)), None),
        field("cdcStats", optional(map_of("long")), None),
        field("prevBaseFile", optional(STRING), None),
        field("minEventTime", optional("long"), None),
        field("maxEventTime", optional("long"), None),
        field("runtimeStats", optional("HoodieRuntimeStats"), None),
        field("totalLogFilesCompacted", optional("long"), None),
        field("totalLogReadTimeMs", optional("long"), None),
        field("totalLogSizeCompacted", optional("long"), None),
        field("tempPath", optional(STRING), None),
        field("numUpdates", optional("long"), None),
    ],
    "HoodieRuntimeStats": [
        field("totalScanTime", optional("long"), None),
        field("totalCreateTime", optional("long"), None),
        field("totalUpsertTime", optional("long"), None),
    ],
    "HoodieReplaceCommitMetadata": [
        field("partitionToWriteStats", optional(map_of(array_of("HoodieWriteStat"))), None),
        field("compacted", optional("boolean"), None),
        field("extraMetadata", optional(map_of(STRING)), None),
        field("version", _VERSIONED, 1),
        field("operationType", optional(STRING), None),
        field("partitionToReplaceFileIds", optional(map_of(array_of(STRING))), None),
    ],
}

CLUSTERING_PLAN: Records = {
    "HoodieRequestedReplaceMetadata": [
        field("operationType", optional(STRING), None),
        field("clusteringPlan", optional("HoodieClusteringPlan"), None),
        field("extraMetadata", optional(map_of(STRING)), None),
        field("version", _VERSIONED, 1),
    ],
    "HoodieClusteringPlan": [
        field("inputGroups", optional(array_of("HoodieClusteringGroup")), None),
        field("strategy", optional("HoodieClusteringStrategy"), None),
        field("extraMetadata", optional(map_of(STRING)), None),
        field("version", _VERSIONED, 1),
        field("preserveHoodieMetadata", optional("boolean"), None),
        field("missingSchedulePartitions", optional(array_of(STRING)), None),
    ],
    "HoodieClusteringGroup": [
        field("slices", optional(array_of("HoodieSliceInfo")), None),
        field("metrics", optional(map_of("double")), None),
        field("numOutputFileGroups", _VERSIONED, 1),
        field("extraMetadata", optional(map_of(STRING)), None),
        field("version", _VERSIONED, 1),
    ],
    "HoodieSliceInfo": [
        field("dataFilePath", optional(STRING), None),
        field("deltaFilePaths", optional(array_of(STRING)), None),
        field("fileId", optional(STRING)),
        field("partitionPath", optional(STRING), None),
        field("bootstrapFilePath", optional(STRING), None),
        field("version", _VERSIONED, 1),
    ],
    "HoodieClusteringStrategy": [
        field("strategyClassName", optional(STRING), None),
        field("strategyParams", optional(map_of(STRING)), None),
        field("version", _VERSIONED, 1),
    ],
}

COMPACTION_PLAN: Records = {
    "HoodieCompactionPlan": [
        field("operations", optional(array_of("HoodieCompactionOperation")), None),
        field("extraMetadata", optional(map_of(STRING)), None),
        field("version", _VERSIONED, 1),
        field("strategy", optional("HoodieCompactionStrategy"), None),
        field("preserveHoodieMetadata", ["boolean", "null"], False),
        field("missingSchedulePartitions", optional(array_of(STRING)), None),
    ],
    "HoodieCompactionOperation": [
        field("baseInstantTime", optional(STRING)),
        field("deltaFilePaths", optional(array_of(STRING)), None),
        field("dataFilePath", optional(STRING), None),
        field("fileId", optional(STRING)),
        field("partitionPath", optional(STRING), None),
        field("metrics", optional(map_of("double")), None),
        field("bootstrapFilePath", optional(STRING), None),
    ],
    "HoodieCompactionStrategy": [
        field("compactorClassName", optional(STRING), None),
        field("strategyParams", optional(map_of(STRING)), None),
        field("version", _VERSIONED, 1),
    ],
}

CLEAN: Records = {
    "HoodieCleanerPlan": [
        field("earliestInstantToRetain", optional("HoodieActionInstant"), None),
        field("lastCompletedCommitTimestamp", STRING, ""),
        field("policy", STRING),
        field("filesToBeDeletedPerPartition", optional(map_of(array_of(STRING))), None),
        field("version", _VERSIONED, 1),
        field("filePathsToBeDeletedPerPartition", optional(map_of(array_of("HoodieCleanFileInfo"))), None),
        field("partitionsToBeDeleted", optional(array_of(STRING)), None),
        field("extraMetadata", optional(map_of(STRING)), None),
    ],
    "HoodieActionInstant": [
        field("timestamp", STRING),
        field("action", STRING),
        field("state", STRING),
    ],
    "HoodieCleanFileInfo": [
        field("filePath", optional(STRING), None),
        field("isBootstrapBaseFile", optional("boolean"), None),
    ],
    "HoodieCleanMetadata": [
        field("startCleanTime", STRING),
        field("timeTakenInMillis", "long"),
        field("totalFilesDeleted", "int"),
        field("earliestCommitToRetain", STRING),
        field("lastCompletedCommitTimestamp", STRING, ""),
        field("partitionMetadata", map_of("HoodieCleanPartitionMetadata")),
        field("version", _VERSIONED, 1),
        field("bootstrapPartitionMetadata", optional(map_of("HoodieCleanPartitionMetadata")), None),
        field("extraMetadata", optional(map_of(STRING)), None),
    ],
    "HoodieCleanPartitionMetadata": [
        field("partitionPath", STRING),
        field("policy", STRING),
        field("deletePathPatterns", array_of(STRING)),
        field("successDeleteFiles", array_of(STRING)),
        field("failedDeleteFiles", array_of(STRING)),
        field("isPartitionDeleted", optional("boolean"), None),
    ],
}

ROLLBACK: Records = {
    "HoodieRollbackPlan": [
        field("instantToRollback", optional("HoodieInstantInfo"), None),
        field("RollbackRequests", optional(array_of("HoodieRollbackRequest")), None),
        field("version", _VERSIONED, 1),
    ],
    "HoodieInstantInfo": [
        field("commitTime", STRING),
        field("action", STRING),
    ],
    "HoodieRollbackRequest": [
        field("partitionPath", STRING),
        field("fileId", optional(STRING), None),
        field("latestBaseInstant", optional(STRING), None),
        field("filesToBeDeleted", array_of(STRING), []),
        field("logBlocksToBeDeleted", optional(map_of("long")), None),
    ],
    "HoodieRollbackMetadata": [
        field("startRollbackTime", STRING),
        field("timeTakenInMillis", "long"),
        field("totalFilesDeleted", "int"),
        field("commitsRollback", array_of(STRING)),
        field("partitionMetadata", map_of("HoodieRollbackPartitionMetadata")),
        field("version", _VERSIONED, 1),
        field("instantsRollback", array_of("HoodieInstantInfo"), []),
    ],
    "HoodieRollbackPartitionMetadata": [
        field("partitionPath", STRING),
        field("successDeleteFiles", array_of(STRING)),
        field("failedDeleteFiles", array_of(STRING)),
        field("rollbackLogFiles", optional(map_of("long")), None),
        field("logFilesFromFailedCommit", optional(map_of("long")), None),
    ],
}

RESTORE: Records = {
    "HoodieRestorePlan": [
        field("instantsToRollback", array_of("HoodieInstantInfo"), []),
        field("version", _VERSIONED, 2),
        field("savepointToRestoreTimestamp", optional(STRING), None),
    ],
    "HoodieRestoreMetadata": [
        field("startRestoreTime", STRING),
        field("timeTakenInMillis", "long"),
        field("instantsToRollback", array_of(STRING)),
        field("hoodieRestoreMetadata", map_of(array_of(optional("HoodieRollbackMetadata")))),
        field("version", _VERSIONED, 1),
        field("restoreInstantInfo", array_of("HoodieInstantInfo"), []),
    ],
}

SAVEPOINT: Records = {
    "HoodieSavepointMetadata": [
        field("savepointedBy", STRING),
        field("savepointedAt", "long"),
        field("comments", STRING),
        field("partitionMetadata", map_of("HoodieSavepointPartitionMetadata")),
        field("version", _VERSIONED, 1),
    ],
    "HoodieSavepointPartitionMetadata": [
        field("partitionPath", STRING),
        field("savepointDataFile", array_of(STRING)),
    ],
}

INDEXING: Records = {
    "HoodieIndexPlan": [
        field("version", _VERSIONED, 1),
        field("indexPartitionInfos", optional(array_of("HoodieIndexPartitionInfo")), None),
    ],
    "HoodieIndexPartitionInfo": [
        field("version", _VERSIONED, 1),
        field("metadataPartitionPath", optional(STRING), None),
        field("indexUptoInstant", optional(STRING), None),
        field("extraMetadata", optional(map_of(STRING)), None),
    ],
    "HoodieIndexCommitMetadata": [
        field("version", _VERSIONED, 1),
        field("operationType", optional(STRING), None),
        field("indexPartitionInfos", optional(array_of("HoodieIndexPartitionInfo")), None),
    ],
}

ARCHIVED_TIMELINE: Records = {
    "HoodieLSMTimelineInstant": [
        field("instantTime", optional(STRING), None),
        field("completionTime", optional(STRING), None),
        field("action", optional(STRING), None),
        field("metadata", optional("bytes"), None),
        field("plan", optional("bytes"), None),
        field("version", "int", 1),
    ],
}

TIMELINE_RECORDS: Records = {
    **COMMIT_PAYLOADS,
    **CLUSTERING_PLAN,
    **COMPACTION_PLAN,
    **CLEAN,
    **ROLLBACK,
    **RESTORE,
    **SAVEPOINT,
    **INDEXING,
    **ARCHIVED_TIMELINE,
}
"""Every record of the active and of the archived timeline."""
