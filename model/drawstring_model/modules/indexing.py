"""Indexing: an index is built from the table as of one instant, while writers go on, and catches up with them.

The index is a partition of the metadata table that says which file group a key is in. Its plan is made under the lock;
what is completed then is its base. From the plan on it is known that the index is being built: a writer that goes
inflight later adds its own entries when it tells the metadata table of its operation. A writer that was inflight before
knows nothing of the index, so what it completes is caught up with by the indexer, which waits until none of them is
pending, and only then completes the index. From then on look-ups may trust it. As everywhere in the metadata table,
entries of an instant count once the instant is complete.
Source: the specification's "Indexing", RFC-45, Java ``ScheduleIndexActionExecutor``, ``RunIndexActionExecutor``,
``AbstractIndexingCatchupTask``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.lock import locked
from drawstring_model.core.module import (
    Consequence,
    Module,
    Rule,
    given,
    later,
    part,
    ticked,
    with_item,
    with_part,
    without_item,
)
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.reader import file_slices
from drawstring_model.core.state import Group, Key, Move, Phase, Time, World, Writer
from drawstring_spec.steps import Step

INDEXER = "indexer"


class Index(NamedTuple):
    """The index, and how far it is.

    Attributes:
        planned: requested time of the indexing; 0 before.
        base: the instants that were complete when it was planned.
        built: whether the files of the base are written.
        entries: the instants that the index has entries of, beside the base.
        aware: pending instants whose writers know of the index.
        completed: whether look-ups may trust it.

    """

    planned: Time = 0
    base: tuple[Time, ...] = ()
    built: bool = False
    entries: tuple[Time, ...] = ()
    aware: tuple[Time, ...] = ()
    completed: bool = False


def missed(world: World) -> tuple[Time, ...]:
    """Completed instants that the index has no entries of."""
    index = part(world, Index)
    known = {*index.base, *index.entries}
    return tuple(commit.requested for commit in world.commits if commit.requested not in known)


def unaware(world: World) -> tuple[Time, ...]:
    """Pending instants whose writers do not know of the index, and are not going to."""
    index = part(world, Index)
    completed = {commit.requested for commit in world.commits}
    return tuple(time for time in world.inflight if time not in completed and time not in index.aware)


class IndexRule(Rule):
    """What the indexer's steps have in common: it is idle, and all progress is on storage."""

    phases = frozenset({Phase.START})
    roles = frozenset({INDEXER})
    in_lock = True

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, or in it, and where the index is not that far."""
        if self.in_lock and not locked(world, writer, given(move.writer), config):
            return "the indexer does not hold the table lock"
        if not self.in_lock and writer.has_lock:
            return "the indexer still holds the table lock"
        return self.objection(world, move, config)

    def objection(self, world: World, move: Move, config: Config) -> str | None:
        """What else stands against the step."""
        del world, move, config
        return None


class ScheduleIndexing(IndexRule):
    """An index is planned on the timeline.

    Enabled: the indexer is idle and holds the lock; a write is completed; there is no plan yet; the clocks may give
    this time out.
    Effect: the index is to be built of what is complete now.
    Unchanged: the data files, the lock.
    """

    step = Step.SCHEDULE_INDEXING

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick, once."""
        if locked(world, writer, number, config):
            yield Move(self.step, number, time=world.clock + 1)

    def objection(self, world: World, move: Move, config: Config) -> str | None:
        """Once, of something, at a later time."""
        if part(world, Index).planned or not world.commits:
            return "there is a plan already, or nothing to index"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The plan is on the timeline."""
        del config
        time = given(move.time)
        index = Index(planned=time, base=tuple(commit.requested for commit in world.commits))
        return with_part(world._replace(clock=ticked(world, time)), index), writer


class BuildIndex(IndexRule):
    """The index files of the base are written.

    Enabled: the index is planned, and not built; the indexer is without the lock.
    Effect: they are there.
    Unchanged: everything else.
    """

    step = Step.BUILD_INDEX
    in_lock = False

    def objection(self, world: World, move: Move, config: Config) -> str | None:
        """Once."""
        del move, config
        index = part(world, Index)
        return None if index.planned and not index.built else "there is no plan to build"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Built."""
        del move, config
        return with_part(world, part(world, Index)._replace(built=True)), writer


