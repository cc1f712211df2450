"""Restores: a table is taken back to a savepoint. Nothing else ever takes a completed write back.

A restore is planned under the lock. The plan has each write on the timeline that was requested after the savepoint's,
completed or pending, the newest first. One after the other loses its completed file, then its data files, then its
other timeline files; last the restore is completed in the lock. All progress is on storage: whoever comes after a crash
goes on. While a restore is pending nobody begins to write or plans a service that reads data files, and a writer that
was requested before it gives up, whether its own write is taken back or not: what it builds on may be.

After a restore the table is what the savepoint has of it, if the savepoint waited for the writes that were requested
before its own (`drawstring_model.modules.savepoints`). The reverse is exact in any case: what was requested later is
taken back, though it was complete before the savepoint was made. Table services are writes like others: completed ones
are undone in their turn, plans leave the timeline, those of clusterings first of all.
Source: Java 1.0.2 ``RestorePlanActionExecutor``, ``BaseRestoreActionExecutor``, ``CopyOnWriteRollbackActionExecutor``,
``BaseRollbackActionExecutor``, ``BaseHoodieTableServiceClient``; the switches say where Java differs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug, SnapshotTime
from drawstring_model.core.lock import locked
from drawstring_model.core.module import Guard, Module, given, later, part, ticked, with_item, with_part, without_item
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.reader import latest_snapshot_time
from drawstring_model.core.state import Move, Time, World, Writer
from drawstring_model.modules.clustering import pending_clusterings
from drawstring_model.modules.queries import files_read
from drawstring_model.modules.savepoints import OPERATOR, OperatorRule, Savepoints
from drawstring_model.storage_view import StorageView, TimelineFile
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step


class Restore(NamedTuple):
    """A restore: its instant, the savepoint's write, and the writes that it takes back, in this order."""

    requested: Time
    savepoint: Time
    state: InstantState
    completion: Time | None
    plan: tuple[Time, ...]


class Restores(NamedTuple):
    """All restores, each in its latest state."""

    all: tuple[Restore, ...] = ()


def restore_switches(config: Config) -> RestoreModule:
    """The module's switches."""
    return next(module for module in config.modules if isinstance(module, RestoreModule))


def pending_restore(world: World) -> Restore | None:
    """The restore that is not completed."""
    pending = (restore for restore in part(world, Restores).all if restore.state is not InstantState.COMPLETED)
    return next(pending, None)


def to_take_back(world: World, time: Time, config: Config) -> tuple[Time, ...]:
    """The writes that a restore to the savepoint of `time` takes back, in their order: pending clusterings first."""
    completions = {commit.requested: commit.completion for commit in world.commits}
    targets = {*world.requested, *world.inflight}
    if config.planted is PlantedBug.RESTORE_LEAVES_PENDING:
        targets = {*completions}
    if restore_switches(config).by is SnapshotTime.REQUESTED:
        found = sorted((target for target in targets if target > time), reverse=True)
    else:
        ends = {target: completions.get(target, world.clock + target) for target in targets}
        found = sorted((t for t in targets if ends[t] > completions[time]), key=lambda t: ends[t], reverse=True)
    if config.planted is PlantedBug.RESTORE_OLDEST_FIRST:
        found = found[::-1]
    plans = {plan.requested for plan in pending_clusterings(world)}
    return tuple(sorted(found, key=lambda target: target not in plans))


def next_to_take_back(world: World) -> tuple[Restore, Time] | None:
    """The restore that runs, and the first write of its plan that is still on the timeline."""
    restore = pending_restore(world)
    if restore is None or restore.state is not InstantState.INFLIGHT:
        return None
    left = (time for time in restore.plan if time in world.requested or time in world.inflight)
    return next(((restore, time) for time in left), None)


def _is_run(world: World) -> bool:
    """Whether there is nothing left to do of the pending restore but to complete it."""
    restore = pending_restore(world)
    return restore is not None and restore.state is InstantState.INFLIGHT and next_to_take_back(world) is None


def _moved(world: World, restore: Restore, state: InstantState, completion: Time | None = None) -> World:
    others = without_item(part(world, Restores).all, restore)
    return with_part(world, Restores(with_item(others, restore._replace(state=state, completion=completion))))


