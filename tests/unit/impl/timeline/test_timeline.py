"""The timeline as a value, and the moves of instants on storage."""

from __future__ import annotations

import pytest

from drawstring.errors import AlreadyExistsError, IllegalTransitionError, NotFoundError, StorageError
from drawstring.timeline import transitions
from drawstring.timeline.load import load_timeline
from drawstring_spec.instants import Action, Instant, State
from unit.impl.protocol.world import World


@pytest.fixture
def world():
    return World()


def put(world, *names):
    for name in names:
        world.storage.put(f".hoodie/timeline/{name}", b"")


def load(world):
    return load_timeline(world.storage, world.context().config)


def test_an_instant_is_in_the_highest_state_that_has_a_file(world):
    put(world, "20240101000000000.commit.requested", "20240101000000000.inflight")
    assert [i.state for i in load(world)] == [State.INFLIGHT]


def test_a_compaction_and_the_commit_it_completes_as_are_one_instant(world):
    put(world, "20240101000000000.compaction.requested", "20240101000000000_20240101000000009.commit")
    assert [(i.action, i.state) for i in load(world)] == [(Action.COMMIT, State.COMPLETED)]


def test_files_that_are_no_instants_are_passed_over(world):
    put(world, "20240101000000000_20240101000000009.commit", ".x.crc", "README", "history/manifest_1")
    assert len(load(world).instants) == 1


def test_the_last_write_goes_by_requested_time(world):
    put(world, "20240101000000001_20240101000000009.commit", "20240101000000002_20240101000000003.commit")
    assert load(world).last_write().requested_time == "20240101000000002"


def test_the_latest_time_counts_every_action_and_completion(world):
    put(world, "20240101000000001_20240101000000009.commit", "20240101000000002.clean.requested")
    assert load(world).latest_time() == "20240101000000009"


def test_what_is_older_than_the_timeline_counts_as_completed(world):
    put(world, "20240101000000005_20240101000000009.commit")
    timeline = load(world)
    assert timeline.is_completed("20240101000000004")
    assert not timeline.is_completed("20240101000000006")


def test_a_savepointed_commit_does_not_start_the_timeline(world):
    put(
        world,
        "20240101000000001_20240101000000002.commit",
        "20240101000000001_20240101000000003.savepoint",
        "20240101000000005_20240101000000009.commit",
    )
    assert load(world).start == "20240101000000005"


def test_an_instant_of_before_version_8_is_completed_at_its_files_time(world):
    put(world, "20240101000000001.commit")
    (instant,) = load(world)
    assert (instant.state, instant.completion_time) == (State.COMPLETED, "20231114221320000")


def test_an_instant_cannot_be_started_once_its_requested_file_is_gone(world):
    requested = transitions.request(world.context(), "20240101000000001", Action.COMMIT)
    transitions.remove_pending(world.context(), requested, not_after_ms=None)
    with pytest.raises(NotFoundError):
        transitions.start(world.context(), requested)


def test_a_requested_instant_cannot_be_completed_at_once(world):
    requested = transitions.request(world.context(), "20240101000000001", Action.COMMIT)
    before = dict(world.storage.files)
    with pytest.raises(IllegalTransitionError):
        transitions.complete(world.context(), requested, "20240101000000002", b"", not_after_ms=None)
    assert world.storage.files == before


def test_two_writers_cannot_request_the_same_instant(world):
    transitions.request(world.context(), "20240101000000001", Action.COMMIT)
    with pytest.raises(AlreadyExistsError):
        transitions.request(world.context(), "20240101000000001", Action.COMMIT)


def answer_lost_once(world):
    def fail(when, call, path):
        if when == "after":
            world.storage.fail = lambda when, call, path: None
            raise StorageError("no answer")

    world.storage.fail = fail


def test_a_create_whose_answer_was_lost_is_recognised_as_done(world):
    answer_lost_once(world)
    status = transitions.create_exactly_once(world.storage, "f", b"mine")
    assert status.size == 4


def test_a_create_that_another_won_is_not_taken_for_ones_own(world):
    def fail(when, call, path):
        world.storage.fail = lambda when, call, path: None
        world.storage.put("f", b"theirs")
        raise StorageError("no answer")

    world.storage.fail = fail
    with pytest.raises(AlreadyExistsError):
        transitions.create_exactly_once(world.storage, "f", b"mine")


def test_a_create_is_given_up_when_the_storage_keeps_failing(world):
    def fail(when, call, path):
        raise StorageError("down")

    world.storage.fail = fail
    with pytest.raises(StorageError, match="down"):
        transitions.create_exactly_once(world.storage, "f", b"mine")


def test_a_completed_instant_is_named_after_its_completed_action(world):
    inflight = Instant("20240101000000001", Action.COMPACTION, State.INFLIGHT)
    done = transitions.complete(world.context(), inflight, "20240101000000002", b"", not_after_ms=None)
    assert done.action is Action.COMMIT
    assert world.timeline_names() == ["20240101000000001_20240101000000002.commit"]
