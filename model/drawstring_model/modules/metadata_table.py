"""The metadata table: a merge-on-read table inside of the table, which says which data files there are.

Whoever completes an action tells it first: under the table lock, a log block with the names of the files that came
(or, of a clean, that went) is written, and then its deltacommit completes on the metadata table's own timeline, under
the action's requested time. Only after that the action itself completes. Two commits to two timelines are one because
readers compare: a block counts where its deltacommit is complete, *and* its instant is not pending in the table. An
instant that the table does not know is none that is pending, so what a failed write left has to go in this order: a
rollback takes the deltacommit back first, and only then removes the instant. A rollback is no change of the listing:
its half in the metadata table is a rollback, too. A deltacommit that was never completed counts for nobody, and the
next writer takes it away; one of its own time is a leftover of an earlier attempt to the next writer of that time,
and is rolled back before the new one is written. So no two actions may have one time.

A compaction merges blocks into a base file, from which nothing can be taken back. So it is made as of the moment right
before the first instant whose deltacommit is complete although it is pending in the table, if there is one.

Left out: the other partitions (`drawstring_model.modules.indexing` has an index), how the metadata table is made first,
its cleaning and archival, failures within its compaction (`drawstring_model.modules.compaction` has those). What a
restore makes of it is in `drawstring_model.modules.restored_metadata`.
Who may complete an action is none of this module's duty, with one exception: a deltacommit is not completed by whose
lease of the lock ran out. Java has no such deadline, and relies on the lock.
Source: the specification's "Metadata", Java ``HoodieBackedTableMetadataWriter``, ``HoodieTableMetadataUtil``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from drawstring_model.core.config import Config, PlantedBug
from drawstring_model.core.lock import locked
from drawstring_model.core.module import Consequence, Guard, Module, Rule, given, part, with_item, with_part
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import FileName, Move, Phase, Time, World, Writer
from drawstring_model.core.writer import UpdateMetadata
from drawstring_model.modules.cleaning import CLEANER, Clean, Cleans, files_left, pending_clean
from drawstring_model.modules.restores import pending_restore
from drawstring_model.modules.rollback import Rollback, RollbackRule, rollbacks_of
from drawstring_spec.instants import State as InstantState
from drawstring_spec.steps import Step


class Block(NamedTuple):
    """A log block of the metadata table, with its deltacommit.

    Attributes:
        requested: requested time of the action that it is about, and of the deltacommit.
        added: the files that a write added.
        deleted: the files that a clean deleted; only a clean's block has some.
        completion: the clock when the deltacommit completed; None while it is inflight.

    """

    requested: Time
    added: tuple[FileName, ...]
    deleted: tuple[FileName, ...]
    completion: Time | None = None


class MetadataFiles(NamedTuple):
    """The metadata table: the listing in its base file, the log blocks on top, and how often it was compacted."""

    base: tuple[FileName, ...] = ()
    blocks: tuple[Block, ...] = ()
    compactions: int = 0


def to_tell(world: World, writer: Writer) -> Block | None:
    """The block that a process is going to write: of a write that passed its checks, or a clean that deleted all."""
    if writer.phase is Phase.CHECKED:
        names = tuple(sorted((file.group, writer.requested, file.token) for file in writer.written))
        return Block(writer.requested, names, ())
    clean = _run_clean(world)
    if writer.role != CLEANER or writer.phase is not Phase.START or clean is None:
        return None
    return Block(clean.requested, (), clean.plan)


def _run_clean(world: World) -> Clean | None:
    """The pending clean, once nothing is left of it but to complete it."""
    clean = pending_clean(world)
    run = clean is not None and clean.state is InstantState.INFLIGHT and not files_left(world, clean)
    return clean if run else None


def inflight_block(world: World, block: Block) -> bool:
    """Whether `block` is written, and its deltacommit not completed."""
    return block in part(world, MetadataFiles).blocks


def pending_in_table(world: World) -> frozenset[Time]:
    """Requested times that the table has a pending action of, and no completed one."""
    cleans = part(world, Cleans).all
    pending = {*world.requested, *world.inflight, *(c.requested for c in cleans if c.completion is None)}
    return frozenset(pending - completed_in_table(world))


def completed_in_table(world: World) -> frozenset[Time]:
    """Requested times of completed actions."""
    cleans = (clean.requested for clean in part(world, Cleans).all if clean.completion is not None)
    return frozenset({commit.requested for commit in world.commits} | set(cleans))


def valid_blocks(world: World, config: Config) -> tuple[Block, ...]:
    """The blocks that readers take."""
    pending = pending_in_table(world)
    return tuple(
        block
        for block in part(world, MetadataFiles).blocks
        if block.completion is not None
        and (block.requested not in pending or not metadata_table_of(config).leaves_out_pending)
    )


def merged(base: tuple[FileName, ...], blocks: tuple[Block, ...]) -> frozenset[FileName]:
    """The listing of `base` with `blocks` on top. No name is given twice, so what is deleted stays deleted."""
    added = {name for block in blocks for name in block.added}
    return frozenset({*base, *added} - {name for block in blocks for name in block.deleted})


def listing(world: World, config: Config) -> frozenset[FileName]:
    """The files that a reader of the metadata table finds."""
    return merged(part(world, MetadataFiles).base, valid_blocks(world, config))


def blocks_to_compact(world: World, config: Config) -> tuple[Block, ...]:
    """The blocks that a compaction merges: all that completed before the first instant that may be taken back."""
    completed = [block for block in part(world, MetadataFiles).blocks if block.completion is not None]
    pending = pending_in_table(world)
    limit = min((block.requested for block in completed if block.requested in pending), default=None)
    if limit is None or config.planted is PlantedBug.COMPACT_PENDING_METADATA:
        return tuple(completed)
    return tuple(block for block in completed if given(block.completion) < limit)


def block_to_take_back(world: World, target: Time, config: Config) -> Block | None:
    """The block that a rollback of `target` takes back: the target's, where its deltacommit was completed."""
    completed = [block for block in part(world, MetadataFiles).blocks if block.completion is not None]
    block = next((block for block in completed if block.requested == target), None)
    last = max(completed, key=lambda each: given(each.completion), default=None)
    if config.planted is PlantedBug.SKIP_METADATA_ROLLBACK:
        return None
    if config.planted is PlantedBug.ROLL_BACK_LAST_METADATA:
        return block and last
    if config.planted is PlantedBug.IGNORE_BURIED_METADATA and block != last:
        return None
    return block


