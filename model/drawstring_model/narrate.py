"""Tells a history in sentences: who did what, and where it contradicts a promise.

``w1`` and ``w2`` are writers, ``k1`` a key, ``fg1`` a file group; times are the model's ticks.
"""

from __future__ import annotations

from collections.abc import Callable

from drawstring_model.core.config import Config
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import apply, start
from drawstring_model.core.state import WRITER, AbortReason, Changes, Move, Phase, State
from drawstring_model.explorer import Counterexample
from drawstring_spec.steps import Step

PROMISES: dict[Promise, str] = {
    Promise.CONSISTENT_READ: "a snapshot equals what its commits give one after the other",
    Promise.NO_LOST_UPDATE: "each version of a file group builds on the version right before it",
    Promise.NO_DUPLICATE_KEYS: "a snapshot holds each key once",
    Promise.NO_UNDONE_WRITE: "what a completed write wrote stays as it was",
    Promise.LIVE_WRITER_KEPT: "no operation is rolled back while its writer lives",
    Promise.LEGAL_TRANSITIONS: "an instant is requested, then inflight, then completed, or rolled back",
    Promise.LATEST_SNAPSHOT: "a snapshot of now equals what all commits give one after the other",
    Promise.NO_RESURRECTED_DELETE: "a key that was deleted last is in no snapshot of now",
    Promise.PLANNED_FILES_STAY: "what a pending compaction is going to read stays",
    Promise.INCREMENTAL_READS: "a reader that reads on from where it stopped misses no write",
    Promise.MERGED_LOGS_UNNEEDED: "what is read is the same without the log files that a log compaction merged",
    Promise.INDEX_AGREES: "a completed index agrees with the table",
    Promise.METADATA_AGREES: "the metadata table lists the files of completed writes, and no others",
    Promise.CLUSTERING_KEEPS_ROWS: "a clustering neither loses nor duplicates rows",
    Promise.APPLIED_ONCE: "an operation is applied once, however often it is tried",
    Promise.TRUE_OUTCOMES: "a write that was given up is not complete",
    Promise.QUERIES_KEEP_FILES: "within retention a running query loses no file",
    Promise.CAPTURED_CHANGES: "a query of changes gives the values right before and right after each write",
    Promise.READ_OPTIMIZED: "a read-optimized query reads each file group as it was when its newest base file was made",
    Promise.SAVEPOINTS_STAY: "what a savepoint names stays",
    Promise.RESTORES_ARE_EXACT: "after a restore the table is as its savepoint has it",
    Promise.HISTORY_IS_WHOLE: "what completed is on the active timeline or in the archive, as it was; nothing else is",
    Promise.TIME_TRAVEL_STABILITY: "a snapshot that was read once never changes",
}
"""Each promise in one sentence."""

_REASONS: dict[AbortReason, str] = {
    AbortReason.CONFLICT: "another commit touched its file group",
    AbortReason.KEY_CONFLICT: "another commit inserted its new key",
    AbortReason.LOST_LOCK: "its lease of the lock ran out",
    AbortReason.FENCED: "others may take it for dead",
    AbortReason.COLLISION: "the file exists already",
    AbortReason.FAILED: "something failed",
}


def narrate(example: Counterexample, config: Config) -> list[str]:
    """The counterexample as sentences, the last of which says what it contradicts."""
    sentences = told_history(example.moves, config)
    promise = PROMISES[example.promise]
    sentences.append(f"Promised: {promise}; however, {example.finding}: a contradiction.")
    return sentences


def told_history(moves: tuple[Move, ...], config: Config) -> list[str]:
    """One sentence for each move of a history that begins at the initial state."""
    state = start(config)
    sentences = []
    for number, move in enumerate(moves, start=1):
        sentences.append(f"{number:>3}. {told(state, move)}")
        state = apply(state, move, config)
    return sentences


def told(state: State, move: Move) -> str:
    """One move in one sentence, beginning with the step's name."""
    who = "" if move.writer is None else _name(state, move.writer)
    return f"{move.step}: {_TOLD[move.step](state, move, who)}."


def _name(state: State, number: int) -> str:
    role = state.writers[number].role
    return f"w{number + 1}" if role == WRITER else f"the {role}"


