"""The switches of the model, its bounds, and the bugs that can be planted in it.

A `Config` says which protocol is modelled. The defaults are the protocol as the implementation follows it: every
guarantee of `drawstring_model.core.invariants` but time-travel stability holds under them. `Bounds` says how much of it
the explorer looks at; they bound what is *proposed*, never what is allowed, so a caller who drives the model step
by step (`drawstring_model.core.protocol.apply`) is not bound by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from drawstring_model.core.state import Changes


class ClockKind(StrEnum):
    """What the clocks that requested times come from promise."""

    MONOTONIC = "MONOTONIC"
    """Each time is later than every time given before, as a clock read under the table lock makes it."""
    NON_MONOTONIC = "NON_MONOTONIC"
    """A time may repeat an earlier one or lie before it."""

    @property
    def is_monotonic(self) -> bool:
        """Whether no time is ever repeated or preceded by a later one."""
        return self is ClockKind.MONOTONIC


class ConcurrencyControl(StrEnum):
    """What keeps concurrent writers from undoing each other's work."""

    NONE = "NONE"
    """No lock and no check: one writer alone is safe, nobody else."""
    OPTIMISTIC = "OPTIMISTIC"
    """Writers work freely, and under the table lock the later one to complete gives way."""
    PESSIMISTIC = "PESSIMISTIC"
    """A writer locks each file group before it writes to it, until its operation is over."""


class RollbackPolicy(StrEnum):
    """When a pending write is taken for a failed one."""

    EAGER = "EAGER"
    """As soon as anybody else starts: right only where one writer is alone."""
    LAZY = "LAZY"
    """When its heartbeat has expired or is gone."""


class SnapshotTime(StrEnum):
    """What a snapshot time is compared with."""

    REQUESTED = "REQUESTED"
    """Requested times, as Java Hudi does it."""
    COMPLETION = "COMPLETION"
    """Completion times, as the specification's text has it."""


