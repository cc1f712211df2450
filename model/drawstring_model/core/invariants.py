"""What the protocol promises, as predicates over the world, and one property of how the world changes.

Each `Invariant` looks at a `World` and says what is wrong with it, in one sentence, or None. Whether a state is good
never depends on a writer's memory: what needs it (who is alive) is in a ghost field.
"""

from __future__ import annotations

from drawstring_model.core.config import Config
from drawstring_model.core.module import modules_of
from drawstring_model.core.promises import Check, Promise, StepCheck
from drawstring_model.core.reader import (
    keeps_rows,
    latest_snapshot_time,
    read_snapshot,
    serial_result,
    snapshot_slices,
    snapshot_time,
    visible_commits,
)
from drawstring_model.core.state import Changes, Commit, Time, World


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
    versions: dict[int, Commit] = {}
    for commit in world.commits:
        if keeps_rows(world, commit, config):
            continue
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
    removed = {name for module in modules_of(config) for name in module.removed(world)}
    times = [commit.requested for commit in world.commits]
    for commit in world.commits:
        if times.count(commit.requested) > 1:
            return f"two completed writes share the requested time {commit.requested}"
        for file in commit.files:
            name = (file.group, commit.requested, file.token)
            there = [kept.rows for kept in world.files if kept[:3] == name]
            if there != [file.rows] and name not in removed:
                found = f"reads {_told(there[0])}" if there else "is gone"
                return (
                    f"the file of group {file.group} that the completed write {commit.requested} wrote as "
                    f"{_told(file.rows)} {found}"
                )
    return None


def legal_transitions(world: World, config: Config) -> str | None:
    """`Promise.LEGAL_TRANSITIONS`, of completed instants."""
    for commit in world.commits:
        time = commit.requested
        for states, name in ((world.requested, "requested"), (world.inflight, "inflight")):
            if time not in states:
                return f"the completed instant {time} has no {name} file"
        if time not in world.metadata:
            return f"the metadata table has not learned of the completed instant {time}"
    return None


def time_travel_stability(before: World, after: World, config: Config) -> str | None:
    """`Promise.TIME_TRAVEL_STABILITY`, for the step from `before` to `after`."""
    for as_of in sorted({*snapshot_times(before, config), *snapshot_times(after, config)}):
        if is_refused(after, as_of, config):
            continue
        if as_of > latest_snapshot_time(before, config):
            break
        first, again = read_snapshot(before, as_of, config), read_snapshot(after, as_of, config)
        if first != again:
            return f"a snapshot at {as_of} read {_told(first)} before and reads {_told(again)} now"
    return None


def snapshot_times(world: World, config: Config) -> list[Time]:
    """The times at which one more commit becomes visible: all snapshots that differ, and are not refused."""
    times = sorted({snapshot_time(commit, config) for commit in world.commits})
    return [time for time in times if not is_refused(world, time, config)]


def is_refused(world: World, as_of: Time, config: Config) -> bool:
    """Whether the table has no whole answer any more as of `as_of`, and says so."""
    return any(module.refuses(world, as_of) for module in modules_of(config))


INVARIANTS: dict[Promise, Check] = {
    Promise.CONSISTENT_READ: consistent_read,
    Promise.NO_LOST_UPDATE: no_lost_update,
    Promise.NO_DUPLICATE_KEYS: no_duplicate_keys,
    Promise.NO_UNDONE_WRITE: no_undone_write,
    Promise.LEGAL_TRANSITIONS: legal_transitions,
}
"""What must be true of every state; the modules add theirs."""

STEP_PROPERTIES: dict[Promise, StepCheck] = {Promise.TIME_TRAVEL_STABILITY: time_travel_stability}
"""What must be true of every step."""


def _told(rows: Changes) -> str:
    """Rows in words: ``{k1: 2, k1: 3}``."""
    return "{" + ", ".join(f"k{key}: {value}" for key, value in rows) + "}"
