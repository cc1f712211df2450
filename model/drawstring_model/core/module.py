"""The mechanism: what a rule is, and how a module adds a concern to the core without the core knowing it.

A `Rule` says when its step is *enabled* (`Rule.refusal` is None), what its *effect* is (`Rule.effect`), and, by what
the effect does not replace, what stays *unchanged*. `Rule.moves` proposes the moves that the explorer looks at: at
most the enabled ones, within the bounds. The docstring of each rule has the three parts in words.

A `Module` adds rules of its own, and says three things about the rules of others: what forbids them (`guards`), what
else they change (`consequences`), and the answers to the core's few questions (its methods). Its state is a part of
the world, and of a process's memory, that only it replaces: a NamedTuple whose defaults say "nothing yet".
``docs/decisions/model-modules.md`` tells how to write one.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, TypeVar, cast

from drawstring_model.core.config import Config
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import (
    WRITER,
    AbortReason,
    Changes,
    Commit,
    DataFile,
    FileName,
    Group,
    Key,
    Move,
    Phase,
    PlannedFile,
    Role,
    Time,
    World,
    Writer,
)
from drawstring_spec.steps import Step

Item = TypeVar("Item")
Part = TypeVar("Part", bound=tuple[Any, ...])
Holder = TypeVar("Holder", World, Writer)

Guard = Callable[[World, Writer, Move, Config], str | None]
"""Why a module does not allow a step of another's, in words; None where it does."""
Consequence = Callable[[World, Writer, Move, Config], World]
"""What else a step of another's makes of the world; the memory is the one from before the step."""
Snapshot = tuple[tuple[Time, Time], ...]
"""(requested, completion) of the commits that a writer builds on."""


