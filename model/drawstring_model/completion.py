"""The end of a writer's operation, under the table lock: check, tell the metadata table, complete, let go.

Source: the specification's "Writer expectations", Java ``BaseHoodieWriteClient.commitStats``.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.config import Config, PlantedBug
from drawstring_model.conflict import conflict_reason, fenced
from drawstring_model.rule import Rule, given, later, locked, ticked, with_item, without_live
from drawstring_model.state import IDLE, Commit, Move, Phase, World, Writer
from drawstring_spec.steps import Step


def finished(writer: Writer) -> Writer:
    """`writer`, idle again where it has nothing left to give back."""
    over = writer.phase in (Phase.COMPLETED, Phase.ABORTED)
    return IDLE if over and not writer.has_lock and not writer.beating else writer


class CheckConflicts(Rule):
    """Under the lock the writer compares its work with all that completed since its snapshot, and passes.

    Enabled: all files are written; where writers lock, the writer believes that it holds the table lock; it is not
    fenced, and `drawstring_model.conflict.conflict_reason` finds nothing.
    Effect: the writer may complete.
    Unchanged: the world.
    """

    step = Step.CHECK_CONFLICTS
    phases = frozenset({Phase.INFLIGHT})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Once the files are written."""
        del world, config
        if not writer.plan:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused with work left, without the lock, to a fenced writer, and for a conflict."""
        del move
        if writer.plan:
            return "not all data files are written"
        if config.locking and not writer.has_lock:
            return "the writer does not hold the table lock"
        if fenced(world, writer, config):
            return "the heartbeat expired or the instant was rolled back"
        reason = conflict_reason(world, writer, config)
        return f"there is a conflict: {reason}" if reason else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The snapshot is needed no more."""
        del move, config
        return world, writer._replace(phase=Phase.CHECKED, snapshot=())


class UpdateMetadata(Rule):
    """Under the lock the metadata table learns of the operation, before the operation is complete.

    Enabled: the conflict check was passed.
    Effect: the metadata table has an entry for the requested time; its readers ignore it until the instant is
    complete.
    Unchanged: the table's own files.
    """

    step = Step.UPDATE_METADATA
    phases = frozenset({Phase.CHECKED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Always."""
        del world, writer, config
        yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Never refused."""
        del world, writer, move, config
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The metadata table knows."""
        del move
        if config.planted is not PlantedBug.SKIP_UPDATE_METADATA:
            world = world._replace(metadata=with_item(world.metadata, writer.requested))
        return world, writer._replace(phase=Phase.UPDATED)


class CompleteInstant(Rule):
    """The completed file appears: from here on every reader sees the operation whole.

    Enabled: the metadata table knows; where writers lock, the lease has not run out (the put carries its deadline);
    the clocks may give this completion time out, and it is later than the requested time.
    Effect: the commit is there; the file groups' locks are given back.
    Unchanged: the data files, the requested and the inflight file.
    """

    step = Step.COMPLETE_INSTANT
    phases = frozenset({Phase.UPDATED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The next tick."""
        early = config.planted is PlantedBug.EARLY_COMPLETION_TIME
        yield Move(self.step, number, time=writer.requested if early else world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused once the lease ran out, and for a time that the clocks cannot show."""
        unfenced = config.planted is PlantedBug.NO_FENCING
        if not unfenced and not locked(world, writer, given(move.writer), config):
            return "the lease of the table lock ran out"
        if config.planted is PlantedBug.EARLY_COMPLETION_TIME:
            return None
        if move.time is None or move.time <= writer.requested or not later(world, move.time, config):
            return f"the clock has already given out {world.clock}"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The operation is complete."""
        del config
        time = given(move.time)
        commit = Commit(writer.requested, time, writer.written, writer.changes, writer.new_keys)
        world = world._replace(
            commits=with_item(world.commits, commit),
            clock=ticked(world, time),
            group_locks=tuple(lock for lock in world.group_locks if lock.owner != writer.number),
            ghost_live=without_live(world, writer.requested, move.writer),
        )
        over = IDLE._replace(
            phase=Phase.COMPLETED,
            has_lock=writer.has_lock,
            beating=writer.beating,
            requested=writer.requested,
        )
        return world, finished(over)


class StopHeartbeat(Rule):
    """The heartbeat's file is removed; the operation is over.

    Enabled: the operation is completed or given up, the lock is given back, and the writer has a heartbeat.
    Effect: the heartbeat file is gone; the writer is idle.
    Unchanged: the timeline, the data files, the locks.
    """

    step = Step.STOP_HEARTBEAT
    phases = frozenset({Phase.COMPLETED, Phase.ABORTED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Once the lock is given back."""
        del world, writer, config
        yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and to a writer that has no heartbeat."""
        del world, move, config
        return "the writer still holds the table lock" if writer.has_lock or not writer.beating else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Nothing of the operation is left in the writer."""
        del move, config
        beats = tuple(beat for beat in world.heartbeats if beat.requested != writer.requested)
        return world._replace(heartbeats=beats), IDLE
