"""Bugs of the implementation: each breaks one rule on purpose, and has a directed history that shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import pytest

from drawstring.errors import AlreadyExistsError, StorageError
from drawstring.locks.file_system import FileSystemLockProvider
from drawstring.protocol import commit_metadata, conflicts, critical_section, heartbeat, rollback, write
from drawstring.timeline import transitions
from drawstring.timeline.timeline import Timeline
from drawstring_sim.client import ALONE, EXPIRED_MS, TOGETHER
from drawstring_sim.clocks import ClockSettings
from drawstring_sim.faults import Fault, FaultWhere
from drawstring_sim.kernel import SimulationError
from drawstring_sim.operations import Kind
from drawstring_sim.stage import Stage
from drawstring_spec.times import format_instant_time

A, C = ("d1", "a"), ("d2", "c")
DATA_FILE = "put_if_absent(d1/"
COMPLETION = "put_if_absent(*.commit)"


@dataclass(frozen=True)
class Bug:
    """One broken rule.

    Attributes:
        name: what is broken.
        plant: breaks it.
        play: a history that shows it, on a table with ``A = 1``.
        by_model: whether the history is one that the model knows.

    """

    name: str
    plant: Callable[[pytest.MonkeyPatch], None]
    play: Callable[[Stage], None]
    by_model: bool = True


def _overlap(stage):
    slow = stage.begin(stage.writer("one"), Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    stage.do(stage.writer("two"), Kind.UPSERT, {A: 20})
    stage.release(slow)


def _same_new_key(stage):
    slow = stage.begin(stage.writer("one"), Kind.UPSERT, {C: 10}, hold_at="put_if_absent(d2/")
    stage.do(stage.writer("two"), Kind.UPSERT, {C: 20})
    stage.release(slow)


def _slept_past_lease(stage):
    asleep = stage.begin(stage.writer("one"), Kind.UPSERT, {A: 10}, hold_at=COMPLETION)
    stage.wait(EXPIRED_MS)
    stage.do(stage.writer("two"), Kind.UPSERT, {A: 20})
    stage.release(asleep)


def _slow_writer(stage):
    slow = stage.begin(stage.writer("one"), Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    stage.do(stage.writer("two"), Kind.UPSERT, {C: 20})
    stage.release(slow)


def _rolled_back_while_asleep(stage):
    asleep = stage.begin(stage.writer("one"), Kind.UPSERT, {A: 10}, hold_at=DATA_FILE)
    stage.wait(EXPIRED_MS)
    stage.do(stage.writer("two"), Kind.UPSERT, {C: 20})
    stage.release(asleep)


def _lock_is_held(stage):
    """One is about to complete, under the lock; the other wants it, too."""
    holder = stage.begin(stage.writer("one"), Kind.UPSERT, {A: 10}, hold_at=COMPLETION)
    other = stage.begin(stage.writer("two"), Kind.UPSERT, {C: 20}, hold_at=".commit.requested")
    stage.release(other)
    stage.release(holder)


def _one_write(stage):
    stage.do(stage.writer("one"), Kind.UPSERT, {A: 10, C: 20})


def _later_request(stage):
    unpacked = stage.writer("one", options={**TOGETHER, "hoodie.parquet.small.file.limit": 0})
    early = stage.begin(unpacked, Kind.UPSERT, {A: 10}, hold_at="delete(.hoodie/lock)")
    stage.hold_further(early, hold_at="list(.hoodie/timeline)")
    stage.do(stage.writer("two"), Kind.DELETE, {A: 0})
    stage.release(early)


def _held_up_judge(stage):
    """The judge is held up between his two readings, before the lock and again under it; the writer beats on."""
    one, two = stage.writer("one"), stage.writer("two")
    live = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at=DATA_FILE, duties_go_on=True)
    judge = stage.begin(two, Kind.UPSERT, {C: 20}, hold_at="head(.hoodie/.heartbeat/")
    with suppress(SimulationError):  # Where the clock is read first, he has nothing to judge a second time.
        stage.hold_further(judge, hold_at="clock.monotonic_ms")
        stage.wait(5_000)
        stage.hold_further(judge, hold_at="head(.hoodie/.heartbeat/")
        stage.hold_further(judge, hold_at="clock.monotonic_ms")
        stage.wait(5_000)
    stage.release(judge)
    stage.release(live)


def _sleeping_releaser(stage):
    asleep = stage.begin(stage.writer("one"), Kind.UPSERT, {A: 10}, hold_at="delete(.hoodie/lock)")
    stage.wait(EXPIRED_MS)
    holder = stage.begin(stage.writer("two"), Kind.UPSERT, {C: 20}, hold_at=".commit.requested")
    stage.release(asleep)
    stage.release(holder)


def _clock_goes_back(stage):
    clock = ClockSettings(monotonic_start_ms=5)
    writer = stage.writer("jumpy", clock=clock)
    stage.do(writer, Kind.UPSERT, {A: 2})
    clock.jump(-60_000)
    stage.do(writer, Kind.UPSERT, {A: 3})


def _dies_before_completing(stage):
    stage.faults(FaultWhere(lambda c: c.writes and c.target.endswith(".commit"), Fault.CRASH_BEFORE))
    stage.do(stage.writer("one"), Kind.UPSERT, {A: 10})
    stage.wait(EXPIRED_MS)
    stage.do(stage.writer("two"), Kind.UPSERT, {C: 20})


def _interrupted_rollback(stage):
    """Somebody who believes to be alone rolls a live writer back, and dies with its files deleted."""
    one, intruder = stage.writer("one"), stage.writer("intruder", options=ALONE)
    live = stage.begin(one, Kind.UPSERT, {A: 10}, hold_at="put(.hoodie/.temp/")
    stage.hold_further(live, hold_at="put_if_absent(.hoodie/lock)")
    stage.faults(FaultWhere(lambda c: c.method == "delete" and c.target.endswith(".inflight"), Fault.CRASH_BEFORE))
    stage.do(intruder, Kind.UPSERT, {C: 20})
    stage.release(live)


def _colliding_times(stage):
    """Two who both believe to be alone take the same millisecond."""
    one, two = (
        stage.writer(name, options=ALONE, clock=ClockSettings(granularity_ms=1_000_000)) for name in ("one", "two")
    )
    first = stage.begin(one, Kind.UPSERT, {("d3", "x"): 10}, hold_at=".commit.requested")
    second = stage.begin(two, Kind.UPSERT, {C: 20}, hold_at=".commit.requested")
    stage.release(first)
    stage.release(second)


def _adopt(storage, path, content, *, not_after_ms=None):
    try:
        return storage.put_if_absent(path, content, not_after_ms=not_after_ms)
    except AlreadyExistsError:
        return storage.head(path)


def _patch(target: object, name: str, value: object) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setattr(target, name, value)


def _nothing(*args, **kwargs):
    return None


def _no_deadline(self):
    return None


def _unlocked(original):
    @contextmanager
    def section(context, *, purpose, requested_time) -> Iterator[critical_section.CriticalSection]:
        with original(context, purpose=purpose, requested_time=requested_time) as held:
            context.ports.lock.release(held.lease)
            yield held

    return section


def _release_anything(self, lease):
    self._storage.delete([".hoodie/lock"])


def _clock_after_head(context, requested_time, storage_clock):
    try:
        status = context.ports.storage.head(heartbeat.heartbeat_path(requested_time))
    except StorageError:
        return True
    return storage_clock.now_ms() - status.mtime_ms > heartbeat.tolerance_ms(context)


def _wall_time(context, timeline):
    return format_instant_time(context.ports.clock.wall_ms())


def _one_row_fewer(stat):
    record = _STAT(stat)
    return {**record, "numWrites": record["numWrites"] - 1}


_STAT = commit_metadata._stat


def _never_asks(patch):
    """A writer that was taken for dead is told so nowhere."""
    _publish_unfenced(patch)
    patch.setattr(write, "check_not_fenced", _nothing)
    patch.setattr(heartbeat.Heartbeat, "check", _nothing)


def _publish_unfenced(patch):
    patch.setattr(critical_section.CriticalSection, "deadline_ms", _no_deadline)
    patch.setattr(heartbeat.Heartbeat, "deadline_ms", lambda self: 10**15)


BUGS = [
    Bug("file groups are not compared", _patch(write, "check_conflicts", _nothing), _overlap),
    Bug("new keys are not compared", _patch(conflicts, "_files_with_inserts", lambda *a: []), _same_new_key),
    Bug("completion carries no deadline", _publish_unfenced, _slept_past_lease),
    Bug("a rollback ignores heartbeats", _patch(rollback, "is_expired", lambda *a: True), _slow_writer),
    Bug(
        "heartbeats are judged by a late clock",
        _patch(rollback, "is_expired", _clock_after_head),
        _held_up_judge,
    ),
    Bug(
        "the lock is given back before completing",
        lambda patch: patch.setattr(write, "critical_section", _unlocked(write.critical_section)),
        _slow_writer,
    ),
    Bug("any lock is released", _patch(FileSystemLockProvider, "release", _release_anything), _sleeping_releaser),
    Bug("a snapshot holds later requests", _patch(Timeline, "up_to", lambda self, _: self), _later_request),
    Bug("clocks are believed", _patch(write, "next_time", _wall_time), _clock_goes_back),
    Bug("a rollback leaves files", _patch(rollback, "_files_of", lambda *a: ()), _dies_before_completing),
    Bug(
        "an interrupted rollback is ignored",
        _patch(conflicts, "rollback_in_hand", _nothing),
        _interrupted_rollback,
        by_model=False,
    ),
    Bug(
        "a foreign file is taken for one's own",
        _patch(transitions, "create_exactly_once", _adopt),
        _colliding_times,
        by_model=False,
    ),
    Bug(
        "a writer does not ask whether it was rolled back",
        _never_asks,
        _rolled_back_while_asleep,
    ),
    Bug(
        "a lock that is held is taken over",
        _patch(FileSystemLockProvider, "_ttl_of", lambda *a: -1),
        _lock_is_held,
    ),
    Bug("a write stat tells too few rows", _patch(commit_metadata, "_stat", _one_row_fewer), _one_write),
    Bug(
        "a rollback leaves the instant",
        _patch(transitions, "remove_pending", _nothing),
        _dies_before_completing,
    ),
]


def founded_stage() -> Stage:
    """A table with ``A = 1``, and nobody at work."""
    made = Stage()
    made.do(made.writer("first"), Kind.BULK_INSERT, {A: 1})
    return made
