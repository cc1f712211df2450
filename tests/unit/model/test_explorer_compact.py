"""The compact explorer finds what the plain one finds: in few bytes, in several processes, under symmetry."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from drawstring_model.compact import search
from drawstring_model.compact.encoding import Codes, NotAStateError, as_json, digest, encoded, from_json
from drawstring_model.compact.search import Effort, Search
from drawstring_model.compact.symmetry import NoSymmetryError, Symmetry, renamings
from drawstring_model.compact.visited import Visited
from drawstring_model.config import (
    CLEANED,
    CLUSTERED,
    MERGE_ON_READ,
    Bounds,
    ClockKind,
    ConcurrencyControl,
    Config,
    PlantedBug,
    delete,
    upsert,
)
from drawstring_model.core.module import Module
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import apply, enabled, start
from drawstring_model.core.state import Phase, World
from drawstring_model.explorer import explore
from drawstring_model.modules.log_files import LogFiles
from drawstring_model.modules.non_blocking import NonBlocking

CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
BROKEN = Config(concurrency=ConcurrencyControl.NONE, bounds=CALM)
CONFIGS = {
    "no control": BROKEN,
    "optimistic": Config(bounds=CALM),
    "colliding times": Config(
        clock=ClockKind.NON_MONOTONIC,
        put_if_absent=False,
        salt=False,
        bounds=replace(CALM, workload=(upsert(1, 2),) * 2),
    ),
    "a crash": Config(bounds=replace(CALM, workload=(upsert(1),), faults=1)),
    "a planted bug": Config(planted=PlantedBug.SKIP_UPDATE_METADATA, bounds=CALM),
    "completion times taken early": Config(planted=PlantedBug.EARLY_COMPLETION_TIME, bounds=CALM),
    "clustering": Config(modules=CLUSTERED, concurrency=ConcurrencyControl.NONE, bounds=CALM),
    "cleaning": Config(modules=CLEANED, bounds=CALM),
    "compaction": Config(
        modules=MERGE_ON_READ,
        concurrency=ConcurrencyControl.NONE,
        bounds=replace(CALM, workload=(upsert(1), delete(1))),
    ),
}


def lengths(exploration):
    return {promise: len(example.moves) for promise, example in exploration.counterexamples.items()}


def found(exploration):
    return (
        exploration.states,
        exploration.transitions,
        exploration.depth,
        exploration.exhausted,
        lengths(exploration),
    )


@pytest.fixture(scope="module")
def plainly():
    return {name: explore(config) for name, config in CONFIGS.items()}


@pytest.mark.parametrize("name", CONFIGS)
def test_it_counts_the_states_of_the_plain_explorer_and_finds_histories_of_the_same_lengths(name, plainly):
    assert found(Search(CONFIGS[name]).run()) == found(plainly[name])


def test_a_history_is_found_again_step_by_step_and_ends_in_what_it_breaks():
    for promise, example in Search(BROKEN).run().counterexamples.items():
        state = start(BROKEN)
        for move in example.moves:
            state = apply(state, move, BROKEN)

        assert (promise, example.finding) == (promise, explore(BROKEN).counterexamples[promise].finding)


def test_a_promise_that_is_waited_for_ends_the_search():
    exploration = Search(BROKEN, until=Promise.NO_LOST_UPDATE).run()

    assert not exploration.exhausted
    assert not exploration.holds(Promise.NO_LOST_UPDATE)


@pytest.mark.parametrize("name", CONFIGS)
def test_verdicts_agree_with_and_without_the_symmetry_of_writers(name, plainly):
    exploration = Search(CONFIGS[name], symmetry=Symmetry(writers=True)).run()

    assert lengths(exploration) == lengths(plainly[name])
    assert exploration.states <= plainly[name].states


def test_verdicts_agree_with_and_without_the_symmetry_of_keys():
    config = replace(BROKEN, bounds=replace(CALM, workload=(upsert(1, 2), upsert(1, 2)), groups=2))
    plain = explore(config)

    of_keys = Search(config, symmetry=Symmetry(keys=True)).run()
    of_both = Search(config, symmetry=Symmetry(writers=True, keys=True)).run()

    assert lengths(of_keys) == lengths(of_both) == lengths(plain)
    assert plain.states > of_keys.states > of_both.states


def test_writers_that_are_alike_are_explored_once():
    three = replace(BROKEN, bounds=replace(CALM, writers=3))

    assert Search(three, symmetry=Symmetry(writers=True)).run().states < 0.7 * explore(three).states


def test_keys_that_operations_treat_differently_are_not_alike():
    with pytest.raises(NoSymmetryError, match="each key is in other operations"):
        Search(Config(), symmetry=Symmetry(keys=True))


def test_keys_with_a_bucket_each_are_not_alike():
    config = Config(
        modules=(*BROKEN.modules, LogFiles(begun_by_pending=False), NonBlocking()),
        bounds=replace(CALM, workload=(upsert(1, 2),)),
    )

    with pytest.raises(NoSymmetryError, match="non_blocking"):
        Search(config, symmetry=Symmetry(keys=True))


def test_symmetry_is_refused_for_a_module_of_which_nothing_is_known():
    class Unheard(Module):
        name = "unheard"

    with pytest.raises(NoSymmetryError, match="unheard"):
        renamings(Config(modules=(*BROKEN.modules, Unheard())), Symmetry(writers=True))


def test_several_processes_find_what_one_finds(monkeypatch, plainly):
    monkeypatch.setattr(search, "HAND_OVER", 20)

    exploration = Search(BROKEN, effort=Effort(workers=2)).run()

    assert found(exploration) == found(plainly["no control"])


def test_a_state_takes_at_most_a_hundred_bytes():
    one = Search(CONFIGS["a crash"])
    one.run()

    assert one.visited.bytes_used <= 100 * len(one.visited)


# The table of digests, and digests.


def test_digests_that_share_a_half_are_told_apart():
    visited = Visited()
    low, high = b"\1" * 8, b"\2" * 8

    numbers = [visited.add(digest, -1) for digest in (low + high, low + low, high + high, low + high)]

    assert numbers == [(0, True), (1, True), (2, True), (0, False)]


def test_the_table_finds_what_was_added_after_it_grew():
    visited = Visited()
    digests = [digest(b"%d" % number) for number in range(20_000)]
    for number, each in enumerate(digests):
        visited.add(each, number - 1)

    assert [visited.add(each, -1) for each in digests[::97]] == [(number, False) for number in range(0, 20_000, 97)]
    assert visited.path_to(3) == [0, 1, 2, 3]
    assert visited.digest_of(12_345) == digests[12_345]


def test_columns_whose_parents_go_in_a_circle_are_refused():
    visited = Visited()
    visited.add(digest(b"one"), -1)
    visited.add(digest(b"two"), 1)

    with pytest.raises(ValueError, match="parent"):
        Visited.of_columns(*visited.columns())


def test_equal_values_have_equal_digests_and_other_values_have_others():
    assert encoded((1, Phase.COMPLETED)) == encoded((True, 8))
    values = [(), ((),), (1, 2), ((1, 2),), (12,), ("1", 2), (None,), ("",), (World,), ((1,), 2), (1, (2,))]
    assert len({encoded(value) for value in values}) == len(values)


def test_worlds_that_differ_in_one_field_have_other_digests():
    codes = Codes()
    others = [World(), World(crashes=1), World(faults=1), World(clock=1), World(requested=(1,)), World(inflight=(1,))]

    assert len({codes.of_world(world) for world in others}) == len(others)


def some_states(config, depth):
    level = {start(config)}
    for _ in range(depth):
        level = {apply(state, move, config) for state in level for move in enabled(state, config)}
    return level


def test_a_state_is_the_same_after_it_was_json():
    for state in some_states(CONFIGS["a crash"], 12):
        again = from_json(json.loads(json.dumps(as_json(state))))

        assert again == state
        assert repr(again) == repr(state)


@pytest.mark.parametrize(
    "saved",
    [
        {"kind": "builtins:eval"},
        {"kind": "os:system"},
        {"tuple": "subprocess:Popen", "items": [["true"]]},
        {"tuple": "drawstring_model.core.state:Phase", "items": [1]},
        {"tuple": "drawstring_model.core.state:World", "items": [1] * 99},
        {"enum": "drawstring_model.core.state:World", "value": 1},
        {"enum": "drawstring_model.core.state:Phase", "value": 99},
        {"something": "else"},
        1.5,
    ],
)
def test_json_that_is_no_state_is_refused(saved):
    with pytest.raises(NotAStateError):
        from_json([saved])
