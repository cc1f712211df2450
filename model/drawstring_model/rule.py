"""The skeleton that every action of the model has.

A rule says when its step is *enabled* (`Rule.refusal` is None), what its *effect* is (`Rule.effect`), and, by what
the effect does not replace, what stays *unchanged*. `Rule.moves` proposes the moves that the explorer looks at: at
most the enabled ones, within the bounds. The docstring of each rule has the three parts in words.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, TypeVar

from drawstring_model.config import Config
from drawstring_model.state import LiveOperation, Move, Phase, Time, World, Writer
from drawstring_spec.steps import Step

Item = TypeVar("Item")


class Rule(ABC):
    """One action. `phases` are those of the writer in which it can be enabled at all."""

    step: ClassVar[Step]
    phases: ClassVar[frozenset[Phase]]

    @abstractmethod
    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterable[Move]:
        """Propose moves of writer `number` to the explorer; those that are refused are dropped later."""

    @abstractmethod
    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Why `move` is not enabled, in words; None where it is. The phase was looked at already."""

    @abstractmethod
    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """What `move` makes of the world and of its writer. Called only where it is enabled."""


def with_item(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """`items` and `item`, sorted, each once."""
    if item in items:
        return items
    return tuple(sorted((*items, item)))  # type: ignore[type-var]  # every item is a tuple or an integer


def without_item(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """`items` but for `item`."""
    return tuple(kept for kept in items if kept != item)


def without_live(world: World, requested: Time, number: int | None) -> tuple[LiveOperation, ...]:
    """`World.ghost_live` without the operation of writer `number` at `requested`."""
    return tuple(live for live in world.ghost_live if live[:2] != (requested, number))


def locked(world: World, writer: Writer, number: int, config: Config) -> bool:
    """Whether a put of writer `number` that carries its lease's deadline takes effect; true where nobody locks."""
    return not config.locking or (writer.has_lock and world.lock == number)


def later(world: World, time: int, config: Config) -> bool:
    """Whether the clocks of `config` may give `time` out now."""
    return time > world.clock or not config.clock.is_monotonic


def ticked(world: World, time: int) -> int:
    """The world's clock after `time` was given out."""
    return max(world.clock, time)


def given(value: int | None) -> int:
    """A parameter that the move must have."""
    if value is None:
        raise TypeError("the move lacks a parameter that its step needs")
    return value