def _own_time(state: State, move: Move) -> int:
    return state.writers[move.writer or 0].requested


def _told_changes(changes: Changes | None) -> str:
    return ", ".join(f"delete k{key}" if value is None else f"set k{key} to {value}" for key, value in changes or ())


def _told_lookup(state: State, move: Move, who: str) -> str:
    placed = "".join(f", new key k{key} goes to fg{group}" for key, group in move.placement or ())
    return f"{who} looks keys up as of {_own_time(state, move)}, to {_told_changes(move.changes)}{placed}"


def _told_lock(state: State, move: Move, who: str) -> str:
    del state
    return f"{who} takes the {'table lock' if move.group is None else f'lock of fg{move.group}'}"


def _told_metadata(state: State, move: Move, who: str) -> str:
    what = "tells the metadata table" if move.step is Step.UPDATE_METADATA else "writes a block to the metadata table,"
    return f"{who} {what} of {_own_time(state, move) or 'its clean'}"


def _told_abort(state: State, move: Move, who: str) -> str:
    reason = _REASONS[move.reason] if move.reason else "it must"
    return f"{who} gives {_own_time(state, move)} up, because {reason}"


def _told_put(state: State, move: Move) -> str:
    time = _own_time(state, move)
    files = {Phase.LOOKED_UP: f"{time}.inflight", Phase.UPDATED: f"the completed file of {time}, at {move.time}"}
    if state.writers[move.writer or 0].phase in (Phase.START, Phase.INFLIGHT):
        return "the lock's file"
    return files.get(state.writers[move.writer or 0].phase, f"{time}.commit.requested")


