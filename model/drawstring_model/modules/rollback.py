"""Rolling failed writes back, done by any writer that is between two operations.

All progress is on storage: the rollback's own instant, its plan, the files that are left. So a rollback that was
interrupted (a crash, a lost lock) is continued by whoever comes next, by the same rules. Where writers lock, each
step needs the lock, and carries its deadline.
Source: Java ``BaseRollbackActionExecutor``, ``BaseHoodieTableServiceClient.rollbackFailedWrites``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug, RollbackPolicy
from drawstring_model.core.lock import locked
from drawstring_model.core.module import (
    Module,
    Rule,
    later,
    modules_of,
    part,
    ticked,
    with_item,
    with_part,
    without_item,
)
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import WRITER, Group, Move, Phase, Time, Token, World, Writer
from drawstring_model.modules.heartbeats import heartbeat_is_alive, live_operations, remove_beat
from drawstring_model.storage_view import StorageView, TimelineFile
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step


class Rollback(NamedTuple):
    """A rollback instant.

    Attributes:
        requested: its requested time.
        target: requested time of the operation that is rolled back.
        state: how far its files on the timeline are.
        completion: its completion time; None before.
        plan: the data files (group, token) that it is going to delete.
        ghost_removed: whether the target was taken off the timeline.

    """

    requested: Time
    target: Time
    state: InstantState
    completion: Time | None
    plan: tuple[tuple[Group, Token], ...]
    ghost_removed: bool = False


class Rollbacks(NamedTuple):
    """The rollback instants, each in its latest state."""

    all: tuple[Rollback, ...] = ()


_NOT_LOCKED = "the writer does not hold the table lock"


def failed_writes(world: World, config: Config) -> tuple[Time, ...]:
    """Requested times of the pending writes that may be rolled back now, and are not being rolled back."""
    completed = {commit.requested for commit in world.commits}
    in_hand = {rollback.target for rollback in rollbacks_of(world) if rollback.state is not InstantState.COMPLETED}
    return tuple(
        time
        for time in sorted({*world.requested, *world.inflight})
        if (time not in completed or config.planted is PlantedBug.STALE_ROLLBACK_LIST)
        and time not in in_hand
        and not any(module.spares(world, time) for module in modules_of(config))
        and _is_failed(world, time, config)
    )


def _is_failed(world: World, time: Time, config: Config) -> bool:
    if config.rollback is RollbackPolicy.EAGER or config.planted is PlantedBug.IGNORE_HEARTBEAT:
        return True
    return not heartbeat_is_alive(world, time)


def rollback_targets(world: World, writer: Writer, config: Config) -> tuple[Time, ...]:
    """What `writer` may begin to roll back: between operations failed writes, after giving up its own write."""
    if writer.phase is not Phase.ABORTED:
        return failed_writes(world, config)
    completed = any(commit.requested == writer.requested for commit in world.commits)
    pending = writer.requested in world.requested or writer.requested in world.inflight
    in_hand = any(
        rollback.target == writer.requested and rollback.state is not InstantState.COMPLETED
        for rollback in rollbacks_of(world)
    )
    return (writer.requested,) if pending and not completed and not in_hand else ()


def rollbacks_of(world: World) -> tuple[Rollback, ...]:
    """The rollback instants."""
    return part(world, Rollbacks).all


def has_rollback_work(world: World, config: Config) -> bool:
    """Whether there is a rollback to begin or to continue."""
    unfinished = any(rollback.state is not InstantState.COMPLETED for rollback in rollbacks_of(world))
    return unfinished or bool(failed_writes(world, config))


class RequestRollback(Rule):
    """A rollback of a failed instant is planned on the timeline.

    Enabled: the writer is between operations (or gave this one up), in the lock;
    the target is pending, has failed by the rollback policy,
    and no unfinished rollback has it in hand.
    Effect: a requested rollback, whose plan names the target's data files of now.
    Unchanged: the target and its files, the heartbeats, the locks.
    """

    step = Step.REQUEST_ROLLBACK
    phases = frozenset({Phase.START, Phase.ABORTED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Each failed write, at the next tick."""
        if locked(world, writer, number, config):
            for target in rollback_targets(world, writer, config):
                yield Move(self.step, number, time=world.clock + 1, target=target)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, for a target that did not fail, and for a time that was given out."""
        if move.writer is None or not locked(world, writer, move.writer, config):
            return _NOT_LOCKED
        if move.target not in rollback_targets(world, writer, config):
            return f"the write of {move.target} is completed, alive or in hand"
        if move.time is None or not later(world, move.time, config):
            return f"the clock has already given out {world.clock}"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The rollback is requested."""
        del config
        if move.time is None or move.target is None:
            raise TypeError("a rollback has a time and a target")
        plan = tuple((file.group, file.token) for file in world.files if file.requested == move.target)
        rollback = Rollback(move.time, move.target, InstantState.REQUESTED, None, plan)
        world = world._replace(clock=ticked(world, move.time))
        return with_part(world, Rollbacks(with_item(rollbacks_of(world), rollback))), writer


