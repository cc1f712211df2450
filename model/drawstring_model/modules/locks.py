"""Leases: the table lock that runs out; and the locks of single file groups, under pessimistic control.

A lease runs out while its holder is asleep, and the holder does not know: every put that carries the lease's deadline
is refused from then on (`drawstring_model.core.lock.locked`). A file group's lock lives as long as its owner's
heartbeat. Source: the specification's "Concurrency control", ``docs/decisions/deadline-fencing.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import ConcurrencyControl, Config
from drawstring_model.core.conflict import candidates, touches
from drawstring_model.core.lock import AcquireLock
from drawstring_model.core.module import (
    Consequence,
    Guard,
    Module,
    Rule,
    given,
    part,
    with_item,
    with_part,
)
from drawstring_model.core.state import FREE, ORPHANED, AbortReason, Group, Move, Phase, Time, World, Writer
from drawstring_model.modules.crashes import fault_allowed
from drawstring_spec.steps import Step


class GroupLock(NamedTuple):
    """A lock of one file group (pessimistic control only)."""

    group: Group
    requested: Time
    owner: int


class Leases(NamedTuple):
    """The locks of file groups, and how many leases of living holders ran out so far."""

    groups: tuple[GroupLock, ...] = ()
    expiries: int = 0


class AcquireAnyLock(AcquireLock):
    """The process holds the table lock, or (with a file group) the lock of one file group.

    Enabled: for the table as in the core. For a file group, under pessimistic control: nobody holds its lock, the
    writer is going to write to it and has not begun, and no commit outside the writer's snapshot touched it.
    Effect: the lock is the process's.
    Unchanged: all files.
    """

    phases = AcquireLock.phases | {Phase.LOOKED_UP}

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """File groups in ascending order, against deadlock."""
        if writer.phase is not Phase.LOOKED_UP:
            yield from super().moves(world, writer, number, config)
        elif config.concurrency is ConcurrencyControl.PESSIMISTIC:
            mine = _own_groups(world, writer)
            for file in [file for file in writer.plan if file.group not in mine][:1]:
                yield Move(self.step, number, group=file.group)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where the lock is taken, or is not one that the process needs now."""
        if move.group is None or not config.locking:
            return super().refusal(world, writer, move, config)
        if config.concurrency is not ConcurrencyControl.PESSIMISTIC:
            return "file groups are locked under pessimistic control only"
        if writer.phase is not Phase.LOOKED_UP or move.group not in {file.group for file in writer.plan}:
            return f"file group {move.group} is not one that the writer is about to write to"
        if any(lock.group == move.group for lock in part(world, Leases).groups):
            return f"file group {move.group} is locked"
        if touches(candidates(world, writer, config), {move.group}):
            return f"file group {move.group} has a version that the writer did not build on"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The lock is taken."""
        if move.group is None:
            return super().effect(world, writer, move, config)
        leases = part(world, Leases)
        lock = GroupLock(move.group, writer.requested, writer.number)
        return with_part(world, leases._replace(groups=with_item(leases.groups, lock))), writer


class ExpireLock(Rule):
    """The lock's lease runs out while its holder has not renewed it.

    Enabled: somebody, dead or alive, holds the table lock.
    Effect: the lock is free; the holder, if it lives, does not know.
    Unchanged: all files; what the holder believes.
    """

    step = Step.EXPIRE_LOCK
    phases = frozenset(Phase)
    is_of_the_world = True

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """A dead holder's lease always, a living one's within the bounds."""
        del writer, number
        spent = part(world, Leases).expiries >= config.bounds.lock_expiries or not fault_allowed(world, config)
        if world.lock == ORPHANED or not spent:
            yield Move(self.step)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where nobody holds the lock."""
        del writer, move, config
        return "nobody holds the table lock" if world.lock == FREE else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Anybody may take the lock now."""
        del move, config
        if world.lock != ORPHANED:
            leases = part(world, Leases)
            world = with_part(world, leases._replace(expiries=leases.expiries + 1))._replace(faults=world.faults + 1)
        return world._replace(lock=FREE), writer


def groups_are_locked(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: under pessimistic control a writer goes inflight with the locks of its file groups."""
    del move
    if config.concurrency is ConcurrencyControl.PESSIMISTIC:
        mine = _own_groups(world, writer)
        if any(file.group not in mine for file in writer.plan):
            return "the writer does not hold the locks of its file groups"
    return None


def owner_is_done(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: the file groups' locks of an operation that is over are given back."""
    del move, config
    return _without(world, owner=writer.number)


def owner_is_dead(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: the file groups' locks of an operation whose heartbeat expired are free."""
    del writer, config
    return _without(world, requested=given(move.time))


def target_is_gone(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: the file groups' locks of an operation that was rolled back are free."""
    del writer, move, config
    leases = part(world, Leases)
    pending = {*world.requested, *world.inflight}
    return with_part(world, leases._replace(groups=tuple(lock for lock in leases.groups if lock.requested in pending)))


def _own_groups(world: World, writer: Writer) -> set[Group]:
    return {lock.group for lock in part(world, Leases).groups if lock.owner == writer.number}


def _without(world: World, *, owner: int | None = None, requested: Time | None = None) -> World:
    leases = part(world, Leases)
    if not leases.groups:
        return world
    kept = tuple(lock for lock in leases.groups if lock.owner != owner and lock.requested != requested)
    return with_part(world, leases._replace(groups=kept))


class Locks(Module):
    """Leases of the table lock, and locks of file groups."""

    name = "locks"
    rules = (AcquireAnyLock(), ExpireLock())
    guards: ClassVar[Mapping[Step, Guard]] = {Step.START_INFLIGHT: groups_are_locked}
    consequences: ClassVar[Mapping[Step, Consequence]] = {
        Step.COMPLETE_INSTANT: owner_is_done,
        Step.ABORT_WRITE: owner_is_done,
        Step.EXPIRE_HEARTBEAT: owner_is_dead,
        Step.REMOVE_INSTANT: target_is_gone,
    }

    def gives_up(self, world: World, writer: Writer, number: int, config: Config) -> Collection[AbortReason]:
        """Who lost its lease, and under pessimistic control who has built on a version that is not the last."""
        lost = (AbortReason.LOST_LOCK,) if writer.has_lock and world.lock != number else ()
        looks = config.concurrency is ConcurrencyControl.PESSIMISTIC and writer.phase is Phase.LOOKED_UP
        late = looks and touches(candidates(world, writer, config), {file.group for file in writer.plan})
        return (*lost, AbortReason.CONFLICT) if late else lost
