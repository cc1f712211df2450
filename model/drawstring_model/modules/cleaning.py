"""Cleaning: file slices that no query needs any more are deleted, beside writers and beside running queries.

A clean is planned under the lock: the plan says which files go, and which commit is the earliest that is kept. The
files are deleted one by one, without the lock; then the clean is completed under it. All progress is on storage, so a
clean that failed is continued from its plan, and there is no other while one is pending. Nothing tells the cleaner
of running queries (`drawstring_model.modules.queries`). What protects them is retention alone:

- KEEP_LATEST_COMMITS keeps what a query needs while no more than `Cleaning.retained` later writes are complete;
- KEEP_LATEST_FILE_VERSIONS keeps the newest versions of each file group, and refuses no time.

Of a file group that was replaced before the earliest commit that is kept, or at any time where versions are kept, all
slices go: nobody reads them who is not refused, but by versions.

A query as of a time before the earliest commit kept is refused: it would read a part of the rows. And a writer that
fixes its snapshot may find a file slice of it cleaned, and would take known keys for new ones; it has to give up.
Source: Java ``CleanPlanner``, ``CleanPlanActionExecutor``, ``CleanActionExecutor``, ``TimelineUtils``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple, TypeAlias

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.lock import locked
from drawstring_model.core.module import Module, Rule, given, later, modules_of, part, ticked, with_item, with_part
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import FileName, Group, Move, Phase, Time, World, Writer
from drawstring_model.modules.log_files import pending_plans
from drawstring_model.modules.queries import names_on_storage, running_query
from drawstring_model.storage_view import StorageView, TimelineFile
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

CLEANER = "cleaner"
Slices: TypeAlias = dict[Time, tuple[FileName, ...]]
"""The files of each slice of a file group, by the instant at which it begins; in order."""


class CleaningPolicy(StrEnum):
    """What is kept, by the names of ``hoodie.clean.policy``."""

    KEEP_LATEST_COMMITS = "KEEP_LATEST_COMMITS"
    KEEP_LATEST_FILE_VERSIONS = "KEEP_LATEST_FILE_VERSIONS"


class Clean(NamedTuple):
    """A clean: its instant, the earliest commit that it keeps (0 where it says none), and the files that it deletes."""

    requested: Time
    state: InstantState
    completion: Time | None
    earliest: Time
    plan: tuple[FileName, ...]


class Cleans(NamedTuple):
    """All cleans, each in its latest state."""

    all: tuple[Clean, ...] = ()


def cleaning_of(config: Config) -> Cleaning:
    """The module's switches."""
    return next(module for module in config.modules if isinstance(module, Cleaning))


def slices(world: World, group: Group, config: Config) -> Slices:
    """The slices of a file group that completed writes and pending compactions made."""
    completions = {commit.requested: commit.completion for commit in world.commits}
    files = [file for file in world.files if file.group == group]
    counted = set(completions)
    if config.planted is PlantedBug.CLEAN_COUNTS_PENDING:
        counted = {file.requested for file in files}
    planned = {plan.requested for plan in pending_plans(world) for each in plan.inputs if each.group == group}
    starts = sorted(planned | {file.requested for file in files if not file.is_log and file.requested in counted})
    found: dict[Time, list[FileName]] = {start: [] for start in starts}
    for file in files:
        if not file.is_log and file.requested in counted - planned:
            found[file.requested].append(file[:3])
        elif file.is_log and file.requested in completions:
            earlier = [start for start in starts if start <= completions[file.requested]]
            if earlier:
                found[earlier[-1]].append(file[:3])
    return {start: tuple(names) for start, names in found.items()}


def earliest_kept(world: World, config: Config) -> Time:
    """The earliest commit that a clean planned now keeps; 0 where it keeps all, or does not go by commits.

    It is never later than the first pending write: what that writer builds on stays.
    """
    switches = cleaning_of(config)
    completed = sorted(commit.requested for commit in world.commits)
    if switches.policy is not CleaningPolicy.KEEP_LATEST_COMMITS or len(completed) <= switches.retained:
        return 0
    earliest = completed[-switches.retained]
    pending = {*world.requested, *world.inflight} - set(completed)
    if pending and min(pending) <= earliest:
        return max((time for time in completed if time < min(pending)), default=0)
    return earliest


def files_to_clean(world: World, config: Config) -> tuple[FileName, ...]:
    """The files that a clean planned now deletes: whole slices, of each file group all but those that are kept."""
    switches = cleaning_of(config)
    earliest = earliest_kept(world, config)
    by_versions = switches.policy is CleaningPolicy.KEEP_LATEST_FILE_VERSIONS
    if not (by_versions or earliest):
        return ()
    plans = () if config.planted is PlantedBug.CLEAN_PLANNED_SLICES else pending_plans(world)
    waiting = {(each.group, each.base) for plan in plans for each in plan.inputs}
    needed = {name for module in modules_of(config) for name in module.kept_files(world, config)}
    replaced = replaced_groups(world, earliest, config)
    names: list[FileName] = []
    for group in sorted({file.group for file in world.files}):
        found = slices(world, group, config)
        starts = list(found)
        kept = set(starts[-switches.retained :]) if by_versions else _kept_by_commits(starts, earliest, config)
        going = [s for s in starts if (s not in kept or group in replaced) and (group, s) not in waiting]
        names += [name for start in going if needed.isdisjoint(found[start]) for name in found[start]]
    return tuple(sorted(names))