class RollbackRule(Rule):
    """What the steps of a planned rollback have in common: who may take them, and which instant they are about."""

    phases = frozenset({Phase.START, Phase.ABORTED})
    expects = InstantState.INFLIGHT

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """One move for each rollback in the state that the step expects."""
        if locked(world, writer, number, config):
            for rollback in rollbacks_of(world):
                if rollback.state is self.expects and _is_concerned(writer, rollback):
                    yield from self.proposals(world, rollback, number)

    def proposals(self, world: World, rollback: Rollback, number: int) -> Iterator[Move]:
        """The moves for one rollback."""
        del world
        yield Move(self.step, number, target=rollback.requested)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, and for a rollback that is not in the state that the step expects."""
        if move.writer is None or not locked(world, writer, move.writer, config):
            return _NOT_LOCKED
        rollback = _find(world, move.target)
        if rollback is None or rollback.state is not self.expects:
            return f"there is no {self.expects.label} rollback {move.target}"
        if not _is_concerned(writer, rollback):
            return "a writer that gave up rolls back its own write only"
        return self.objection(world, rollback, move, config)

    def objection(self, world: World, rollback: Rollback, move: Move, config: Config) -> str | None:
        """What else stands against the step."""
        del world, rollback, move, config
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The writer stays as it is."""
        del config
        rollback = _find(world, move.target)
        if rollback is None:
            raise TypeError("the step is about a rollback that is not there")
        return self.outcome(world, rollback, move), writer

    def outcome(self, world: World, rollback: Rollback, move: Move) -> World:
        """What the step makes of the world."""
        raise TypeError(f"{type(self).__name__} says no outcome for {move} of {rollback} in {world}")


class StartRollback(RollbackRule):
    """The rollback's inflight file appears.

    Enabled: the writer is between operations (or gave this one up), in the lock;
    the rollback is requested.
    Effect: the rollback is inflight.
    Unchanged: the target and its files, the heartbeats, the locks.
    """

    step = Step.START_ROLLBACK
    expects = InstantState.REQUESTED

    def outcome(self, world: World, rollback: Rollback, move: Move) -> World:
        """The rollback moves on."""
        del move
        return _moved(world, rollback, rollback._replace(state=InstantState.INFLIGHT))


class DeleteFile(RollbackRule):
    """One data file of the failed instant is deleted.

    Enabled: the writer is between operations (or gave this one up), in the lock;
    the rollback is inflight and its plan names the file, or
    the file is there by now (a writer that did not know that it is dead wrote it).
    Effect: the file is gone, if it was there.
    Unchanged: the timeline, the heartbeats, the locks.
    """

    step = Step.DELETE_FILE

    def proposals(self, world: World, rollback: Rollback, number: int) -> Iterator[Move]:
        """The first file that is left: nobody sees them, so no other order matters."""
        for group, token in _left(world, rollback)[:1]:
            yield Move(self.step, number, group=group, token=token, target=rollback.requested)

    def objection(self, world: World, rollback: Rollback, move: Move, config: Config) -> str | None:
        """Only the target's files are deleted."""
        del config
        name = (move.group, rollback.target, move.token)
        there = any(file[:3] == name for file in world.files)
        planned = (move.group, move.token) in rollback.plan
        return None if there or planned else "the file is not one of the target's"

    def outcome(self, world: World, rollback: Rollback, move: Move) -> World:
        """One file less."""
        name = (move.group, rollback.target, move.token)
        return world._replace(files=tuple(file for file in world.files if file[:3] != name))


class RemoveInstant(RollbackRule):
    """The failed instant's inflight and requested files leave the timeline.

    Enabled: the writer is between operations (or gave this one up), in the lock;
    the rollback is inflight and all files of its plan are
    gone. (Repeating it changes nothing.)
    Effect: the target is off the timeline, and out of the metadata table.
    Unchanged: the rollback, the data files, the table lock.
    """

    step = Step.REMOVE_INSTANT

    def proposals(self, world: World, rollback: Rollback, number: int) -> Iterator[Move]:
        """Once."""
        if not rollback.ghost_removed and not _left(world, rollback):
            yield Move(self.step, number, target=rollback.requested)

    def objection(self, world: World, rollback: Rollback, move: Move, config: Config) -> str | None:
        """First the files, then the instant: what is left must stay findable."""
        del move, config
        return "data files of the target are left" if _left(world, rollback) else None

    def outcome(self, world: World, rollback: Rollback, move: Move) -> World:
        """The target is gone."""
        del move
        world = _moved(world, rollback, rollback._replace(ghost_removed=True))
        return world._replace(
            requested=without_item(world.requested, rollback.target),
            inflight=without_item(world.inflight, rollback.target),
            metadata=without_item(world.metadata, rollback.target),
        )


