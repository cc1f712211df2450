"""Savepoints: the files of a snapshot, which no clean takes.

A savepoint is made of one completed write, under the lock, and names the files of a snapshot as of it; a clean keeps
every slice of which one names a file. It is made only where no clean took, or is going to take, any of them. What was
requested before its write and is pending may complete later, and is then in a snapshot as of that write, and in no
savepoint; so a savepoint waits for it (`SavepointModule.waits`; Java Hudi does not wait).

`drawstring_model.modules.restores` takes a table back to a savepoint. That a savepoint can be deleted is not in the
model. Source: Java 1.0.2 ``SavepointActionExecutor``, ``CleanPlanner``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.lock import locked
from drawstring_model.core.module import Module, Rule, given, later, modules_of, part, ticked, with_item, with_part
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import FileName, Move, Phase, Time, World, Writer
from drawstring_model.modules.queries import files_read, names_on_storage
from drawstring_model.storage_view import StorageView, TimelineFile
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step

OPERATOR = "operator"


class Savepoint(NamedTuple):
    """A savepoint: the requested time of its write, its own completion time, and the files that it names."""

    requested: Time
    completion: Time
    files: tuple[FileName, ...]


class Savepoints(NamedTuple):
    """All savepoints."""

    all: tuple[Savepoint, ...] = ()


def savepoint_switches(config: Config) -> SavepointModule:
    """The module's switches."""
    return next(module for module in config.modules if isinstance(module, SavepointModule))


def objection_to_savepoint(world: World, time: Time, config: Config) -> str | None:
    """What stands against a savepoint of the write of `time`."""
    completed = {commit.requested for commit in world.commits}
    if time not in completed or any(savepoint.requested == time for savepoint in part(world, Savepoints).all):
        return f"{time} is no completed write without a savepoint"
    if config.planted is not PlantedBug.SAVEPOINT_OF_CLEANED and not _is_kept(world, time, config):
        return f"a clean takes files of a snapshot as of {time}"
    waits = savepoint_switches(config).waits and any(
        pending < time for pending in {*world.requested, *world.inflight} - completed
    )
    return f"a write that was requested before {time} is pending" if waits else None


def _is_kept(world: World, time: Time, config: Config) -> bool:
    """Whether no clean took, or is going to take, a file of a snapshot as of `time`."""
    if any(module.refuses(world, time) for module in modules_of(config)):
        return False
    latest = {file.group: (c.requested, file.token) for c in world.commits if c.requested <= time for file in c.files}
    cleaned = {name for module in modules_of(config) for name in module.removed(world)}
    return not any((group, *version) in cleaned for group, version in latest.items())


class OperatorRule(Rule):
    """What the operator's steps have in common: it is idle, and remembers nothing but the lock."""

    phases = frozenset({Phase.START})
    roles = frozenset({OPERATOR})


class CreateSavepoint(OperatorRule):
    """A savepoint names the files of a snapshot as of a completed write.

    Enabled: the operator holds the lock; the write is completed and has no savepoint; no clean takes a file of
    that snapshot; no write that was requested earlier is pending; the clocks may give this time out.
    Effect: the savepoint stands.
    Unchanged: everything else.
    """

    step = Step.CREATE_SAVEPOINT

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Of each completed write, at the next tick, within the module's bounds."""
        del writer
        if len(part(world, Savepoints).all) < savepoint_switches(config).savepoints:
            for commit in world.commits:
                yield Move(self.step, number, time=world.clock + 1, target=commit.requested)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, where the snapshot may change or is cleaned, for a time that was given out."""
        if not locked(world, writer, given(move.writer), config):
            return "the operator does not hold the table lock"
        objection = objection_to_savepoint(world, given(move.target), config)
        if objection is None and not later(world, given(move.time), config):
            objection = f"the clock has already given out {world.clock}"
        return objection

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The savepoint stands."""
        time, target = given(move.time), given(move.target)
        savepoint = Savepoint(target, time, files_read(world, target, config))
        world = with_part(world, Savepoints(with_item(part(world, Savepoints).all, savepoint)))
        return world._replace(clock=ticked(world, time)), writer


def savepoints_stay(world: World, config: Config) -> str | None:
    """`Promise.SAVEPOINTS_STAY`."""
    del config
    there = names_on_storage(world)
    for savepoint in part(world, Savepoints).all:
        for group, time, token in savepoint.files:
            if (group, time, token) not in there:
                return f"the savepoint of {savepoint.requested} has lost the file of group {group} that {time} wrote"
    return None


@dataclass(frozen=True, slots=True)
class SavepointModule(Module):
    """Savepoints by one operator; the explorer lets it make `savepoints` of them.

    Attributes:
        waits: whether a savepoint waits for pending writes that were requested before its write; Java's does not.

    """

    name = "savepoints"
    requires = frozenset({"cleaning"})
    roles = (OPERATOR,)
    rules = (CreateSavepoint(),)
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.SAVEPOINTS_STAY: savepoints_stay}
    savepoints: int = 1
    waits: bool = True

    def has_work(self, world: World, writer: Writer, config: Config) -> bool:
        """A savepoint to be made."""
        may_save = writer.role == OPERATOR and len(part(world, Savepoints).all) < self.savepoints
        return may_save and any(objection_to_savepoint(world, c.requested, config) is None for c in world.commits)

    def kept_files(self, world: World, config: Config) -> Collection[FileName]:
        """What savepoints name."""
        if config.planted is PlantedBug.CLEAN_SAVEPOINTED_SLICES:
            return ()
        return {name for savepoint in part(world, Savepoints).all for name in savepoint.files}

    def show(self, world: World, view: StorageView) -> StorageView:
        """The files of the savepoints on the timeline; there is no requested one."""
        files = {
            TimelineFile(savepoint.requested, Action.SAVEPOINT, state, completion)
            for savepoint in part(world, Savepoints).all
            for state, completion in ((InstantState.INFLIGHT, None), (InstantState.COMPLETED, savepoint.completion))
        }
        return view._replace(timeline=view.timeline | files)
