"""Failed writes: who may roll them back, when, and what is left."""

from __future__ import annotations

import pytest

from drawstring.errors import CorruptFileError, StorageError
from drawstring.protocol import rollback as rollback_module
from drawstring.protocol.rollback import rollback_failed_writes
from drawstring.protocol.write import run_write
from drawstring.timeline.load import load_timeline, read_payload
from drawstring_spec.instants import Action
from unit.impl.protocol.world import OCC, FakeBody, World, load_slices

A = "aaaaaaaa-0000-0000-0000-000000000000-0"
B = "bbbbbbbb-0000-0000-0000-000000000000-0"


class CrashError(BaseException):
    """Not an `Exception`: nothing may handle it."""


def crash():
    raise CrashError


def crashed_write(world: World, options=None, **hooks) -> str:
    """A writer that dies after it wrote its files; returns its requested time."""
    context = world.context(options)
    body = FakeBody(world, context, {A: "k1"})
    body.after_write = crash
    for name, hook in hooks.items():
        setattr(body, name, hook)
    with pytest.raises(CrashError):
        run_write(context, body, load_snapshot=load_slices)
    return context_timeline(world).pending_writes[-1].requested_time


def context_timeline(world: World):
    return load_timeline(world.storage, world.context().config)


def test_a_single_writer_rolls_back_what_a_crash_left():
    world = World()
    failed = crashed_write(world)
    assert rollback_failed_writes(world.context()) == (failed,)
    assert world.data_files() == []
    assert context_timeline(world).pending_writes == ()


def test_a_live_writer_is_not_rolled_back_by_another():
    world = World()
    crashed_write(world, OCC)
    assert rollback_failed_writes(world.context(OCC)) == ()
    assert len(world.data_files()) == 1


def test_a_dead_writer_is_rolled_back_once_its_heartbeat_expired():
    world = World()
    failed = crashed_write(world, OCC)
    world.clock.sleep_ms(10_000_000)
    assert rollback_failed_writes(world.context(OCC)) == (failed,)
    assert world.names(".hoodie/.heartbeat") == []


def test_a_heartbeat_that_ignores_its_age_lets_a_live_writer_be_rolled_back(monkeypatch):
    monkeypatch.setattr(rollback_module, "is_expired", lambda *_: True)
    world = World()
    crashed_write(world, OCC)
    assert rollback_failed_writes(world.context(OCC)) != ()


def test_a_write_that_completes_before_the_lock_is_had_is_not_rolled_back(monkeypatch):
    world = World()
    crashed_write(world, OCC)
    world.clock.sleep_ms(10_000_000)
    context = world.context(OCC)
    acquire = context.ports.lock.acquire

    def completed_meanwhile(*, timeout_ms):
        lease = acquire(timeout_ms=timeout_ms)
        (pending,) = context_timeline(world).pending_writes
        name = f".hoodie/timeline/{pending.requested_time}_99991231000000000.commit"
        world.storage.put(name, b"")
        return lease

    monkeypatch.setattr(context.ports.lock, "acquire", completed_meanwhile)
    assert rollback_failed_writes(context) == ()
    assert len(world.data_files()) == 1


def test_the_rollback_is_recorded_as_java_records_it():
    world = World()
    failed = crashed_write(world)
    rollback_failed_writes(world.context())
    (done,) = context_timeline(world).completed(Action.ROLLBACK)
    record = read_payload(world.storage, world.context().config, done)
    assert record["commitsRollback"] == [failed]
    assert record["partitionMetadata"]["p"]["successDeleteFiles"] == [f"/table/p/{A}_0-0-0_{failed}.parquet"]


@pytest.mark.parametrize("calls_before_the_crash", range(12))
def test_a_rollback_that_dies_anywhere_is_finished_by_the_next_writer(calls_before_the_crash):
    world = World()
    crashed_write(world)
    left = [calls_before_the_crash]

    def fail(when, call, path):
        if when == "after":
            left[0] -= 1
            if left[0] < 0:
                raise CrashError

    world.storage.fail = fail
    try:
        rollback_failed_writes(world.context())
    except CrashError:
        world.storage.fail = lambda when, call, path: None
        world.context().ports.lock._lock.release() if world.context().ports.lock._lock.locked() else None
        rollback_failed_writes(world.context())
    timeline = context_timeline(world)
    assert (world.data_files(), timeline.pending_writes, timeline.pending(Action.ROLLBACK)) == ([], (), ())


def test_a_write_without_markers_is_rolled_back_by_the_names_of_its_files():
    world = World()
    crashed_write(world)
    for path in [p for p in world.storage.files if p.startswith(".hoodie/.temp")]:
        del world.storage.files[path]
    rollback_failed_writes(world.context())
    assert world.data_files() == []


def test_a_marker_that_names_another_writes_file_is_refused_and_nothing_is_deleted():
    world = World()
    failed = crashed_write(world)
    world.storage.put(f".hoodie/.temp/{failed}/p/{B}_0-0-0_20000101000000000.parquet.marker.CREATE", b"")
    with pytest.raises(CorruptFileError, match="marker"):
        rollback_failed_writes(world.context())
    assert len(world.data_files()) == 1


def test_a_storage_that_fails_during_a_rollback_leaves_it_to_the_next_writer():
    world = World()
    crashed_write(world)

    def fail(when, call, path):
        if when == "before" and call == "delete" and path.endswith(".parquet"):
            raise StorageError("down")

    world.storage.fail = fail
    with pytest.raises(StorageError, match="down"):
        rollback_failed_writes(world.context())
    world.storage.fail = lambda when, call, path: None
    rollback_failed_writes(world.context())
    assert world.data_files() == []
