"""What makes a writer give its operation up: conflicts, fencing, refused puts.

The candidates of the conflict check are all commits that are completed now and not in the writer's snapshot: those
that completed since, and those that were requested later than the writer's own operation. So the versions of one
file group complete in the order of their requested times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from drawstring_model.core.config import ConcurrencyControl, Config, PlantedBug
from drawstring_model.core.module import Rule, given, modules_of
from drawstring_model.core.reader import keeps_rows
from drawstring_model.core.state import (
    WRITER,
    AbortReason,
    Commit,
    Group,
    Move,
    Phase,
    Time,
    Token,
    World,
    Writer,
    ended,
    finished,
)
from drawstring_spec.steps import Step


def candidates(world: World, writer: Writer, config: Config) -> tuple[Commit, ...]:
    """Commits that `writer` did not build on, but for those that keep all rows as they are."""
    unseen = {time for module in modules_of(config) for time in module.unseen(world, config)}
    return tuple(
        commit
        for commit in world.commits
        if (commit.requested, commit.completion) not in writer.snapshot
        and commit.requested not in unseen
        and not keeps_rows(world, commit, config)
    )


def touches(commits: tuple[Commit, ...], groups: set[Group]) -> bool:
    """Whether one of `commits` wrote to one of `groups`."""
    return any(file.group in groups for commit in commits for file in commit.files)


def conflict_reason(world: World, writer: Writer, config: Config) -> AbortReason | None:
    """What the conflict check of `writer` finds: file groups under optimistic control, then new keys if asked for.

    A table service has what it works on reserved by its plan; only writers are compared. Modules come first.
    """
    if any(module.conflicts(world, writer, config) for module in modules_of(config)):
        return AbortReason.CONFLICT
    if writer.role != WRITER or any(module.lets_all_complete() for module in modules_of(config)):
        return None
    others = candidates(world, writer, config)
    optimistic = config.concurrency is ConcurrencyControl.OPTIMISTIC
    compare_groups = optimistic and config.planted is not PlantedBug.SKIP_CONFLICT_CHECK
    compare_keys = config.key_check and config.planted is not PlantedBug.SKIP_KEY_CHECK
    if compare_groups and touches(others, {file.group for file in writer.written}):
        return AbortReason.CONFLICT
    if compare_keys and any(key in writer.new_keys for commit in others for key in commit.new_keys):
        return AbortReason.KEY_CONFLICT
    return None


def fenced(world: World, writer: Writer, config: Config) -> bool:
    """Whether others may regard the operation as failed."""
    return any(module.fences(world, writer, config) for module in modules_of(config))


class AbortWrite(Rule):
    """The writer gives its operation up (conflict, lost lock, expired heartbeat, lost inflight file).

    Enabled: the reason that the move names is there. `AbortReason.FAILED` always is, and is never explored.
    Effect: the writer forgets its work but still has to give its lock back and stop its heartbeat. Where its
    requested file was refused, instant and heartbeat of that time belong to somebody else, and are let be.
    Unchanged: all files. What the operation wrote stays pending until a rollback.
    """

    step = Step.ABORT_WRITE
    roles = None
    phases = frozenset(Phase) - {Phase.START, Phase.COMPLETED, Phase.ABORTED}

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """One move for each reason that can be there in the writer's phase."""
        if writer.has_lock and world.lock != number:
            yield Move(self.step, number, reason=AbortReason.LOST_LOCK)
        if writer.phase in (Phase.BEATING, Phase.TIMED, Phase.LOOKED_UP) or writer.plan:
            yield Move(self.step, number, reason=AbortReason.COLLISION)
        if writer.phase is Phase.LOOKED_UP:
            yield Move(self.step, number, reason=AbortReason.CONFLICT)
        if writer.phase is Phase.INFLIGHT and not writer.plan:
            for reason in (AbortReason.FENCED, AbortReason.CONFLICT, AbortReason.KEY_CONFLICT):
                yield Move(self.step, number, reason=reason)
        for module in modules_of(config):
            for reason in module.gives_up(world, writer, number, config):
                yield Move(self.step, number, reason=reason)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without its reason."""
        there: dict[AbortReason, Callable[[], bool]] = {
            AbortReason.FAILED: lambda: True,
            AbortReason.LOST_LOCK: lambda: writer.has_lock and world.lock != move.writer,
            AbortReason.COLLISION: lambda: _collides(world, writer, config),
            AbortReason.FENCED: lambda: writer.phase >= Phase.REQUESTED and fenced(world, writer, config),
            AbortReason.CONFLICT: lambda: _conflict(world, writer, config) is AbortReason.CONFLICT,
            AbortReason.KEY_CONFLICT: lambda: _conflict(world, writer, config) is AbortReason.KEY_CONFLICT,
        }
        if move.reason is not None and (there[move.reason]() or _is_a_modules(world, writer, move, config)):
            return None
        return f"there is no reason to give up: {move.reason}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """What a writer still has to give back is known; nothing else."""
        if move.reason is AbortReason.COLLISION and writer.phase < Phase.REQUESTED:
            writer = writer._replace(requested=0, parts=())
        return world, finished(ended(writer, Phase.ABORTED))


def _is_a_modules(world: World, writer: Writer, move: Move, config: Config) -> bool:
    """Whether a module makes the writer give up for the move's reason."""
    number = given(move.writer)
    return any(move.reason in module.gives_up(world, writer, number, config) for module in modules_of(config))


def _collides(world: World, writer: Writer, config: Config) -> bool:
    """Whether the next put of `writer` is refused because the file exists."""
    if writer.phase is Phase.INFLIGHT:
        groups = [file.group for file in writer.plan[:1]]
        names = {(group, writer.requested, next_token(world, group, writer.requested, config)) for group in groups}
        return any(file[:3] in names for file in world.files) and not config.replaces_files()
    if config.planted is PlantedBug.ADOPT_COLLIDING_TIME:
        return False
    taken = world.inflight if writer.phase is Phase.LOOKED_UP else world.requested
    puts = writer.phase in (Phase.TIMED, Phase.BEATING, Phase.LOOKED_UP)
    return puts and writer.requested in taken and not config.replaces_files()


def next_token(world: World, group: Group, requested: Time, config: Config) -> Token:
    """The write token of the next attempt to write a file: with salt one that no earlier attempt's file has.

    Real tokens are random; all that matters of them is which are equal, so the explorer counts.
    """
    tokens = [file.token for file in world.files if file[:2] == (group, requested)]
    return max(tokens) + 1 if tokens and config.tokens_differ() else 0


def _conflict(world: World, writer: Writer, config: Config) -> AbortReason | None:
    """The conflict that stops `writer` in its phase."""
    if writer.phase is Phase.LOOKED_UP:
        pessimistic = config.concurrency is ConcurrencyControl.PESSIMISTIC
        groups = {file.group for file in writer.plan}
        return AbortReason.CONFLICT if pessimistic and touches(candidates(world, writer, config), groups) else None
    if writer.phase is not Phase.INFLIGHT or writer.plan or (config.locking and not writer.has_lock):
        return None
    return conflict_reason(world, writer, config)
