"""Heartbeats: how others tell a writer that works from one that is dead.

A heartbeat is a file that its writer rewrites. One that was not rewritten for long has expired, and its operation
counts as failed from then on, whatever becomes of it. Source: the specification's "Failure handling", Java
``HoodieHeartbeatClient``. Under eager rollback nobody looks at heartbeats, and the explorer leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, RollbackPolicy
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
from drawstring_model.core.state import WRITER, Move, Phase, Time, World, Writer, idle
from drawstring_model.modules.crashes import fault_allowed
from drawstring_model.storage_view import StorageView
from drawstring_spec.steps import Step


class Heartbeat(NamedTuple):
    """A heartbeat file on storage, and whether it is too old by now."""

    requested: Time
    expired: bool


class LiveOperation(NamedTuple):
    """Ghost: an operation that runs, and that nobody had reason to take for dead so far."""

    requested: Time
    writer: int
    is_on_timeline: bool


class Heartbeats(NamedTuple):
    """The heartbeats on storage.

    Attributes:
        beats: the files.
        expiries: number of heartbeats of living writers that expired so far.
        renewals: number of heartbeats renewed after they had expired.
        ghost_live: the operations that run and whose heartbeat never expired.

    """

    beats: tuple[Heartbeat, ...] = ()
    expiries: int = 0
    renewals: int = 0
    ghost_live: tuple[LiveOperation, ...] = ()


class Beating(NamedTuple):
    """Whether a writer has a heartbeat to stop."""

    beating: bool = False


class StartHeartbeat(Rule):
    """The writer's heartbeat exists before its instant does, so nobody takes it for dead.

    Enabled: the writer has a requested time. (Under eager rollback nobody looks at heartbeats; the explorer leaves
    them out there.)
    Effect: a fresh heartbeat file of that time; one of an equal time is replaced.
    Unchanged: the timeline, the data files, the locks.
    """

    step = Step.START_HEARTBEAT
    phases = frozenset({Phase.TIMED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Always, where heartbeats matter."""
        del world, writer
        if config.rollback is RollbackPolicy.LAZY:
            yield Move(self.step, number)

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The heartbeat is alive."""
        del config
        mine = part(world, Heartbeats)
        live = LiveOperation(writer.requested, given(move.writer), is_on_timeline=False)
        mine = mine._replace(
            beats=with_item(without_beat(mine, writer.requested), Heartbeat(writer.requested, expired=False)),
            ghost_live=with_item(mine.ghost_live, live),
        )
        return with_part(world, mine), with_part(writer._replace(phase=Phase.BEATING), Beating(beating=True))


class StopHeartbeat(Rule):
    """The heartbeat's file is removed; the operation is over.

    Enabled: the operation is completed or given up, the lock is given back, and the writer has a heartbeat.
    Effect: the heartbeat file is gone; the writer is idle.
    Unchanged: the timeline, the data files, the locks.
    """

    step = Step.STOP_HEARTBEAT
    phases = frozenset({Phase.COMPLETED, Phase.ABORTED})

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and to a writer that has no heartbeat."""
        del world, move, config
        return "the writer still holds the table lock" if writer.has_lock or not part(writer, Beating).beating else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Nothing of the operation is left in the writer."""
        del move, config
        return remove_beat(world, writer.requested), idle(writer)


class RenewHeartbeat(Rule):
    """The heartbeat's file is rewritten in time, or late.

    Enabled: the writer has a heartbeat.
    Effect: the heartbeat is alive again, whatever others concluded meanwhile.
    Unchanged: the timeline, the data files, the locks; an operation once taken for dead counts as such.
    """

    step = Step.RENEW_HEARTBEAT
    phases = frozenset(Phase) - {Phase.START, Phase.TIMED}

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Only late renewals change anything."""
        expired = Heartbeat(writer.requested, expired=True) in part(world, Heartbeats).beats
        if expired and part(world, Heartbeats).renewals < config.bounds.renewals:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused to whom has no heartbeat."""
        del world, move, config
        return None if part(writer, Beating).beating else "the writer has no heartbeat"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """A missing file is created, as a put does."""
        del move, config
        mine, alive = part(world, Heartbeats), Heartbeat(writer.requested, expired=False)
        if alive in mine.beats:
            return world, writer
        beats = with_item(without_beat(mine, writer.requested), alive)
        return with_part(world, mine._replace(beats=beats, renewals=mine.renewals + 1)), writer


class ExpireHeartbeat(Rule):
    """The heartbeat's file has not been rewritten for longer than is tolerated.

    Enabled: there is a heartbeat file that is not too old yet.
    Effect: it is too old; the operation counts as dead; whoever relied on it may let go.
    Unchanged: the timeline, the data files, the table lock.
    """

    step = Step.EXPIRE_HEARTBEAT
    phases = frozenset(Phase)
    is_of_the_world = True

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Every heartbeat of the dead; those of the living within the bounds."""
        del writer, number
        mine = part(world, Heartbeats)
        live = {operation.requested for operation in mine.ghost_live}
        spent = mine.expiries >= config.bounds.heartbeat_expiries or not fault_allowed(world, config)
        for beat in mine.beats:
            if not beat.expired and not (spent and beat.requested in live):
                yield Move(self.step, time=beat.requested)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where no heartbeat beats."""
        del writer, config
        return None if heartbeat_is_alive(world, given(move.time)) else f"no heartbeat of {move.time} beats"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Everybody may now regard the operation as failed."""
        del config
        mine, time = part(world, Heartbeats), given(move.time)
        live = tuple(operation for operation in mine.ghost_live if operation.requested != time)
        lived = live != mine.ghost_live
        beats = with_item(without_beat(mine, time), Heartbeat(time, expired=True))
        mine = mine._replace(beats=beats, expiries=mine.expiries + lived, ghost_live=live)
        return with_part(world, mine)._replace(faults=world.faults + lived), writer


