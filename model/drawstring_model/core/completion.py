"""The end of a writer's operation, under the table lock: check, tell the metadata table, complete, let go.

Source: the specification's "Writer expectations", Java ``BaseHoodieWriteClient.commitStats``.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.conflict import conflict_reason, fenced
from drawstring_model.core.lock import locked
from drawstring_model.core.module import Rule, given, later, ticked, with_item
from drawstring_model.core.state import Commit, Move, Phase, World, Writer, ended, finished
from drawstring_spec.steps import Step


class CheckConflicts(Rule):
    """Under the lock the writer compares its work with all that completed since its snapshot, and passes.

    Enabled: all files are written; where writers lock, the writer believes that it holds the table lock; it is not
    fenced, and `drawstring_model.core.conflict.conflict_reason` finds nothing.
    Effect: the writer may complete.
    Unchanged: the world.
    """

    step = Step.CHECK_CONFLICTS
    roles = None
    phases = frozenset({Phase.INFLIGHT})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Once the files are written."""
        if not writer.plan:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused with work left, without the lock, to a fenced writer, and for a conflict."""
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
        return world, writer._replace(phase=Phase.CHECKED, snapshot=())


class UpdateMetadata(Rule):
    """Under the lock the metadata table learns of the operation, before the operation is complete.

    Enabled: the conflict check was passed.
    Effect: the metadata table has an entry for the requested time; its readers ignore it until the instant is
    complete.
    Unchanged: the table's own files.
    """

    step = Step.UPDATE_METADATA
    roles = None
    phases = frozenset({Phase.CHECKED})

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The metadata table knows."""
        if config.planted is not PlantedBug.SKIP_UPDATE_METADATA:
            world = world._replace(metadata=with_item(world.metadata, writer.requested))
        return world, writer._replace(phase=Phase.UPDATED)


class CompleteInstant(Rule):
    """The completed file appears: from here on every reader sees the operation whole.

    Enabled: the metadata table knows; where writers lock, the writer holds the lock, whatever it believes (the put
    carries its lease's deadline); the clocks may give this completion time out, later than the requested time.
    Effect: the commit is there.
    Unchanged: the data files, the requested and the inflight file.
    """

    step = Step.COMPLETE_INSTANT
    roles = None
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
        time = given(move.time)
        commit = Commit(writer.requested, time, writer.written, writer.changes, writer.new_keys)
        world = world._replace(commits=with_item(world.commits, commit), clock=ticked(world, time))
        return world, finished(ended(writer, Phase.COMPLETED))