class Rule(ABC):
    """One action. `phases` are those of the process in which it can be enabled at all, `roles` whose it is."""

    step: ClassVar[Step]
    phases: ClassVar[frozenset[Phase]]
    roles: ClassVar[frozenset[Role] | None] = frozenset({WRITER})
    """None: any process's. The step of no process in particular has `is_of_the_world`."""
    is_of_the_world: ClassVar[bool] = False

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterable[Move]:
        """Propose moves of process `number` to the explorer; those that are refused are dropped later."""
        return (Move(self.step, number),)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Why `move` is not enabled, in words; None where it is. The phase was looked at already."""
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """What `move` makes of the world and of its process. Called only where it is enabled."""
        return world, writer


class Module:
    """One concern of the protocol. A subclass overrides what it has a say in; switches are fields of a dataclass.

    Attributes:
        name: by which `requires` and readers speak of it.
        requires: names of the modules without which it makes no sense.
        roles: the processes that it adds, one of each name, beside the writers.
        rules: its actions. One with the step of an earlier module or of the core takes that rule's place.
        guards: what forbids steps of others.
        consequences: what else steps of others change.
        invariants: what it promises of every state.

    """

    name: ClassVar[str]
    requires: ClassVar[frozenset[str]] = frozenset()
    roles: ClassVar[tuple[Role, ...]] = ()
    rules: ClassVar[tuple[Rule, ...]] = ()
    guards: ClassVar[Mapping[Step, Guard]] = {}
    consequences: ClassVar[Mapping[Step, Consequence]] = {}
    invariants: ClassVar[Mapping[Promise, Check]] = {}

    def allows_time(self, world: World, time: Time, config: Config) -> bool:
        """Whether the clocks may show `time` although it is not later than all before."""
        return False

    def fences(self, world: World, writer: Writer, config: Config) -> bool:
        """Whether others may regard the operation of `writer` as failed."""
        return False

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """Whether an idle process has something to do under the table lock."""
        return False

    def spares(self, world: World, time: Time) -> bool:
        """Whether the pending instant of `time` waits to be run, and is no failed write."""
        return False

    def keeps_rows(self, world: World, commit: Commit) -> bool:
        """Whether `commit` only lays rows out anew, so that no writer conflicts with it or builds on it."""
        return False

    def pending_instants(self, world: World) -> tuple[Time, ...]:
        """Requested times of pending instants that are on the timeline of a query nevertheless."""
        return ()

    def hidden(self, world: World, visible: Collection[Time], config: Config) -> Collection[Group]:
        """File groups of which nothing is read where the instants `visible` are."""
        return ()

    def conflicts(self, world: World, writer: Writer, config: Config) -> bool:
        """Whether the module has a reason of its own why the process, about to complete, has to give up."""
        return False

    def gives_up(self, world: World, writer: Writer, number: int, config: Config) -> Collection[AbortReason]:
        """Why process `number` has to give its operation up now, beside the core's reasons."""
        return ()

    def lets_all_complete(self) -> bool:
        """Whether writers are not compared: all of one file group complete, and readers merge what they wrote."""
        return False

    def slices(self, world: World, visible: Collection[Time], config: Config) -> dict[Group, DataFile] | None:
        """Of each file group what is read where the instants `visible` are; None leaves it to the others."""
        return None

    def as_read(self, world: World, visible: Collection[Time], config: Config) -> tuple[World, Collection[Time]]:
        """`world` and the instants `visible` as those see them who read the timeline and list files now."""
        return world, visible

    def unseen(self, world: World, config: Config) -> Collection[Time]:
        """Completed writes that a writer does not find any more when it compares its work with others'."""
        return ()

    def planned(
        self, world: World, snapshot: Snapshot, changes: Changes, homes: Mapping[Key, Group], config: Config
    ) -> tuple[PlannedFile, ...] | None:
        """The files that `changes` take; None leaves it to the others."""
        return None

    def refuses(self, world: World, as_of: Time) -> bool:
        """Whether a query as of `as_of` is refused, because the table has no whole answer any more."""
        return False

    def removed(self, world: World) -> Collection[FileName]:
        """Data files of completed writes that are gone, or are going to be, by plan."""
        return ()

    def kept_files(self, world: World, config: Config) -> Collection[FileName]:
        """Data files whose slices no clean may take."""
        return ()

    def taken_back(self, world: World) -> Collection[Time]:
        """Writes whose requested file may be gone by plan, while an inflight file of theirs may still be put."""
        return ()


def modules_of(config: Config) -> tuple[Module, ...]:
    """The modules of `config`."""
    return cast("tuple[Module, ...]", config.modules)


def part(holder: Holder, kind: type[Part]) -> Part:
    """The part of that kind of a world or of a memory; one with its defaults where there is none yet."""
    for key, value in holder.parts:
        if key is kind:
            return cast("Part", value)
    return kind()


def with_part(holder: Holder, value: tuple[Any, ...]) -> Holder:
    """`holder` with this part in place of the one of its kind. A part with its defaults leaves no trace."""
    kind = type(value)
    parts = [kept for kept in holder.parts if kept[0] is not kind]
    if value != kind():
        parts.append((kind, value))
    return holder._replace(parts=tuple(sorted(parts, key=lambda kept: kept[0].__name__)))


def with_item(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """`items` and `item`, sorted, each once."""
    if item in items:
        return items
    return tuple(sorted((*items, item)))  # type: ignore[type-var]  # every item is a tuple or an integer


def without_item(items: tuple[Item, ...], item: Item) -> tuple[Item, ...]:
    """`items` but for `item`."""
    return tuple(kept for kept in items if kept != item)


def later(world: World, time: int, config: Config) -> bool:
    """Whether the clocks of `config` may give `time` out now."""
    return time > world.clock or any(module.allows_time(world, time, config) for module in modules_of(config))


def ticked(world: World, time: int) -> int:
    """The world's clock after `time` was given out."""
    return max(world.clock, time)


def given(value: int | None) -> int:
    """A parameter that the move must have."""
    if value is None:
        raise TypeError("the move lacks a parameter that its step needs")
    return value
