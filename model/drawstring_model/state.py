"""The state of the model: what is on storage, what each writer knows, and what no one can see (ghosts).

A state is a tuple of tuples of integers and strings: immutable, hashable, and equal where two histories led to the
same situation. Collections are sorted tuples, so equality never depends on the order in which things happened.

- `World` is shared by all: the files on storage, the locks, the clock, and ghost fields (their names begin with
  ``ghost_``) that exist only so that invariants can speak of them.
- `Writer` is one writer's memory. A crash clears it.
- `Move` is one step with its parameters; `drawstring_model.protocol` says which are enabled and what they do.

Whoever drives the model beside an implementation owns the mapping of names: times are integers in the order of
instant times (the 17 digits read as a number will do), file groups, keys and tokens are anything that sorts.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import NamedTuple, TypeAlias

from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

Time: TypeAlias = int
Key: TypeAlias = int
Value: TypeAlias = int
Group: TypeAlias = int
Token: TypeAlias = int
Rows: TypeAlias = tuple[tuple[Key, Value], ...]
"""The rows of a data file, sorted by key."""
Changes: TypeAlias = tuple[tuple[Key, Value | None], ...]
"""What an operation does: the new value of each key, sorted by key; None deletes the key."""
Placement: TypeAlias = tuple[tuple[Key, Group], ...]
"""The file group of each key that the table does not hold yet, sorted by key."""

FREE = -1
"""The table lock is held by nobody."""
ORPHANED = -2
"""The table lock is held by a writer that crashed."""


class Phase(IntEnum):
    """How far a writer is in its operation; each member is named after the last step taken."""

    START = 0
    TIMED = 1
    BEATING = 2
    REQUESTED = 3
    LOOKED_UP = 4
    INFLIGHT = 5
    CHECKED = 6
    UPDATED = 7
    COMPLETED = 8
    ABORTED = 9


class AbortReason(StrEnum):
    """Why a writer gives its operation up."""

    CONFLICT = "CONFLICT"
    """Another operation that completed meanwhile touched the same file group."""
    KEY_CONFLICT = "KEY_CONFLICT"
    """Another operation that completed meanwhile inserted the same new key."""
    LOST_LOCK = "LOST_LOCK"
    """The lease of the lock ran out."""
    FENCED = "FENCED"
    """The heartbeat expired, or the pending instant was rolled back."""
    COLLISION = "COLLISION"
    """The storage refused a put because the file exists: somebody else has the same time."""
    FAILED = "FAILED"
    """Anything else: the engine, the storage or the caller failed. Always allowed, never explored."""


class PlannedFile(NamedTuple):
    """A data file that a writer is going to write: `base` is the time of the version it was merged from."""

    group: Group
    base: Time | None
    rows: Rows


class WrittenFile(NamedTuple):
    """A data file that a writer wrote, as its commit names it."""

    group: Group
    token: Token
    base: Time | None
    rows: Rows


class Commit(NamedTuple):
    """A completed write instant, with what its metadata says.

    Attributes:
        requested: its requested time.
        completion: its completion time.
        files: what it wrote.
        changes: what it changed; deletes of keys that it did not find are not among them.
        new_keys: keys that were in no file group of its snapshot.

    """

    requested: Time
    completion: Time
    files: tuple[WrittenFile, ...]
    changes: Changes
    new_keys: tuple[Key, ...]


class Rollback(NamedTuple):
    """A rollback instant.

    Attributes:
        requested: its requested time.
        target: requested time of the operation that is rolled back.
        state: how far its files on the timeline are.
        completion: its completion time; None before.
        plan: the data files (group, token) that it is going to delete.
        ghost_removed: whether the target was taken off the timeline.

    """

    requested: Time
    target: Time
    state: InstantState
    completion: Time | None
    plan: tuple[tuple[Group, Token], ...]
    ghost_removed: bool = False


class DataFile(NamedTuple):
    """A data file on storage."""

    group: Group
    requested: Time
    token: Token
    rows: Rows


class Heartbeat(NamedTuple):
    """A heartbeat file on storage, and whether it is too old by now."""

    requested: Time
    expired: bool


class GroupLock(NamedTuple):
    """A lock of one file group (pessimistic control only). It lives as long as its owner's heartbeat."""

    group: Group
    requested: Time
    owner: int


class LiveOperation(NamedTuple):
    """Ghost: an operation that runs, and that nobody had reason to take for dead so far."""

    requested: Time
    writer: int
    is_on_timeline: bool


