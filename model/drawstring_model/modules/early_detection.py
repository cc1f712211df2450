"""Early conflict detection: a writer gives up before it has written all, where it sees that it is going to conflict.

It looks at two things: the markers of other writers' files, while those writers live, and what completed since its
snapshot. Either may be there a moment after it looked, so what it saw is a reason to give up and never one to go on:
the check under the lock decides as before. So the early look changes neither what can be complete nor which promises
hold; it saves work, and wastes some where the other writer never completes.
Source: Java ``EarlyConflictDetectionStrategy``, ``SimpleDirectMarkerBasedDetectionStrategy``, RFC-56.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.conflict import candidates, touches
from drawstring_model.core.module import Module
from drawstring_model.core.state import WRITER, AbortReason, Move, Phase, World, Writer
from drawstring_model.core.writer import CheckConflicts
from drawstring_model.modules.heartbeats import heartbeat_is_alive


class CheckAfterDetection(CheckConflicts):
    """`CheckConflicts`, which an early look does not replace.

    Enabled: as in the core, whatever was seen early.
    Effect: the writer may complete.
    Unchanged: the world.
    """

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """As in the core, unless the planted bug has file groups compared early only."""
        if config.planted is PlantedBug.DETECT_EARLY_ONLY:
            config = replace(config, planted=PlantedBug.SKIP_CONFLICT_CHECK)
        return super().refusal(world, writer, move, config)


def foresees_conflict(world: World, writer: Writer, config: Config) -> bool:
    """Whether a file that is left to write is of a group that a living writer marked, or that has a later version."""
    left = {file.group for file in writer.plan}
    completed = {commit.requested for commit in world.commits}
    marked = {
        file.group
        for file in world.files
        if file.requested not in completed
        and file.requested != writer.requested
        and heartbeat_is_alive(world, file.requested)
    }
    return bool(left & marked) or touches(candidates(world, writer, config), left)


@dataclass(frozen=True, slots=True)
class EarlyDetection(Module):
    """Writers that give up as soon as they see a conflict coming."""

    name = "early_detection"
    requires = frozenset({"heartbeats"})
    rules = (CheckAfterDetection(),)

    def gives_up(self, world: World, writer: Writer, number: int, config: Config) -> Collection[AbortReason]:
        """A writer with files left to write."""
        del number
        writes = writer.role == WRITER and writer.phase is Phase.INFLIGHT and bool(writer.plan)
        return (AbortReason.CONFLICT,) if writes and foresees_conflict(world, writer, config) else ()
