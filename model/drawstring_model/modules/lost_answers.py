"""Answers that are lost: a put takes effect, and its writer is not told.

The writer repeats the put. Where the storage refuses to replace files, that is refused because of the writer's own
success; and a refusal alone does not say whose the file is. A writer that takes it for another's gives up a write that
may be complete; one that takes it for its own (`PlantedBug.ADOPT_COLLIDING_TIME`) may take another's instant. So a
writer compares what the file says with what it has put, before it goes on or gives up: the answer to "was it I?" is on
storage, also when the lock has gone meanwhile. A completed file is repeated under its name, with the completion time in
it. The table lock is such a file, too; whoever takes its own lock for another's waits for its own lease to run out.

Lost answers of data files are no concern of this module: their tasks are run again, under other names
(`drawstring_model.modules.non_blocking.TaskRetries`).
Source: Java ``StorageBasedLockProvider``, ``FileSystemBasedLockProvider``; RFC-91.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.module import (
    Consequence,
    Guard,
    Module,
    Rule,
    given,
    part,
    with_item,
    with_part,
    without_item,
)
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.protocol import protocol_of
from drawstring_model.core.state import ORPHANED, AbortReason, Commit, Move, Phase, Time, World, Writer
from drawstring_model.core.writer import CompleteInstant
from drawstring_model.modules.locks import AcquireAnyLock
from drawstring_model.modules.storage import PutInflight, PutRequested
from drawstring_spec.steps import Step

_PUTS = {
    Phase.START: Step.ACQUIRE_LOCK,
    Phase.TIMED: Step.REQUEST_INSTANT,
    Phase.BEATING: Step.REQUEST_INSTANT,
    Phase.LOOKED_UP: Step.START_INFLIGHT,
    Phase.INFLIGHT: Step.ACQUIRE_LOCK,
    Phase.UPDATED: Step.COMPLETE_INSTANT,
}
"""The put of one file that a writer makes in each phase."""


class Unheard(NamedTuple):
    """What writers do not know about their own puts.

    Attributes:
        processes: those whose last put of a timeline file took effect, unknown to them. The file says whose it is.
        losses: number of answers lost so far.
        ghost_denied: requested times of completed writes that their writers gave up.

    """

    processes: tuple[int, ...] = ()
    losses: int = 0
    ghost_denied: tuple[Time, ...] = ()


class LoseAnswer(Rule):
    """A writer puts a file of the timeline, or the lock; the put takes effect, and the answer is lost.

    Enabled: the put is.
    Effect: the world is as after the put.
    Unchanged: the writer, who is going to repeat it.
    """

    step = Step.LOSE_ANSWER
    phases = frozenset(_PUTS)

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The puts that the explorer proposes to the writer, within the module's bounds."""
        bound = next(module.losses for module in config.modules if isinstance(module, LostAnswers))
        if part(world, Unheard).losses < bound:
            for put in _rule(writer, config).moves(world, writer, number, config):
                if put.group is None:
                    yield put._replace(step=self.step)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where the put is, and where it is a repetition."""
        if is_there(world, writer, given(move.writer)):
            return "the put took effect already"
        rule = _rule(writer, config)
        return protocol_of(config).refusal(rule, world, writer, move._replace(step=rule.step), config)

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The file is there; a lock that its holder takes for another's is held by nobody who would give it back."""
        rule, number = _rule(writer, config), given(move.writer)
        after, _ = protocol_of(config).effect(rule, world, writer, move._replace(step=rule.step), config)
        mine = part(after, Unheard)
        processes = mine.processes
        if rule.step is not Step.ACQUIRE_LOCK:
            processes = with_item(processes, number)
        elif config.planted is PlantedBug.REFUSED_BY_ITSELF:
            after = after._replace(lock=ORPHANED)
        return with_part(after, mine._replace(processes=processes, losses=mine.losses + 1)), writer


def _rule(writer: Writer, config: Config) -> Rule:
    """The rule of the put that `writer` makes in its phase."""
    return protocol_of(config).rules[_PUTS[writer.phase]]


def is_there(world: World, writer: Writer, number: int) -> bool:
    """Whether the put that process `number` is about to make took effect before, unknown to it."""
    if writer.phase in (Phase.START, Phase.INFLIGHT):
        return world.lock == number and not writer.has_lock
    return number in part(world, Unheard).processes


def is_recognised(world: World, writer: Writer, number: int, config: Config) -> bool:
    """Whether the writer sees, by what the file says, that its put took effect before."""
    return config.planted is not PlantedBug.REFUSED_BY_ITSELF and is_there(world, writer, number)


def heard(world: World, number: int) -> World:
    """The world once process `number` knows what became of its put, or cares no more."""
    mine = part(world, Unheard)
    return with_part(world, mine._replace(processes=without_item(mine.processes, number)))


