"""Non-blocking concurrency control: writers of one file group all complete, and readers merge what they wrote.

Keys are hashed to file groups (buckets), so nobody looks keys up, and no key is in two of them. Each write appends log
files, to a bucket without any file too; nothing is compared before completion. What two writers did to one key is
decided by the merge: `drawstring_model.modules.log_files` has its rule and its order. Where the order is that of
requested times, as in Java Hudi, a compaction can take an early completed write into a base file that a late completed
one with a *smaller* requested time is merged on later: only merges that know no order (`MergeRule.GREATEST`), or the
order of completion times, which also decides the slices, give what all commits give together.

A reader of changes reads on from where it stopped; by completion times it misses nothing, by requested times it
misses who completes late (`NonBlocking.checkpoint`). `TaskRetries` adds tasks that are run twice.
Source: the specification's "Incremental Streaming Model", RFC-42, RFC-66, Java ``IncrementalQueryAnalyzer``,
``HoodieTable.finalizeWrite``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug, SnapshotTime, numbered
from drawstring_model.core.module import Consequence, Module, Rule, part, with_item, with_part, without_item
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.reader import keeps_rows
from drawstring_model.core.state import Commit, Group, Key, Move, Phase, PlannedFile, Time, World, Writer
from drawstring_model.modules.compaction import latest_snapshot
from drawstring_spec.steps import Step


class Retries(NamedTuple):
    """How many tasks were run again so far."""

    tasks: int = 0


def bucket(key: Key, buckets: int) -> Group:
    """The file group of a key; nobody has to look for it."""
    return (key - 1) % buckets + 1


class LookupBuckets(Rule):
    """The writer finds each key's file group by its hash, and plans a log file for each that is touched.

    Enabled: the instant is requested and the table lock was given back; each key is placed in its bucket.
    Effect: the writer knows its changes, deletes of keys that may not be there among them, and its log files.
    Unchanged: the world. There is no snapshot: nothing is built on what others wrote.
    """

    step = Step.LOOKUP_KEYS
    phases = frozenset({Phase.REQUESTED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The operation of the workload."""
        del world
        changes = numbered(config.bounds.workload[writer.number - 1], writer.number)
        placement = tuple((key, bucket(key, config.bounds.groups)) for key, _ in changes)
        yield Move(self.step, number, changes=changes, placement=placement)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and for a key that is not placed in its bucket."""
        del world
        if writer.has_lock:
            return "the writer still holds the table lock"
        buckets = {key: bucket(key, config.bounds.groups) for key, _ in move.changes or ()}
        return None if dict(move.placement or ()) == buckets and buckets else f"the keys belong to {buckets}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The log files are planned."""
        del config
        changes, homes = move.changes or (), dict(move.placement or ())
        plan = tuple(
            PlannedFile(group, None, tuple(change for change in changes if homes[change[0]] == group), is_log=True)
            for group in sorted(set(homes.values()))
        )
        return world, writer._replace(phase=Phase.LOOKED_UP, changes=changes, plan=plan)


class RetryTask(Rule):
    """A task that wrote a data file counts as failed and is run again; its file stays until the write completes.

    Enabled: the instant is inflight, and the file is written.
    Effect: the file is planned once more; the next attempt has a write token of its own.
    Unchanged: the timeline, the data files, the lock.
    """

    step = Step.RETRY_TASK
    phases = frozenset({Phase.INFLIGHT})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Within the module's bounds, before the writer takes the lock."""
        bound = next(module.retries for module in config.modules if isinstance(module, TaskRetries))
        if part(world, Retries).tasks < bound and not writer.has_lock:
            for file in writer.written:
                yield Move(self.step, number, group=file.group)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused for a file that is not written."""
        del world, config
        written = {file.group for file in writer.written}
        return None if move.group in written else f"no file of group {move.group} is written"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The file is to be written again."""
        del config
        failed = next(file for file in writer.written if file.group == move.group)
        again = PlannedFile(failed.group, failed.base, failed.rows, failed.is_log)
        world = with_part(world, Retries(part(world, Retries).tasks + 1))
        return world, writer._replace(plan=with_item(writer.plan, again), written=without_item(writer.written, failed))


def leftovers_go(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: before it completes a write deletes the files of its instant that no task reported."""
    del move
    if config.planted is PlantedBug.KEEP_RETRIED_FILES:
        return world
    reported = {(file.group, writer.requested, file.token) for file in writer.written}
    files = (file for file in world.files if file.requested != writer.requested or file[:3] in reported)
    return world._replace(files=tuple(files))


def incremental_reads(world: World, config: Config) -> str | None:
    """`Promise.INCREMENTAL_READS`, for a reader that stopped at any time at which a write completed."""
    module = next(module for module in config.modules if isinstance(module, NonBlocking))

    def time(commit: Commit) -> Time:
        return commit.completion if module.checkpoint is SnapshotTime.COMPLETION else commit.requested

    for last in world.commits:
        point = max(time(commit) for commit in world.commits if commit.completion <= last.completion)
        for commit in world.commits:
            late = commit.completion > last.completion and not keeps_rows(world, commit, config)
            if late and time(commit) <= point:
                return (
                    f"a reader that stopped at {last.completion} reads on from {point}, "
                    f"and misses {commit.requested}, which completed at {commit.completion}"
                )
    return None


@dataclass(frozen=True, slots=True)
class NonBlocking(Module):
    """Writers of buckets that are not compared; `checkpoint` is the time by which readers of changes read on."""

    name = "non_blocking"
    requires = frozenset({"log_files"})
    rules = (LookupBuckets(),)
    invariants: ClassVar[Mapping[Promise, Check]] = {
        Promise.LATEST_SNAPSHOT: latest_snapshot,
        Promise.INCREMENTAL_READS: incremental_reads,
    }
    checkpoint: SnapshotTime = SnapshotTime.COMPLETION

    def lets_all_complete(self) -> bool:
        """Nobody gives way."""
        return True


@dataclass(frozen=True, slots=True)
class TaskRetries(Module):
    """Tasks that are run again although their first attempt wrote its file; the explorer lets `retries` of them."""

    name = "task_retries"
    rules = (RetryTask(),)
    consequences: ClassVar[Mapping[Step, Consequence]] = {Step.CHECK_CONFLICTS: leftovers_go}
    retries: int = 1