class CompleteRollback(RollbackRule):
    """The rollback's completed file appears.

    Enabled: the writer is between operations (or gave this one up), in the lock;
    the rollback is inflight and the target was taken off
    the timeline.
    Effect: the rollback is completed; a heartbeat that the target left is removed.
    Unchanged: the data files, the locks, all other instants.
    """

    step = Step.COMPLETE_ROLLBACK

    def proposals(self, world: World, rollback: Rollback, number: int) -> Iterator[Move]:
        """At the next tick."""
        yield Move(self.step, number, time=world.clock + 1, target=rollback.requested)

    def objection(self, world: World, rollback: Rollback, move: Move, config: Config) -> str | None:
        """Refused with the target in place, and for a time that was given out."""
        if not rollback.ghost_removed:
            return "the target is still on the timeline"
        if move.time is None or not later(world, move.time, config):
            return f"the clock has already given out {world.clock}"
        return None

    def outcome(self, world: World, rollback: Rollback, move: Move) -> World:
        """The rollback moves on."""
        if move.time is None:
            raise TypeError("a rollback completes at a time")
        world = remove_beat(world._replace(clock=ticked(world, move.time)), rollback.target)
        completed = rollback._replace(state=InstantState.COMPLETED, completion=move.time)
        return _moved(world, rollback, completed)


def _is_concerned(writer: Writer, rollback: Rollback) -> bool:
    """Whether `writer` may work on `rollback`: on any between operations, on its own write's after giving it up."""
    return writer.phase is Phase.START or rollback.target == writer.requested


def _find(world: World, requested: Time | None) -> Rollback | None:
    return next((rollback for rollback in rollbacks_of(world) if rollback.requested == requested), None)


def _left(world: World, rollback: Rollback) -> tuple[tuple[int, int], ...]:
    """The planned files that are still there."""
    there = {(file.group, file.token) for file in world.files if file.requested == rollback.target}
    return tuple(name for name in rollback.plan if name in there)


def _moved(world: World, before: Rollback, after: Rollback) -> World:
    return with_part(world, Rollbacks(with_item(without_item(rollbacks_of(world), before), after)))


def live_writer_kept(world: World, config: Config) -> str | None:
    """`Promise.LIVE_WRITER_KEPT`."""
    del config
    live = live_operations(world)
    for rollback in rollbacks_of(world):
        if rollback.target in live and rollback.state is not InstantState.COMPLETED:
            return f"rollback {rollback.requested} is about operation {rollback.target}, whose writer lives"
    return None


def rolled_back_or_completed(world: World, config: Config) -> str | None:
    """`Promise.LEGAL_TRANSITIONS`, of rollbacks: an inflight file alone is a fenced writer's last put after its own."""
    targets = {rollback.target for rollback in rollbacks_of(world)}
    for commit in world.commits:
        if commit.requested in targets:
            return f"the completed instant {commit.requested} is the target of a rollback"
    for time in world.inflight:
        if time not in world.requested and time not in targets and not _was_taken_back(world, time, config):
            return f"the inflight instant {time} was never requested"
    return None


def _was_taken_back(world: World, time: Time, config: Config) -> bool:
    return any(time in module.taken_back(world) for module in modules_of(config))


class RollbackModule(Module):
    """Rollbacks of failed writes."""

    name = "rollback"
    requires = frozenset({"heartbeats"})
    rules = (RequestRollback(), StartRollback(), DeleteFile(), RemoveInstant(), CompleteRollback())
    invariants: ClassVar[Mapping[Promise, Check]] = {
        Promise.LIVE_WRITER_KEPT: live_writer_kept,
        Promise.LEGAL_TRANSITIONS: rolled_back_or_completed,
    }

    def fences(self, world: World, writer: Writer, config: Config) -> bool:
        """A writer whose instant is gone, or is being rolled back, is taken for dead."""
        if config.planted is PlantedBug.IGNORE_ROLLBACK:
            return False
        gone = writer.requested not in world.inflight or writer.requested not in world.requested
        return gone or any(rollback.target == writer.requested for rollback in rollbacks_of(world))

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A rollback to begin or to continue, for a writer."""
        return writer.role == WRITER and has_rollback_work(world, config)

    def show(self, world: World, view: StorageView) -> StorageView:
        """The files of the rollbacks on the timeline."""
        files = set(view.timeline)
        for rollback in rollbacks_of(world):
            for reached in InstantState:
                if reached <= rollback.state:
                    completion = rollback.completion if reached is InstantState.COMPLETED else None
                    files.add(TimelineFile(rollback.requested, Action.ROLLBACK, reached, completion))
        return view._replace(timeline=frozenset(files))
