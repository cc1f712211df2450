"""The names of the protocol's steps.

A step is called the same in the model (its actions), in TLA+ (its actions) and in the events that the
implementation emits: all three take the name from here. What a step *does* is written down where it is done.
"""

from __future__ import annotations

from enum import StrEnum


class Step(StrEnum):
    """One atomic step of the protocol, named as in the model, in TLA+ and in the implementation's events."""

    # A writer's life, in order.
    GENERATE_REQUESTED_TIME = "GenerateRequestedTime"
    """The writer takes the time that identifies its operation."""
    START_HEARTBEAT = "StartHeartbeat"
    """The writer's heartbeat exists before its instant does, so nobody takes it for dead."""
    REQUEST_INSTANT = "RequestInstant"
    """The requested file of the instant appears on the timeline."""
    LOOKUP_KEYS = "LookupKeys"
    """The writer fixes its snapshot (what is completed now) and finds each key's file group in it."""
    START_INFLIGHT = "StartInflight"
    """The inflight file of the instant appears on the timeline."""
    WRITE_FILE = "WriteFile"
    """One data file of the operation is on storage, not yet visible to anybody."""
    RETRY_TASK = "RetryTask"
    """A task that wrote a data file counts as failed and is run again; its file stays until the write completes."""
    ACQUIRE_LOCK = "AcquireLock"
    """The writer holds the table lock."""
    CHECK_CONFLICTS = "CheckConflicts"
    """Under the lock the writer compares its work with all that completed since its snapshot, and passes."""
    UPDATE_METADATA = "UpdateMetadata"
    """Under the lock the metadata table learns of the operation, before the operation is complete."""
    COMPLETE_INSTANT = "CompleteInstant"
    """The completed file appears: from here on every reader sees the operation whole."""
    RELEASE_LOCK = "ReleaseLock"
    """The writer gives the table lock back."""
    STOP_HEARTBEAT = "StopHeartbeat"
    """The heartbeat's file is removed; the operation is over."""
    ABORT_WRITE = "AbortWrite"
    """The writer gives its operation up (conflict, lost lock, expired heartbeat, lost inflight file)."""

    # Rolling a failed write back.
    REQUEST_ROLLBACK = "RequestRollback"
    """A rollback of a failed instant is planned on the timeline."""
    START_ROLLBACK = "StartRollback"
    """The rollback's inflight file appears."""
    DELETE_FILE = "DeleteFile"
    """One data file of the failed instant is deleted."""
    REMOVE_INSTANT = "RemoveInstant"
    """The failed instant's inflight and requested files leave the timeline."""
    COMPLETE_ROLLBACK = "CompleteRollback"
    """The rollback's completed file appears."""

    # Table services. They write, lock and complete by the steps of writers.
    SCHEDULE_COMPACTION = "ScheduleCompaction"
    """Under the lock a compaction is planned on the timeline: which files are merged, and where new slices begin."""
    RUN_COMPACTION = "RunCompaction"
    """The compaction's inflight file appears; what an earlier attempt left of its base files is deleted."""
    SCHEDULE_LOG_COMPACTION = "ScheduleLogCompaction"
    """Under the lock a log compaction is planned on the timeline: which log files are merged into one."""
    RUN_LOG_COMPACTION = "RunLogCompaction"
    """The log compaction's inflight file appears; what an earlier attempt left of its log files is deleted."""
    SCHEDULE_CLUSTERING = "ScheduleClustering"
    """Under the lock a clustering is planned on the timeline: which file groups are going to be replaced."""
    RUN_CLUSTERING = "RunClustering"
    """The clustering's inflight file appears; what an earlier attempt left of its base files is deleted."""
    SCHEDULE_CLEAN = "ScheduleClean"
    """Under the lock a clean is planned on the timeline: which files are deleted, and which commit is kept first."""
    RUN_CLEAN = "RunClean"
    """The clean's inflight file appears."""
    CLEAN_FILE = "CleanFile"
    """One data file of a clean's plan is deleted."""
    COMPLETE_CLEAN = "CompleteClean"
    """Under the lock the clean's completed file appears, once all files of its plan are gone."""
    SCHEDULE_INDEXING = "ScheduleIndexing"
    """Under the lock an index is planned on the timeline, of what is completed by then."""
    BUILD_INDEX = "BuildIndex"
    """The index files of what was completed at the plan are written."""
    CATCH_UP_INDEX = "CatchUpIndex"
    """The index gets the entries of one operation that completed since, and whose writer did not know of it."""
    COMPLETE_INDEXING = "CompleteIndexing"
    """Under the lock the index is completed: look-ups may trust it."""

    # What happens to a writer, not what it does.
    RENEW_HEARTBEAT = "RenewHeartbeat"
    """The heartbeat's file is rewritten in time."""
    EXPIRE_HEARTBEAT = "ExpireHeartbeat"
    """The heartbeat's file has not been rewritten for longer than is tolerated."""
    EXPIRE_LOCK = "ExpireLock"
    """The lock's lease runs out while its holder has not renewed it."""
    CRASH = "Crash"
    """The writer stops for ever; what it wrote stays."""

    # A reader.
    READ_SNAPSHOT = "ReadSnapshot"
    """A reader picks a snapshot time, builds the file slices of it and merges their rows."""
    PLAN_QUERY = "PlanQuery"
    """A query lists the files of its snapshot, which it is going to open."""
    OPEN_FILE = "OpenFile"
    """A query opens the next of its files; one that is gone ends it with an error."""
