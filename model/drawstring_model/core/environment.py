"""What happens to any process: a crash; and the reader's step.

A crash can happen at any point; the bounds say how often the explorer lets it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from drawstring_model.core.config import Config
from drawstring_model.core.module import Rule, fault_allowed
from drawstring_model.core.state import ORPHANED, Move, Phase, World, Writer, idle
from drawstring_spec.steps import Step


class Crash(Rule):
    """The writer stops for ever; what it wrote stays.

    Enabled: the writer is in an operation, or holds the lock.
    Effect: its memory is gone; its place is free for another incarnation, which does not hold its lock.
    Unchanged: all files, and the lock until its lease runs out.
    """

    step = Step.CRASH
    phases = frozenset(Phase)
    roles = None

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Within the bounds."""
        del writer
        if world.crashes < config.bounds.crashes and fault_allowed(world, config):
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused to whom does nothing: nobody could tell."""
        del world, move, config
        return "the writer does nothing" if writer == idle(writer) else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The lock has no living holder."""
        del config
        if move.writer is None:
            raise TypeError("a crash is a writer's")
        lock = ORPHANED if world.lock == move.writer else world.lock
        return world._replace(crashes=world.crashes + 1, faults=world.faults + 1, lock=lock), idle(writer)


class ReadSnapshot(Rule):
    """A reader picks a snapshot time, builds the file slices of it and merges their rows.

    Enabled: always. What it reads is `drawstring_model.core.reader.read_snapshot`.
    Effect: none.
    Unchanged: everything, so the explorer never takes it: the invariants read at every snapshot time instead.
    """

    step = Step.READ_SNAPSHOT
    phases = frozenset(Phase)
    is_of_the_world = True

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterable[Move]:
        """None."""
        del world, writer, number, config
        return ()
