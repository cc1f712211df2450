"""What Hudi's users have suffered from the metadata table: found with the faulty rule, out of reach as we do it.

The numbers in front are those of issues and pull requests of apache/hudi, where each was reported.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, MERGE_ON_READ, Bounds, ClockKind, Config, PlantedBug, upsert
from drawstring_model.core.module import part
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.cleaning import Cleaning, CleaningPolicy
from drawstring_model.modules.metadata_table import MetadataTable
from drawstring_model.modules.queries import QueryModule
from drawstring_model.modules.restored_metadata import RestoredMetadataModule
from drawstring_model.modules.restores import RestoreModule, Restores
from drawstring_model.modules.savepoints import SavepointModule
from drawstring_model.narrate import narrate
from drawstring_model.orders import told_orders

FAILING = Config(
    modules=(*COPY_ON_WRITE, MetadataTable()),
    bounds=Bounds(workload=(upsert(1), upsert(2)), groups=1, faults=1, heartbeat_expiries=0, lock_expiries=0),
)
# One writer beside the cleaner is enough to take the cleaner's time.
BESIDE_A_CLEAN = Config(
    modules=(
        *COPY_ON_WRITE,
        QueryModule(queries=0),
        Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS),
        MetadataTable(compactions=0),
    ),
    bounds=Bounds(writers=1, workload=(upsert(1),) * 3, groups=1, faults=0, clock_skew=1),
)


def restored(*modules, bounds=None, cleans=0):
    """A savepoint and a restore to it beside writers that tell the metadata table."""
    cleaning = Cleaning(policy=CleaningPolicy.KEEP_LATEST_FILE_VERSIONS, cleans=cleans)
    services = (QueryModule(queries=0), cleaning, SavepointModule(), RestoreModule())
    bounds = bounds or Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
    return Config(modules=(*COPY_ON_WRITE, *services, MetadataTable(compactions=1), *modules), bounds=bounds)


def is_restored(world):
    return any(restore.completion is not None and restore.plan for restore in part(world, Restores).all)


def broken(config):
    return explore(config, until=Promise.METADATA_AGREES).counterexamples[Promise.METADATA_AGREES]


def numbered(sentences, words):
    """The number of the sentence that ends with `words`."""
    return next(number for number, sentence in enumerate(sentences) if sentence.endswith(words))


def kept(config):
    exploration = explore(config)
    return exploration.exhausted and exploration.holds(Promise.METADATA_AGREES)


class TestS16TwoActionsHaveOneRequestTime:
    """19587: a write and a clean have one time; to the metadata table one is a leftover of the other."""

    SKEWED = replace(BESIDE_A_CLEAN, clock=ClockKind.NON_MONOTONIC)

    def test_a_clock_that_repeats_itself_takes_a_completed_write_out_of_the_metadata_table(self):
        example = broken(self.SKEWED)
        sentences = narrate(example, self.SKEWED)

        assert len(example.moves) == 51
        assert sentences[-2].endswith("WriteMetadata: the cleaner writes a block to the metadata table, of its clean.")
        assert sentences[-1].endswith("lacks the file of group 1 that 4 wrote: a contradiction.")

    def test_the_orders_say_that_both_took_one_time(self):
        example = broken(self.SKEWED)

        assert any("both took the time 4" in order for order in told_orders(example.moves, self.SKEWED))

    def test_times_that_are_taken_under_the_lock_are_never_shared(self):
        assert kept(BESIDE_A_CLEAN)


class TestS17ARollbackInTheMetadataTableIsIgnored:
    """7490: another write's block came between, so the rollback of a failed one finds no block of its target."""

    BURIED = replace(FAILING, planted=PlantedBug.IGNORE_BURIED_METADATA)

    def test_a_failed_write_that_is_buried_by_another_is_listed_after_its_rollback(self):
        example = broken(self.BURIED)
        sentences = narrate(example, self.BURIED)

        assert len(example.moves) == 34
        crashed = numbered(sentences, "crashes, and another takes its place.")
        buried = numbered(sentences, "tells the metadata table of 2.")
        assert numbered(sentences, "tells the metadata table of 1.") < crashed < buried
        assert "RemoveInstant" in sentences[-2]
        assert sentences[-1].endswith("lists the file of group 1 that 1 wrote, of no completed write: a contradiction.")

    def test_a_rollback_that_goes_by_the_targets_time_leaves_nothing(self):
        assert kept(FAILING)

    def test_nor_does_a_compaction_that_failed_and_is_run_again_at_its_time(self):
        bounds = replace(FAILING.bounds, workload=(upsert(1), upsert(1)))

        assert kept(Config(modules=(*MERGE_ON_READ, MetadataTable(compactions=0)), bounds=bounds))


