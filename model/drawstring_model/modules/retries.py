"""Trying again: an operation that its writer gave up is started once more, as a new operation with a new instant.

Nothing of the first attempt is taken over: the second has a requested time, a snapshot and files of its own, and the
first is rolled back as any failed write. What was a conflict for the first is in the snapshot of the second. Whoever
tries again relies on two things: that a write which was given up is not complete (`Promise.TRUE_OUTCOMES`), and that
the first attempt is over. Without either, one operation is applied twice.

Each operation of the workload writes a value of its own, so a value that two commits wrote was applied twice.
Source: Java ``HoodieSparkSqlWriter``'s retries (``hoodie.write.num.retries.on.conflict.failures``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.module import Consequence, Module, given, part, with_item, with_part, without_item
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import WRITER, Move, Phase, World, Writer
from drawstring_model.core.writer import GenerateRequestedTime
from drawstring_spec.steps import Step


class Attempts(NamedTuple):
    """The numbers of the operations that were given up and wait to be tried again; how often one was so far."""

    waiting: tuple[int, ...] = ()
    retries: int = 0


class RetryWrite(GenerateRequestedTime):
    """A free writer takes a new time for an operation that was given up.

    Enabled: as `GenerateRequestedTime`; the operation was given up, and nobody has tried again.
    Effect: the writer has the time, and the operation.
    Unchanged: all files; what is left of the first attempt.
    """

    step = Step.RETRY_WRITE

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Each that waits, at the next tick, within the module's bounds."""
        del writer
        if may_retry(world, config):
            for operation in waiting(world, config):
                yield Move(self.step, number, time=world.clock + 1, target=operation)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused for an operation that does not wait, and where no operation could begin."""
        if move.target not in waiting(world, config):
            return f"operation {move.target} was not given up"
        return super().refusal(world, writer, move, config)

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The operation is the writer's; no further one of the workload was started."""
        operation, started = given(move.target), world.started
        world, writer = super().effect(world, writer, move, config)
        mine = part(world, Attempts)
        mine = Attempts(without_item(mine.waiting, operation), mine.retries + 1)
        return with_part(world._replace(started=started), mine), writer._replace(number=operation)


def waiting(world: World, config: Config) -> tuple[int, ...]:
    """The numbers of the operations that may be tried again."""
    if config.planted is PlantedBug.RETRY_WHILE_ALIVE:
        return tuple(range(1, world.started + 1))
    return part(world, Attempts).waiting


def may_retry(world: World, config: Config) -> bool:
    """Whether the explorer lets an operation be tried again: within the bounds, and where one waits."""
    bound = next(module.retries for module in config.modules if isinstance(module, Retries))
    return part(world, Attempts).retries < bound and bool(waiting(world, config))


def waits(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: an operation that its writer gave up waits to be tried again."""
    del move, config
    if writer.role != WRITER:
        return world
    mine = part(world, Attempts)
    return with_part(world, mine._replace(waiting=with_item(mine.waiting, writer.number)))


def applied_once(world: World, config: Config) -> str | None:
    """`Promise.APPLIED_ONCE`."""
    del config
    written = Counter(value for commit in world.commits for value in {value for _, value in commit.changes if value})
    twice = sorted(value for value, times in written.items() if times > 1)
    times = [commit.requested for commit in world.commits if any(value in twice for _, value in commit.changes)]
    return f"operation {twice[0]} was applied by {times[0]} and by {times[1]}" if twice else None


@dataclass(frozen=True, slots=True)
class Retries(Module):
    """Operations that are tried again with a new instant; the explorer lets `retries` of them."""

    name = "retries"
    rules = (RetryWrite(),)
    consequences: ClassVar[Mapping[Step, Consequence]] = {Step.ABORT_WRITE: waits}
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.APPLIED_ONCE: applied_once}
    retries: int = 1

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """An operation to be tried again, for a writer."""
        return writer.role == WRITER and writer.phase is Phase.START and may_retry(world, config)
