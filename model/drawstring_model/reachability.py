"""The reachability twin of each promise: the situation in which the promise is worth something.

A promise that no explored state could break proves nothing. So each has a witness: a world in which the danger was
there and was met. The tests see that the explorer reaches every one of them.
"""

from __future__ import annotations

from drawstring_model.core.module import part
from drawstring_model.core.state import World
from drawstring_model.explorer import Witness
from drawstring_model.invariants import Promise
from drawstring_model.modules.archived import Archive, pending_writes
from drawstring_model.modules.cleaning import Cleans
from drawstring_model.modules.clustering import completed_clusterings
from drawstring_model.modules.heartbeats import Heartbeats
from drawstring_model.modules.indexing import Index
from drawstring_model.modules.log_compaction import LogPlans
from drawstring_model.modules.log_files import Plans, pending_plans
from drawstring_model.modules.lost_answers import Unheard
from drawstring_model.modules.metadata_table import MetadataFiles, pending_in_table
from drawstring_model.modules.queries import names_on_storage, running_query
from drawstring_model.modules.restores import Restores
from drawstring_model.modules.retries import Attempts
from drawstring_model.modules.rollback import rollbacks_of
from drawstring_model.modules.savepoints import Savepoints
from drawstring_spec.instants import State as InstantState


def commits_after_a_failure(world: World) -> bool:
    """Two commits are visible, and a write between them failed and left its data files, which nobody reads."""
    completed = {commit.requested for commit in world.commits}
    return len(completed) > 1 and any(file.requested not in completed for file in world.files)


def contended_file_group(world: World) -> bool:
    """A file group has a committed version, and another that was merged from the same base at the same time."""
    committed = {(file.group, commit.requested) for commit in world.commits for file in commit.files}
    groups = {group for group, _ in committed}
    return any(file.group in groups and file[:2] not in committed for file in world.files)


def key_written_in_two_groups(world: World) -> bool:
    """One key lies in files of two file groups, of which one is not committed."""
    homes = {(key, file.group) for file in world.files for key, _ in file.rows}
    return len(homes) > len({key for key, _ in homes})


def shared_requested_time(world: World) -> bool:
    """Two operations that live have one requested time."""
    times = [operation.requested for operation in part(world, Heartbeats).ghost_live]
    return len(times) > len(set(times))


def rollback_beside_a_live_writer(world: World) -> bool:
    """A rollback is at work while another operation lives on the timeline."""
    unfinished = any(rollback.state is not InstantState.COMPLETED for rollback in rollbacks_of(world))
    return unfinished and any(operation.is_on_timeline for operation in part(world, Heartbeats).ghost_live)


def rolled_back_and_completed(world: World) -> bool:
    """One write was rolled back to the end, and another completed."""
    return bool(world.commits) and any(rollback.state is InstantState.COMPLETED for rollback in rollbacks_of(world))


def completed_out_of_order(world: World) -> bool:
    """Of two commits the one with the greater requested time completed first."""
    completions = [commit.completion for commit in world.commits]
    return completions != sorted(completions)


def late_log_file(world: World) -> bool:
    """A write completed after a compaction was planned that it was requested before, and the compaction completed."""
    plans = {plan.requested for plan in part(world, Plans).all}
    compacted = [commit.requested for commit in world.commits if commit.requested in plans]
    return any(commit.requested < time < commit.completion for time in compacted for commit in world.commits)


def deleted_and_compacted(world: World) -> bool:
    """The last completed write deleted its key, and a compaction completed after it was planned."""
    plans = {plan.requested for plan in part(world, Plans).all}
    deletes = [commit.requested for commit in world.commits if any(value is None for _, value in commit.changes)]
    return any(commit.requested in plans and commit.requested > time for commit in world.commits for time in deletes)


def rollback_beside_a_plan(world: World) -> bool:
    """A write was rolled back while a compaction was pending."""
    return bool(pending_plans(world)) and any(
        rollback.state is InstantState.COMPLETED and rollback.requested > plan.requested
        for rollback in rollbacks_of(world)
        for plan in pending_plans(world)
    )


def completed_late(world: World) -> bool:
    """A write with a smaller requested time completed after another, and a compaction completed."""
    return completed_out_of_order(world) and any(
        commit.requested in {plan.requested for plan in part(world, Plans).all} for commit in world.commits
    )


def log_compacted_delete(world: World) -> bool:
    """A log compaction completed that merged the delete of a key."""
    plans = {plan.requested for plan in part(world, LogPlans).all}
    return any(
        commit.requested in plans and any(value is None for file in commit.files for _, value in file.rows)
        for commit in world.commits
    )


def insert_while_indexing(world: World) -> bool:
    """An index is completed, and had to catch up with a write that was pending when it was planned."""
    index = part(world, Index)
    return index.completed and any(
        commit.requested < index.planned < commit.completion and commit.requested not in index.aware
        for commit in world.commits
    )