class TestS32ARestoreLeavesTheMetadataTableBehind:
    """13691, 7605, 4849, 13664: the table is as its savepoint has it, and the metadata table is not."""

    ONE_WRITER = Bounds(writers=1, workload=(upsert(1), upsert(1)), groups=1, faults=0)

    def test_a_restore_that_does_not_tell_it_leaves_files_that_are_gone_in_the_listing(self):
        config = restored()

        sentences = narrate(broken(config), config)

        assert "CompleteRestore" in sentences[-2]
        assert sentences[-1].endswith("lists the file of group 1 that 3 wrote, of no completed write: a contradiction.")

    def test_one_that_takes_its_deltacommits_back_and_no_more_takes_those_of_cleans_back_too(self):
        config = restored(RestoredMetadataModule(syncs=False), bounds=self.ONE_WRITER, cleans=1)

        sentences = narrate(broken(config), config)

        assert "RestoreMetadata" in sentences[-2]
        assert sentences[-1].endswith("lists the file of group 1 that 1 wrote, of no completed write: a contradiction.")

    @pytest.mark.parametrize("cleans", [0, 1])
    def test_one_that_also_lists_storage_leaves_them_in_agreement(self, cleans):
        bounds = replace(self.ONE_WRITER, writers=1 if cleans else 2)
        config = restored(RestoredMetadataModule(), bounds=bounds, cleans=cleans)

        exploration = explore(config, witnesses={"restored": is_restored})

        assert exploration.exhausted
        assert exploration.witnesses["restored"] > 0
        assert exploration.holds(Promise.METADATA_AGREES)

    def test_and_so_it_does_when_the_operator_crashes_and_comes_back(self):
        bounds = replace(self.ONE_WRITER, faults=1, heartbeat_expiries=0, lock_expiries=0)
        crashed = {"crashed": lambda world: is_restored(world) and world.crashes > 0}

        exploration = explore(restored(RestoredMetadataModule(), bounds=bounds), witnesses=crashed)

        assert exploration.exhausted
        assert exploration.witnesses["crashed"] > 0
        assert exploration.holds(Promise.METADATA_AGREES)


class TestS33TheMetadataTableDiffersFromStorage:
    """4896, 10628, 2995, 12779: files of completed writes are not listed, or files of failed ones are."""

    @pytest.mark.parametrize(
        ("bug", "finding"),
        [
            (PlantedBug.COMPLETE_BEFORE_METADATA, "lacks the file of group 1 that 1 wrote"),
            (PlantedBug.ROLL_BACK_LAST_METADATA, "lacks the file of group 1 that 2 wrote"),
            (PlantedBug.SKIP_METADATA_ROLLBACK, "lists the file of group 1 that 1 wrote, of no completed write"),
            (PlantedBug.COMPACT_PENDING_METADATA, "lists the file of group 1 that 1 wrote, of no completed write"),
        ],
    )
    def test_one_rule_less_and_files_are_missing_or_too_many(self, bug, finding):
        config = replace(FAILING, planted=bug)

        sentences = narrate(broken(config), config)

        assert finding in sentences[-1]

    def test_with_one_fault_of_any_kind_the_listings_agree_after_every_step(self):
        bounds = replace(FAILING.bounds, heartbeat_expiries=1, lock_expiries=1)

        assert kept(replace(FAILING, bounds=bounds))
