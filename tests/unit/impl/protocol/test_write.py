"""One write through the protocol: what is visible when, and what stands in its way."""

from __future__ import annotations

import pytest

from drawstring.errors import (
    ConflictError,
    HeartbeatExpiredError,
    KeyConflictError,
    LostLockError,
    StorageError,
    UnsupportedTableError,
    WriterFencedError,
)
from drawstring.protocol import conflicts
from drawstring.protocol.write import run_write
from drawstring.timeline.load import load_timeline, read_payload
from unit.impl.protocol.world import OCC, FakeBody, World, load_slices

A = "aaaaaaaa-0000-0000-0000-000000000000-0"
B = "bbbbbbbb-0000-0000-0000-000000000000-0"


def write(world: World, groups: dict[str, str], options=None, **hooks):
    context = world.context(options)
    body = FakeBody(world, context, groups)
    for name, hook in hooks.items():
        setattr(body, name, hook)
    return run_write(context, body, load_snapshot=load_slices)


def completed(world: World) -> list[str]:
    return [i.requested_time for i in load_timeline(world.storage, world.context().config).completed_writes]


def test_a_write_takes_its_steps_in_the_order_of_the_protocol():
    world = World()
    write(world, {A: "k1"}, OCC)
    assert world.steps() == [
        "AcquireLock",
        "GenerateRequestedTime",
        "StartHeartbeat",
        "RequestInstant",
        "ReleaseLock",
        "LookupKeys",
        "StartInflight",
        "WriteFile",
        "AcquireLock",
        "CheckConflicts",
        "UpdateMetadata",
        "CompleteInstant",
        "ReleaseLock",
        "StopHeartbeat",
    ]


def test_a_completed_write_leaves_three_timeline_files_and_no_marker_heartbeat_or_lock():
    world = World()
    result = write(world, {A: "k1"}, OCC)
    assert world.timeline_names() == sorted(
        [
            f"{result.requested_time}.commit.requested",
            f"{result.requested_time}.inflight",
            f"{result.requested_time}_{result.completion_time}.commit",
        ]
    )
    leftovers = [p for p in world.storage.files if p.startswith((".hoodie/.temp", ".hoodie/.heartbeat", ".hoodie/lo"))]
    assert leftovers == []


def test_the_commit_says_what_was_written():
    world = World()
    write(world, {A: "k1"})
    write(world, {A: "k1,k2"})
    timeline = load_timeline(world.storage, world.context().config)
    record = read_payload(world.storage, world.context().config, timeline.completed_writes[-1])
    (stat,) = record["partitionToWriteStats"]["p"]
    assert (stat["fileId"], stat["prevCommit"], stat["numUpdateWrites"], stat["fileSizeInBytes"]) == (
        A,
        timeline.completed_writes[0].requested_time,
        1,
        5,
    )


def test_times_grow_although_the_clock_goes_back():
    world = World()
    first = write(world, {A: "k1"})
    world.clock.now_ms -= 3_600_000
    second = write(world, {B: "k2"})
    assert first.requested_time < first.completion_time < second.requested_time < second.completion_time


def test_two_writers_of_one_file_group_cannot_both_complete():
    world = World()
    write(world, {A: "k1"}, OCC)
    with pytest.raises(ConflictError, match=A):
        write(world, {A: "k1"}, OCC, after_lookup=lambda: write(world, {A: "k1"}, OCC))
    assert len(completed(world)) == 2


def test_the_loser_of_a_conflict_removes_its_files_and_its_instant():
    world = World()
    write(world, {A: "k1"}, OCC)
    with pytest.raises(ConflictError):
        write(world, {A: "k1"}, OCC, after_lookup=lambda: write(world, {A: "k1"}, OCC))
    assert len(world.data_files()) == 2
    timeline = load_timeline(world.storage, world.context().config)
    assert timeline.pending_writes == ()


def test_writers_of_different_file_groups_both_complete():
    world = World()
    write(world, {A: "k1"}, OCC, after_lookup=lambda: write(world, {B: "k2"}, OCC))
    assert len(completed(world)) == 2


def test_two_inserts_of_one_new_key_into_different_file_groups_cannot_both_complete():
    world = World()
    with pytest.raises(KeyConflictError, match="k1"):
        write(world, {A: "k1"}, OCC, after_lookup=lambda: write(world, {B: "k1"}, OCC))
    assert len(completed(world)) == 1


def test_the_key_check_can_be_turned_off_by_its_option():
    world = World()
    options = {**OCC, "drawstring.write.key.conflict.check": "false"}
    write(world, {A: "k1"}, options, after_lookup=lambda: write(world, {B: "k1"}, options))
    assert len(completed(world)) == 2


def test_a_write_requested_earlier_conflicts_with_a_later_one_that_is_in_its_snapshot():
    # The reader prefers the greater requested time, so an earlier one on top of it would be lost.
    world = World()
    write(world, {A: "k1"}, OCC)
    context = world.context(OCC)
    body = FakeBody(world, context, {A: "k9"})

    def slow_snapshot(context, timeline):
        write(world, {A: "k2"}, OCC)
        return load_slices(context, load_timeline(world.storage, context.config))

    with pytest.raises(ConflictError):
        run_write(context, body, load_snapshot=slow_snapshot)


