"""A delete of the partition beside writers and a clustering (S24's other half): whoever completes later gives way.

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

from drawstring_model.config import CLUSTERED, Bounds, Config, PlantedBug, upsert
from drawstring_model.core.protocol import apply, enabled, refusal, start
from drawstring_model.core.reader import latest_snapshot_time, read_snapshot
from drawstring_model.core.state import Move
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.clustering import completed_clusterings
from drawstring_model.modules.partition_deletes import PartitionDeleteModule, completed_deletes
from drawstring_model.narrate import narrate
from drawstring_spec.steps import Step

ONE_WRITE = Bounds(workload=(upsert(1),), groups=1, faults=0)
CONFIG = Config(modules=(*CLUSTERED, PartitionDeleteModule()), bounds=ONE_WRITE)


class TestS24ADeleteOfThePartitionBesideAClustering:
    """9472: a clustering carries the rows on that a delete of the partition replaced."""

    def test_where_neither_looks_at_the_other_the_deleted_rows_come_back(self):
        config = replace(CONFIG, planted=PlantedBug.DELETE_UNDER_CLUSTERING)

        example = explore(config, until=Promise.CONSISTENT_READ).counterexamples[Promise.CONSISTENT_READ]

        assert len(example.moves) == 28
        assert example.finding == "a snapshot at 4 reads {k1: 1}, but its commits give {} one by one"
        assert any("the deleter begins to delete" in sentence for sentence in narrate(example, config))

    def test_where_the_later_one_gives_way_they_do_not(self):
        exploration = explore(CONFIG)

        assert exploration.exhausted
        assert not exploration.counterexamples

    def test_either_of_them_can_complete_and_never_both_of_one_file_group(self):
        def both_replaced_it(world):
            deleted = {group for each in completed_deletes(world) for group in each.groups}
            return any(group in deleted for plan in completed_clusterings(world) for group, _ in plan.inputs)

        found = explore(
            CONFIG,
            witnesses={
                "deleted": lambda world: bool(completed_deletes(world)),
                "clustered": lambda world: bool(completed_clusterings(world)),
                "deleted after it was clustered": lambda world: (
                    bool(completed_deletes(world)) and bool(completed_clusterings(world))
                ),
                "replaced twice": both_replaced_it,
            },
        ).witnesses

        assert set(found) == {"deleted", "clustered", "deleted after it was clustered"}


def deleted(config):
    """The state after one write and a delete of the partition, each taken to its end."""
    state = start(config)
    while True:
        moves = [move for move in enabled(state, config) if move.step is not Step.SCHEDULE_CLUSTERING]
        wanted = [move for move in moves if move.writer != len(state.writers) - 2]
        if not wanted:
            return state
        state = apply(state, wanted[0], config)


def test_after_the_delete_nothing_is_read_and_before_it_all_is():
    state = deleted(CONFIG)
    (delete,) = completed_deletes(state.world)

    assert read_snapshot(state.world, latest_snapshot_time(state.world, CONFIG), CONFIG) == ()
    assert read_snapshot(state.world, delete.requested - 1, CONFIG) == ((1, 1),)


def test_an_update_that_looked_keys_up_before_the_delete_gives_way():
    config = replace(CONFIG, bounds=replace(ONE_WRITE, workload=(upsert(1), upsert(1))))
    state, deleter = start(config), 3
    while not any(move.step is Step.CHECK_CONFLICTS and state.world.commits for move in enabled(state, config)):
        state = apply(state, next(move for move in enabled(state, config) if move.writer == 0), config)
    begun = apply(state, Move(Step.DELETE_PARTITION, deleter, time=9), config)
    # The delete completes in the lock that the writer loses.
    deleting = apply(apply(begun, Move(Step.EXPIRE_LOCK), config), Move(Step.ACQUIRE_LOCK, deleter), config)
    for move in (Move(Step.CHECK_CONFLICTS, deleter), Move(Step.UPDATE_METADATA, deleter)):
        deleting = apply(deleting, move, config)
    deleting = apply(deleting, Move(Step.COMPLETE_INSTANT, deleter, time=10), config)

    assert refusal(begun, Move(Step.CHECK_CONFLICTS, 0), config) is None
    assert "there is a conflict" in str(refusal(deleting, Move(Step.CHECK_CONFLICTS, 0), config))
