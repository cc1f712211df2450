"""The table lock, and the file groups' locks of pessimistic control.

The table lock is a lease. Whether a writer *believes* that it holds it is the writer's memory; whether it does is the
world's. They differ once the lease has run out: the holder was asleep, and every put that carries the lease's
deadline is refused from then on (`drawstring_model.rule.locked`).
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.completion import finished
from drawstring_model.config import ConcurrencyControl, Config
from drawstring_model.conflict import candidates, touches
from drawstring_model.rollback import has_rollback_work
from drawstring_model.rule import Rule, with_item
from drawstring_model.state import FREE, GroupLock, Move, Phase, World, Writer
from drawstring_model.writer import may_start
from drawstring_spec.steps import Step


class AcquireLock(Rule):
    """The writer holds the table lock, or (with a file group) the lock of one file group.

    Enabled: for the table: the lock is free, and the writer is idle, or its instant is pending (to complete it, or to
    give it up in good order). For a file group,
    under pessimistic control: nobody holds its lock, the writer is going to write to it and has not begun, and no
    commit outside the writer's snapshot touched it.
    Effect: the lock is the writer's.
    Unchanged: all files.
    """

    step = Step.ACQUIRE_LOCK
    phases = frozenset({Phase.START, Phase.REQUESTED, Phase.LOOKED_UP, Phase.INFLIGHT, Phase.ABORTED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The table lock where there is something to do in it; file groups in ascending order, against deadlock."""
        if not config.locking or writer.phase in (Phase.REQUESTED, Phase.ABORTED):
            return
        if writer.phase is Phase.LOOKED_UP:
            if config.concurrency is not ConcurrencyControl.PESSIMISTIC:
                return
            mine = {lock.group for lock in world.group_locks if lock.owner == writer.number}
            for file in [file for file in writer.plan if file.group not in mine][:1]:
                yield Move(self.step, number, group=file.group)
            return
        idle = writer.phase is Phase.START
        work = may_start(world, number, config) or has_rollback_work(world, config)
        if work if idle else not writer.plan:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where the lock is taken, or is not one that the writer needs now."""
        if not config.locking:
            return "nobody locks under this concurrency control"
        if move.group is not None:
            return _group_refusal(world, writer, move.group, config)
        if writer.has_lock:
            return "the writer believes that it holds the table lock"
        return None if world.lock == FREE else "the table lock is taken"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The lock is taken."""
        del config
        if move.group is not None:
            lock = GroupLock(move.group, writer.requested, writer.number)
            return world._replace(group_locks=with_item(world.group_locks, lock)), writer
        if move.writer is None:
            raise TypeError("the table lock is taken by a writer")
        return world._replace(lock=move.writer), writer._replace(has_lock=True)


def _group_refusal(world: World, writer: Writer, group: int, config: Config) -> str | None:
    if config.concurrency is not ConcurrencyControl.PESSIMISTIC:
        return "file groups are locked under pessimistic control only"
    if writer.phase is not Phase.LOOKED_UP or group not in {file.group for file in writer.plan}:
        return f"file group {group} is not one that the writer is about to write to"
    if any(lock.group == group for lock in world.group_locks):
        return f"file group {group} is locked"
    if touches(candidates(world, writer), {group}):
        return f"file group {group} has a version that the writer did not build on"
    return None


class ReleaseLock(Rule):
    """The writer gives the table lock back.

    Enabled: the writer believes that it holds the lock, and is not in the middle of what it took it for.
    Effect: the writer holds no lock; the lock is free if it was the writer's.
    Unchanged: all files.
    """

    step = Step.RELEASE_LOCK
    phases = frozenset({Phase.START, Phase.REQUESTED, Phase.COMPLETED, Phase.ABORTED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Wherever it is held."""
        del world, config
        if writer.has_lock:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused to whom does not hold it."""
        del world, move, config
        return None if writer.has_lock else "the writer does not hold the table lock"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Another holder's lock is never released."""
        del config
        lock = FREE if world.lock == move.writer else world.lock
        return world._replace(lock=lock), finished(writer._replace(has_lock=False))