class PlantedBug(StrEnum):
    """One rule broken on purpose, to see that the invariants notice."""

    SKIP_CONFLICT_CHECK = "SKIP_CONFLICT_CHECK"
    """File groups are not compared before completion."""
    SKIP_KEY_CHECK = "SKIP_KEY_CHECK"
    """New keys are not compared before completion."""
    SNAPSHOT_AHEAD_OF_TIME = "SNAPSHOT_AHEAD_OF_TIME"
    """A writer's snapshot holds all that is completed, also what was requested later than its own operation."""
    LOOKUP_AHEAD_OF_TIME = "LOOKUP_AHEAD_OF_TIME"
    """Keys are looked up in all that is completed; only the conflict check goes by the snapshot."""
    NO_FENCING = "NO_FENCING"
    """A writer whose lease of the lock ran out can still complete."""
    IGNORE_HEARTBEAT = "IGNORE_HEARTBEAT"
    """A rollback does not look at the heartbeat of what it rolls back."""
    STALE_ROLLBACK_LIST = "STALE_ROLLBACK_LIST"
    """A rollback trusts a list of pending instants from before it had the lock."""
    IGNORE_ROLLBACK = "IGNORE_ROLLBACK"
    """A writer does not look whether it was rolled back before it completes."""
    ADOPT_COLLIDING_TIME = "ADOPT_COLLIDING_TIME"
    """A refused put-if-absent is taken for the writer's own put, repeated."""
    READ_UNCOMMITTED = "READ_UNCOMMITTED"
    """Readers take data files whose instant is not complete."""
    SKIP_UPDATE_METADATA = "SKIP_UPDATE_METADATA"
    """A write completes without the metadata table knowing it."""
    EARLY_COMPLETION_TIME = "EARLY_COMPLETION_TIME"
    """The completion time is taken before the lock is, with the requested time."""
    DELETE_LATE_LOGS = "DELETE_LATE_LOGS"
    """A compaction that completes deletes all log files that were requested before it, not only those it merged."""
    PLAN_PENDING_LOGS = "PLAN_PENDING_LOGS"
    """A compaction's plan names log files of writes that are not complete, and may never be."""
    SKIP_DELETE_BLOCKS = "SKIP_DELETE_BLOCKS"
    """A compaction merges what log files write, and not what they delete."""
    KEEP_RETRIED_FILES = "KEEP_RETRIED_FILES"
    """A write completes without deleting what failed attempts of its tasks left."""
    LOG_COMPACT_BESIDE_PENDING = "LOG_COMPACT_BESIDE_PENDING"
    """A log compaction is planned although a write that was requested before it is pending."""
    LOG_COMPACT_WITHOUT_DELETES = "LOG_COMPACT_WITHOUT_DELETES"
    """A log compaction merges what log files write, and not what they delete."""
    SKIP_CATCH_UP = "SKIP_CATCH_UP"
    """An index is completed without what completed after it was planned, by writers that did not know of it."""
    INDEX_WITHOUT_WAITING = "INDEX_WITHOUT_WAITING"
    """An index is completed although writers are pending that do not know of it."""
    WRITERS_IGNORE_INDEX = "WRITERS_IGNORE_INDEX"
    """Writers that know of an index add no entries to it; the indexer catches up with them until it completes."""
    UPDATE_UNDER_CLUSTERING = "UPDATE_UNDER_CLUSTERING"
    """Neither a writer nor the clustering gives way where both have one file group."""
    CLUSTER_TAKEN_GROUPS = "CLUSTER_TAKEN_GROUPS"
    """A clustering's plan holds file groups that a pending plan has already."""
    REPLACE_BEFORE_COMPLETION = "REPLACE_BEFORE_COMPLETION"
    """A pending clustering hides the file groups that it is going to replace."""
    INSERT_INTO_REPLACED = "INSERT_INTO_REPLACED"
    """New keys are given to file groups that a clustering has replaced."""
    REFUSED_BY_ITSELF = "REFUSED_BY_ITSELF"
    """A refused put-if-absent is taken for somebody else's file, although it repeats the writer's own put."""
    RETRY_WHILE_ALIVE = "RETRY_WHILE_ALIVE"
    """An operation is started again while its first attempt is still under way."""
    DETECT_EARLY_ONLY = "DETECT_EARLY_ONLY"
    """File groups are compared while files are written, and not once more before completion."""
    FENCE_OF_INFLIGHT = "FENCE_OF_INFLIGHT"
    """A consumer's fence is the first inflight instant; those that are only requested are overlooked."""
    COMPLETE_AGAIN = "COMPLETE_AGAIN"
    """A put of a completed file whose answer was lost is repeated with another completion time."""
    CLEAN_COUNTS_PENDING = "CLEAN_COUNTS_PENDING"
    """A clean takes a base file whose write is not complete for a version of its file group."""
    CLEAN_ONE_TOO_MANY = "CLEAN_ONE_TOO_MANY"
    """A clean does not keep the slice right before the earliest commit that it keeps."""
    CLEAN_PLANNED_SLICES = "CLEAN_PLANNED_SLICES"
    """A clean does not keep the slice that a pending compaction is going to read."""
    IGNORE_CLEANED_SNAPSHOT = "IGNORE_CLEANED_SNAPSHOT"
    """A writer does not look whether a slice of its snapshot was cleaned before it looked keys up."""
    CLEAN_SAVEPOINTED_SLICES = "CLEAN_SAVEPOINTED_SLICES"
    """A clean does not keep the slices that savepoints name."""
    SAVEPOINT_OF_CLEANED = "SAVEPOINT_OF_CLEANED"
    """A savepoint is made without a look at what cleans take."""
    RESTORE_OLDEST_FIRST = "RESTORE_OLDEST_FIRST"
    """A restore takes the oldest write back first."""
    RESTORE_LEAVES_PENDING = "RESTORE_LEAVES_PENDING"
    """A restore takes completed writes back only, and leaves what is requested or inflight on the timeline."""
    CAPTURE_SERVICES = "CAPTURE_SERVICES"
    """A query of changes gives the rows that a compaction or a clustering wrote anew as inserted."""
    CAPTURE_WITHOUT_LOGS = "CAPTURE_WITHOUT_LOGS"
    """A query of changes takes the values before a write from the base file, without the log files on it."""
    READ_PENDING_BASE_FILES = "READ_PENDING_BASE_FILES"
    """A read-optimized query takes the newest base file, whether its instant is complete or not."""
    COMPLETE_BEFORE_METADATA = "COMPLETE_BEFORE_METADATA"
    """A write completes its deltacommit in the metadata table only after it is complete itself."""
    COMPACT_PENDING_METADATA = "COMPACT_PENDING_METADATA"
    """A compaction of the metadata table merges blocks whose instant is pending in the table."""
    SKIP_METADATA_ROLLBACK = "SKIP_METADATA_ROLLBACK"
    """A rollback takes nothing back in the metadata table."""
    ROLL_BACK_LAST_METADATA = "ROLL_BACK_LAST_METADATA"
    """A rollback takes back the last deltacommit of the metadata table, whosever it is."""
    IGNORE_BURIED_METADATA = "IGNORE_BURIED_METADATA"
    """A rollback in the metadata table has no effect where another deltacommit follows its target's."""
    UNFENCED_METADATA = "UNFENCED_METADATA"
    """A writer whose lease of the lock ran out can still complete its deltacommit in the metadata table."""
    ARCHIVE_PENDING = "ARCHIVE_PENDING"
    """An archival takes pending writes with the completed ones around them."""
    ARCHIVE_PAST_PENDING = "ARCHIVE_PAST_PENDING"
    """An archival goes on behind a pending write, and leaves it where it is."""
    ARCHIVE_FAILED_WRITES = "ARCHIVE_FAILED_WRITES"
    """An archival drops failed writes from the timeline while their data files are there."""
    ARCHIVE_UNCLEANED = "ARCHIVE_UNCLEANED"
    """An archival takes a clustering while the files that it replaced are there."""
    DROP_BEFORE_MANIFEST = "DROP_BEFORE_MANIFEST"
    """Instants leave the active timeline before a manifest names the file that they were archived in."""
    DROP_COMPLETED_FIRST = "DROP_COMPLETED_FIRST"
    """The completed file of an archived instant is dropped before its requested and inflight files."""
    LOSE_COMPLETION_TIMES = "LOSE_COMPLETION_TIMES"
    """Instants are archived without their completion times."""
    IGNORE_ARCHIVED = "IGNORE_ARCHIVED"
    """Readers take only what is on the active timeline for completed."""
    CHANGES_OF_ACTIVE = "CHANGES_OF_ACTIVE"
    """Readers of changes look for them on the active timeline only."""
    COMPARE_ACTIVE_ONLY = "COMPARE_ACTIVE_ONLY"
    """A writer compares its work with the writes of the active timeline only, not with those archived meanwhile."""
    READ_ARCHIVE_FIRST = "READ_ARCHIVE_FIRST"
    """A reader of both timelines reads the archive first, and what is archived in between on neither."""


