"""What Hudi's users have suffered from: found with the faulty rule, out of reach as we do it.

The numbers in front are those of issues and pull requests of apache/hudi, where each was reported.
"""

from __future__ import annotations

from dataclasses import replace

from drawstring_model.config import Bounds, ClockKind, Config, PlantedBug, RollbackPolicy, upsert
from drawstring_model.explorer import explore
from drawstring_model.invariants import INVARIANTS, Promise
from drawstring_model.narrate import narrate

SAME_NEW_KEY = Config(bounds=Bounds(workload=(upsert(1), upsert(1)), faults=0))
COLLIDING_CLOCKS = Config(clock=ClockKind.NON_MONOTONIC, bounds=Bounds(workload=(upsert(1), upsert(2)), faults=0))
LIVE_WRITER = Config(bounds=Bounds(workload=(upsert(1), upsert(2)), groups=1))


def broken(config):
    exploration = explore(config)
    assert exploration.exhausted
    return {promise: exploration.counterexamples[promise] for promise in exploration.counterexamples}


def story(config, promise):
    return narrate(explore(config, until=promise).counterexamples[promise], config)


class TestS01TwoUpsertsInsertOneNewKey:
    """3246, 7745, 9831: no common file group, so both commit, and the key is there twice."""

    def test_without_the_key_check_the_key_is_there_twice(self):
        config = replace(SAME_NEW_KEY, key_check=False)

        sentences = story(config, Promise.NO_DUPLICATE_KEYS)

        assert "new key k1 goes to fg1" in "".join(sentences)
        assert "new key k1 goes to fg2" in "".join(sentences)
        assert sentences[-1].endswith("holds key 1 in file groups 1 and 2: a contradiction.")

    def test_with_the_key_check_it_never_is(self):
        assert not broken(SAME_NEW_KEY).keys() & INVARIANTS.keys()


class TestS13InstantsCollide:
    """3824, 9212, 4227: two writers take one requested time, and the storage replaces files."""

    def test_without_put_if_absent_two_writes_share_an_instant(self):
        config = replace(COLLIDING_CLOCKS, put_if_absent=False)

        sentences = story(config, Promise.NO_UNDONE_WRITE)

        assert sum("takes the requested time 1." in sentence for sentence in sentences) == 2

    def test_without_salt_a_completed_write_is_replaced(self):
        bounds = replace(COLLIDING_CLOCKS.bounds, groups=1)
        config = replace(COLLIDING_CLOCKS, put_if_absent=False, salt=False, bounds=bounds)

        sentences = story(config, Promise.NO_UNDONE_WRITE)

        assert "a contradiction" in sentences[-1]

    def test_with_put_if_absent_the_later_one_gives_way(self):
        assert not broken(COLLIDING_CLOCKS).keys() & INVARIANTS.keys()

    def test_under_a_clock_read_in_the_lock_storage_need_not_refuse(self):
        config = replace(COLLIDING_CLOCKS, clock=ClockKind.MONOTONIC, put_if_absent=False, salt=False)

        assert not broken(config).keys() & INVARIANTS.keys()


class TestS21RollbackStrikesTheLiving:
    """3956, 7826: a lazy rollback removes what a live writer, or a completed write, needs."""

    def test_a_rollback_that_ignores_heartbeats_strikes_a_live_writer(self):
        config = replace(LIVE_WRITER, planted=PlantedBug.IGNORE_HEARTBEAT)

        sentences = story(config, Promise.LIVE_WRITER_KEPT)

        assert sentences[-1].endswith("whose writer lives: a contradiction.")

    def test_a_rollback_of_a_list_made_earlier_strikes_a_completed_write(self):
        config = replace(LIVE_WRITER, planted=PlantedBug.STALE_ROLLBACK_LIST)

        sentences = story(config, Promise.LEGAL_TRANSITIONS)

        assert sentences[-1].endswith("is the target of a rollback: a contradiction.")

    def test_an_eager_rollback_beside_another_writer_strikes_it(self):
        config = replace(LIVE_WRITER, rollback=RollbackPolicy.EAGER)

        assert story(config, Promise.LIVE_WRITER_KEPT)[-1].endswith("whose writer lives: a contradiction.")

    def test_an_eager_rollback_by_a_writer_alone_strikes_nobody(self):
        alone = replace(LIVE_WRITER.bounds, writers=1)
        config = replace(LIVE_WRITER, rollback=RollbackPolicy.EAGER, bounds=alone)

        assert not broken(config).keys() & INVARIANTS.keys()

    def test_a_lazy_rollback_in_the_lock_strikes_neither(self):
        assert not broken(LIVE_WRITER).keys() & INVARIANTS.keys()
