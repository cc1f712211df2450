"""The metadata table lists what completed writes wrote, after every step of whatever goes wrong (S33).

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import (
    CLUSTERED,
    COPY_ON_WRITE,
    MERGE_ON_READ,
    Bounds,
    ConcurrencyControl,
    Config,
    PlantedBug,
    upsert,
)
from drawstring_model.core.module import part, with_part
from drawstring_model.core.protocol import apply, refusal, start
from drawstring_model.core.state import DataFile, Move, Phase, State
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.cleaning import Clean, Cleaning, CleaningPolicy, Cleans
from drawstring_model.modules.metadata_table import (
    Block,
    MetadataFiles,
    MetadataTable,
    blocks_to_compact,
    listing,
    pending_in_table,
)
from drawstring_model.modules.queries import QueryModule
from drawstring_model.modules.rollback import rollbacks_of
from drawstring_model.narrate import narrate
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1), upsert(2)), groups=1, faults=0)
A_CRASH = replace(CALM, faults=1, heartbeat_expiries=0, lock_expiries=0)
TOLD = Config(modules=(*COPY_ON_WRITE, MetadataTable()), bounds=CALM)
CRASHED = replace(TOLD, bounds=A_CRASH)
ASLEEP = replace(TOLD, bounds=replace(CALM, workload=(upsert(1),), faults=2, crashes=0))
BY_VERSIONS = Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS)
CLEANED = Config(
    modules=(*COPY_ON_WRITE, QueryModule(queries=0), BY_VERSIONS, MetadataTable()),
    bounds=replace(CALM, workload=(upsert(1), upsert(1))),
)
CLEANER = 3
"""Number of the process beside two writers and the reader."""


def blocks(world):
    return part(world, MetadataFiles).blocks


def ahead(world):
    """A completed deltacommit of an instant that is pending in the table."""
    return any(block.completion is not None and block.requested in pending_in_table(world) for block in blocks(world))


def compacted_beside_what_may_be_taken_back(world):
    """The metadata table was compacted, and has a deltacommit that is ahead and was there before the compaction."""
    return bool(part(world, MetadataFiles).base) and ahead(world)


def left_inflight(world):
    """A deltacommit whose write was rolled back before it completed."""
    known = {*world.requested}
    return any(block.completion is None and block.requested not in known for block in blocks(world))


def taken_back(world):
    """A rollback is over, and the metadata table lists another write."""
    over = any(rollback.state is InstantState.COMPLETED for rollback in rollbacks_of(world))
    return over and bool(blocks(world)) and bool(world.commits)


def cleaned(world):
    return any(clean.state is InstantState.COMPLETED for clean in part(world, Cleans).all)


def story(config):
    example = explore(config, until=Promise.METADATA_AGREES).counterexamples[Promise.METADATA_AGREES]
    return len(example.moves), narrate(example, config)


@pytest.fixture(scope="module")
def one_fault():
    """Every state within the bounds, with one fault of any kind."""
    return explore(
        replace(TOLD, bounds=replace(CALM, faults=1)),
        witnesses={
            "ahead": ahead,
            "compacted": compacted_beside_what_may_be_taken_back,
            "inflight": left_inflight,
            "back": taken_back,
        },
    )


def test_it_lists_what_completed_writes_wrote_with_one_fault_of_any_kind(one_fault):
    assert one_fault.exhausted
    assert one_fault.holds(Promise.METADATA_AGREES)


def test_every_other_promise_holds_beside_it(one_fault):
    assert not one_fault.counterexamples


@pytest.mark.parametrize("situation", ["ahead", "compacted", "inflight", "back"])
def test_what_could_set_it_at_odds_is_reached(one_fault, situation):
    assert one_fault.witnesses[situation] > 0


def test_a_writer_that_sleeps_in_the_lock_and_wakes_after_its_rollback_changes_nothing():
    exploration = explore(ASLEEP, witnesses={"rolled back": left_inflight})

    assert exploration.exhausted
    assert exploration.witnesses["rolled back"] > 0
    assert exploration.holds(Promise.METADATA_AGREES)


def test_readers_that_do_not_ask_the_table_list_pending_files():
    config = replace(TOLD, modules=(*COPY_ON_WRITE, MetadataTable(leaves_out_pending=False)))

    length, sentences = story(config)

    assert length == 12
    assert sentences[-2].endswith("UpdateMetadata: w1 tells the metadata table of 1.")
    assert sentences[-1].endswith("lists the file of group 1 that 1 wrote, of no completed write: a contradiction.")


@pytest.mark.parametrize(
    ("bug", "config", "length", "finding"),
    [
        (PlantedBug.COMPLETE_BEFORE_METADATA, TOLD, 13, "lacks the file of group 1 that 1 wrote"),
        (PlantedBug.SKIP_UPDATE_METADATA, TOLD, 13, "lacks the file of group 1 that 1 wrote"),
        (PlantedBug.COMPACT_PENDING_METADATA, CRASHED, 25, "lists the file of group 1 that 1 wrote"),
        (PlantedBug.SKIP_METADATA_ROLLBACK, CRASHED, 20, "lists the file of group 1 that 1 wrote"),
        (PlantedBug.ROLL_BACK_LAST_METADATA, CRASHED, 34, "lacks the file of group 1 that 2 wrote"),
        (PlantedBug.IGNORE_BURIED_METADATA, CRASHED, 34, "lists the file of group 1 that 1 wrote"),
        (PlantedBug.UNFENCED_METADATA, ASLEEP, 19, "lists the file of group 1 that 1 wrote"),
    ],
)
def test_one_rule_less_sets_it_at_odds_with_the_table(bug, config, length, finding):
    found, sentences = story(replace(config, planted=bug))

    assert found == length
    assert finding in sentences[-1]


@pytest.mark.parametrize("modules", [MERGE_ON_READ, CLUSTERED], ids=["compaction", "clustering"])
def test_a_table_service_that_crashed_and_is_run_again_tells_it_once(modules):
    bounds = replace(A_CRASH, workload=(upsert(1),) if modules is CLUSTERED else (upsert(1), upsert(1)))

    exploration = explore(
        Config(modules=(*modules, MetadataTable(compactions=0)), bounds=bounds),
        witnesses={"told": lambda world: ahead(world) and world.crashes and len(world.commits) == len(bounds.workload)},
    )

    assert exploration.exhausted
    assert exploration.witnesses["told"] > 0
    assert exploration.holds(Promise.METADATA_AGREES)


def test_a_clean_tells_it_what_went_and_a_crashed_one_is_continued():
    config = replace(CLEANED, bounds=replace(A_CRASH, workload=CLEANED.bounds.workload))

    exploration = explore(
        config,
        witnesses={
            "end": cleaned,
            "continued": lambda world: cleaned(world) and world.crashes > 0,
            "deleted, told, not complete": lambda world: (
                not cleaned(world) and any(block.deleted and block.completion for block in blocks(world))
            ),
        },
    )

    assert exploration.exhausted
    assert set(exploration.witnesses) == {"end", "continued", "deleted, told, not complete"}
    assert exploration.holds(Promise.METADATA_AGREES)


def test_of_a_pending_clean_it_may_still_list_what_is_gone():
    told = with_part(start(CLEANED).world, MetadataFiles(base=((1, 1, 0),)))

    assert listing(told, CLEANED) == {(1, 1, 0)}
    assert "lists the file of group 1 that 1 wrote" in CLEANED.modules[-1].invariants[Promise.METADATA_AGREES](
        told, CLEANED
    )


def test_a_compaction_stops_before_the_first_instant_that_may_be_taken_back():
    early, ahead_of_table, late = (Block(time, ((1, time, 0),), (), time + 1) for time in (1, 3, 5))
    world = with_part(start(TOLD).world._replace(requested=(3,)), MetadataFiles(blocks=(early, ahead_of_table, late)))

    assert blocks_to_compact(world, TOLD) == (early,)
    assert blocks_to_compact(world._replace(requested=()), TOLD) == (early, ahead_of_table, late)


def test_what_a_write_of_an_earlier_time_completed_later_stays_in_the_log():
    late = Block(1, ((1, 1, 0),), (), 4)
    ahead_of_table = Block(3, ((2, 3, 0),), (), 5)
    world = with_part(start(TOLD).world._replace(requested=(3,)), MetadataFiles(blocks=(late, ahead_of_table)))

    assert blocks_to_compact(world, TOLD) == ()


def checked(config, *parts):
    """Writer 0 passed its checks of 1 in the lock, on a world with `parts`."""
    state = start(config)
    world = state.world._replace(requested=(1,), inflight=(1,), lock=0, clock=1)
    for each in parts:
        world = with_part(world, each)
    writer = state.writers[0]._replace(phase=Phase.CHECKED, has_lock=True, requested=1)
    return State(world, (writer, *state.writers[1:]))


def test_a_deltacommit_is_not_completed_before_its_block_is_written():
    state = checked(TOLD)

    assert refusal(state, Move(Step.UPDATE_METADATA, 0), TOLD) == "the block is not written"
    written = apply(state, Move(Step.WRITE_METADATA, 0), TOLD)
    assert apply(written, Move(Step.UPDATE_METADATA, 0), TOLD).writers[0].phase is Phase.UPDATED


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step.COMPACT_METADATA, "does not hold the table lock"),
        (Step.WRITE_METADATA, "does not hold the table lock"),
        (Step.UPDATE_METADATA, "the lease of the table lock ran out"),
    ],
)
def test_whose_lease_ran_out_changes_nothing(step, words):
    state = checked(TOLD, MetadataFiles(blocks=(Block(1, (), ()),)))
    state = state._replace(world=state.world._replace(lock=1))

    assert words in refusal(state, Move(step, 0), TOLD)


def test_a_block_of_the_same_time_is_taken_for_a_leftover_and_replaced():
    leftover, abandoned, other = Block(1, ((9, 1, 0),), (), 1), Block(0, (), ()), Block(2, ((2, 2, 0),), (), 1)
    state = checked(TOLD, MetadataFiles(blocks=(abandoned, leftover, other)))

    after = apply(state, Move(Step.WRITE_METADATA, 0), TOLD).world

    assert blocks(after) == (Block(1, (), ()), other)


def at_a_clean(files):
    """The cleaner in the lock, with a clean inflight that is about the file that 1 wrote, and `files` on storage."""
    clean = Clean(2, InstantState.INFLIGHT, None, 0, ((1, 1, 0),))
    state = start(CLEANED)
    world = with_part(state.world._replace(clock=2, files=files), Cleans((clean,)))
    world = with_part(world, MetadataFiles(base=((1, 1, 0),)))
    return apply(state._replace(world=world), Move(Step.ACQUIRE_LOCK, CLEANER), CLEANED)


def test_the_cleaner_has_nothing_to_tell_before_its_files_are_gone():
    config = replace(CLEANED, concurrency=ConcurrencyControl.NONE)
    state = start(config)
    clean = Clean(2, InstantState.INFLIGHT, None, 0, ((1, 1, 0),))
    files = (DataFile(1, 1, 0, ((1, 1),)),)
    state = state._replace(world=with_part(state.world._replace(clock=2, files=files), Cleans((clean,))))

    assert "nothing to tell" in refusal(state, Move(Step.WRITE_METADATA, CLEANER), config)


def test_a_clean_is_not_complete_before_the_metadata_table_knows_of_it():
    state = at_a_clean(files=())
    complete = Move(Step.COMPLETE_CLEAN, CLEANER, time=3)

    assert refusal(state, complete, CLEANED) == "the metadata table does not know of the clean"
    state = apply(state, Move(Step.WRITE_METADATA, CLEANER), CLEANED)
    assert refusal(state, complete, CLEANED) == "the metadata table does not know of the clean"
    state = apply(state, Move(Step.UPDATE_METADATA, CLEANER), CLEANED)
    assert refusal(state, Move(Step.WRITE_METADATA, CLEANER), CLEANED) == "the metadata table knows"
    assert listing(apply(state, complete, CLEANED).world, CLEANED) == frozenset()


@pytest.mark.parametrize("step", [Step.RUN_COMPACTION, Step.RUN_LOG_COMPACTION, Step.RUN_CLUSTERING])
def test_a_table_service_that_is_run_again_takes_back_what_its_last_attempt_told(step):
    mine, other = Block(3, ((1, 3, 0),), (), 4), Block(1, ((1, 1, 0),), (), 2)
    world = with_part(start(TOLD).world, MetadataFiles(blocks=(other, mine)))

    after = MetadataTable.consequences[step](world, start(TOLD).writers[0], Move(step, 0, target=3), TOLD)

    assert blocks(after) == (other,)