class ScheduleRestore(OperatorRule):
    """A restore is planned on the timeline.

    Enabled: the operator holds the lock where restores lock; the savepoint stands; no restore is pending; no write
    that would be taken back has a savepoint; the clocks may give this time out.
    Effect: the restore is requested; its plan has every write that was requested after the savepoint's.
    Unchanged: everything else.
    """

    step = Step.SCHEDULE_RESTORE

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """To each savepoint, at the next tick, within the module's bounds."""
        del writer
        for savepoint in restorable(world, config):
            yield Move(self.step, number, time=world.clock + 1, target=savepoint)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock or a savepoint, beside another restore, for a time that was given out."""
        if not may_change_timeline(world, writer, given(move.writer), config):
            return "the operator does not hold the table lock"
        if move.target not in {savepoint.requested for savepoint in part(world, Savepoints).all}:
            return f"there is no savepoint of {move.target}"
        if pending_restore(world):
            return "another restore is pending, which is run first"
        saved = {savepoint.requested for savepoint in part(world, Savepoints).all}
        if saved.intersection(to_take_back(world, given(move.target), config)):
            return "a write that would be taken back has a savepoint of its own"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The plan is on the timeline."""
        time, target = given(move.time), given(move.target)
        restore = Restore(time, target, InstantState.REQUESTED, None, to_take_back(world, target, config))
        world = with_part(world, Restores(with_item(part(world, Restores).all, restore)))
        return world._replace(clock=ticked(world, time)), writer


class RunRestore(OperatorRule):
    """The restore's inflight file appears.

    Enabled: the operator is without the lock, and the restore is requested.
    Effect: the restore is inflight.
    Unchanged: everything else.
    """

    step = Step.RUN_RESTORE

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and without a requested restore."""
        del move, config
        restore = pending_restore(world)
        if writer.has_lock or restore is None or restore.state is not InstantState.REQUESTED:
            return "the operator still holds the table lock, or no restore is requested"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The restore is inflight."""
        del move, config
        restore = pending_restore(world)
        return (_moved(world, restore, InstantState.INFLIGHT) if restore else world), writer


class UndoRule(OperatorRule):
    """What the three steps by which one write is taken back have in common."""

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The write whose turn it is."""
        del writer, config
        found = next_to_take_back(world)
        if found:
            yield from self.proposals(world, found[1], number)

    def proposals(self, world: World, target: Time, number: int) -> Iterator[Move]:
        """The moves for one write."""
        del world
        yield Move(self.step, number, target=target)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, out of turn, and out of the order of the three steps."""
        del config
        found = next_to_take_back(world)
        if writer.has_lock or found is None or found[1] != move.target:
            return f"the operator still holds the table lock, or it is not the turn of {move.target}"
        return None if self.step is _next_step(world, found[1]) else f"first comes {_next_step(world, found[1])}"


def _next_step(world: World, target: Time) -> Step:
    """First the write is no longer complete, then its files go, then its timeline files: what is left is found."""
    if any(commit.requested == target for commit in world.commits):
        return Step.UNDO_COMPLETION
    return Step.UNDO_WRITE if any(file.requested == target for file in world.files) else Step.UNDO_REQUEST


class UndoCompletion(UndoRule):
    """The completed file of the write whose turn it is goes: from here on no reader sees it.

    Enabled: the operator is without the lock, a restore runs, and the write is completed.
    Effect: the write is pending.
    Unchanged: the data files, the lock, all other instants.
    """

    step = Step.UNDO_COMPLETION

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The completed file is gone."""
        del config
        return world._replace(commits=tuple(c for c in world.commits if c.requested != move.target)), writer


class UndoWrite(UndoRule):
    """One data file of the write whose turn it is goes.

    Enabled: the operator is without the lock, a restore runs, the write is pending, and the file is there.
    Effect: the file is gone.
    Unchanged: the timeline, the lock.
    """

    step = Step.UNDO_WRITE

    def proposals(self, world: World, target: Time, number: int) -> Iterator[Move]:
        """The first file that is left: nobody sees them, so no other order matters."""
        for group, _, token in [file[:3] for file in world.files if file.requested == target][:1]:
            yield Move(self.step, number, target=target, group=group, token=token)

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """One file less."""
        del config
        name = (move.group, move.target, move.token)
        return world._replace(files=tuple(file for file in world.files if file[:3] != name)), writer


class UndoRequest(UndoRule):
    """The inflight and the requested file of the write whose turn it is leave the timeline.

    Enabled: the operator is without the lock, a restore runs, the write is pending and has no data file.
    Effect: the write is off the timeline.
    Unchanged: the data files, the lock.
    """

    step = Step.UNDO_REQUEST

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The instant is gone."""
        del config
        target = given(move.target)
        return world._replace(
            requested=without_item(world.requested, target), inflight=without_item(world.inflight, target)
        ), writer


