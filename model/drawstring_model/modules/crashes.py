"""Crashes: a process stops for ever, and what it wrote stays.

A crash can happen at any point; the bounds say how often the explorer lets it. A process that only hangs needs no rule:
it takes no step for as long as one likes.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.core.config import Config
from drawstring_model.core.module import Module, Rule, given
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
        lock = ORPHANED if world.lock == given(move.writer) else world.lock
        return world._replace(crashes=world.crashes + 1, faults=world.faults + 1, lock=lock), idle(writer)


def fault_allowed(world: World, config: Config) -> bool:
    """Whether the bounds let one more bad thing happen to a living process."""
    return world.faults < config.bounds.faults and world.started <= config.bounds.faults_until


class Crashes(Module):
    """Processes that stop for ever."""

    name = "crashes"
    rules = (Crash(),)
