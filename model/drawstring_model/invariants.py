"""What the protocol promises, as predicates over the world, and one property of how the world changes.

Each `Invariant` looks at a `World` and says what is wrong with it, in one sentence, or None. Whether a state is good
never depends on a writer's memory: what needs it (who is alive) is in a ghost field.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from drawstring_model.config import Config
from drawstring_model.reader import (
    latest_snapshot_time,
    read_snapshot,
    serial_result,
    snapshot_slices,
    snapshot_time,
    visible_commits,
)
from drawstring_model.state import Commit, Time, World
from drawstring_spec.instants import State as InstantState

Check = Callable[[World, Config], str | None]
StepCheck = Callable[[World, World, Config], str | None]


class Promise(StrEnum):
    """The promises, by the names under which verdicts are reported."""

    CONSISTENT_READ = "consistent read"
    """A snapshot at T equals the serial result of the commits visible at T."""
    NO_LOST_UPDATE = "no lost update"
    """Each version of a file group was merged from the version right before it."""
    NO_DUPLICATE_KEYS = "no duplicate keys"
    """In no snapshot is a key in two file groups."""
    NO_UNDONE_WRITE = "completed writes stay"
    """A completed write's instant is its alone, and its files are as it wrote them."""
    LIVE_WRITER_KEPT = "live writers are let be"
    """No operation is rolled back while its writer lives and its heartbeat has not expired."""
    LEGAL_TRANSITIONS = "legal transitions"
    """An instant was requested, then inflight, then completed, in the metadata table too; or rolled back, once."""
    TIME_TRAVEL_STABILITY = "time-travel stability"
    """A snapshot at T, once T was the snapshot time of a query, never changes."""


def consistent_read(world: World, config: Config) -> str | None:
    """`Promise.CONSISTENT_READ`, at each time at which a commit becomes visible."""
    for as_of in snapshot_times(world, config):
        rows = read_snapshot(world, as_of, config)
        serial = serial_result(visible_commits(world, as_of, config))
        if rows != serial:
            return f"a snapshot at {as_of} reads {_told(rows)}, but its commits give {_told(serial)} one by one"
    return None


def no_lost_update(world: World, config: Config) -> str | None:
    """`Promise.NO_LOST_UPDATE`: in each file group, bases and versions form one chain."""
    del config
    versions: dict[int, Commit] = {}
    for commit in world.commits:
        for file in commit.files:
            before = versions.get(file.group)
            if file.base != (before.requested if before else None):
                was = f"version {before.requested}" if before else "nothing"
                base = f"version {file.base}" if file.base is not None else "nothing"
                return (
                    f"version {commit.requested} of file group {file.group} follows on {was}, "
                    f"but was merged from {base}"
                )
            versions[file.group] = commit
    return None


def no_duplicate_keys(world: World, config: Config) -> str | None:
    """`Promise.NO_DUPLICATE_KEYS`, at each time at which a commit becomes visible."""
    for as_of in snapshot_times(world, config):
        homes: dict[int, int] = {}
        for file in snapshot_slices(world, as_of, config).values():
            for key, _ in file.rows:
                if homes.setdefault(key, file.group) != file.group:
                    return f"a snapshot at {as_of} holds key {key} in file groups {homes[key]} and {file.group}"
    return None


def no_undone_write(world: World, config: Config) -> str | None:
    """`Promise.NO_UNDONE_WRITE`."""
    del config
    times = [commit.requested for commit in world.commits]
    for commit in world.commits:
        if times.count(commit.requested) > 1:
            return f"two completed writes share the requested time {commit.requested}"
        for file in commit.files:
            name = (file.group, commit.requested, file.token)
            there = [kept.rows for kept in world.files if kept[:3] == name]
            if there != [file.rows]:
                found = f"reads {_told(there[0])}" if there else "is gone"
                return (
                    f"the file of group {file.group} that the completed write {commit.requested} wrote as "
                    f"{_told(file.rows)} {found}"
                )
    return None


def live_writer_kept(world: World, config: Config) -> str | None:
    """`Promise.LIVE_WRITER_KEPT`."""
    del config
    live = {operation.requested for operation in world.ghost_live if operation.is_on_timeline}
    for rollback in world.rollbacks:
        if rollback.target in live and rollback.state is not InstantState.COMPLETED:
            return f"rollback {rollback.requested} is about operation {rollback.target}, whose writer lives"
    return None


def legal_transitions(world: World, config: Config) -> str | None:
    """`Promise.LEGAL_TRANSITIONS`. An inflight file alone is a fenced writer's last put, after its rollback."""
    del config
    targets = {rollback.target for rollback in world.rollbacks}
    for commit in world.commits:
        time = commit.requested
        if time in targets:
            return f"the completed instant {time} is the target of a rollback"
        for states, name in ((world.requested, "requested"), (world.inflight, "inflight")):
            if time not in states:
                return f"the completed instant {time} has no {name} file"
        if time not in world.metadata:
            return f"the metadata table has not learned of the completed instant {time}"
    for time in world.inflight:
        if time not in world.requested and time not in targets:
            return f"the inflight instant {time} was never requested"
    return None


def time_travel_stability(before: World, after: World, config: Config) -> str | None:
    """`Promise.TIME_TRAVEL_STABILITY`, for the step from `before` to `after`."""
    for as_of in sorted({*snapshot_times(before, config), *snapshot_times(after, config)}):
        if as_of > latest_snapshot_time(before, config):
            break
        first, again = read_snapshot(before, as_of, config), read_snapshot(after, as_of, config)
        if first != again:
            return f"a snapshot at {as_of} read {_told(first)} before and reads {_told(again)} now"
    return None


def snapshot_times(world: World, config: Config) -> list[Time]:
    """The times at which one more commit becomes visible: all snapshots that differ."""
    return sorted({snapshot_time(commit, config) for commit in world.commits})


INVARIANTS: dict[Promise, Check] = {
    Promise.CONSISTENT_READ: consistent_read,
    Promise.NO_LOST_UPDATE: no_lost_update,
    Promise.NO_DUPLICATE_KEYS: no_duplicate_keys,
    Promise.NO_UNDONE_WRITE: no_undone_write,
    Promise.LIVE_WRITER_KEPT: live_writer_kept,
    Promise.LEGAL_TRANSITIONS: legal_transitions,
}
"""What must be true of every state."""

STEP_PROPERTIES: dict[Promise, StepCheck] = {Promise.TIME_TRAVEL_STABILITY: time_travel_stability}
"""What must be true of every step."""


def _told(rows: tuple[tuple[int, int], ...]) -> str:
    """Rows in words: ``{k1: 2, k1: 3}``."""
    return "{" + ", ".join(f"k{key}: {value}" for key, value in rows) + "}"
