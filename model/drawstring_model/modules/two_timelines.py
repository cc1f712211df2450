"""A reader of both timelines, which cannot look at both at once: first the active one, then the archive.

What is archived in between is found on both, and is one instant. Who reads the archive first finds it on neither, and
takes a write that completed long ago for one that never was. Source: Java ``CompletionTimeQueryViewV2``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.module import Module, Rule, part, with_part
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import Move, Phase, Time, World, Writer
from drawstring_model.modules.archived import archived_entries, completed_writes
from drawstring_spec.steps import Step

HISTORIAN = "reader of both timelines"


class Look(NamedTuple):
    """What the reader has found, how many looks it began, and what was completed when the present one began.

    `active` and `archived` are None before the timeline in question was read.
    """

    begun: int = 0
    active: tuple[Time, ...] | None = None
    archived: tuple[Time, ...] | None = None
    ghost_completed: tuple[Time, ...] = ()


class ReadTimeline(Rule):
    """What reading the one and the other timeline have in common."""

    phases = frozenset({Phase.START})
    roles = frozenset({HISTORIAN})
    is_active: ClassVar[bool]

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Within the module's bounds."""
        del writer
        bound = next(module.looks for module in config.modules if isinstance(module, TwoTimelines))
        if self._is_second(config) or part(world, Look).begun < bound:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused out of turn."""
        del writer, move
        look = part(world, Look)
        has_one = (look.active is None) != (look.archived is None)
        return None if has_one == self._is_second(config) else "the other timeline is to be read now"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The timeline is read."""
        del move
        look = part(world, Look)
        if not self._is_second(config):
            look = Look(look.begun + 1, ghost_completed=tuple(sorted(commit.requested for commit in world.commits)))
        if self.is_active:
            return with_part(world, look._replace(active=tuple(completed_writes(world)))), writer
        return with_part(world, look._replace(archived=tuple(sorted(archived_entries(world))))), writer

    def _is_second(self, config: Config) -> bool:
        return self.is_active == (config.planted is PlantedBug.READ_ARCHIVE_FIRST)


class ListTimeline(ReadTimeline):
    """The reader lists the active timeline.

    Enabled: it reads nothing else; the explorer lets it begin a few times.
    Effect: it knows the completed writes of the active timeline.
    Unchanged: everything else.
    """

    step = Step.LIST_TIMELINE
    is_active = True


class ReadArchive(ReadTimeline):
    """The reader reads the archive, by its newest manifest.

    Enabled: it has listed the active timeline.
    Effect: it knows what is archived.
    Unchanged: everything else.
    """

    step = Step.READ_ARCHIVE
    is_active = False


def found_on_one_of_them(world: World, config: Config) -> str | None:
    """`Promise.HISTORY_IS_WHOLE`, of a reader that has read both."""
    del config
    look = part(world, Look)
    if look.active is None or look.archived is None:
        return None
    missing = sorted({*look.ghost_completed} - {*look.active, *look.archived})
    return f"a reader found the completed write {missing[0]} on neither timeline" if missing else None


@dataclass(frozen=True, slots=True)
class TwoTimelines(Module):
    """One reader of both timelines, which the explorer lets look `looks` times."""

    name = "two_timelines"
    requires = frozenset({"archival"})
    roles = (HISTORIAN,)
    rules = (ListTimeline(), ReadArchive())
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.HISTORY_IS_WHOLE: found_on_one_of_them}
    looks: int = 1
