"""The kernel: one port call is one step, a crash is final, and the same seed gives the same history."""

from __future__ import annotations

import itertools

import pytest

from drawstring.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    NotFoundError,
    PreconditionFailedError,
    StorageError,
)
from drawstring_sim.background import SimulatedBackground, Stall
from drawstring_sim.clocks import ClockSettings, SimulatedClock
from drawstring_sim.faults import Fault, FaultAt, FaultWhere
from drawstring_sim.kernel import (
    CrashedError,
    Incarnation,
    Kernel,
    ManualSchedule,
    SeededSchedule,
    SimulationError,
)
from drawstring_sim.storage import Disk, SimulatedStorage
from drawstring_sim.tasks import SimulatedTasks, TaskMode, TaskTroubles


class Bench:
    """A kernel, a disk, and storages by incarnation."""

    def __init__(self, schedule=None, faults=None):
        self.kernel = Kernel(schedule, faults)
        self.disk = Disk()
        self.clocks = {}

    def storage(self, name="w1", monotonic_start_ms=0):
        incarnation = Incarnation(name)
        clock = SimulatedClock(self.kernel, incarnation, ClockSettings(monotonic_start_ms=monotonic_start_ms))
        self.clocks[name] = clock
        return incarnation, SimulatedStorage(self.kernel, incarnation, self.disk, clock)

    def run(self, incarnation, function):
        process = self.kernel.spawn(incarnation, function)
        self.kernel.run_until_ended(process)
        return process


def increment(storage, times):
    """Add to a counter by read and conditional put, the way that loses nothing."""
    for _ in range(times):
        while True:
            etag = storage.head("counter").etag
            value = int(bytes(storage.read("counter")))
            try:
                storage.put_if_match("counter", str(value + 1).encode(), etag)
                break
            except PreconditionFailedError:
                continue


def race(seed):
    bench = Bench(SeededSchedule(seed))
    bench.disk.files.clear()
    first, storage = bench.storage("w1")
    second, other = bench.storage("w2")
    storage.put("counter", b"0")
    processes = [
        bench.kernel.spawn(first, lambda: increment(storage, 20)),
        bench.kernel.spawn(second, lambda: increment(other, 20)),
    ]
    bench.kernel.run_until_ended(*processes)
    return bench


def test_two_writers_are_interleaved_at_port_calls_and_conditional_puts_lose_nothing():
    bench = race(1)
    names = [call.process for call in bench.kernel.trace]
    switches = sum(a != b for a, b in itertools.pairwise(names))
    assert bench.disk.files["counter"].content == b"40"
    assert switches > 20


def test_the_same_seed_gives_the_same_history_and_another_seed_another():
    first, again, other = race(7).kernel.trace, race(7).kernel.trace, race(8).kernel.trace
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("fault", "stored"),
    [(Fault.CRASH_BEFORE, False), (Fault.CRASH_AFTER, True), (Fault.CRASH_ANSWER_LOST, True)],
)
def test_a_crash_is_before_or_after_the_effect_as_the_plan_says(fault, stored):
    bench = Bench(faults=FaultAt("w1", 1, fault))
    incarnation, storage = bench.storage()

    def writer():
        storage.list("")
        storage.put("a", b"1")
        storage.put("b", b"2")

    process = bench.run(incarnation, writer)
    assert isinstance(process.error, CrashedError | StorageError)
    assert ("a" in bench.disk.files) is stored
    assert "b" not in bench.disk.files


def test_a_finally_clause_of_a_crashed_writer_has_no_effect():
    bench = Bench(faults=FaultAt("w1", 0, Fault.CRASH_BEFORE))
    incarnation, storage = bench.storage()
    reached = []

    def writer():
        try:
            storage.put("a", b"1")
        finally:
            reached.append("finally")
            storage.put("b", b"2")

    process = bench.run(incarnation, writer)
    assert reached == ["finally"]
    assert isinstance(process.error, CrashedError)
    assert bench.disk.files == {}


