"""The table lock, under which a writer takes its time, and checks and completes its operation.

Whether a process *believes* that it holds the lock is its memory; whether it does is the world's. In the core they
agree, and a lock whose holder crashed is nobody's for ever; `drawstring_model.modules.locks` makes it a lease.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.core.config import Config
from drawstring_model.core.module import Rule, modules_of
from drawstring_model.core.state import FREE, WRITER, Move, Phase, World, Writer, finished
from drawstring_spec.steps import Step


def may_start(world: World, number: int, config: Config) -> bool:
    """Whether the explorer lets writer `number` start an operation: writers are alike, so writer 0 starts the first."""
    return world.started < len(config.bounds.workload) and (world.started > 0 or number == 0)


def locked(world: World, writer: Writer, number: int, config: Config) -> bool:
    """Whether a put of process `number` that carries its lease's deadline takes effect; true where nobody locks."""
    return not config.locking or (writer.has_lock and world.lock == number)


class AcquireLock(Rule):
    """The process holds the table lock.

    Enabled: the lock is free, and the process is idle, or its instant is pending (to complete it, or to give it up in
    good order).
    Effect: the lock is the process's.
    Unchanged: all files.
    """

    step = Step.ACQUIRE_LOCK
    phases = frozenset({Phase.START, Phase.REQUESTED, Phase.INFLIGHT, Phase.ABORTED})
    roles = None

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Where there is something to do in the lock."""
        if not config.locking or writer.phase in (Phase.REQUESTED, Phase.ABORTED):
            return
        if writer.phase is Phase.INFLIGHT:
            work = not writer.plan
        else:
            start = writer.role == WRITER and may_start(world, number, config)
            work = start or any(module.has_work(world, writer, config) for module in modules_of(config))
        if work:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where nobody locks, and where the lock is taken."""
        if not config.locking:
            return "nobody locks under this concurrency control"
        if writer.has_lock:
            return "the writer believes that it holds the table lock"
        return None if world.lock == FREE else "the table lock is taken"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The lock is taken."""
        if move.writer is None:
            raise TypeError("the table lock is taken by a writer")
        return world._replace(lock=move.writer), writer._replace(has_lock=True)


class ReleaseLock(Rule):
    """The process gives the table lock back.

    Enabled: the process believes that it holds the lock, and is not in the middle of what it took it for.
    Effect: the process holds no lock; the lock is free if it was the process's.
    Unchanged: all files.
    """

    step = Step.RELEASE_LOCK
    phases = frozenset({Phase.START, Phase.REQUESTED, Phase.COMPLETED, Phase.ABORTED})
    roles = None

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused to whom does not hold it."""
        return None if writer.has_lock else "the writer does not hold the table lock"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Another holder's lock is never released."""
        lock = FREE if world.lock == move.writer else world.lock
        return world._replace(lock=lock), finished(writer._replace(has_lock=False))