def _with_blocks(world: World, blocks: tuple[Block, ...]) -> World:
    return with_part(world, part(world, MetadataFiles)._replace(blocks=blocks))


class CompactMetadata(Rule):
    """The metadata table is compacted, by a writer that is about to tell it of its operation.

    Enabled: the conflict check was passed, the writer holds the lock, and there are blocks that may be merged.
    Effect: the blocks that completed before the first instant that is complete here, and pending in the table, are in
    the base file.
    Unchanged: the table's own files, its timeline, the lock.
    """

    step = Step.COMPACT_METADATA
    phases = frozenset({Phase.CHECKED})
    roles = None

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Within the module's bounds."""
        del writer
        if part(world, MetadataFiles).compactions < metadata_table_of(config).compactions:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, with nothing to merge, and after the writer's own block is written."""
        if not locked(world, writer, given(move.writer), config):
            return "the writer does not hold the table lock"
        mine = to_tell(world, writer)
        if mine is None or inflight_block(world, mine):
            return "the writer's own block is written"
        return None if blocks_to_compact(world, config) else "there is no block that may be merged"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Merged, and gone from the log."""
        del move
        table, blocks = part(world, MetadataFiles), blocks_to_compact(world, config)
        left = tuple(block for block in table.blocks if block not in blocks)
        table = MetadataFiles(tuple(sorted(merged(table.base, blocks))), left, table.compactions + 1)
        return with_part(world, table), writer


class WriteMetadata(Rule):
    """The log block of an action is in the metadata table, its deltacommit inflight.

    Enabled: the conflict check was passed, or the clean deleted all files of its plan; the process holds the lock, and
    has not written the block.
    Effect: the block is there. Deltacommits that were never completed are rolled back, and so is one of the same time.
    Unchanged: the table's own files, its timeline, the lock.
    """

    step = Step.WRITE_METADATA
    phases = frozenset({Phase.START, Phase.CHECKED})
    roles = None

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, and where there is nothing to write any more."""
        if not locked(world, writer, given(move.writer), config):
            return "the process does not hold the table lock"
        mine = to_tell(world, writer)
        if mine is None or inflight_block(world, mine):
            return "there is nothing to tell the metadata table, or it is written"
        return "the metadata table knows" if mine.deleted and knows_clean(world) else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """Written."""
        del move, config
        mine = to_tell(world, writer)
        blocks = part(world, MetadataFiles).blocks
        kept = tuple(b for b in blocks if mine and b.completion is not None and b.requested != mine.requested)
        return _with_blocks(world, with_item(kept, mine) if mine else blocks), writer


