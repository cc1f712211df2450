"""Clustering neither loses nor duplicates rows, because writers and clusterings give way to each other (S24).

The shortest histories that break a promise have their lengths beside them; they are facts of the model, which change
only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, Bounds, Config, PlantedBug, upsert
from drawstring_model.core.protocol import NotEnabledError, apply, start
from drawstring_model.core.state import Commit, DataFile, Move, State, World, WrittenFile
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.clustering import (
    Clustering,
    UpdateStrategy,
    completed_clusterings,
    is_stale,
    pending_clusterings,
)
from drawstring_model.modules.rollback import rollbacks_of
from drawstring_model.narrate import narrate
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)


def clustered(bounds=CALM, **switches):
    return Config(modules=(*COPY_ON_WRITE, Clustering(**switches)), bounds=bounds)


def update_of_the_new_group(world):
    outputs = {plan.output for plan in completed_clusterings(world)}
    return any(file.group in outputs and file.base is not None for commit in world.commits for file in commit.files)


@pytest.mark.parametrize("update", UpdateStrategy)
def test_an_update_beside_a_clustering_is_not_lost_whoever_gives_way(update):
    exploration = explore(
        clustered(update=update),
        witnesses={"update after the clustering": update_of_the_new_group},
    )

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["update after the clustering"] > 0


@pytest.mark.parametrize("update", UpdateStrategy)
def test_s24_where_neither_gives_way_the_update_is_lost(update):
    config = replace(clustered(update=update), planted=PlantedBug.UPDATE_UNDER_CLUSTERING)

    example = explore(config, until=Promise.CONSISTENT_READ).counterexamples[Promise.CONSISTENT_READ]

    assert len(example.moves) == 35
    assert narrate(example, config)[-1].endswith("a contradiction.")
    assert {"ScheduleClustering", "RunClustering"} <= {move.step for move in example.moves}


def test_s24_two_clusterings_of_one_file_group_duplicate_its_keys():
    config = clustered(replace(CALM, workload=(upsert(1),)), schedules=2)

    example = explore(replace(config, planted=PlantedBug.CLUSTER_TAKEN_GROUPS)).counterexamples

    assert len(example[Promise.NO_DUPLICATE_KEYS].moves) == 30
    assert "holds key 1 in file groups 2 and 3" in example[Promise.NO_DUPLICATE_KEYS].finding


def test_what_was_clustered_can_be_clustered_again():
    config = clustered(replace(CALM, workload=(upsert(1),)), schedules=2)

    exploration = explore(config, witnesses={"twice": lambda world: len(completed_clusterings(world)) == 2})

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["twice"] > 0


def test_two_file_groups_become_one_beside_an_insert():
    config = clustered(replace(CALM, workload=(upsert(1), upsert(2)), groups=2))

    exploration = explore(
        config,
        witnesses={"both": lambda world: any(len(plan.inputs) == 2 for plan in completed_clusterings(world))},
    )

    assert exploration.exhausted
    assert exploration.witnesses["both"] > 0
    assert not exploration.counterexamples.keys() - {Promise.TIME_TRAVEL_STABILITY}


def test_a_replaced_file_group_is_there_for_readers_of_an_earlier_time():
    example = explore(clustered(hides_the_past=True)).counterexamples[Promise.CONSISTENT_READ]

    assert len(example.moves) == 22
    assert example.finding == "a snapshot at 1 reads {}, but its commits give {k1: 1} one by one"


def test_a_pending_clustering_hides_nothing():
    config = replace(clustered(), planted=PlantedBug.REPLACE_BEFORE_COMPLETION)

    example = explore(config, until=Promise.CONSISTENT_READ).counterexamples[Promise.CONSISTENT_READ]

    assert len(example.moves) == 15


def test_a_clustering_that_a_writer_was_faster_than_is_rolled_back():
    def rolled_back(world):
        plans = {plan.requested for plan in completed_clusterings(world) + pending_clusterings(world)}
        finished = [each for each in rollbacks_of(world) if each.state is InstantState.COMPLETED]
        return bool(finished) and not plans and len(world.commits) == 2

    exploration = explore(clustered(update=UpdateStrategy.ALLOW), witnesses={"rolled back": rolled_back})

    assert exploration.witnesses["rolled back"] > 0


def test_a_pending_clustering_is_never_rolled_back_where_writers_give_way():
    def struck(world):
        plans = {plan.requested for plan in pending_clusterings(world)}
        return any(rollback.target in plans for rollback in rollbacks_of(world))

    def outdated(world):
        return any(is_stale(world, plan) for plan in pending_clusterings(world))

    exploration = explore(clustered(), witnesses={"struck": struck, "outdated": outdated})

    assert exploration.exhausted
    assert not exploration.witnesses


@pytest.mark.slow
def test_a_clustering_that_crashed_is_run_again_to_the_end():
    bounds = replace(CALM, faults=1, crashes=1, heartbeat_expiries=0, lock_expiries=0, faults_until=1)

    exploration = explore(
        clustered(bounds),
        witnesses={"again": lambda world: bool(world.crashes and completed_clusterings(world))},
    )

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["again"] > 0


def test_a_new_file_group_takes_no_name_that_is_there():
    config = clustered()
    start_of_all = start(config)
    clusterer = start_of_all.writers[2]._replace(has_lock=True)
    world = World(
        commits=(Commit(1, 2, (WrittenFile(1, 0, None, ((1, 1),)),), ((1, 1),), (1,)),),
        files=(DataFile(1, 1, 0, ((1, 1),)),),
        lock=2,
    )
    state = State(world, (*start_of_all.writers[:2], clusterer))

    with pytest.raises(NotEnabledError, match="file group 1 is there already"):
        apply(state, Move(Step.SCHEDULE_CLUSTERING, 2, time=99, group=1), config)
