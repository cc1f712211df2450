"""Writers of buckets all complete: what readers make of it, by the rules of merging, slicing and reading on (S07, S23).

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, MERGE_ON_READ, Bounds, Config, PlantedBug, SnapshotTime, upsert
from drawstring_model.core.protocol import NotEnabledError, apply, enabled, start
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.compaction import Compaction, latest_snapshot
from drawstring_model.modules.log_files import LogFiles, MergeRule
from drawstring_model.modules.non_blocking import NonBlocking, TaskRetries, bucket
from drawstring_model.narrate import narrate
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
BY_COMPLETION = LogFiles(order=SnapshotTime.COMPLETION, begun_by_pending=False)
BY_REQUEST = LogFiles(begun_by_pending=False)
ABOUT_NOW = {Promise.LATEST_SNAPSHOT, Promise.INCREMENTAL_READS, Promise.NO_DUPLICATE_KEYS, Promise.NO_UNDONE_WRITE}


def buckets(log_files, *others, checkpoint=SnapshotTime.COMPLETION, bounds=CALM):
    return Config(modules=(*COPY_ON_WRITE, log_files, *others, NonBlocking(checkpoint)), bounds=bounds)


def both_in_one_bucket(world):
    return sum(bool(commit.changes) for commit in world.commits) == 2


def shortest(config, promise):
    return explore(config, until=promise).counterexamples[promise]


def test_two_writers_of_one_bucket_both_complete():
    exploration = explore(buckets(BY_REQUEST), witnesses={"both": both_in_one_bucket})

    assert exploration.exhausted
    assert exploration.witnesses["both"] > 0
    assert not exploration.counterexamples.keys() & {*ABOUT_NOW, Promise.CONSISTENT_READ}


class TestTheOrderOfLogFiles:
    """Where writers do not conflict, the time in whose order log files are merged decides what is read."""

    def test_by_requested_times_a_compaction_between_changes_what_is_read(self):
        config = buckets(BY_REQUEST, Compaction())

        example = shortest(config, Promise.LATEST_SNAPSHOT)

        assert len(example.moves) == 35
        assert "reads ((1, 1),), but all commits give ((1, 2),) one by one" in narrate(example, config)[-1]

    def test_by_completion_times_it_does_not(self):
        exploration = explore(buckets(BY_COMPLETION, Compaction()))

        assert exploration.exhausted
        assert not exploration.counterexamples.keys() & ABOUT_NOW

    def test_where_the_greatest_value_stays_no_order_matters(self):
        exploration = explore(buckets(replace(BY_REQUEST, merge=MergeRule.GREATEST), Compaction()))

        assert exploration.exhausted
        assert not exploration.counterexamples.keys() & ABOUT_NOW


class TestTheSliceOfALogFile:
    """Slices go by completion times, or a write that completes after a compaction was planned is in the wrong one."""

    def test_by_requested_times_a_late_write_of_a_bucket_is_lost(self):
        config = buckets(replace(BY_COMPLETION, slice_by=SnapshotTime.REQUESTED), Compaction())

        assert len(shortest(config, Promise.LATEST_SNAPSHOT).moves) == 35

    def test_by_requested_times_a_late_write_under_optimistic_control_is_lost_too(self):
        modules = (*COPY_ON_WRITE, LogFiles(slice_by=SnapshotTime.REQUESTED), Compaction())
        config = Config(modules=modules, bounds=replace(CALM, workload=(upsert(1),) * 3))

        example = shortest(config, Promise.LATEST_SNAPSHOT)

        assert len(example.moves) == 49

    def test_by_completion_times_it_is_not(self):
        config = Config(modules=MERGE_ON_READ, bounds=replace(CALM, workload=(upsert(1),) * 3))

        assert explore(config).holds(Promise.LATEST_SNAPSHOT)


class TestABucketWithoutBaseFile:
    """Java Hudi takes the first log file for the first slice, completed or not."""

    def test_a_pending_write_hides_what_others_completed_in_its_bucket(self):
        config = buckets(LogFiles())

        example = shortest(config, Promise.LATEST_SNAPSHOT)

        assert len(example.moves) == 20
        assert any("w1 writes fg1 at 1" in sentence for sentence in narrate(example, config))

    def test_nothing_is_hidden_where_only_completed_writes_begin_slices(self):
        assert explore(buckets(BY_REQUEST)).holds(Promise.LATEST_SNAPSHOT)

    def test_what_was_hidden_is_there_when_the_pending_write_completes(self):
        config = buckets(LogFiles())

        def hidden(world):
            return len(world.commits) == 2 and latest_snapshot(world, config) is not None

        exploration = explore(config, witnesses={"both": both_in_one_bucket, "hidden": hidden})

        assert exploration.exhausted
        assert set(exploration.witnesses) == {"both"}


class TestS07IncrementalReads:
    """13820: a reader of changes reads on from where it stopped, beside writers that complete late."""

    def test_by_requested_times_it_misses_a_late_write(self):
        config = buckets(BY_REQUEST, checkpoint=SnapshotTime.REQUESTED)

        example = shortest(config, Promise.INCREMENTAL_READS)

        assert len(example.moves) == 25
        assert example.finding.endswith("and misses 1, which completed at 4")

    @pytest.mark.parametrize("others", [(), (Compaction(),)], ids=["alone", "beside a compaction"])
    def test_by_completion_times_it_misses_nothing(self, others):
        exploration = explore(buckets(BY_COMPLETION, *others))

        assert exploration.exhausted
        assert exploration.holds(Promise.INCREMENTAL_READS)


class TestS23TasksAreRunAgain:
    """9611, 9545: the log file of a failed attempt stays, and what it says is merged twice."""

    def adding(self, merge):
        modules = (*COPY_ON_WRITE, replace(BY_REQUEST, merge=merge), NonBlocking(), TaskRetries())
        return Config(modules=modules, bounds=CALM)

    def test_what_is_added_up_is_added_twice_where_the_first_file_stays(self):
        config = replace(self.adding(MergeRule.SUM), planted=PlantedBug.KEEP_RETRIED_FILES)

        example = shortest(config, Promise.LATEST_SNAPSHOT)

        assert len(example.moves) == 14
        assert "RetryTask: w1 has fg1 written again at 1." in "".join(narrate(example, config))

    def test_it_is_added_once_where_a_write_deletes_what_no_task_reported(self):
        exploration = explore(self.adding(MergeRule.SUM), witnesses={"both": both_in_one_bucket})

        assert exploration.exhausted
        assert exploration.witnesses["both"] > 0
        assert exploration.holds(Promise.LATEST_SNAPSHOT)

    def test_a_merge_that_gives_the_same_when_done_twice_does_not_notice(self):
        config = replace(self.adding(MergeRule.LAST), planted=PlantedBug.KEEP_RETRIED_FILES)

        assert explore(config).holds(Promise.LATEST_SNAPSHOT)


def test_a_key_goes_to_its_bucket_and_nowhere_else():
    config = buckets(BY_REQUEST, bounds=replace(CALM, workload=(upsert(2),), groups=2))
    state = start(config)
    while (lookup := next((m for m in enabled(state, config) if m.step is Step.LOOKUP_KEYS), None)) is None:
        state = apply(state, enabled(state, config)[0], config)

    assert lookup.placement == ((2, bucket(2, 2)),) == ((2, 2),)
    with pytest.raises(NotEnabledError, match="the keys belong to"):
        apply(state, lookup._replace(placement=((2, 1),)), config)