class CompleteMetadata(UpdateMetadata):
    """`UpdateMetadata`: the deltacommit completes on the metadata table's timeline.

    Enabled: the process wrote its block, and holds the lock, whatever it believes (the put carries its lease's
    deadline).
    Effect: the deltacommit is complete; readers ignore it until the action is.
    Unchanged: the table's own files, its timeline, the lock.
    """

    phases = frozenset({Phase.START, Phase.CHECKED})

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without a block, and to whom does not hold the lock."""
        mine = to_tell(world, writer)
        if mine is None or not inflight_block(world, mine):
            return "the block is not written"
        unfenced = config.planted is PlantedBug.UNFENCED_METADATA
        if not unfenced and not locked(world, writer, given(move.writer), config):
            return "the lease of the table lock ran out"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """A writer may go on to complete its operation, the cleaner its clean."""
        mine = to_tell(world, writer)
        late = (PlantedBug.COMPLETE_BEFORE_METADATA, PlantedBug.SKIP_UPDATE_METADATA)
        if mine and (mine.deleted or config.planted not in late):
            world = _completed(world, mine)
        return (world, writer) if mine and mine.deleted else super().effect(world, writer, move, config)


class RollbackMetadata(RollbackRule):
    """A rollback takes the deltacommit of its target back, before the target leaves the timeline.

    Enabled: the writer is between operations (or gave this one up), in the lock; the rollback is inflight and all files
    of its plan are gone; the metadata table has a completed deltacommit of the target.
    Effect: it is gone, and its block with it.
    Unchanged: the table's own files, its timeline, the lock.
    """

    step = Step.ROLLBACK_METADATA

    def objection(self, world: World, rollback: Rollback, move: Move, config: Config) -> str | None:
        """First the files, then the names of them."""
        del move
        there = {(file.group, file.token) for file in world.files if file.requested == rollback.target}
        if there & set(rollback.plan):
            return "data files of the target are left"
        known = block_to_take_back(world, rollback.target, config)
        return None if known else "the metadata table has no completed deltacommit of the target"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """One deltacommit less."""
        target = next(r.target for r in rollbacks_of(world) if r.requested == move.target)
        taken = block_to_take_back(world, target, config)
        return _with_blocks(world, tuple(b for b in part(world, MetadataFiles).blocks if b != taken)), writer


def _completed(world: World, block: Block) -> World:
    """The world with the deltacommit of `block` completed."""
    others = tuple(each for each in part(world, MetadataFiles).blocks if each != block)
    return _with_blocks(world, with_item(others, block._replace(completion=world.clock)))


def knows_clean(world: World) -> bool:
    """Whether the metadata table has a completed deltacommit of the pending clean."""
    clean = pending_clean(world)
    return clean is not None and any(
        block.requested == clean.requested and block.deleted and block.completion is not None
        for block in part(world, MetadataFiles).blocks
    )


def knows_before_completion(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: a clean completes once the metadata table knows of it."""
    del writer, move, config
    return None if knows_clean(world) else "the metadata table does not know of the clean"


