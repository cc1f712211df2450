"""Actions, states and instants of the timeline, and the moves between states that the timeline knows.

An instant is one operation on a table: an action, identified by the time at which it was requested, in one of
three states. Source: technical specification, "Timeline"; Java ``HoodieTimeline``, ``HoodieInstant``,
``ActiveTimelineV2``. Whose duty: whoever moves an instant asks `check_transition` (or `check_revert`) first;
creating the file is the implementation's, and a state of its own in the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Self

from drawstring_spec.errors import FormatError, IllegalTransitionError


class Action(StrEnum):
    """What an instant does. The value is the word in its file names."""

    COMMIT = "commit"
    """A write to base files only."""
    DELTA_COMMIT = "deltacommit"
    """A write to a merge-on-read table: log files, and base files for new keys."""
    REPLACE_COMMIT = "replacecommit"
    """A write that hides whole file groups: insert overwrite, delete partition; also a completed
    clustering."""
    CLUSTERING = "clustering"
    """Rewrites file groups into others; pending only, completes as a replacecommit."""
    COMPACTION = "compaction"
    """Merges log files into base files; pending only, completes as a commit."""
    LOG_COMPACTION = "logcompaction"
    """Merges log files into one log file; pending only, completes as a deltacommit."""
    CLEAN = "clean"
    """Deletes file slices that no reader needs any more."""
    ROLLBACK = "rollback"
    """Removes what a failed write left."""
    RESTORE = "restore"
    """Takes the table back to a savepoint."""
    SAVEPOINT = "savepoint"
    """Protects the files of one commit; bears that commit's requested time."""
    INDEXING = "indexing"
    """Builds partitions of the metadata table."""
    SCHEMA_COMMIT = "schemacommit"
    """Saves a history of schemas; lives in the schema folder, not on the timeline."""

    @property
    def comparable(self) -> Action:
        """The action under which the pending and the completed files of one instant meet."""
        return _COMPLETED_ACTIONS.get(self, self)


_COMPLETED_ACTIONS = MappingProxyType(
    {
        Action.COMPACTION: Action.COMMIT,
        Action.LOG_COMPACTION: Action.DELTA_COMMIT,
        Action.CLUSTERING: Action.REPLACE_COMMIT,
    }
)

PENDING_ONLY_ACTIONS = frozenset(_COMPLETED_ACTIONS)
"""Actions that no completed file names: they complete under another one (`completed_action`)."""


class State(IntEnum):
    """State of an instant. States are ordered: the state of an instant is the highest that has a file."""

    REQUESTED = 0
    """Planned; it may still be given up without a trace in the data."""
    INFLIGHT = 1
    """Files are being written; no reader sees them."""
    COMPLETED = 2
    """Every reader sees it whole."""

    @property
    def label(self) -> str:
        """The word for the state, in lower case, as in file names and in messages."""
        return self.name.lower()


def completed_action(action: Action) -> Action:
    """Return the action that the completed file of an instant names (source: errata T2)."""
    return _COMPLETED_ACTIONS.get(action, action)


def initial_state(action: Action) -> State:
    """Return the state in which instants of this action begin: a savepoint has no requested file."""
    return State.INFLIGHT if action is Action.SAVEPOINT else State.REQUESTED


@dataclass(frozen=True)
class Instant:
    """One operation in one state.

    Attributes:
        requested_time: identifies the operation; digits, usually 17 (`drawstring_spec.times`).
        action: what it does. A completed instant has the action of its completed file.
        state: how far it is.
        completion_time: when it was completed. None while it is pending, and for a completed instant of a
            table version before 8, whose file name does not carry it.

    Raises:
        FormatError: the three do not go together (TL-004, TL-005, TL-008).

    """

    requested_time: str
    action: Action
    state: State
    completion_time: str | None = None

    def __post_init__(self) -> None:
        if self.state is State.COMPLETED:
            if self.action in PENDING_ONLY_ACTIONS:
                raise FormatError(
                    f"A completed {self.action} at {self.requested_time} is named {completed_action(self.action)}.",
                    rule="TL-005",
                )
        elif self.completion_time is not None:
            raise FormatError(
                f"The {self.state.label} {self.action} at {self.requested_time} has a completion time,"
                f" {self.completion_time}.",
                rule="TL-004",
            )
        elif self.state < initial_state(self.action):
            raise FormatError(f"There is no requested savepoint ({self.requested_time}).", rule="TL-008")

    @property
    def sort_key(self) -> tuple[str, str, int]:
        """The order of the timeline: requested time, comparable action, state (rule TL-011)."""
        return self.requested_time, self.action.comparable.value, int(self.state)

    def with_state(self, to: State, completion_time: str | None = None) -> Self:
        """Return the same operation in another state, its action renamed where completion renames it."""
        action = completed_action(self.action) if to is State.COMPLETED else self.action
        return type(self)(self.requested_time, action, to, completion_time)

    def __str__(self) -> str:
        completion = f" at {self.completion_time}" if self.completion_time else ""
        return f"{self.requested_time} {self.action} ({self.state.label}{completion})"


FORWARD_TRANSITIONS = frozenset({(State.REQUESTED, State.INFLIGHT), (State.INFLIGHT, State.COMPLETED)})
"""The two moves of every operation."""

REVERT_TRANSITIONS = MappingProxyType(
    {
        (State.INFLIGHT, State.REQUESTED): PENDING_ONLY_ACTIONS | {Action.INDEXING},
        (State.COMPLETED, State.INFLIGHT): frozenset({Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT}),
    }
)
"""The moves back, and the actions that may take them: a service that keeps its plan, and the un-completing of
a write that is to be rolled back (Java ``revertInstantFromInflightToRequested``, ``revertToInflight``)."""


def check_transition(instant: Instant, to: State) -> None:
    """Check that an instant may move on to a state.

    Raises:
        IllegalTransitionError: the move is not one of `FORWARD_TRANSITIONS`.

    """
    if (instant.state, to) not in FORWARD_TRANSITIONS:
        raise IllegalTransitionError(
            f"{instant} cannot become {to.label}: an instant goes from requested to inflight to completed.",
            rule="TL-010",
            way_out="Load the timeline again: another process may have moved it.",
        )


def check_revert(instant: Instant, to: State) -> None:
    """Check that an instant may be taken back to a state.

    Raises:
        IllegalTransitionError: the move is not in `REVERT_TRANSITIONS` for its action.

    """
    if instant.action not in REVERT_TRANSITIONS.get((instant.state, to), frozenset()):
        raise IllegalTransitionError(
            f"{instant} cannot be taken back to {to.label}.",
            rule="TL-010",
            way_out="Only table services keep their plan, and only completed writes are un-completed.",
        )