class CompleteRestore(OperatorRule):
    """The metadata table forgets what was taken back, and the restore's completed file appears.

    Enabled: the operator holds the lock where restores lock; the restore is inflight and no write of its plan is on
    the timeline; the clocks may give this time out.
    Effect: the restore is complete.
    Unchanged: everything else.
    """

    step = Step.COMPLETE_RESTORE

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick."""
        del writer, config
        yield Move(self.step, number, time=world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, before all is taken back, for a time that was given out."""
        if not may_change_timeline(world, writer, given(move.writer), config):
            return "the operator does not hold the table lock"
        if not _is_run(world):
            return "no restore is inflight, or a write of its plan is still on the timeline"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The restore is complete."""
        del config
        time, restore = given(move.time), pending_restore(world)
        if restore is None:
            raise TypeError("the step is about a restore that is not there")
        world = world._replace(
            metadata=tuple(known for known in world.metadata if known not in restore.plan), clock=ticked(world, time)
        )
        return _moved(world, restore, InstantState.COMPLETED, time), writer


def may_change_timeline(world: World, writer: Writer, number: int, config: Config) -> bool:
    """Whether the operator may put a file of a restore on the timeline now."""
    return not restore_switches(config).locks or locked(world, writer, number, config)


def restorable(world: World, config: Config) -> tuple[Time, ...]:
    """The savepoints to which the explorer lets the table be restored, within the bounds."""
    if len(part(world, Restores).all) >= restore_switches(config).restores or pending_restore(world):
        return ()
    return tuple(savepoint.requested for savepoint in part(world, Savepoints).all)


def no_restore_is_pending(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: nobody begins to write, or makes a savepoint, while a restore is pending."""
    del writer, move, config
    return "a restore is pending" if pending_restore(world) else None


def services_wait(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: no service plans to read data files while a restore is pending, which may take them away."""
    return no_restore_is_pending(world, writer, move, config) if restore_switches(config).services_wait else None


def restores_are_exact(world: World, config: Config) -> str | None:
    """`Promise.RESTORES_ARE_EXACT`."""
    savepoints = {savepoint.requested: savepoint for savepoint in part(world, Savepoints).all}
    for restore in part(world, Restores).all:
        if restore.completion is None or any(commit.completion > restore.completion for commit in world.commits):
            continue
        left = [time for time in world.requested if restore.savepoint < time < restore.requested]
        if left:
            return f"restore {restore.requested} to {restore.savepoint} is complete, and {left[0]} is on the timeline"
        files = files_read(world, latest_snapshot_time(world, config), config)
        if files != savepoints[restore.savepoint].files:
            names = ", ".join(f"that of group {group} by {time}" for group, time, _ in files) or "none"
            return f"after restore {restore.requested} to {restore.savepoint} other files are read: {names}"
    return None


@dataclass(frozen=True, slots=True)
class RestoreModule(Module):
    """Restores by one operator; the explorer lets it make `restores` of them.

    Attributes:
        locks: whether restores are planned and completed under the table lock; Java's are not planned under it.
        heeded: whether writers that were requested before a restore give up; Java's do not.
        services_wait: whether compactions, log compactions and clusterings are planned only while no restore is
            pending; Java's are planned at any time, only a write is not begun.
        by: which time of a write is compared with the savepoint's: the requested time, as in Java 1.0.2, or the
            completion time, as in later releases, where all that is pending is taken back.

    """

    name = "restores"
    requires = frozenset({"rollback", "savepoints"})
    rules = (
        ScheduleRestore(),
        RunRestore(),
        UndoCompletion(),
        UndoWrite(),
        UndoRequest(),
        CompleteRestore(),
    )
    guards: ClassVar[Mapping[Step, Guard]] = {
        Step.GENERATE_REQUESTED_TIME: no_restore_is_pending,
        Step.RETRY_WRITE: no_restore_is_pending,
        Step.DELETE_PARTITION: no_restore_is_pending,
        Step.CREATE_SAVEPOINT: no_restore_is_pending,
        Step.SCHEDULE_COMPACTION: services_wait,
        Step.SCHEDULE_LOG_COMPACTION: services_wait,
        Step.SCHEDULE_CLUSTERING: services_wait,
    }
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.RESTORES_ARE_EXACT: restores_are_exact}
    restores: int = 1
    locks: bool = True
    heeded: bool = True
    services_wait: bool = True
    by: SnapshotTime = SnapshotTime.REQUESTED

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A restore to be planned or completed."""
        has_to_lock = writer.role == OPERATOR and self.locks
        return has_to_lock and (bool(restorable(world, config)) or _is_run(world))

    def conflicts(self, world: World, writer: Writer, config: Config) -> bool:
        """A writer gives way to every restore that was requested after it: it may build on what is taken back."""
        del config
        return self.heeded and any(restore.requested > writer.requested for restore in part(world, Restores).all)

    def taken_back(self, world: World) -> Collection[Time]:
        """What the plans of restores name."""
        return {time for restore in part(world, Restores).all for time in restore.plan}

    def show(self, world: World, view: StorageView) -> StorageView:
        """The files of the restores on the timeline."""
        files = {
            TimelineFile(
                restore.requested,
                Action.RESTORE,
                state,
                restore.completion if state is InstantState.COMPLETED else None,
            )
            for restore in part(world, Restores).all
            for state in InstantState
            if state <= restore.state
        }
        return view._replace(timeline=view.timeline | files)
