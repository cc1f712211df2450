"""What makes a writer give its operation up: conflicts, and being taken for dead; modules know of more.

The candidates of the conflict check are all commits that are completed now and not in the writer's snapshot: those
that completed since, and those that were requested later than the writer's own operation. So the versions of one
file group complete in the order of their requested times.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    Effect: the writer forgets its work but still has to give back what it holds.
    Unchanged: all files. What the operation wrote stays pending until a rollback.
    """

    step = Step.ABORT_WRITE
    roles = None
    phases = frozenset(Phase) - {Phase.START, Phase.COMPLETED, Phase.ABORTED}

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """One move for each reason that is there."""
        for reason in reasons_to_give_up(world, writer, number, config):
            yield Move(self.step, number, reason=reason)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without its reason. Who is taken for dead may find out before its files are written."""
        early = move.reason is AbortReason.FENCED and writer.phase >= Phase.REQUESTED and fenced(world, writer, config)
        if move.reason is AbortReason.FAILED or early:
            return None
        reasons = reasons_to_give_up(world, writer, given(move.writer), config)
        return None if move.reason in reasons else f"there is no reason to give up: {move.reason}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """What a writer still has to give back is known; nothing else."""
        return world, finished(ended(writer, Phase.ABORTED))


def reasons_to_give_up(world: World, writer: Writer, number: int, config: Config) -> list[AbortReason]:
    """Why process `number` has to give its operation up now: what modules say, then the check before completion."""
    reasons = [reason for module in modules_of(config) for reason in module.gives_up(world, writer, number, config)]
    if writer.phase is Phase.INFLIGHT and not writer.plan:
        if fenced(world, writer, config):
            reasons.append(AbortReason.FENCED)
        conflict = conflict_reason(world, writer, config) if writer.has_lock or not config.locking else None
        reasons += [conflict] if conflict else []
    return reasons