class CatchUpIndex(IndexRule):
    """The index gets the entries of one completed instant whose writer did not know of it.

    Enabled: the index is built and not completed, and lacks the instant; the indexer is without the lock.
    Effect: it has them.
    Unchanged: everything else.
    """

    step = Step.CATCH_UP_INDEX
    in_lock = False

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The first one that is missed: nobody reads the index yet, so no other order matters."""
        del writer
        if config.planted is not PlantedBug.SKIP_CATCH_UP:
            for time in missed(world)[:1]:
                yield Move(self.step, number, target=time)

    def objection(self, world: World, move: Move, config: Config) -> str | None:
        """Only what is missed."""
        del config
        index = part(world, Index)
        fits = index.built and not index.completed and move.target in missed(world)
        return None if fits else f"the index does not lack {move.target}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """One more."""
        del config
        index = part(world, Index)
        return with_part(world, index._replace(entries=with_item(index.entries, given(move.target)))), writer


class CompleteIndexing(IndexRule):
    """Look-ups may trust the index.

    Enabled: the indexer is idle and holds the lock; the index is built, lacks no completed instant, and no writer is
    pending that does not know of it.
    Effect: the index is completed.
    Unchanged: the data files, the lock.
    """

    step = Step.COMPLETE_INDEXING

    def objection(self, world: World, move: Move, config: Config) -> str | None:
        """Refused while something is missed, or may be yet."""
        del move
        index = part(world, Index)
        if not index.built or index.completed:
            return "there is no index to complete"
        if missed(world) and config.planted is not PlantedBug.SKIP_CATCH_UP:
            return f"the index lacks {missed(world)[0]}"
        if unaware(world) and config.planted is not PlantedBug.INDEX_WITHOUT_WAITING:
            return f"the writer of {unaware(world)[0]} does not know of the index"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Completed."""
        del move, config
        return with_part(world, part(world, Index)._replace(completed=True)), writer


def writer_is_aware(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: a writer that goes inflight after the plan knows of the index."""
    del move, config
    index = part(world, Index)
    aware = with_item(index.aware, writer.requested)
    return with_part(world, index._replace(aware=aware)) if index.planned else world


def service_is_aware(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: so does a service that gives keys other file groups, and begins to run after the plan."""
    return writer_is_aware(world, writer._replace(requested=given(move.target)), move, config)


def writer_adds_entries(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: a writer that knows of the index adds its entries with those of the rest of the metadata table."""
    del move
    index = part(world, Index)
    if writer.requested not in index.aware or config.planted is PlantedBug.WRITERS_IGNORE_INDEX:
        return world
    return with_part(world, index._replace(entries=with_item(index.entries, writer.requested)))


def target_leaves_index(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: what is rolled back leaves the index as it leaves the rest of the metadata table."""
    del writer, move, config
    index = part(world, Index)
    gone = {*index.aware, *index.entries} - {*world.requested}
    for time in sorted(gone):
        index = index._replace(aware=without_item(index.aware, time), entries=without_item(index.entries, time))
    return with_part(world, index)


def index_content(world: World) -> dict[Key, Group]:
    """What a look-up finds: of the instants that the index has, those that are complete."""
    index = part(world, Index)
    content: dict[Key, Group] = {}
    known = {*index.base, *index.entries}
    for commit in sorted(world.commits, key=lambda commit: commit.completion):
        if commit.requested not in known:
            continue
        changed = dict(commit.changes)
        homes = {key: file.group for file in commit.files for key, _ in file.rows if key in changed or not changed}
        content |= {key: group for key, group in homes.items() if changed.get(key, group) is not None}
        for key in (key for key, value in commit.changes if value is None):
            content.pop(key, None)
    return content


def index_agrees(world: World, config: Config) -> str | None:
    """`Promise.INDEX_AGREES`."""
    if not part(world, Index).completed:
        return None
    slices = file_slices(world, {commit.requested for commit in world.commits}, config)
    homes = {key: group for group, file in slices.items() for key, _ in file.rows}
    content = index_content(world)
    return None if content == homes else f"the index has keys in file groups {content}, the table has {homes}"


@dataclass(frozen=True, slots=True)
class Indexing(Module):
    """One index, built by one indexer."""

    name = "indexing"
    requires = frozenset({"rollback"})
    roles = (INDEXER,)
    rules = (ScheduleIndexing(), BuildIndex(), CatchUpIndex(), CompleteIndexing())
    consequences: ClassVar[Mapping[Step, Consequence]] = {
        Step.START_INFLIGHT: writer_is_aware,
        Step.RUN_CLUSTERING: service_is_aware,
        Step.UPDATE_METADATA: writer_adds_entries,
        Step.REMOVE_INSTANT: target_leaves_index,
    }
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.INDEX_AGREES: index_agrees}

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A plan to be made, or an index to be completed."""
        if writer.role != INDEXER:
            return False
        index = part(world, Index)
        ready = CompleteIndexing().objection(world, Move(Step.COMPLETE_INDEXING), config) is None
        return ready if index.planned else bool(world.commits)