def metadata_ahead_of_table(world: World) -> bool:
    """A write failed after its deltacommit in the metadata table completed, and another write completed after it."""
    blocks, pending = part(world, MetadataFiles).blocks, pending_in_table(world)
    failed = [block.completion for block in blocks if block.completion is not None and block.requested in pending]
    return any(commit.completion > time for commit in world.commits for time in failed)


def update_beside_a_clustering(world: World) -> bool:
    """A clustering completed, and a version of a file group that it replaced was written and never completed."""
    completed = {commit.requested for commit in world.commits}
    replaced = {group for plan in completed_clusterings(world) for group, _ in plan.inputs}
    return any(file.group in replaced and file.requested not in completed for file in world.files)


def query_beyond_retention(world: World) -> bool:
    """A query runs, and a file that it is going to open was cleaned: it took too long."""
    query = running_query(world)
    return query is not None and not set(query.left) <= names_on_storage(world)


def clean_beside_a_savepoint(world: World) -> bool:
    """A clean deleted a later version of the file group, and kept the one that a savepoint names."""
    files = {name for savepoint in part(world, Savepoints).all for name in savepoint.files}
    cleaned = {name for clean in part(world, Cleans).all for name in clean.plan} - names_on_storage(world)
    return any(gone[0] == kept[0] and gone[1] > kept[1] for gone in cleaned for kept in files)


def two_writes_taken_back(world: World) -> bool:
    """A restore is complete that took back two writes."""
    done = [restore for restore in part(world, Restores).all if restore.state is InstantState.COMPLETED]
    return any(len(restore.plan) > 1 for restore in done)


def completed_again(world: World) -> bool:
    """Every operation is complete, and one of them had been given up before."""
    return part(world, Attempts).retries > 0 and len(world.commits) == world.started


def complete_unheard(world: World) -> bool:
    """Every write is complete, and the writer of one does not know."""
    return bool(part(world, Unheard).processes) and len(world.commits) == world.started


def archived_under_a_writer(world: World) -> bool:
    """Instants have left the active timeline while a write was pending that was requested after they completed."""
    return bool(part(world, Archive).dropped) and bool(pending_writes(world))


def captured_late(world: World) -> bool:
    """Of two writes of one file group the one that was requested first completed last."""
    return completed_out_of_order(world) and any(
        {file.group for file in first.files} & {file.group for file in second.files}
        for first in world.commits
        for second in world.commits
        if first.requested < second.requested and first.completion > second.completion and second.changes
    )


def read_optimized_late(world: World) -> bool:
    """A compaction completed, and after its plan another write of its file group."""
    plans = {plan.requested: {each.group for each in plan.inputs} for plan in part(world, Plans).all}
    return any(
        compaction.requested in plans
        and write.completion > compaction.requested
        and write.changes
        and plans[compaction.requested] & {file.group for file in write.files}
        for compaction in world.commits
        for write in world.commits
    )


WITNESSES: dict[Promise, Witness] = {
    Promise.CONSISTENT_READ: commits_after_a_failure,
    Promise.NO_LOST_UPDATE: contended_file_group,
    Promise.NO_DUPLICATE_KEYS: key_written_in_two_groups,
    Promise.NO_UNDONE_WRITE: shared_requested_time,
    Promise.LIVE_WRITER_KEPT: rollback_beside_a_live_writer,
    Promise.LEGAL_TRANSITIONS: rolled_back_and_completed,
    Promise.LATEST_SNAPSHOT: late_log_file,
    Promise.NO_RESURRECTED_DELETE: deleted_and_compacted,
    Promise.PLANNED_FILES_STAY: rollback_beside_a_plan,
    Promise.QUERIES_KEEP_FILES: query_beyond_retention,
    Promise.INCREMENTAL_READS: completed_late,
    Promise.MERGED_LOGS_UNNEEDED: log_compacted_delete,
    Promise.INDEX_AGREES: insert_while_indexing,
    Promise.METADATA_AGREES: metadata_ahead_of_table,
    Promise.APPLIED_ONCE: completed_again,
    Promise.TRUE_OUTCOMES: complete_unheard,
    Promise.CLUSTERING_KEEPS_ROWS: update_beside_a_clustering,
    Promise.SAVEPOINTS_STAY: clean_beside_a_savepoint,
    Promise.RESTORES_ARE_EXACT: two_writes_taken_back,
    Promise.HISTORY_IS_WHOLE: archived_under_a_writer,
    Promise.CAPTURED_CHANGES: captured_late,
    Promise.READ_OPTIMIZED: read_optimized_late,
    Promise.TIME_TRAVEL_STABILITY: completed_out_of_order,
}
"""For each promise the situation that shows that it was put to the test."""