def replaced_groups(world: World, earliest: Time, config: Config) -> frozenset[Group]:
    """The file groups of which nothing is read as of `earliest` or later, or, where that is 0, as of now."""
    is_now = not earliest or config.planted is PlantedBug.CLEAN_REPLACED_EARLY
    before = {commit.requested for commit in world.commits if is_now or commit.requested < earliest}
    return frozenset(group for module in modules_of(config) for group in module.hidden(world, before, config))


def _kept_by_commits(starts: list[Time], earliest: Time, config: Config) -> set[Time]:
    """Slices from the earliest commit on, the one right before it, and the newest in any case."""
    before = [start for start in starts if start < earliest][-1:]
    if config.planted is PlantedBug.CLEAN_ONE_TOO_MANY:
        before = []
    return {start for start in starts if start >= earliest} | set(before) | set(starts[-1:])


def files_left(world: World, clean: Clean) -> tuple[FileName, ...]:
    """The files of a plan that are still there."""
    there = names_on_storage(world)
    return tuple(name for name in clean.plan if name in there)


def pending_clean(world: World) -> Clean | None:
    """The clean that is not completed."""
    pending = (clean for clean in part(world, Cleans).all if clean.state is not InstantState.COMPLETED)
    return next(pending, None)


def _moved(world: World, clean: Clean, state: InstantState, completion: Time | None = None) -> World:
    others = tuple(other for other in part(world, Cleans).all if other.requested != clean.requested)
    after = clean._replace(state=state, completion=completion)
    return with_part(world, Cleans(with_item(others, after)))