def test_without_the_conflict_check_an_update_is_lost(monkeypatch):
    monkeypatch.setattr(conflicts, "concurrent_writes", lambda snapshot, now, requested_time: ())
    world = World()
    write(world, {A: "k1"}, OCC)
    write(world, {A: "k1"}, OCC, after_lookup=lambda: write(world, {A: "k1,k2"}, OCC))
    assert len(completed(world)) == 3


def test_a_writer_whose_heartbeat_expired_aborts():
    world = World()
    with pytest.raises(HeartbeatExpiredError):
        write(world, {A: "k1"}, OCC, after_write=lambda: world.clock.sleep_ms(10_000_000))
    assert completed(world) == []


def test_a_writer_that_was_rolled_back_aborts_and_leaves_no_file():
    world = World()

    def overtaken():
        world.clock.sleep_ms(10_000_000)
        write(world, {B: "k2"}, OCC)
        # As if its own clock had stood still, so that only the timeline tells.
        world.clock.now_ms -= 10_000_000

    with pytest.raises(WriterFencedError):
        write(world, {A: "k1"}, OCC, after_write=overtaken)
    assert [f for f in world.data_files() if A in f] == []


def test_a_holder_that_slept_through_its_lease_cannot_complete():
    world = World()
    context = world.context(OCC)
    lock_ttl_ms = context.options["drawstring.write.lock.ttl.ms"]

    def sleep(when, call, path):
        # Right before the put that completes: every check has passed by now.
        if when == "before" and path.endswith(".commit") and call == "put_if_absent":
            raise AssertionError("the put must not take effect")

    world.storage.fail = sleep
    body = FakeBody(world, context, {A: "k1"})
    body.find_key_conflicts = lambda concurrent: []
    original = load_slices
    emitted = world.events.append

    def listen(event):
        emitted(event)
        if event.step.value == "UpdateMetadata":
            world.clock.sleep_ms(lock_ttl_ms)

    context = type(context)(context.ports, context.config, context.options, listen)
    with pytest.raises(LostLockError):
        run_write(context, body, load_snapshot=original)
    assert completed(world) == []


def test_an_answer_that_is_lost_at_completion_is_recognised_as_success():
    world = World()
    lost = []

    def lose(when, call, path):
        if when == "after" and path.endswith(".commit") and not lost:
            lost.append(path)
            raise StorageError("no answer")

    world.storage.fail = lose
    result = write(world, {A: "k1"})
    assert completed(world) == [result.requested_time]


def test_files_of_lost_attempts_are_gone_before_the_write_is_visible():
    world = World()
    write(world, {A: "k1"}, lost_attempts=2)
    assert len(world.data_files()) == 1


def test_a_failed_write_is_rolled_back_by_its_own_writer():
    world = World()

    def fail():
        raise RuntimeError("the task failed")

    with pytest.raises(RuntimeError, match="the task failed"):
        write(world, {A: "k1"}, after_write=fail)
    assert world.data_files() == []
    assert [n for n in world.timeline_names() if n.endswith(".rollback")] != []


def test_cached_data_is_let_go_of_after_a_failure():
    world = World()
    context = world.context()
    body = FakeBody(world, context, {A: "k1"})
    body.after_write = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        run_write(context, body, load_snapshot=load_slices)
    assert body.discarded


def with_metadata_table(world: World) -> None:
    path = ".hoodie/hoodie.properties"
    content = bytes(world.storage.read(path)) + b"hoodie.table.metadata.partitions=files,column_stats\n"
    world.storage.put(path, content)
    world.storage.put(".hoodie/metadata/.hoodie/hoodie.properties", b"x=y\n")


def test_a_table_with_a_metadata_table_is_refused_and_left_as_it_was():
    world = World()
    with_metadata_table(world)
    before = dict(world.storage.files)
    with pytest.raises(UnsupportedTableError, match=r"metadata\.partitions"):
        write(world, {A: "k1"})
    assert world.storage.files == before


def test_a_metadata_table_that_appears_during_a_write_stops_it():
    world = World()
    with pytest.raises(UnsupportedTableError):
        write(world, {A: "k1"}, after_write=lambda: with_metadata_table(world))
    assert completed(world) == []


def test_the_metadata_table_is_removed_where_the_option_says_so():
    world = World()
    with_metadata_table(world)
    write(world, {A: "k1"}, {"hoodie.metadata.enable": "false"})
    assert world.storage.list(".hoodie/metadata", recursive=True) == []
    assert world.context().config.properties.get("hoodie.table.metadata.partitions", "") == ""


def test_an_interrupted_write_no_longer_keeps_itself_alive(monkeypatch):
    world = World()
    stopped = []
    context = world.context(OCC)
    monkeypatch.setattr(context.ports.background, "stop", lambda: stopped.append(True), raising=False)
    body = FakeBody(world, context, {A: "k1"})

    def interrupt():
        stopped.clear()
        raise KeyboardInterrupt

    body.after_write = interrupt
    with pytest.raises(KeyboardInterrupt):
        run_write(context, body, load_snapshot=load_slices)
    assert stopped == [True]
