"""Readers of changes: what they miss and what they get twice, and the rule by which they do neither (S04, S05).

The consumer is a module of these tests alone: it polls, and reads on from its checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import pytest

from drawstring_model.config import COPY_ON_WRITE, Bounds, Config, SnapshotTime, upsert
from drawstring_model.core.module import Module, Rule, part, with_part
from drawstring_model.core.promises import Check
from drawstring_model.core.state import Commit, Move, Phase, Time, World, Writer
from drawstring_model.explorer import explore
from drawstring_model.invariants import INVARIANTS, Promise
from drawstring_model.narrate import narrate
from drawstring_spec.steps import Step


class Consumed(NamedTuple):
    """What the consumer has: its checkpoint, how often it polled, and the writes that it got, with repetitions."""

    checkpoint: Time = 0
    polls: int = 0
    ghost_got: tuple[Time, ...] = ()


def changes_between(commits, begin, end, consumer):
    """The commits that a poll for the changes from `begin` to `end` gives."""
    return tuple(
        commit
        for commit in commits
        if (begin < consumer.point(commit) or (consumer.begin_is_inclusive and begin == consumer.point(commit)))
        and consumer.point(commit) <= end
    )


class Poll(Rule):
    """The consumer asks for the changes since its checkpoint.

    Enabled: there are completed writes.
    Effect: it has them, and its checkpoint is the time of the last.
    Unchanged: everything else.
    """

    step = Step.READ_SNAPSHOT
    phases = frozenset(Phase)
    is_of_the_world = True

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """To the latest time, a few times."""
        if world.commits and part(world, Consumed).polls < 3:
            yield Move(self.step, time=max(map(consumer_of(config).point, world.commits)))

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """More changes are got."""
        had = part(world, Consumed)
        got = changes_between(world.commits, had.checkpoint, move.time, consumer_of(config))
        times = tuple(sorted((*had.ghost_got, *(commit.requested for commit in got))))
        return with_part(world, Consumed(max(move.time, had.checkpoint), had.polls + 1, times)), writer


def each_once(world: World, config: Config) -> str | None:
    """The consumer got each write up to its checkpoint, and none twice."""
    consumed, consumer = part(world, Consumed), consumer_of(config)
    for commit in world.commits:
        times = consumed.ghost_got.count(commit.requested)
        if consumer.point(commit) <= consumed.checkpoint and times != 1:
            return f"a consumer at {consumed.checkpoint} got the write {commit.requested} {times} times"
    return None


@dataclass(frozen=True)
class Consumer(Module):
    """A consumer of changes, whose checkpoints are times of one kind."""

    by: SnapshotTime = SnapshotTime.COMPLETION
    begin_is_inclusive: bool = False

    name = "consumer"
    rules = (Poll(),)
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.CONSISTENT_READ: each_once}

    def point(self, commit: Commit) -> Time:
        """The time of a commit that a checkpoint is compared with."""
        return commit.completion if self.by is SnapshotTime.COMPLETION else commit.requested


def consumer_of(config):
    return next(module for module in config.modules if isinstance(module, Consumer))


CALM = Bounds(workload=(upsert(1), upsert(2)), groups=2, faults=0)


def consumed(**switches):
    return Config(modules=(*COPY_ON_WRITE, Consumer(**switches)), bounds=CALM)


class TestS04AnEarlierStartedWriteCompletesBehindTheCheckpoint:
    """7160, 8876, 8611: the checkpoint passes a write that is still pending, and its rows are skipped for ever."""

    def test_by_requested_times_the_write_is_skipped_for_ever(self):
        config = consumed(by=SnapshotTime.REQUESTED)

        example = explore(config, until=Promise.CONSISTENT_READ).counterexamples[Promise.CONSISTENT_READ]
        sentences = narrate(example, config)

        assert example.finding == "a consumer at 2 got the write 1 0 times"
        assert "w1 completes 1 at 4" in sentences[-2]
        assert any("a reader reads as of 2" in sentence for sentence in sentences)

    def test_by_completion_times_each_write_is_got_once(self):
        exploration = explore(
            consumed(),
            witnesses={
                "polled between": lambda w: (
                    part(w, Consumed).ghost_got == (1, 2) and w.commits[0].completion > w.commits[1].completion
                )
            },
        )

        assert exploration.exhausted
        assert exploration.witnesses["polled between"] > 0
        assert not exploration.counterexamples.keys() & INVARIANTS.keys()


class TestS05TheBeginOfARange:
    """13982, 11947: whether a range holds its begin changed between releases; ours are (begin, end]."""

    COMMITS = tuple(Commit(time, time + 10, (), (), ()) for time in (1, 2, 3))

    def test_where_a_range_holds_its_begin_a_write_is_got_twice(self):
        config = consumed(begin_is_inclusive=True)

        example = explore(config, until=Promise.CONSISTENT_READ).counterexamples[Promise.CONSISTENT_READ]

        assert example.finding.endswith("got the write 1 2 times")

    @pytest.mark.parametrize(
        ("begin", "end", "expected"),
        [(11, 11, []), (11, 12, [2]), (10, 11, [1]), (0, 13, [1, 2, 3]), (13, 99, []), (12, 11, [])],
    )
    def test_a_range_of_completion_times_is_open_at_its_begin_and_closed_at_its_end(self, begin, end, expected):
        got = changes_between(self.COMMITS, begin, end, Consumer())

        assert [commit.requested for commit in got] == expected

    @pytest.mark.parametrize("middle", [10, 11, 12, 13])
    def test_two_ranges_that_meet_give_what_the_whole_range_gives(self, middle):
        whole = changes_between(self.COMMITS, 10, 13, Consumer())

        parts = [changes_between(self.COMMITS, begin, end, Consumer()) for begin, end in ((10, middle), (middle, 13))]

        assert tuple(commit for each in parts for commit in each) == whole

    def test_replaced_by_the_requested_time_the_same_range_is_another(self):
        got = changes_between(self.COMMITS, 1, 3, replace(Consumer(), by=SnapshotTime.REQUESTED))

        assert [commit.requested for commit in got] == [2, 3]