class ScheduleClean(Rule):
    """A clean is planned on the timeline.

    Enabled: the cleaner is idle and, where cleaners lock, holds the lock; no clean is pending; there are files to be
    deleted; the clocks may give this time out.
    Effect: the clean is requested; readers refuse times before the earliest commit that it keeps.
    Unchanged: the data files, the lock.
    """

    step = Step.SCHEDULE_CLEAN
    phases = frozenset({Phase.START})
    roles = frozenset({CLEANER})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick, within the module's bounds."""
        del writer
        if len(part(world, Cleans).all) < cleaning_of(config).cleans:
            yield Move(self.step, number, time=world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, beside another clean, with nothing to delete, for a time that was given out."""
        if not may_change_timeline(world, writer, given(move.writer), config):
            return "the cleaner does not hold the table lock"
        if pending_clean(world):
            return "another clean is pending, which is run first"
        if not files_to_clean(world, config):
            return "there is no file that may be deleted"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The plan is on the timeline."""
        time = given(move.time)
        clean = Clean(time, InstantState.REQUESTED, None, earliest_kept(world, config), files_to_clean(world, config))
        world = with_part(world, Cleans(with_item(part(world, Cleans).all, clean)))
        return world._replace(clock=ticked(world, time)), writer


class RunClean(Rule):
    """The cleaner begins to delete what the plan names.

    Enabled: the cleaner is idle, without the lock, and the clean is requested.
    Effect: the clean is inflight.
    Unchanged: everything else.
    """

    step = Step.RUN_CLEAN
    phases = frozenset({Phase.START})
    roles = frozenset({CLEANER})

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and without a requested clean."""
        del move, config
        clean = pending_clean(world)
        if writer.has_lock or clean is None or clean.state is not InstantState.REQUESTED:
            return "the cleaner still holds the table lock, or no clean is requested"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The clean is inflight."""
        del move, config
        clean = pending_clean(world)
        return (_moved(world, clean, InstantState.INFLIGHT) if clean else world), writer


class CleanFile(Rule):
    """One file of the plan is deleted; one that is gone already is passed over.

    Enabled: the cleaner is idle, without the lock, the clean is inflight, and the file is in its plan and there.
    Effect: the file is gone.
    Unchanged: the timeline, the lock.
    """

    step = Step.CLEAN_FILE
    phases = frozenset({Phase.START})
    roles = frozenset({CLEANER})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The files of the plan in their order."""
        del writer, config
        clean = pending_clean(world)
        for group, requested, token in files_left(world, clean)[:1] if clean else ():
            yield Move(self.step, number, group=group, target=requested, token=token)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and for files that no clean in flight names."""
        del config
        clean = pending_clean(world)
        if writer.has_lock or clean is None or clean.state is not InstantState.INFLIGHT:
            return "the cleaner still holds the table lock, or no clean is inflight"
        name = (move.group, move.target, move.token)
        return None if name in files_left(world, clean) else "the file is not one that is left to delete"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The file is gone."""
        del config
        name = (move.group, move.target, move.token)
        return world._replace(files=tuple(file for file in world.files if file[:3] != name)), writer


class CompleteClean(Rule):
    """The clean's completed file appears.

    Enabled: the cleaner is idle and, where cleaners lock, holds the lock; the clean is inflight and no file of its
    plan is there; the clocks may give this time out.
    Effect: the clean is complete.
    Unchanged: everything else.
    """

    step = Step.COMPLETE_CLEAN
    phases = frozenset({Phase.START})
    roles = frozenset({CLEANER})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick."""
        del writer, config
        yield Move(self.step, number, time=world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, before all files are gone, for a time that was given out."""
        if not may_change_timeline(world, writer, given(move.writer), config):
            return "the cleaner does not hold the table lock"
        if not _is_run(world):
            return "no clean is inflight, or a file of its plan is still there"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The clean is complete."""
        del config
        time, clean = given(move.time), pending_clean(world)
        world = world._replace(clock=ticked(world, time))
        return (_moved(world, clean, InstantState.COMPLETED, time) if clean else world), writer


def may_change_timeline(world: World, writer: Writer, number: int, config: Config) -> bool:
    """Whether the cleaner may put a file on the timeline now."""
    return not cleaning_of(config).locks or locked(world, writer, number, config)


def _is_run(world: World) -> bool:
    """Whether there is nothing left to do of the pending clean but to complete it."""
    clean = pending_clean(world)
    return clean is not None and clean.state is InstantState.INFLIGHT and not files_left(world, clean)


def queries_keep_files(world: World, config: Config) -> str | None:
    """`Promise.QUERIES_KEEP_FILES`."""
    query = running_query(world)
    if query is None:
        return None
    switches = cleaning_of(config)
    there = names_on_storage(world)
    for name in query.left:
        later_versions = {
            commit.requested
            for commit in world.commits
            if commit.requested > query.as_of
            and (switches.policy is CleaningPolicy.KEEP_LATEST_COMMITS or name[0] in {f.group for f in commit.files})
        }
        allowed = switches.retained - (switches.policy is CleaningPolicy.KEEP_LATEST_FILE_VERSIONS)
        if name not in there and len(later_versions) <= allowed:
            return (
                f"a query as of {query.as_of} has lost the file of group {name[0]} that {name[1]} wrote, "
                f"after {len(later_versions)} later writes, of which {allowed} are tolerated"
            )
    return None


@dataclass(frozen=True, slots=True)
class Cleaning(Module):
    """Cleaning by one cleaner.

    Attributes:
        policy: what is kept.
        retained: how many commits, or versions of each file group.
        locks: whether the cleaner takes the table lock to plan and to complete.
        heeds_plans: whether readers refuse times before the earliest commit of a pending clean, too.
        cleans: how many cleans the explorer lets the cleaner plan.

    """

    name = "cleaning"
    requires = frozenset({"queries"})
    roles = (CLEANER,)
    rules = (ScheduleClean(), RunClean(), CleanFile(), CompleteClean())
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.QUERIES_KEEP_FILES: queries_keep_files}
    policy: CleaningPolicy = CleaningPolicy.KEEP_LATEST_COMMITS
    retained: int = 1
    locks: bool = True
    heeds_plans: bool = True
    cleans: int = 1

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A plan to be made, or a clean to be completed."""
        if writer.role != CLEANER or not self.locks:
            return False
        may_plan = len(part(world, Cleans).all) < self.cleans and not pending_clean(world)
        return _is_run(world) or (may_plan and bool(files_to_clean(world, config)))

    def refuses(self, world: World, as_of: Time) -> bool:
        """Times before the earliest commit that the newest clean keeps."""
        cleans = [c for c in part(world, Cleans).all if self.heeds_plans or c.state is InstantState.COMPLETED]
        return bool(cleans) and as_of < cleans[-1].earliest

    def removed(self, world: World) -> frozenset[FileName]:
        """What cleans may have deleted."""
        return frozenset(name for clean in part(world, Cleans).all for name in clean.plan)

    def conflicts(self, world: World, writer: Writer, config: Config) -> bool:
        """A writer gives way where a clean takes a slice of its snapshot: it may have missed keys."""
        if config.planted is PlantedBug.IGNORE_CLEANED_SNAPSHOT:
            return False
        seen = {requested for requested, _ in writer.snapshot}
        latest = {file.group: c.requested for c in world.commits if c.requested in seen for file in c.files}
        return any(latest.get(group) == requested for group, requested, _ in self.removed(world))

    def show(self, world: World, view: StorageView) -> StorageView:
        """The files of the cleans on the timeline."""
        states = list(InstantState)
        files = {
            TimelineFile(
                clean.requested, Action.CLEAN, state, clean.completion if state is InstantState.COMPLETED else None
            )
            for clean in part(world, Cleans).all
            for state in states[: states.index(clean.state) + 1]
        }
        return view._replace(timeline=view.timeline | files)