def test_a_suspended_process_of_a_crashed_incarnation_runs_its_finally_without_effect():
    bench = Bench(ManualSchedule())
    incarnation, storage = bench.storage()

    def writer():
        try:
            storage.put("a", b"1")
        finally:
            storage.put("b", b"2")

    process = bench.kernel.spawn(incarnation, writer)
    bench.kernel.settle()
    bench.kernel.crash(incarnation)
    bench.kernel.settle()
    assert process.ended
    assert bench.disk.files == {}


def test_no_ordinary_handler_survives_a_crash():
    bench = Bench(faults=FaultAt("w1", 0, Fault.CRASH_BEFORE))
    incarnation, storage = bench.storage()

    def writer():
        try:
            storage.put("a", b"1")
        except Exception:  # noqa: BLE001 -- what a careless writer does
            return "survived"

    assert isinstance(bench.run(incarnation, writer).error, CrashedError)


def test_a_lost_answer_has_its_effect_and_the_caller_sees_an_error():
    bench = Bench(faults=FaultAt("w1", 0, Fault.ANSWER_LOST))
    incarnation, storage = bench.storage()
    process = bench.run(incarnation, lambda: storage.put_if_absent("a", b"1"))
    assert type(process.error) is StorageError
    assert bench.disk.files["a"].content == b"1"


def test_a_request_that_is_sent_twice_meets_its_own_success():
    bench = Bench(faults=FaultAt("w1", 0, Fault.SENT_TWICE))
    incarnation, storage = bench.storage()
    process = bench.run(incarnation, lambda: storage.put_if_absent("a", b"1"))
    assert isinstance(process.error, AlreadyExistsError)


def test_an_error_without_effect_leaves_the_disk_alone():
    bench = Bench(faults=FaultWhere(lambda call: call.writes, Fault.ERROR))
    incarnation, storage = bench.storage()
    assert type(bench.run(incarnation, lambda: storage.put("a", b"1")).error) is StorageError
    assert bench.disk.files == {}


def test_a_put_whose_deadline_passes_while_it_is_suspended_has_no_effect():
    bench = Bench(ManualSchedule())
    incarnation, storage = bench.storage(monotonic_start_ms=5_000)
    process = bench.kernel.spawn(incarnation, lambda: storage.put_if_absent("a", b"1", not_after_ms=5_100))
    bench.kernel.settle()
    bench.kernel.advance(100)
    bench.kernel.resume(process)
    assert isinstance(process.error, DeadlineExceededError)
    assert bench.disk.files == {}


def test_a_put_within_its_deadline_takes_effect():
    bench = Bench(ManualSchedule())
    incarnation, storage = bench.storage(monotonic_start_ms=5_000)
    process = bench.kernel.spawn(incarnation, lambda: storage.put_if_absent("a", b"1", not_after_ms=5_100))
    bench.kernel.settle()
    bench.kernel.advance(99)
    bench.kernel.resume(process)
    assert process.result().size == 1


def test_a_delete_of_several_files_can_stop_half_way():
    bench = Bench(faults=FaultAt("w1", 1, Fault.CRASH_BEFORE))
    incarnation, storage = bench.storage()
    for path in ("a", "b", "c"):
        storage.put(path, b"")
    bench.run(incarnation, lambda: storage.delete(["a", "b", "c"]))
    assert sorted(bench.disk.files) == ["b", "c"]


@pytest.mark.parametrize("path", ["../a", "/a", "a//b", "a/./b", "", "a\\b"])
def test_a_path_that_leaves_the_table_is_refused(path):
    _, storage = Bench().storage()
    with pytest.raises(StorageError):
        storage.put(path, b"")


def test_listings_name_files_of_a_folder_and_its_folders_apart():
    _, storage = Bench().storage()
    for path in ("top", "a/x", "a/b/y", "ab/z"):
        storage.put(path, b"")
    assert [s.path for s in storage.list("a")] == ["a/x"]
    assert [s.path for s in storage.list("a", recursive=True)] == ["a/b/y", "a/x"]
    assert storage.list_folders("") == ["a", "ab"]
    assert storage.list_folders("a") == ["a/b"]
    with pytest.raises(NotFoundError):
        storage.head("a")


