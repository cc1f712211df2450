"""Refinement: every history of the implementation must be a behaviour of the model.

The record of a history is replayed into `drawstring_model`. What is visible on storage becomes a move when the bytes
change, whoever says what about it; what is not visible becomes one when the writer says so:

| move of the model | what happens in the implementation |
|---|---|
| ``GenerateRequestedTime``, ``StartHeartbeat`` | held back until the instant they are for is on the timeline |
| ``RequestInstant``, ``StartInflight``, ``CompleteInstant`` | the file appears in the timeline's folder |
| ``LookupKeys``, ``CheckConflicts`` | the event; placed at the listing of the timeline that it was decided by |
| ``RequestRollback`` | the rollback's file appears; placed at the listing of the markers that its plan was made by |
| ``WriteFile``, ``DeleteFile`` | a Parquet file appears or goes |
| ``AcquireLock``, ``ReleaseLock`` | the lock file changes its owner or goes; a lapsed lease goes with the event |
| ``UpdateMetadata``, ``AbortWrite`` | the event |
| ``StartRollback`` ... ``CompleteRollback`` | the rollback's files appear; the target's requested file goes |
| ``RenewHeartbeat``, ``StopHeartbeat`` | the heartbeat file is written again, or goes |
| ``ExpireLock``, ``ExpireHeartbeat`` | somebody acts on it, *and* by the true time it is so |
| ``Crash`` | the kernel fences the incarnation; also: an operation ended without giving everything back |

After each change and each event the model's storage view must equal the one parsed from bytes, and each reader's
answer must be the model's. The model is never set to what the implementation did: where a move is not enabled, or the
views differ, `DisagreementError` tells both sides.

Each incarnation is a writer of the model. Along the way the model's own promises are checked, too: histories are longer
here than what the model's explorer reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drawstring.events import Event
from drawstring_model.config import Config
from drawstring_model.core.module import part
from drawstring_model.core.protocol import apply, refusal
from drawstring_model.core.reader import file_slices, latest_snapshot_time, read_snapshot
from drawstring_model.core.state import (
    FREE,
    IDLE,
    AbortReason,
    Changes,
    Move,
    Phase,
    Placement,
    State,
    Writer,
    initial_state,
)
from drawstring_model.invariants import INVARIANTS
from drawstring_model.modules.heartbeats import Beating, heartbeat_is_alive
from drawstring_model.modules.rollback import rollbacks_of
from drawstring_model.storage_view import StorageView, TimelineFile, storage_view
from drawstring_sim.decisions import decisions, difference, files_written_later, narrate, told
from drawstring_sim.operations import Kind, Operation
from drawstring_sim.raw_view import RawView, is_data_file, lock_owner, rollback_target, timeline_file
from drawstring_sim.recorder import Answered, Began, Change, Died, Ended, Entry, Look, Recorder, Said
from drawstring_spec.instants import Action
from drawstring_spec.instants import State as InstantState
from drawstring_spec.layout import HEARTBEAT_FOLDER, LOCK_FILE, TIMELINE_FOLDER
from drawstring_spec.steps import Step

_PROMISES_ARE_CHECKED_AFTER = frozenset({Step.COMPLETE_INSTANT, Step.REQUEST_ROLLBACK, Step.REMOVE_INSTANT})
_UNPLACED = "not written, so nowhere"

ABORT_REASONS = {
    "ConflictError": AbortReason.CONFLICT,
    "KeyConflictError": AbortReason.KEY_CONFLICT,
    "WriterFencedError": AbortReason.FENCED,
    "HeartbeatExpiredError": AbortReason.FENCED,
}
"""What an ``AbortWrite`` event names, in the model's terms; everything else is `AbortReason.FAILED`."""


class DisagreementError(AssertionError):
    """The model and the implementation differ: one of them is wrong."""