def upsert(*keys: int) -> tuple[tuple[int, bool], ...]:
    """An operation of a workload that writes `keys`; the explorer gives each operation a value of its own."""
    return tuple((key, True) for key in sorted(keys))


def delete(*keys: int) -> tuple[tuple[int, bool], ...]:
    """An operation of a workload that deletes `keys`."""
    return tuple((key, False) for key in sorted(keys))


def numbered(operation: tuple[tuple[int, bool], ...], number: int) -> Changes:
    """The changes of the `number`-th operation: each written key gets `number` as its value."""
    return tuple((key, number if written else None) for key, written in operation)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of the model is explored.

    Attributes:
        writers: number of concurrent writers.
        groups: number of file groups that new keys may be given to.
        workload: the operations, in the order in which they are started; any free writer starts the next one.
        crashes: how many times a writer may crash.
        heartbeat_expiries: how many heartbeats of living writers may expire; a dead writer's always may.
        lock_expiries: how many leases of living holders may run out; a dead holder's always may.
        faults: how many of these three there may be in all.
        faults_until: faults strike only while at most this many operations have been started.
        renewals: how many expired heartbeats may be renewed by their writer.
        clock_skew: how many ticks a clock that is not monotonic may be behind.

    """

    writers: int = 2
    groups: int = 2
    workload: tuple[tuple[tuple[int, bool], ...], ...] = field(
        default=(upsert(1), upsert(1, 2), delete(1)),
    )
    crashes: int = 1
    heartbeat_expiries: int = 1
    lock_expiries: int = 1
    faults: int = 1
    faults_until: int = 3
    renewals: int = 0
    clock_skew: int = 2


@dataclass(frozen=True, slots=True)
class Config:
    """Which protocol is modelled; the default is the implementation's, which is safe.

    Attributes:
        clock: what requested times promise.
        concurrency: how concurrent writers are kept apart.
        key_check: whether new keys of concurrent writers are compared too.
        put_if_absent: whether the storage can refuse to replace a file.
        salt: whether each attempt to write a file has a write token of its own.
        rollback: when a pending write is taken for a failed one.
        snapshot_time: what a reader's snapshot time is compared with.
        planted: a rule that is broken on purpose; None for none.
        modules: which concerns there are beside the core (`drawstring_model.core.module.Module`), in an order in which
            each comes after those that it requires.
        bounds: how much the explorer looks at.
        asked: the names of the switches that decided something, collected here where it is not None. A switch that
            was never asked would have changed nothing. No part of the configuration's identity.

    """

    clock: ClockKind = ClockKind.MONOTONIC
    concurrency: ConcurrencyControl = ConcurrencyControl.OPTIMISTIC
    key_check: bool = True
    put_if_absent: bool = True
    salt: bool = True
    rollback: RollbackPolicy = RollbackPolicy.LAZY
    snapshot_time: SnapshotTime = SnapshotTime.REQUESTED
    planted: PlantedBug | None = None
    modules: tuple[object, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    asked: set[str] | None = field(default=None, compare=False, repr=False)

    def replaces_files(self) -> bool:
        """Whether a put replaces a file that is there; ask only where it is."""
        if self.asked is not None:
            self.asked.add("put_if_absent")
        return not self.put_if_absent

    def tokens_differ(self) -> bool:
        """Whether a second attempt to write a file gets another name; ask only where there was a first."""
        if self.asked is not None:
            self.asked.add("salt")
        return self.salt

    @property
    def locking(self) -> bool:
        """Whether writers take the table lock."""
        return self.concurrency is not ConcurrencyControl.NONE