def test_a_duty_runs_in_intervals_until_it_is_stopped():
    bench = Bench()
    incarnation, storage = bench.storage()
    background = SimulatedBackground(bench.kernel, incarnation)

    def writer():
        duty = background.every(100, lambda: storage.put(f"beat-{bench.kernel.now_ms}", b""), name="beat")
        bench.clocks["w1"].sleep_ms(350)
        duty.stop()
        bench.clocks["w1"].sleep_ms(1000)

    bench.run(incarnation, writer)
    assert len(bench.disk.files) == 3


def test_a_duty_dies_with_its_writer():
    bench = Bench(faults=FaultWhere(lambda call: call.target == "last", Fault.CRASH_BEFORE))
    incarnation, storage = bench.storage()
    background = SimulatedBackground(bench.kernel, incarnation)

    def writer():
        background.every(100, lambda: storage.put(f"beat-{bench.kernel.now_ms}", b""), name="beat")
        bench.clocks["w1"].sleep_ms(250)
        storage.put("last", b"")

    bench.run(incarnation, writer)
    bench.kernel.advance(5_000)
    assert len(bench.disk.files) == 2
    assert bench.kernel.processes == []


def test_a_stalled_duty_misses_its_runs():
    bench = Bench()
    incarnation, storage = bench.storage()
    background = SimulatedBackground(bench.kernel, incarnation)
    background.stalls.append(Stall("beat", 0, 250))

    def writer():
        background.every(100, lambda: storage.put(f"beat-{bench.kernel.now_ms}", b""), name="beat")
        bench.clocks["w1"].sleep_ms(320)

    bench.run(incarnation, writer)
    assert len(bench.disk.files) == 1


def make_tasks(bench, troubles):
    incarnation, storage = bench.storage("driver")
    return incarnation, SimulatedTasks(bench.kernel, incarnation, bench.storage, storage, troubles=troubles)


def write_item(context, item):
    context.storage.put(f"{item}-{context.attempt}", b"")
    return item, context.attempt


@pytest.mark.parametrize("mode", list(TaskMode))
def test_tasks_answer_in_the_order_of_their_items(mode):
    bench = Bench(SeededSchedule(3))
    incarnation, tasks = make_tasks(bench, TaskTroubles(mode=mode))
    process = bench.run(incarnation, lambda: tasks.run(write_item, ["a", "b", "c"], label="write"))
    assert process.result() == [("a", 0), ("b", 0), ("c", 0)]


def test_a_task_whose_answer_is_lost_runs_again_under_another_attempt():
    bench = Bench()
    incarnation, tasks = make_tasks(bench, TaskTroubles(max_attempts=2, lost_answers=frozenset({1})))
    process = bench.run(incarnation, lambda: tasks.run(write_item, ["a", "b"], label="write"))
    assert process.result() == [("a", 0), ("b", 1)]
    assert sorted(bench.disk.files) == ["a-0", "b-0", "b-1"]


def test_a_zombie_goes_on_after_its_batch_was_answered():
    bench = Bench()
    incarnation, tasks = make_tasks(bench, TaskTroubles(zombies=frozenset({0}), zombie_delay_ms=500))
    bench.run(incarnation, lambda: tasks.run(write_item, ["a"], label="write"))
    assert sorted(bench.disk.files) == ["a-0"]
    bench.kernel.run_until_ended(*tasks.zombies)
    assert sorted(bench.disk.files) == ["a-0", "a-7"]


def test_a_process_that_waits_for_ever_is_reported():
    bench = Bench(ManualSchedule())
    incarnation, storage = bench.storage()
    process = bench.kernel.spawn(incarnation, lambda: storage.put("a", b""))
    with pytest.raises(SimulationError, match="w1"):
        bench.kernel.run_until_ended(process)
    bench.kernel.close()
    assert bench.disk.files == {}
