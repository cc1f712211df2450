"""The state of the model: what is on storage, what each writer knows, and what no one can see (ghosts).

A state is a tuple of tuples of integers and strings: immutable, hashable, and equal where two histories led to the
same situation. Collections are sorted tuples, so equality never depends on the order in which things happened.

- `World` is shared by all: the files on storage, the locks, the clock, and ghost fields (their names begin with
  ``ghost_``) that exist only so that invariants can speak of them.
- `Writer` is one writer's memory. A crash clears it.
- `Move` is one step with its parameters; `drawstring_model.core.protocol` says which are enabled and what they do.

Whoever drives the model beside an implementation owns the mapping of names: times are integers in the order of
instant times (the 17 digits read as a number will do), file groups, keys and tokens are anything that sorts.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any, NamedTuple, TypeAlias

from drawstring_spec.steps import Step

Time: TypeAlias = int
Key: TypeAlias = int
Value: TypeAlias = int
Group: TypeAlias = int
Token: TypeAlias = int
FileName: TypeAlias = tuple[Group, Time, Token]
"""What the name of a data file says."""
Rows: TypeAlias = tuple[tuple[Key, Value], ...]
"""The rows of a data file, sorted by key."""
Changes: TypeAlias = tuple[tuple[Key, Value | None], ...]
"""What an operation does: the new value of each key, sorted by key; None deletes the key."""
Placement: TypeAlias = tuple[tuple[Key, Group], ...]
"""The file group of each key that the table does not hold yet, sorted by key."""

Role: TypeAlias = str
"""What a process is for: `WRITER`, or the name of an actor that a module adds."""
Parts: TypeAlias = tuple[tuple[type[Any], tuple[Any, ...]], ...]
"""The parts that modules add to a world or a memory, by their kind, in the order of the kinds' names."""

WRITER: Role = "writer"
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
    """A data file that a writer is going to write: `base` is the time of the version it was merged from.

    A log file holds changes in place of rows: None deletes.
    """

    group: Group
    base: Time | None
    rows: Changes
    is_log: bool = False


class WrittenFile(NamedTuple):
    """A data file that a writer wrote, as its commit names it."""

    group: Group
    token: Token
    base: Time | None
    rows: Changes
    is_log: bool = False


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


class DataFile(NamedTuple):
    """A data file on storage."""

    group: Group
    requested: Time
    token: Token
    rows: Changes
    is_log: bool = False


class World(NamedTuple):
    """What all writers share.

    Attributes:
        requested: times for which the timeline has a requested commit file; it stays after completion.
        inflight: times for which the timeline has an inflight commit file; it stays after completion.
        commits: the completed commit files.
        files: the data files.
        metadata: times of the writes that the metadata table has learned of.
        lock: number of the writer that holds the table lock, `FREE` or `ORPHANED`.
        clock: the latest time given out.
        started: number of operations started.
        crashes: number of crashes so far.
        faults: number of bad things that happened to the living so far: crashes, and what modules know of.
        parts: what the modules add, by the kind of each part; one with its defaults is not there.

    """

    requested: tuple[Time, ...] = ()
    inflight: tuple[Time, ...] = ()
    commits: tuple[Commit, ...] = ()
    files: tuple[DataFile, ...] = ()
    metadata: tuple[Time, ...] = ()
    lock: int = FREE
    clock: Time = 0
    started: int = 0
    crashes: int = 0
    faults: int = 0
    parts: Parts = ()


class Writer(NamedTuple):
    """What one writer remembers. Fields that no later step needs are cleared, so that equal futures are equal.

    Attributes:
        phase: how far it is.
        has_lock: whether it believes that it holds the table lock; `World.lock` knows.
        requested: requested time of its operation; 0 before it has one.
        number: its operation was the `number`-th to be started.
        snapshot: (requested, completion) of the commits in its snapshot.
        changes: what its operation changes.
        new_keys: keys that its snapshot does not hold.
        plan: data files that it has not written yet.
        written: data files that it wrote.
        role: whose memory it is.
        parts: what the modules add: what is left to give back at the end of the operation.

    """

    phase: Phase = Phase.START
    has_lock: bool = False
    requested: Time = 0
    number: int = 0
    snapshot: tuple[tuple[Time, Time], ...] = ()
    changes: Changes = ()
    new_keys: tuple[Key, ...] = ()
    plan: tuple[PlannedFile, ...] = ()
    written: tuple[WrittenFile, ...] = ()
    role: Role = WRITER
    parts: Parts = ()


IDLE = Writer()
"""A writer that does nothing: a fresh one, or the incarnation that takes a crashed one's place."""


def idle(writer: Writer) -> Writer:
    """The process of `writer`, when it does nothing."""
    return IDLE if writer.role == WRITER else IDLE._replace(role=writer.role)


def finished(writer: Writer) -> Writer:
    """`writer`, idle again where it has nothing left to give back."""
    over = writer.phase in (Phase.COMPLETED, Phase.ABORTED)
    return idle(writer) if over and not writer.has_lock and not writer.parts else writer


def ended(writer: Writer, phase: Phase) -> Writer:
    """`writer`, completed or aborted: it knows no more than what it has to give back."""
    return idle(writer)._replace(phase=phase, has_lock=writer.has_lock, requested=writer.requested, parts=writer.parts)


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


def initial_state(writers: int, roles: tuple[Role, ...] = ()) -> State:
    """An empty table, `writers` idle writers, and one idle process of each other role."""
    return State(World(), (IDLE,) * writers + tuple(IDLE._replace(role=role) for role in roles))