@dataclass(slots=True)
class Refinement:
    """Replays a record into the model.

    Attributes:
        recorder: the record.
        lock_ttl_ms: how old a lock file is when it may be taken over.
        tolerance_ms: how old a heartbeat is when its operation may be rolled back.
        config: of the model.
        moves: those that the model has made.
        refused: the one that it did not allow, where that is the disagreement.

    """

    recorder: Recorder
    lock_ttl_ms: int
    tolerance_ms: int
    config: Config = field(default_factory=Config)
    moves: list[Move] = field(default_factory=list)
    refused: Move | None = None
    state: State = field(default_factory=lambda: initial_state(0))
    view: RawView = field(default_factory=RawView)
    _at: int = 0
    _places: dict[str, int] = field(default_factory=dict)
    _operations: dict[str, Operation] = field(default_factory=dict)
    _last_look: dict[str, State] = field(default_factory=dict)
    _decisions: Mapping[int, Event | Change] = field(default_factory=dict)
    _half_removed: set[TimelineFile] = field(default_factory=set)
    _not_yet: set[TimelineFile] = field(default_factory=set)
    _owners: dict[str, str] = field(default_factory=dict)
    _lapsed: set[str] = field(default_factory=set)

    def check(self) -> None:
        """Replay the whole record.

        Raises:
            DisagreementError: it is not a behaviour of the model.

        """
        self._decisions = decisions(self.recorder.entries)
        for at, entry in enumerate(self.recorder.entries):
            self._at = at
            self._take(entry)

    # The replay, entry by entry.

    def _take(self, entry: Entry) -> None:
        if isinstance(entry, Change):
            self._take_change(entry)
            self._compare()
        elif isinstance(entry, Said):
            self._take_event(entry)
            self._compare()
        elif isinstance(entry, Look):
            decision = self._decisions.get(self._at)
            if isinstance(decision, Change):
                self._request_rollback(decision, entry.at_ms)
            elif decision is not None:
                self._decide(entry.writer, decision)
            self._last_look[entry.writer] = self.state
        elif isinstance(entry, Began):
            self._place(entry.writer)
            self._operations[entry.writer] = entry.operation
        elif isinstance(entry, Died | Ended):
            self._forget(entry.writer)
        else:
            self._compare_answer(entry)

    def _take_change(self, change: Change) -> None:
        before = self.view.lock
        self.view.take(change)
        folder, _, name = change.path.rpartition("/")
        if change.path == LOCK_FILE:
            self._take_lock(change, before.written_at_ms if before is not None else 0)
        elif folder == TIMELINE_FOLDER:
            self._take_timeline(change, timeline_file(name))
        elif folder == HEARTBEAT_FOLDER:
            self._take_heartbeat(change, int(name))
        elif is_data_file(change.path):
            self._take_data_file(change)

    def _take_lock(self, change: Change, written_at_ms: int) -> None:
        before = lock_owner(change.before) if change.before is not None else None
        after = lock_owner(change.after) if change.after is not None else None
        if before == after:
            return  # Renewed.
        if after is None:
            self._release(change.writer)
            return
        if before is not None and self.state.world.lock != FREE:
            age_ms = change.at_ms - written_at_ms
            if age_ms <= self.lock_ttl_ms:
                raise self._finding(f"The lock was taken over when it was {age_ms} ms old.")
            self._move(Move(Step.EXPIRE_LOCK))
        # What it held before, it has let lapse.
        self._release(change.writer)
        self._lapsed.discard(after)
        self._owners[after] = change.writer
        self._move(Move(Step.ACQUIRE_LOCK, self._place(change.writer)))

    def _release(self, name: str) -> None:
        number = self._place(name)
        if self._writer(number).has_lock:
            if self._writer(number).phase not in (Phase.START, Phase.REQUESTED, Phase.COMPLETED, Phase.ABORTED):
                self._abort(number, AbortReason.FAILED)
            self._move(Move(Step.RELEASE_LOCK, number))

    def _take_timeline(self, change: Change, file: TimelineFile) -> None:
        writer = self._place(change.writer)
        if change.after is None:
            self._take_removal(change.writer, file)
        elif file.action is Action.ROLLBACK:
            self._take_rollback(change, file)
        elif file.state is InstantState.REQUESTED:
            self._move(Move(Step.GENERATE_REQUESTED_TIME, writer, time=file.requested_time))
            self._move(Move(Step.START_HEARTBEAT, writer))
            self._move(Move(Step.REQUEST_INSTANT, writer))
        elif file.state is InstantState.INFLIGHT:
            self._move(Move(Step.START_INFLIGHT, writer))
        else:
            self._move(Move(Step.COMPLETE_INSTANT, writer, time=file.completion_time))

    def _take_removal(self, name: str, file: TimelineFile) -> None:
        """The model takes a failed instant off the timeline in one step; on storage it is two deletes."""
        requested = file._replace(state=InstantState.REQUESTED)
        if file.state is InstantState.INFLIGHT and requested in self.view.timeline:
            self._half_removed.add(file)
            return
        self._half_removed.discard(file._replace(state=InstantState.INFLIGHT))
        for rollback in rollbacks_of(self.state.world):
            if rollback.target == file.requested_time and rollback.state is InstantState.INFLIGHT:
                self._move(Move(Step.REMOVE_INSTANT, self._place(name), target=rollback.requested))
                return
        raise self._finding(f"{file} was deleted, and no rollback of it is under way.")

    def _take_rollback(self, change: Change, file: TimelineFile) -> None:
        writer = self._place(change.writer)
        if file.state is InstantState.INFLIGHT:
            self._move(Move(Step.START_ROLLBACK, writer, target=file.requested_time))
        elif file.state is InstantState.COMPLETED:
            self._move(Move(Step.COMPLETE_ROLLBACK, writer, target=file.requested_time, time=file.completion_time))
        else:
            if file not in self._not_yet:
                self._request_rollback(change, change.at_ms)
            self._not_yet.discard(file)

    def _request_rollback(self, change: Change, decided_at_ms: int) -> None:
        """A rollback's plan is made by a listing of the markers, a little before it is on the timeline."""
        file = timeline_file(change.path.rpartition("/")[2])
        target = rollback_target(change)
        self._expire_heartbeat(change.writer, target or 0, decided_at_ms)
        writer = self._place(change.writer)
        self._move(Move(Step.REQUEST_ROLLBACK, writer, time=file.requested_time, target=target))
        self._not_yet.add(file)

    def _expire_heartbeat(self, name: str, target: int, now_ms: int) -> None:
        """A heartbeat expires when somebody acts on it, but only if by the true time it has."""
        own = self._writer(self._place(name))
        beats = heartbeat_is_alive(self.state.world, target)
        if not beats or (own.phase is Phase.ABORTED and own.requested == target):
            return
        age_ms = now_ms - self.view.heartbeats.get(target, now_ms)
        if age_ms <= self.tolerance_ms:
            raise self._finding(f"{name} rolls {target} back, whose heartbeat is {age_ms} ms old.")
        self._move(Move(Step.EXPIRE_HEARTBEAT, time=target))

    def _take_heartbeat(self, change: Change, requested_time: int) -> None:
        writer = self._place(change.writer)
        mine = self._writer(writer)
        if mine.requested != requested_time or not part(mine, Beating).beating:
            return  # Not requested yet, or rolled back: nobody looks at it.
        if change.after is not None:
            self._move(Move(Step.RENEW_HEARTBEAT, writer))
        elif not (mine.has_lock and mine.phase is Phase.ABORTED):
            self._stop_heartbeat(change.writer)
        # Else it goes with the rollback of the writer's own operation, and the event follows.

    def _stop_heartbeat(self, name: str) -> None:
        """Whoever stops its heartbeat has given up, said or unsaid: the model lets it do nothing more."""
        writer = self._place(name)
        if part(self._writer(writer), Beating).beating:
            self._let_lapse(name)
            self._abort(writer, AbortReason.FAILED)
            self._move(Move(Step.STOP_HEARTBEAT, writer))

    def _take_data_file(self, change: Change) -> None:
        group, requested_time, token = self.view.file_name(change.path)
        if change.after is not None:
            self._move(Move(Step.WRITE_FILE, self._place(change.writer), group=group, token=token))
            return
        if requested_time not in self._known():
            return  # Off the timeline: the file was nobody's.
        for rollback in rollbacks_of(self.state.world):
            if rollback.target == requested_time and rollback.state is InstantState.INFLIGHT:
                writer, target = self._place(change.writer), rollback.requested
                self._move(Move(Step.DELETE_FILE, writer, group=group, token=token, target=target))
                return
        raise self._finding(f"{change.path} was deleted, and no rollback of it is under way.")

    def _take_event(self, said: Said) -> None:
        writer, step = self._place(said.writer), said.event.step
        if step is Step.UPDATE_METADATA:
            self._move(Move(step, writer))
        elif step is Step.ABORT_WRITE:
            reason = ABORT_REASONS.get(said.event.detail["reason"], AbortReason.FAILED)
            mine = self._writer(writer)
            beats = heartbeat_is_alive(self.state.world, mine.requested)
            if said.event.detail["reason"] == "HeartbeatExpiredError" and beats:
                # A writer regards itself as dead before others may.
                self._move(Move(Step.EXPIRE_HEARTBEAT, time=mine.requested))
            self._abort(writer, reason)
        elif step is Step.STOP_HEARTBEAT:
            self._stop_heartbeat(said.writer)
        elif step is Step.RELEASE_LOCK:
            self._let_lapse(said.writer)

    def _let_lapse(self, name: str) -> None:
        """A writer is done with a lock that it could not give back: the file stays until somebody takes it over."""
        lock = self.view.lock
        if lock is not None and self._owners.get(lock.owner) == name:
            self._lapsed.add(lock.owner)
        self._release(name)

    def _abort(self, writer: int, reason: AbortReason) -> None:
        if self._writer(writer).phase not in (Phase.START, Phase.COMPLETED, Phase.ABORTED):
            self._move(Move(Step.ABORT_WRITE, writer, reason=reason))

    def _decide(self, name: str, decision: Event) -> None:
        writer = self._place(name)
        if decision.step is Step.CHECK_CONFLICTS:
            self._move(Move(decision.step, writer))
            return
        self._let_lapse(name)
        changes = self._changes(name)
        self._move(Move(decision.step, writer, changes=changes, placement=self._placement(name, changes)))

    def _changes(self, name: str) -> Changes:
        operation = self._operations[name]
        deletes = operation.kind is Kind.DELETE
        numbered = ((self.view.names.key(key), None if deletes else value) for key, value in operation.rows)
        return tuple(sorted(numbered, key=lambda change: change[0]))

    def _placement(self, name: str, changes: Changes) -> Placement:
        """File group of each key that the writer's snapshot does not hold: the one that it writes it to, later."""
        mine = self._writer(self._place(name))
        visible = {c.requested for c in self.state.world.commits if c.requested < mine.requested}
        known = {key for file in file_slices(self.state.world, visible, self.config).values() for key, _ in file.rows}
        written: dict[int, int] = {}
        for change in files_written_later(self.recorder.entries, self._at, name):
            group, requested_time, _ = self.view.file_name(change.path)
            if requested_time == mine.requested and change.after is not None:
                written.update(dict.fromkeys(self.view.values(change.path, change.after), group))
        nowhere = self.view.names.group(_UNPLACED, str(mine.requested))
        new = sorted(key for key, value in changes if value is not None and key not in known)
        return tuple((key, written.get(key, nowhere)) for key in new)

    def _forget(self, name: str) -> None:
        """An operation ended: what it has not given back, nobody will."""
        if name in self._places:
            number = self._places[name]
            if self._writer(number) != IDLE:
                self._move(Move(Step.CRASH, number))

    # The model.

    def _place(self, name: str) -> int:
        if name not in self._places:
            self._places[name] = len(self.state.writers)
            self.state = State(self.state.world, (*self.state.writers, IDLE))
        return self._places[name]

    def _writer(self, number: int) -> Writer:
        return self.state.writers[number]

    def _move(self, move: Move) -> None:
        objection = refusal(self.state, move, self.config)
        if objection is not None:
            self.refused = move
            raise self._finding(f"The model refuses {told(move)}: {objection}.")
        self.state = apply(self.state, move, self.config)
        self.moves.append(move)
        if move.step in _PROMISES_ARE_CHECKED_AFTER:
            for promise, check in INVARIANTS.items():
                broken = check(self.state.world, self.config)
                if broken is not None:
                    raise self._finding(f"The model breaks its promise of {promise}: {broken}.")

    # The comparison.

    def _compare(self) -> None:
        model, view = storage_view(self.state, self.config), self.view
        timeline = view.timeline | self._half_removed | self._not_yet
        if timeline != model.timeline:
            raise self._finding(difference("timeline", timeline, model.timeline))
        # Files of an instant that is off the timeline are nobody's: what a dead writer still wrote, and may remove.
        known = self._known()
        files = {name: rows for name, rows in view.data_files.items() if name[1] in known}
        expected_files = {name: dict(rows) for name, rows in model.data_files.items() if name[1] in known}
        if files != expected_files:
            raise self._finding(f"Data files on storage: {files}; in the model: {expected_files}.")
        held = view.lock is not None and view.lock.owner not in self._lapsed
        if held != model.lock_held:
            raise self._finding(f"The lock is held on storage: {held}; in the model: {model.lock_held}.")
        pending = self._pending(model)
        beats, expected = pending & view.heartbeats.keys(), pending & model.heartbeats
        if beats != expected:
            raise self._finding(difference("heartbeats", beats, expected))

    def _known(self) -> set[int]:
        """Times of writes that are on the timeline."""
        return {*self.state.world.requested, *self.state.world.inflight}

    def _pending(self, model: StorageView) -> set[int]:
        """Times of pending writes that nobody has begun to roll back: those whose heartbeats matter."""
        done = {c.requested for c in self.state.world.commits} | {r.target for r in rollbacks_of(self.state.world)}
        return {f.requested_time for f in model.timeline if f.action is Action.COMMIT} - done

    def _compare_answer(self, answered: Answered) -> None:
        world = self._last_look.get(answered.reader, self.state).world
        as_of = latest_snapshot_time(world, self.config) if answered.as_of is None else int(answered.as_of)
        expected = list(read_snapshot(world, as_of, self.config))
        answer = sorted((self.view.names.key(key), value) for key, value in answered.content.items())
        if answer != expected:
            raise self._finding(
                f"{answered.reader} reads {answer} as of {answered.as_of or 'now'}; the model reads {expected}."
            )

    def _finding(self, text: str) -> DisagreementError:
        story = narrate(self.recorder.entries[: self._at + 1])
        names = {kind: self.view.names.texts(kind) for kind in ("key", "group", "token")}
        return DisagreementError(f"{text}\nThe last that happened:\n{story}\nNumbers: {names}")
