"""The judge of histories: one checker per property, each over raw bytes and what writers were told.

Whose duty: to say whether what happened may happen, never to repair. Each checker raises `VerdictError` with both
sides of the contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from drawstring_sim.operations import Content, Key, Kind, Operation, SerialError
from drawstring_sim.raw_state import RawState, RawStateError, Rows
from drawstring_spec.instants import Action, State


class VerdictError(AssertionError):
    """A promise is broken."""


@dataclass(slots=True)
class Attempt:
    """One operation that a writer tried.

    Attributes:
        writer: its name.
        operation: what it tried.
        requested_times: under which the writer put it on the timeline, in order; at most one.
        succeeded: it was told that its write is complete.
        refused: it was told that nothing of its write is visible.
        error: what it was told otherwise; None where it succeeded or died.

    """

    writer: str
    operation: Operation
    requested_times: tuple[str, ...] = ()
    succeeded: bool = False
    refused: bool = False
    error: BaseException | None = None

    def __str__(self) -> str:
        told = "succeeded" if self.succeeded else f"got {type(self.error).__name__}" if self.error else "died"
        return f"{self.writer}: {self.operation} {told} at {', '.join(self.requested_times) or 'no time'}"


def content_of(rows: Rows, value_column: str = "value") -> Content:
    """Value of each key, from rows."""
    found: dict[tuple[str, str], int] = {}
    for key, row in rows.items():
        value = dict(row)[value_column]
        if not isinstance(value, int):
            raise VerdictError(f"The value of {key} is {value!r}.")
        found[key] = value
    return found


def check_timeline_is_legal(raw: RawState) -> None:
    """Files of the timeline stand in legal order, and no time is used twice."""
    by_time: dict[str, set[tuple[Action, State]]] = {}
    times: list[str] = []
    for instant in sorted(raw.instants, key=lambda i: i.sort_key):
        states = by_time.setdefault(instant.requested_time, set())
        states.add((instant.action.comparable, instant.state))
        if instant.state is State.COMPLETED:
            if instant.completion_time is None or instant.completion_time <= instant.requested_time:
                raise VerdictError(f"{instant} is completed before it is requested.")
            times.append(instant.completion_time)
    for requested_time, states in by_time.items():
        actions = {action for action, _ in states}
        if len(actions) > 1:
            raise VerdictError(f"{requested_time} is the time of several actions: {sorted(actions)}.")
        reached = {state for _, state in states}
        # A lone inflight file is the last put of a writer that was rolled back while it slept.
        orphaned = reached == {State.INFLIGHT} and any(i.action is Action.ROLLBACK for i in raw.instants)
        if not orphaned and sorted(reached) != list(State)[: len(reached)]:
            raise VerdictError(f"{requested_time} stands on the timeline as {sorted(s.label for s in reached)} only.")
    every = times + list(by_time)
    if len(every) != len(set(every)):
        raise VerdictError(f"A time is used twice among {sorted(every)}.")


def check_statistics_are_true(raw: RawState) -> None:
    """Each completed commit names exactly its files, with their sizes in rows."""
    for requested_time, record in raw.metadata.items():
        claimed = {}
        for stats in (record.get("partitionToWriteStats") or {}).values():
            for stat in stats:
                claimed[stat["path"]] = stat
        standing = {f.path for f in raw.data_files if f.requested_time == requested_time}
        if set(claimed) - standing:
            raise VerdictError(f"{requested_time} names files that are gone: {sorted(set(claimed) - standing)}.")
        for path, stat in sorted(claimed.items()):
            if stat["numWrites"] != len(raw.rows[path]):
                raise VerdictError(f"{path} has {len(raw.rows[path])} rows, its write stat says {stat['numWrites']}.")


def check_visible_files_are_claimed(raw: RawState) -> None:
    """A reader sees no file that its commit does not name: what a zombie task left must be gone or unseen."""
    for file in raw.slices():
        stats = (raw.metadata[file.requested_time].get("partitionToWriteStats") or {}).values()
        if file.path not in {stat["path"] for of_partition in stats for stat in of_partition}:
            raise VerdictError(f"{file.path} is visible, but {file.requested_time} does not name it.")


def check_nothing_is_left(raw: RawState) -> None:
    """No leftover of failed writes: no pending instant, no lock, no data file of no commit.

    Markers and heartbeats of operations that are over, or never were on the timeline, may stay: they say nothing.
    """
    if raw.pending:
        raise VerdictError(f"Pending instants are left: {[str(i) for i in raw.pending]}.")
    if raw.locked:
        raise VerdictError("The lock file is left.")
    lost = [f.path for f in raw.data_files if f.requested_time not in raw.completed_commits]
    if lost:
        raise VerdictError(f"Data files of no completed commit are left: {lost}.")


def check_attempts(raw: RawState, attempts: Iterable[Attempt]) -> None:
    """What writers were told agrees with the timeline."""
    completed = raw.completed_commits
    for attempt in attempts:
        done = [t for t in attempt.requested_times if t in completed]
        if attempt.succeeded and not done:
            raise VerdictError(f"{attempt}; however the timeline has no such commit: a contradiction.")
        if attempt.refused and done:
            raise VerdictError(f"{attempt}; however {done} is completed: a contradiction.")
        if len(done) > 1:
            raise VerdictError(f"{attempt}; however {done} are both completed: a contradiction.")


def check_serial(raw: RawState, attempts: Sequence[Attempt]) -> None:
    """A snapshot at each commit equals the serial result of the commits up to it, by requested time.

    A delete that did not find a key does nothing to it, even if a commit that was requested earlier brings the key
    later: the two are concurrent, and the delete came first. That excuse is checked, not taken.
    """
    # Where two took one time, it belongs to the one that was told so.
    by_time = {t: attempt for attempt in sorted(attempts, key=lambda a: a.succeeded) for t in attempt.requested_times}
    content: Content = {}
    written_at: dict[Key, str] = {}
    for requested_time in sorted(raw.completed_commits):
        attempt = by_time.get(requested_time)
        if attempt is None:
            raise VerdictError(f"The commit {requested_time} is nobody's.")
        operation = _without_missed_deletes(raw, requested_time, attempt.operation, content, written_at)
        try:
            content = operation.apply(content)
            seen = content_of(raw.snapshot(requested_time))
        except (SerialError, RawStateError) as error:
            raise VerdictError(f"Up to {attempt}: {error}") from error
        if seen != content:
            raise VerdictError(
                f"The commits up to {requested_time} ({attempt}) give {sorted(content.items())} one after the other; "
                f"however a reader as of it sees {sorted(seen.items())}: a contradiction."
            )
        written_at.update(dict.fromkeys((key for key, _ in operation.rows), requested_time))


def _without_missed_deletes(
    raw: RawState, requested_time: str, operation: Operation, content: Content, written_at: Mapping[Key, str]
) -> Operation:
    """The operation without deletes of keys that a concurrent commit brought, unseen."""
    if operation.kind is not Kind.DELETE:
        return operation
    seen = raw.snapshot(requested_time)
    missed = {key for key, _ in operation.rows if key in content and key in seen}
    for key in sorted(missed):
        completion_time = raw.completed_commits[written_at[key]].completion_time or ""
        if completion_time <= requested_time:
            raise VerdictError(
                f"{requested_time} deletes {key}, which {written_at[key]} had completed at {completion_time}; "
                "however it is still there: a contradiction."
            )
    return Operation(operation.kind, tuple(row for row in operation.rows if row[0] not in missed))


def check_history(raw: RawState, attempts: Sequence[Attempt]) -> None:
    """Everything that holds at any moment."""
    check_timeline_is_legal(raw)
    check_statistics_are_true(raw)
    check_visible_files_are_claimed(raw)
    check_attempts(raw, attempts)
    check_serial(raw, attempts)