class RequestInstantAgain(PutRequested):
    """`RequestInstant`, or the discovery that the file is there, and the writer's own.

    Enabled: as in the core; and where the file is there, put by the writer, unknown to it.
    Effect: as in the core; a second time it changes nothing.
    Unchanged: the data files, the lock.
    """

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """As if the writer's own file were not there."""
        if is_recognised(world, writer, given(move.writer), config):
            world = world._replace(requested=without_item(world.requested, writer.requested))
        return super().refusal(world, writer, move, config)

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Once more changes nothing."""
        return super().effect(heard(world, given(move.writer)), writer, move, config)


class StartInflightAgain(PutInflight):
    """`StartInflight`, or the discovery that the file is there, and the writer's own.

    Enabled: as in the core; and where the file is there, put by the writer, unknown to it.
    Effect: as in the core; a second time it changes nothing.
    Unchanged: the data files, the lock.
    """

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """As if the writer's own file were not there."""
        if is_recognised(world, writer, given(move.writer), config):
            world = world._replace(inflight=without_item(world.inflight, writer.requested))
        return super().refusal(world, writer, move, config)

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Once more changes nothing."""
        return super().effect(heard(world, given(move.writer)), writer, move, config)


class CompleteInstantAgain(CompleteInstant):
    """`CompleteInstant`, or the discovery that the completed file is there; that needs no lock.

    Enabled: as in the core; and where the file is there, put by the writer, unknown to it.
    Effect: as in the core; a second time it changes nothing but what the writer knows.
    Unchanged: the data files, the requested and the inflight file.
    """

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """With the completion time that the file has."""
        commit = _unheard_commit(world, writer, number)
        if commit is None or config.planted is PlantedBug.COMPLETE_AGAIN:
            yield from super().moves(world, writer, number, config)
        else:
            yield Move(self.step, number, time=commit.completion)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused under another name, and to whom takes the file for another's."""
        commit = _unheard_commit(world, writer, given(move.writer))
        if commit is None or config.planted is PlantedBug.COMPLETE_AGAIN:
            return super().refusal(world, writer, move, config)
        known = config.planted is not PlantedBug.REFUSED_BY_ITSELF and move.time == commit.completion
        return None if known else "the completed file exists"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Once more changes nothing."""
        return super().effect(heard(world, given(move.writer)), writer, move, config)


class AcquireOwnLock(AcquireAnyLock):
    """`AcquireAnyLock`, or the discovery that the lock's file is there, and the writer's own.

    Enabled: as in the core; and where the lock's file is there, put by the writer, unknown to it.
    Effect: as in the core; a second time it changes nothing but what the writer believes.
    Unchanged: all other files.
    """

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Not refused because of itself."""
        own = move.group is None and world.lock == move.writer and not writer.has_lock
        return None if own else super().refusal(world, writer, move, config)


def _unheard_commit(world: World, writer: Writer, number: int) -> Commit | None:
    """The commit of process `number` that it does not know of."""
    if number not in part(world, Unheard).processes:
        return None
    return next((commit for commit in world.commits if commit.requested == writer.requested), None)


def looks_first(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: nobody gives up before it has looked whether its last put took effect."""
    own = number_is_unheard(world, given(move.writer)) and config.planted is not PlantedBug.REFUSED_BY_ITSELF
    del writer
    return "the writer's own file is there" if own else None


def number_is_unheard(world: World, number: int) -> bool:
    """Whether process `number` has put a file of the timeline, and does not know."""
    return number in part(world, Unheard).processes


def is_given_up(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: who gives a completed write up denies it; whoever gives up or crashes asks no more."""
    del config
    number = given(move.writer)
    mine = part(world, Unheard)
    if move.step is Step.ABORT_WRITE and _unheard_commit(world, writer, number) is not None:
        mine = mine._replace(ghost_denied=with_item(mine.ghost_denied, writer.requested))
    return heard(with_part(world, mine), number)


def outcomes_are_true(world: World, config: Config) -> str | None:
    """`Promise.TRUE_OUTCOMES`."""
    del config
    denied = part(world, Unheard).ghost_denied
    return f"the write {denied[0]} is complete, and its writer has given it up" if denied else None


@dataclass(frozen=True, slots=True)
class LostAnswers(Module):
    """Puts whose answers are lost; the explorer loses `losses` of them, beside all other faults."""

    name = "lost_answers"
    requires = frozenset({"locks", "storage"})
    rules = (RequestInstantAgain(), StartInflightAgain(), AcquireOwnLock(), CompleteInstantAgain(), LoseAnswer())
    guards: ClassVar[Mapping[Step, Guard]] = {Step.ABORT_WRITE: looks_first}
    consequences: ClassVar[Mapping[Step, Consequence]] = {Step.ABORT_WRITE: is_given_up, Step.CRASH: is_given_up}
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.TRUE_OUTCOMES: outcomes_are_true}
    losses: int = 1

    def gives_up(self, world: World, writer: Writer, number: int, config: Config) -> Collection[AbortReason]:
        """A writer that takes its own completed file for another's."""
        refused = config.planted is PlantedBug.REFUSED_BY_ITSELF and writer.phase is Phase.UPDATED
        return (AbortReason.COLLISION,) if refused and _unheard_commit(world, writer, number) is not None else ()