def forgets_before_removal(world: World, writer: Writer, move: Move, config: Config) -> str | None:
    """Guard: an instant leaves the timeline once its deltacommit was taken back."""
    del writer
    target = next((r.target for r in rollbacks_of(world) if r.requested == move.target), None)
    known = target is not None and block_to_take_back(world, target, config)
    return "the metadata table has a completed deltacommit of the target" if known else None


def attempt_is_taken_back(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence: what an earlier attempt of a table service told is taken back as its files are deleted."""
    del writer, config
    blocks = part(world, MetadataFiles).blocks
    return _with_blocks(world, tuple(block for block in blocks if block.requested != move.target))


def told_too_late(world: World, writer: Writer, move: Move, config: Config) -> World:
    """Consequence, of a planted bug: a writer completes its deltacommit only as it gives the lock back."""
    del move
    if config.planted is PlantedBug.COMPLETE_BEFORE_METADATA and writer.phase is Phase.COMPLETED:
        for block in part(world, MetadataFiles).blocks:
            if block.requested == writer.requested and block.completion is None:
                return _completed(world, block)
    return world


def files_of_completed(world: World) -> frozenset[FileName]:
    """The files on storage that completed writes wrote."""
    completed = {commit.requested for commit in world.commits}
    return frozenset(file[:3] for file in world.files if file.requested in completed)


def metadata_agrees(world: World, config: Config) -> str | None:
    """`Promise.METADATA_AGREES`: names by names, but for those that a pending clean or restore is deleting.

    Readers leave out files whose write is not complete, so one name too many seems to do no harm. It does when the
    timeline is archived: what is older than the timeline counts as complete.
    """
    clean, restore = pending_clean(world), pending_restore(world)
    there, listed = files_of_completed(world), listing(world, config)
    going = {name for name in there | listed if restore and name[1] in restore.plan} | set(clean.plan if clean else ())
    there, listed = there - going, listed - going
    if there == listed:
        return None
    missing, dead = sorted(there - listed), sorted(listed - there)
    told = [f"lacks {_told(missing)}"] if missing else []
    told += [f"lists {_told(dead)}, of no completed write"] if dead else []
    return f"the metadata table {' and '.join(told)}"


def _told(names: list[FileName]) -> str:
    """Names in words: ``the file of group 1 that 3 wrote``."""
    return ", ".join(f"the file of group {group} that {requested} wrote" for group, requested, _ in names)


def metadata_table_of(config: Config) -> MetadataTable:
    """The module's switches."""
    return next(module for module in config.modules if isinstance(module, MetadataTable))


@dataclass(frozen=True, slots=True)
class MetadataTable(Module):
    """The list of files in the metadata table.

    Attributes:
        leaves_out_pending: whether readers leave out blocks whose instant is pending in the table, as Java's do; the
            specification's text does not say so (requirement MT-003).
        compactions: how many compactions of it the explorer lets there be.

    """

    name = "metadata_table"
    requires = frozenset({"rollback"})
    rules = (CompactMetadata(), WriteMetadata(), CompleteMetadata(), RollbackMetadata())
    guards: ClassVar[Mapping[Step, Guard]] = {
        Step.COMPLETE_CLEAN: knows_before_completion,
        Step.REMOVE_INSTANT: forgets_before_removal,
    }
    consequences: ClassVar[Mapping[Step, Consequence]] = {
        Step.RELEASE_LOCK: told_too_late,
        Step.RUN_COMPACTION: attempt_is_taken_back,
        Step.RUN_LOG_COMPACTION: attempt_is_taken_back,
        Step.RUN_CLUSTERING: attempt_is_taken_back,
    }
    invariants: ClassVar[Mapping[Promise, Check]] = {Promise.METADATA_AGREES: metadata_agrees}
    leaves_out_pending: bool = True
    compactions: int = 1