def heartbeat_is_alive(world: World, requested: Time) -> bool:
    """Whether the operation of `requested` has a heartbeat file that is not too old."""
    return Heartbeat(requested, expired=False) in part(world, Heartbeats).beats


def without_beat(mine: Heartbeats, requested: Time) -> tuple[Heartbeat, ...]:
    """The heartbeat files but for that of `requested`."""
    return tuple(beat for beat in mine.beats if beat.requested != requested)


def remove_beat(world: World, requested: Time) -> World:
    """The world without the heartbeat of `requested`."""
    mine = part(world, Heartbeats)
    return with_part(world, mine._replace(beats=without_beat(mine, requested)))


def live_operations(world: World) -> set[Time]:
    """Requested times of the operations on the timeline whose writer lives, as far as anybody can know."""
    return {operation.requested for operation in part(world, Heartbeats).ghost_live if operation.is_on_timeline}


def heart_beats(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: the instant is requested after the heartbeat beats, where heartbeats matter."""
    del world, move
    late = writer.phase is Phase.TIMED and config.rollback is RollbackPolicy.LAZY
    return "the heartbeat does not beat yet" if late else None


def is_on_timeline(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: the operation lives on the timeline. One whose heartbeat expired before counts as dead already."""
    mine = part(world, Heartbeats)
    live = LiveOperation(writer.requested, given(move.writer), is_on_timeline=False)
    if live in mine.ghost_live or config.rollback is RollbackPolicy.EAGER:
        others = tuple(kept for kept in mine.ghost_live if kept != live)
        world = with_part(world, mine._replace(ghost_live=with_item(others, live._replace(is_on_timeline=True))))
    return world


def lives_no_more(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: an operation that is over does not live."""
    del config
    mine = part(world, Heartbeats)
    kept = tuple(live for live in mine.ghost_live if live[:2] != (writer.requested, move.writer))
    return with_part(world, mine._replace(ghost_live=kept))


class HeartbeatModule(Module):
    """Heartbeats of writers; table services have none in Hudi 1.0."""

    name = "heartbeats"
    rules = (StartHeartbeat(), StopHeartbeat(), RenewHeartbeat(), ExpireHeartbeat())
    guards: ClassVar[Mapping[Step, Guard]] = {Step.REQUEST_INSTANT: heart_beats}
    consequences: ClassVar[Mapping[Step, Consequence]] = {
        Step.REQUEST_INSTANT: is_on_timeline,
        Step.COMPLETE_INSTANT: lives_no_more,
        Step.ABORT_WRITE: lives_no_more,
        Step.CRASH: lives_no_more,
    }

    def fences(self, world: World, writer: Writer, config: Config) -> bool:
        """A writer whose heartbeat expired is taken for dead."""
        lazy = config.rollback is RollbackPolicy.LAZY
        return lazy and writer.role == WRITER and not heartbeat_is_alive(world, writer.requested)

    def show(self, world: World, view: StorageView) -> StorageView:
        """The heartbeat files."""
        return view._replace(heartbeats=frozenset(beat.requested for beat in part(world, Heartbeats).beats))