_TOLD: dict[Step, Callable[[State, Move, str], str]] = {
    Step.GENERATE_REQUESTED_TIME: lambda _, move, who: f"{who} takes the requested time {move.time}",
    Step.RETRY_WRITE: lambda _, move, who: f"{who} takes the time {move.time} for operation {move.target}, again",
    Step.START_HEARTBEAT: lambda state, move, who: f"{who} starts the heartbeat of {_own_time(state, move)}",
    Step.REQUEST_INSTANT: lambda state, move, who: f"{who} puts {_own_time(state, move)}.commit.requested",
    Step.LOOKUP_KEYS: _told_lookup,
    Step.START_INFLIGHT: lambda state, move, who: f"{who} puts {_own_time(state, move)}.inflight",
    Step.WRITE_FILE: lambda state, move, who: f"{who} writes fg{move.group} at {_own_time(state, move)}",
    Step.RETRY_TASK: lambda state, move, who: f"{who} has fg{move.group} written again at {_own_time(state, move)}",
    Step.ACQUIRE_LOCK: _told_lock,
    Step.CHECK_CONFLICTS: lambda state, move, who: f"{who} finds nothing against {_own_time(state, move)}",
    Step.COMPACT_METADATA: lambda _, __, who: f"{who} compacts the metadata table",
    Step.WRITE_METADATA: _told_metadata,
    Step.UPDATE_METADATA: _told_metadata,
    Step.COMPLETE_INSTANT: lambda state, move, who: f"{who} completes {_own_time(state, move)} at {move.time}",
    Step.RELEASE_LOCK: lambda _, __, who: f"{who} gives the table lock back",
    Step.STOP_HEARTBEAT: lambda state, move, who: f"{who} removes the heartbeat of {_own_time(state, move)}",
    Step.ABORT_WRITE: _told_abort,
    Step.REQUEST_ROLLBACK: lambda _, move, who: f"{who} plans rollback {move.time} of {move.target}",
    Step.START_ROLLBACK: lambda _, move, who: f"{who} starts rollback {move.target}",
    Step.DELETE_FILE: lambda _, move, who: f"{who} deletes a file of fg{move.group} for rollback {move.target}",
    Step.ROLLBACK_METADATA: lambda _, move, who: (
        f"{who} takes the deltacommit back that rollback {move.target} is about"
    ),
    Step.REMOVE_INSTANT: lambda _, move, who: f"{who} takes the target of rollback {move.target} off the timeline",
    Step.COMPLETE_ROLLBACK: lambda _, move, who: f"{who} completes rollback {move.target} at {move.time}",
    Step.SCHEDULE_COMPACTION: lambda _, move, __: f"the compactor plans compaction {move.time}",
    Step.RUN_COMPACTION: lambda _, move, __: f"the compactor runs compaction {move.target}",
    Step.SCHEDULE_LOG_COMPACTION: lambda _, move, who: f"{who} plans log compaction {move.time}",
    Step.RUN_LOG_COMPACTION: lambda _, move, who: f"{who} runs log compaction {move.target}",
    Step.SCHEDULE_INDEXING: lambda _, move, __: f"the indexer plans index {move.time}",
    Step.BUILD_INDEX: lambda _, __, ___: "the indexer writes the index files of what was completed at the plan",
    Step.CATCH_UP_INDEX: lambda _, move, __: f"the indexer adds the entries of {move.target}",
    Step.COMPLETE_INDEXING: lambda _, __, ___: "the indexer completes the index",
    Step.SCHEDULE_CLUSTERING: lambda _, move, __: f"the clusterer plans clustering {move.time} into fg{move.group}",
    Step.RUN_CLUSTERING: lambda _, move, __: f"the clusterer runs clustering {move.target}",
    Step.DELETE_PARTITION: lambda _, move, __: f"the deleter begins to delete the partition at {move.time}",
    Step.SCHEDULE_CLEAN: lambda _, move, __: f"the cleaner plans clean {move.time}",
    Step.RUN_CLEAN: lambda _, __, ___: "the cleaner begins to delete what the plan names",
    Step.CLEAN_FILE: lambda _, move, __: f"the cleaner deletes the file of fg{move.group} that {move.target} wrote",
    Step.COMPLETE_CLEAN: lambda _, move, __: f"the cleaner completes the clean at {move.time}",
    Step.CREATE_SAVEPOINT: lambda _, move, __: f"the operator makes a savepoint of {move.target}",
    Step.SCHEDULE_RESTORE: lambda _, move, __: f"the operator plans restore {move.time} to {move.target}",
    Step.RUN_RESTORE: lambda _, __, ___: "the operator begins to take back what the plan names",
    Step.UNDO_COMPLETION: lambda _, move, __: f"the operator takes the completion of {move.target} back",
    Step.UNDO_WRITE: lambda _, move, __: f"the operator deletes the file of fg{move.group} that {move.target} wrote",
    Step.UNDO_REQUEST: lambda _, move, __: f"the operator takes {move.target} off the timeline",
    Step.RESTORE_METADATA: lambda _, move, __: f"the operator restores the metadata table, at {move.time}",
    Step.COMPLETE_RESTORE: lambda _, move, __: f"the operator completes the restore at {move.time}",
    Step.WRITE_ARCHIVED_FILE: lambda _, __, who: f"{who} writes a file of completed instants into the archive",
    Step.PUBLISH_MANIFEST: lambda _, __, who: f"{who} puts the archive's next manifest, which names the file",
    Step.DROP_PENDING_FILES: lambda _, move, who: f"{who} deletes the requested and the inflight file of {move.target}",
    Step.DROP_COMPLETED_FILE: lambda _, move, who: f"{who} deletes the completed file of {move.target}",
    Step.RENEW_HEARTBEAT: lambda state, move, who: f"{who} renews the heartbeat of {_own_time(state, move)}",
    Step.EXPIRE_HEARTBEAT: lambda _, move, __: f"the heartbeat of {move.time} is too old by now",
    Step.EXPIRE_LOCK: lambda _, __, ___: "the lease of the table lock runs out",
    Step.LOSE_ANSWER: lambda state, move, who: f"{who} puts {_told_put(state, move)}, and does not hear of it",
    Step.CRASH: lambda _, __, who: f"{who} crashes, and another takes its place",
    Step.READ_SNAPSHOT: lambda _, move, __: f"a reader reads as of {move.time}",
    Step.PULL_CHANGES: lambda _, __, ___: "the consumer reads on from where it stopped",
    Step.PLAN_QUERY: lambda _, move, __: f"the reader lists the files of a query as of {move.time}",
    Step.LIST_TIMELINE: lambda _, __, who: f"{who} lists the active timeline",
    Step.READ_ARCHIVE: lambda _, __, who: f"{who} reads the archive",
    Step.OPEN_FILE: lambda _, __, ___: "the reader opens the next of its files",
}
