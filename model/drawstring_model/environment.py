"""What happens to writers: crashes, heartbeats and leases that run out; and the reader's step.

Each of these can happen at any point; the bounds say how often the explorer lets it. What happens to the dead (the
heartbeat of a crashed writer, the lease of a crashed holder) is free: it only brings to light what is so already.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.config import Config
from drawstring_model.rule import Rule, without_live
from drawstring_model.state import FREE, IDLE, ORPHANED, Heartbeat, Move, Phase, World, Writer
from drawstring_spec.steps import Step

ANY_PHASE = frozenset(Phase)


def fault_allowed(world: World, config: Config) -> bool:
    """Whether the bounds let one more bad thing happen to a living writer."""
    happened = world.crashes + world.heartbeat_expiries + world.lock_expiries
    return happened < config.bounds.faults and world.started <= config.bounds.faults_until


class RenewHeartbeat(Rule):
    """The heartbeat's file is rewritten in time, or late.

    Enabled: the writer has a heartbeat.
    Effect: the heartbeat is alive again, whatever others concluded meanwhile.
    Unchanged: the timeline, the data files, the locks; an operation once taken for dead counts as such.
    """

    step = Step.RENEW_HEARTBEAT
    phases = ANY_PHASE - {Phase.START, Phase.TIMED}

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Only late renewals change anything."""
        expired = any(beat.requested == writer.requested and beat.expired for beat in world.heartbeats)
        if expired and world.renewals < config.bounds.renewals:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused to whom has no heartbeat."""
        del world, move, config
        return None if writer.beating else "the writer has no heartbeat"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """A missing file is created, as a put does."""
        del move, config
        alive = Heartbeat(writer.requested, expired=False)
        if alive in world.heartbeats:
            return world, writer
        others = (beat for beat in world.heartbeats if beat.requested != writer.requested)
        beats = tuple(sorted((*others, alive)))
        return world._replace(heartbeats=beats, renewals=world.renewals + 1), writer


class ExpireHeartbeat(Rule):
    """The heartbeat's file has not been rewritten for longer than is tolerated.

    Enabled: there is a heartbeat file that is not too old yet.
    Effect: it is too old; the operation counts as dead; its file groups' locks are free.
    Unchanged: the timeline, the data files, the table lock.
    """

    step = Step.EXPIRE_HEARTBEAT
    phases = ANY_PHASE

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Every heartbeat of the dead; those of the living within the bounds."""
        del writer, number
        live = {operation.requested for operation in world.ghost_live}
        bounds = config.bounds
        spent = world.heartbeat_expiries >= bounds.heartbeat_expiries or not fault_allowed(world, config)
        for beat in world.heartbeats:
            if not beat.expired and not (spent and beat.requested in live):
                yield Move(self.step, time=beat.requested)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where no heartbeat beats."""
        del writer, config
        alive = any(beat.requested == move.time and not beat.expired for beat in world.heartbeats)
        return None if alive else f"no heartbeat of {move.time} beats"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Everybody may now regard the operation as failed."""
        del config
        live = tuple(operation for operation in world.ghost_live if operation.requested != move.time)
        beats = tuple(beat._replace(expired=True) if beat.requested == move.time else beat for beat in world.heartbeats)
        return world._replace(
            heartbeats=beats,
            heartbeat_expiries=world.heartbeat_expiries + (live != world.ghost_live),
            group_locks=tuple(lock for lock in world.group_locks if lock.requested != move.time),
            ghost_live=live,
        ), writer


class ExpireLock(Rule):
    """The lock's lease runs out while its holder has not renewed it.

    Enabled: somebody, dead or alive, holds the table lock.
    Effect: the lock is free; the holder, if it lives, does not know.
    Unchanged: all files; what the holder believes.
    """

    step = Step.EXPIRE_LOCK
    phases = ANY_PHASE

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """A dead holder's lease always, a living one's within the bounds."""
        del writer, number
        bounds = config.bounds
        spent = world.lock_expiries >= bounds.lock_expiries or not fault_allowed(world, config)
        if world.lock != FREE and not (spent and world.lock != ORPHANED):
            yield Move(self.step)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where nobody holds the lock."""
        del writer, move, config
        return "nobody holds the table lock" if world.lock == FREE else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Anybody may take the lock now."""
        del move, config
        expiries = world.lock_expiries + (world.lock != ORPHANED)
        return world._replace(lock=FREE, lock_expiries=expiries), writer


class Crash(Rule):
    """The writer stops for ever; what it wrote stays.

    Enabled: the writer is in an operation, or holds the lock.
    Effect: its memory is gone; its place is free for another incarnation, which does not hold its lock.
    Unchanged: all files, and the lock until its lease runs out.
    """

    step = Step.CRASH
    phases = ANY_PHASE

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Within the bounds."""
        del writer
        if world.crashes < config.bounds.crashes and fault_allowed(world, config):
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused to whom does nothing: nobody could tell."""
        del world, move, config
        return "the writer does nothing" if writer == IDLE else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The lock has no living holder."""
        del config
        if move.writer is None:
            raise TypeError("a crash is a writer's")
        world = world._replace(
            crashes=world.crashes + 1,
            lock=ORPHANED if world.lock == move.writer else world.lock,
            ghost_live=without_live(world, writer.requested, move.writer),
        )
        return world, IDLE


class ReadSnapshot(Rule):
    """A reader picks a snapshot time, builds the file slices of it and merges their rows.

    Enabled: always. What it reads is `drawstring_model.reader.read_snapshot`.
    Effect: none.
    Unchanged: everything, so the explorer never takes it: the invariants read at every snapshot time instead.
    """

    step = Step.READ_SNAPSHOT
    phases = ANY_PHASE

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """None."""
        del world, writer, number, config
        yield from ()

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Never refused."""
        del world, writer, move, config
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Nothing changes."""
        del move, config
        return world, writer
