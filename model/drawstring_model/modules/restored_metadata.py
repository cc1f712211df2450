"""A restore's half in the metadata table: what it lists is what the savepoint left.

While a restore runs, the metadata table still lists what is taken back. Before the restore completes, under the lock,
the metadata table is restored to the savepoint as well: deltacommits of later times are taken back. Among them may be
those of cleans, and what these deleted stays deleted. So the metadata table is then told what lies on storage, in a
deltacommit of a fresh time.

Java refuses the restore where the metadata table was compacted after the savepoint, and asks for it to be deleted. Here
the listing of storage makes up for that, too.
Source: Java ``HoodieBackedTableMetadataWriter.update(HoodieRestoreMetadata)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config
from drawstring_model.core.module import Guard, Module, given, later, part, ticked, with_item, with_part
from drawstring_model.core.state import Move, Time, World, Writer
from drawstring_model.modules.metadata_table import Block, MetadataFiles, files_of_completed, merged
from drawstring_model.modules.restores import may_change_timeline, next_to_take_back, pending_restore
from drawstring_model.modules.savepoints import OperatorRule
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step


class RestoredMetadata(NamedTuple):
    """The requested times of the restores whose half in the metadata table is done."""

    all: tuple[Time, ...] = ()


class RestoreMetadata(OperatorRule):
    """The metadata table is taken back to the savepoint, and told what lies on storage.

    Enabled: the operator holds the lock where restores lock; the restore is inflight, no write of its plan is on the
    timeline, and the metadata table was not restored yet; the clocks may give this time out.
    Effect: deltacommits of times after the savepoint's are gone; one of this time makes up the difference to storage.
    Unchanged: the table's own files, its timeline, the lock.
    """

    step = Step.RESTORE_METADATA

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """At the next tick."""
        del writer, config
        yield Move(self.step, number, time=world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, before all is taken back, a second time, for a time that was given out."""
        if not may_change_timeline(world, writer, given(move.writer), config):
            return "the operator does not hold the table lock"
        restore = pending_restore(world)
        if restore is None or restore.state is not InstantState.INFLIGHT or next_to_take_back(world):
            return "no restore is inflight, or a write of its plan is still on the timeline"
        if restore.requested in part(world, RestoredMetadata).all:
            return "the metadata table is restored"
        return None if later(world, given(move.time), config) else f"the clock has already given out {world.clock}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Taken back, and told."""
        time, restore, table = given(move.time), pending_restore(world), part(world, MetadataFiles)
        if restore is None:
            raise TypeError("the step is about a restore that is not there")
        blocks = tuple(b for b in table.blocks if b.completion is not None and b.requested <= restore.savepoint)
        listed, there = merged(table.base, blocks), files_of_completed(world)
        if any(module.syncs for module in config.modules if isinstance(module, RestoredMetadataModule)):
            difference = Block(time, tuple(sorted(there - listed)), tuple(sorted(listed - there)), time)
            blocks = with_item(blocks, difference)
        world = with_part(world._replace(clock=ticked(world, time)), table._replace(blocks=blocks))
        return with_part(
            world, RestoredMetadata(with_item(part(world, RestoredMetadata).all, restore.requested))
        ), writer


def restored_before_completion(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: a restore completes once the metadata table is restored."""
    del writer, move, config
    restore = pending_restore(world)
    known = restore is not None and restore.requested in part(world, RestoredMetadata).all
    return None if known else "the metadata table is not restored"


@dataclass(frozen=True, slots=True)
class RestoredMetadataModule(Module):
    """The metadata table is restored with the table.

    Attributes:
        syncs: whether the metadata table is told what lies on storage, after its deltacommits are taken back.

    """

    name = "restored_metadata"
    requires = frozenset({"metadata_table", "restores"})
    rules = (RestoreMetadata(),)
    guards: ClassVar[Mapping[Step, Guard]] = {Step.COMPLETE_RESTORE: restored_before_completion}
    syncs: bool = True
