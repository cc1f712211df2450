"""Incremental reading: a consumer takes what is new, remembers where it stopped, and reads on from there later.

Where it stopped is one time, its checkpoint, and what it was not given by then it is never given. Which time that is,
is the switch `Incremental.read_on`:

- by *completion* times nothing can appear behind the checkpoint; this is what version 8 does;
- by *requested* times a write that was requested early and completes late does;
- by requested times up to a *fence*, the first pending instant of the timeline (RFC-22's second option): the consumer
  waits for every earlier write to complete or to be rolled back, so a slow or dead writer holds it up. It misses
  nothing as long as an instant is on the timeline before anything that was requested later is complete; so the time has
  to be taken, and the requested file put, under one lock, and a lease that runs out between the two breaks it.

Source: RFC-22, "Incremental reads"; the specification's "Incremental Streaming Model"; Java
``IncrementalQueryAnalyzer``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.module import Module, Rule, modules_of, part, with_part
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.reader import keeps_rows
from drawstring_model.core.state import Commit, Move, Phase, Time, World, Writer
from drawstring_spec.steps import Step

CONSUMER = "consumer"


class ReadOn(StrEnum):
    """The time by which a consumer reads on."""

    COMPLETION = "COMPLETION"
    """Completion times."""
    REQUESTED = "REQUESTED"
    """Requested times."""
    FENCED = "FENCED"
    """Requested times, up to the first pending instant."""


class Consumed(NamedTuple):
    """What the consumer has: its checkpoint, the requested times of what it was given, and how often it asked."""

    checkpoint: Time = 0
    given: tuple[Time, ...] = ()
    pulls: int = 0


class PullChanges(Rule):
    """The consumer reads on from its checkpoint.

    Enabled: something is new.
    Effect: the consumer has it, and its checkpoint is the time of the last of it.
    Unchanged: everything else; nobody knows of the consumer.
    """

    step = Step.PULL_CHANGES
    phases = frozenset({Phase.START})
    roles = frozenset({CONSUMER})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Within the module's bounds."""
        del writer
        if part(world, Consumed).pulls < _module(config).pulls:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where nothing is new."""
        del writer, move
        return None if new_commits(world, config) else "nothing is new behind the checkpoint"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The consumer is further."""
        del move
        mine, new = part(world, Consumed), new_commits(world, config)
        given = tuple(sorted((*mine.given, *(commit.requested for commit in new))))
        checkpoint = max(time_of(commit, config) for commit in new)
        return with_part(world, Consumed(checkpoint, given, mine.pulls + 1)), writer


def _module(config: Config) -> Incremental:
    return next(module for module in config.modules if isinstance(module, Incremental))


def time_of(commit: Commit, config: Config) -> Time:
    """The time of a commit that checkpoints are compared with."""
    return commit.completion if _module(config).read_on is ReadOn.COMPLETION else commit.requested


def fence(world: World, config: Config) -> Time | None:
    """The first pending instant of the timeline that may bring changes; None where there is none."""
    seen = {*world.inflight} if config.planted is PlantedBug.FENCE_OF_INFLIGHT else {*world.requested, *world.inflight}
    pending = seen - {commit.requested for commit in world.commits}
    services = {time for time in pending if any(module.spares(world, time) for module in modules_of(config))}
    return min(pending - services, default=None)


def new_commits(world: World, config: Config) -> tuple[Commit, ...]:
    """What the consumer is given if it asks now."""
    checkpoint = part(world, Consumed).checkpoint
    end = fence(world, config) if _module(config).read_on is ReadOn.FENCED else None
    return tuple(
        commit
        for commit in world.commits
        if time_of(commit, config) > checkpoint
        and (end is None or commit.requested < end)
        and not keeps_rows(world, commit, config)
    )


def nothing_is_missed(world: World, config: Config) -> str | None:
    """`Promise.INCREMENTAL_READS`, for the consumer."""
    checkpoint, given, _ = part(world, Consumed)
    for commit in world.commits:
        behind = time_of(commit, config) <= checkpoint and not keeps_rows(world, commit, config)
        if behind and commit.requested not in given:
            return (
                f"the consumer reads on from {checkpoint}, and was never given {commit.requested}, "
                f"which completed at {commit.completion}"
            )
    return None


@dataclass(frozen=True, slots=True)
class Incremental(Module):
    """One consumer of changes, which the explorer lets ask `pulls` times; `read_on` says by which time it reads on."""

    name = "incremental"
    roles = (CONSUMER,)
    rules = (PullChanges(),)
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.INCREMENTAL_READS: nothing_is_missed}
    pulls: int = 1
    read_on: ReadOn = ReadOn.COMPLETION