class World(NamedTuple):
    """What all writers share.

    Attributes:
        requested: times for which the timeline has a requested commit file; it stays after completion.
        inflight: times for which the timeline has an inflight commit file; it stays after completion.
        commits: the completed commit files.
        rollbacks: the rollback instants, each in its latest state.
        files: the data files.
        heartbeats: the heartbeat files.
        metadata: times of the writes that the metadata table has learned of.
        lock: number of the writer that holds the table lock, `FREE` or `ORPHANED`.
        group_locks: the locks of file groups.
        clock: the latest time given out.
        started: number of operations started.
        crashes: number of crashes so far.
        heartbeat_expiries: number of heartbeats of living writers that expired so far.
        lock_expiries: number of leases of living holders that ran out so far.
        renewals: number of heartbeats renewed after they had expired.
        ghost_live: the operations that run and whose heartbeat never expired.

    """

    requested: tuple[Time, ...] = ()
    inflight: tuple[Time, ...] = ()
    commits: tuple[Commit, ...] = ()
    rollbacks: tuple[Rollback, ...] = ()
    files: tuple[DataFile, ...] = ()
    heartbeats: tuple[Heartbeat, ...] = ()
    metadata: tuple[Time, ...] = ()
    lock: int = FREE
    group_locks: tuple[GroupLock, ...] = ()
    clock: Time = 0
    started: int = 0
    crashes: int = 0
    heartbeat_expiries: int = 0
    lock_expiries: int = 0
    renewals: int = 0
    ghost_live: tuple[LiveOperation, ...] = ()


class Writer(NamedTuple):
    """What one writer remembers. Fields that no later step needs are cleared, so that equal futures are equal.

    Attributes:
        phase: how far it is.
        has_lock: whether it believes that it holds the table lock; `World.lock` knows.
        beating: whether it has a heartbeat to stop.
        requested: requested time of its operation; 0 before it has one.
        number: its operation was the `number`-th to be started.
        snapshot: (requested, completion) of the commits in its snapshot.
        changes: what its operation changes.
        new_keys: keys that its snapshot does not hold.
        plan: data files that it has not written yet.
        written: data files that it wrote.

    """

    phase: Phase = Phase.START
    has_lock: bool = False
    beating: bool = False
    requested: Time = 0
    number: int = 0
    snapshot: tuple[tuple[Time, Time], ...] = ()
    changes: Changes = ()
    new_keys: tuple[Key, ...] = ()
    plan: tuple[PlannedFile, ...] = ()
    written: tuple[WrittenFile, ...] = ()


IDLE = Writer()
"""A writer that does nothing: a fresh one, or the incarnation that takes a crashed one's place."""


class State(NamedTuple):
    """One state of the model."""

    world: World
    writers: tuple[Writer, ...]


class Move(NamedTuple):
    """One step with its parameters; those that a step does not have are None.

    Attributes:
        step: which action.
        writer: number of the writer that takes it; None for what only happens.
        time: ``GenerateRequestedTime``, ``CompleteInstant``, ``RequestRollback``, ``CompleteRollback``: the time that
            is given out; ``ExpireHeartbeat``: requested time of the operation; ``ReadSnapshot``: the snapshot time.
        changes: ``LookupKeys``: what the operation does.
        placement: ``LookupKeys``: file groups of the keys that the snapshot does not hold.
        group: ``WriteFile``, ``DeleteFile``: file group; ``AcquireLock``: file group to lock, None for the table.
        token: ``WriteFile``, ``DeleteFile``: write token.
        target: ``RequestRollback``: requested time of the failed operation; all other rollback steps: requested time
            of the rollback.
        reason: ``AbortWrite``: why.

    """

    step: Step
    writer: int | None = None
    time: Time | None = None
    changes: Changes | None = None
    placement: Placement | None = None
    group: Group | None = None
    token: Token | None = None
    target: Time | None = None
    reason: AbortReason | None = None


class TimelineFile(NamedTuple):
    """A file of the timeline, by what its name says."""

    requested_time: Time
    action: Action
    state: InstantState
    completion_time: Time | None


class StorageView(NamedTuple):
    """The part of a state that can be read from storage, for comparison with an implementation's bytes.

    Attributes:
        timeline: all files of the timeline.
        data_files: rows of each data file, by (file group, requested time, write token).
        lock_held: whether the table lock is taken (by whoever, dead or alive).
        heartbeats: requested times that have a heartbeat file, expired or not. Those of instants that are not
            pending say nothing: they are garbage that is removed sooner or later.

    """

    timeline: frozenset[TimelineFile]
    data_files: Mapping[tuple[Group, Time, Token], Mapping[Key, Value]]
    lock_held: bool
    heartbeats: frozenset[Time]


def initial_state(writers: int) -> State:
    """An empty table and `writers` idle writers."""
    return State(World(), (IDLE,) * writers)


def storage_view(state: State) -> StorageView:
    """What of `state` lies on storage."""
    world = state.world
    timeline = {TimelineFile(time, Action.COMMIT, InstantState.REQUESTED, None) for time in world.requested}
    timeline |= {TimelineFile(time, Action.COMMIT, InstantState.INFLIGHT, None) for time in world.inflight}
    timeline |= {
        TimelineFile(commit.requested, Action.COMMIT, InstantState.COMPLETED, commit.completion)
        for commit in world.commits
    }
    for rollback in world.rollbacks:
        for reached in InstantState:
            if reached <= rollback.state:
                completion = rollback.completion if reached is InstantState.COMPLETED else None
                timeline.add(TimelineFile(rollback.requested, Action.ROLLBACK, reached, completion))
    return StorageView(
        timeline=frozenset(timeline),
        data_files={(file.group, file.requested, file.token): dict(file.rows) for file in world.files},
        lock_held=world.lock != FREE,
        heartbeats=frozenset(beat.requested for beat in world.heartbeats),
    )
