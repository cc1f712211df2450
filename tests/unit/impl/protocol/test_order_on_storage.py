"""In which order one write touches storage, and what it holds the lock for."""

from __future__ import annotations

import pytest

from drawstring.protocol.write import run_write
from unit.impl.protocol.world import OCC, FakeBody, World, load_slices

A = "aaaaaaaa-0000-0000-0000-000000000000-0"
B = "bbbbbbbb-0000-0000-0000-000000000000-0"
LOCK = ".hoodie/lock"


class Recorder:
    """Notes each call that changes storage, and whether the lock was held then."""

    def __init__(self, world: World) -> None:
        self.world, self.calls = world, []
        world.storage.fail = self.note

    def note(self, when: str, call: str, path: str) -> None:
        if when == "before":
            self.calls.append((call, path, LOCK in self.world.storage.files))

    def kinds(self) -> list[str]:
        return [kind for _, path, _ in self.calls if (kind := kind_of(path))]

    def under_lock(self, kind: str) -> set[bool]:
        found = {held for _, path, held in self.calls if kind_of(path) == kind}
        assert found, kind
        return found


def kind_of(path: str) -> str:
    """What a path is: a data file, a marker, a state of the instant, or nothing of these."""
    if path.startswith(".hoodie/.temp/"):
        return "marker"
    if path.startswith(".hoodie/timeline/"):
        name = path.rpartition("/")[2]
        return "completed" if "_" in name else name.rpartition(".")[2]
    return "data" if path.endswith(".parquet") else ""


class LateBody(FakeBody):
    """Planted: the data files are written when the operation is all but complete, under the lock."""

    def write_files(self, requested_time: str):
        stats = super().write_files(requested_time)
        self.late = {stat.path: self.world.storage.files.pop(stat.path) for stat in stats}
        return stats

    def find_key_conflicts(self, concurrent):
        for path, (content, _, _) in self.late.items():
            self.world.storage.put(path, content)
        return []


def recorded(body=FakeBody, groups=None) -> Recorder:
    world = World()
    run_write(world.context(OCC), FakeBody(world, world.context(OCC), {A: "k1"}), load_snapshot=load_slices)
    recorder = Recorder(world)
    context = world.context(OCC)
    run_write(context, body(world, context, groups or {A: "k1", B: "k2"}), load_snapshot=load_slices)
    return recorder


def test_an_operation_requests_starts_marks_writes_and_completes_in_this_order():
    changes = [kind for kind in recorded().kinds() if kind != "marker"]
    assert changes == ["requested", "inflight", "data", "data", "completed"]


def test_each_marker_stands_before_its_data_file():
    kinds = [kind for kind in recorded().kinds() if kind in ("marker", "data")]
    assert kinds[:4] == ["marker", "data", "marker", "data"]


def test_the_instant_is_requested_and_completed_under_the_lock():
    recorder = recorded()
    assert recorder.under_lock("requested") == recorder.under_lock("completed") == {True}


def test_no_data_file_is_written_while_the_lock_is_held():
    assert recorded().under_lock("data") == {False}


def test_a_data_file_that_is_written_under_the_lock_is_noticed():
    world = World()
    recorder = Recorder(world)
    context = world.context(OCC)
    body = LateBody(world, context, {A: "k1"})
    body.after_write = lambda: None
    conflicting = FakeBody(world, context, {B: "k2"})
    body.after_lookup = lambda: run_write(world.context(OCC), conflicting, load_snapshot=load_slices)
    run_write(context, body, load_snapshot=load_slices)
    assert True in recorder.under_lock("data")


def test_a_data_file_is_made_once_and_neither_replaced_nor_deleted():
    calls = [(call, path) for call, path, _ in recorded().calls if kind_of(path) == "data"]
    assert {call for call, _ in calls} == {"put_if_absent"}
    assert len(set(calls)) == len(calls)


def test_an_update_leaves_the_version_before_as_it_was():
    world = World()
    context = world.context(OCC)
    run_write(context, FakeBody(world, context, {A: "k1"}), load_snapshot=load_slices)
    before = {path: content for path, content in world.storage.files.items() if path.endswith(".parquet")}
    run_write(context, FakeBody(world, context, {A: "k1,k2"}), load_snapshot=load_slices)
    assert {path: world.storage.files[path] for path in before} == before
    assert len(world.data_files()) == len(before) + 1


@pytest.mark.parametrize("kind", ["requested", "inflight", "completed"])
def test_each_state_is_one_atomic_creation(kind):
    calls = [call for call, path, _ in recorded().calls if kind_of(path) == kind]
    assert calls == ["put_if_absent"]


def test_a_write_that_failed_is_tried_again_under_a_later_time_with_files_of_its_own():
    world = World()
    context = world.context(OCC)
    failing = FakeBody(world, context, {A: "k1"})
    times = []

    def fail() -> None:
        times.extend(path.rpartition("_")[2].partition(".")[0] for path in world.data_files())
        raise RuntimeError("planted")

    failing.after_write = fail
    with pytest.raises(RuntimeError, match="planted"):
        run_write(context, failing, load_snapshot=load_slices)
    again = run_write(context, FakeBody(world, context, {A: "k1"}), load_snapshot=load_slices)
    assert len(times) == 1
    assert again.requested_time > times[0]
    assert not [path for path in world.storage.files if f"_{times[0]}." in path]


def test_files_of_lost_attempts_are_deleted_before_the_completed_file_appears():
    world = World()
    recorder = Recorder(world)
    context = world.context(OCC)
    body = FakeBody(world, context, {A: "k1"})
    body.lost_attempts = 2
    run_write(context, body, load_snapshot=load_slices)
    steps = [(call, kind_of(path)) for call, path, _ in recorder.calls if kind_of(path) in ("data", "completed")]
    assert steps == [("put_if_absent", "data")] * 3 + [("delete", "data")] * 2 + [("put_if_absent", "completed")]
