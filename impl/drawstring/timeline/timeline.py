"""The active timeline as a value: which instants there are, and what follows from their names alone.

Source: Java ``ActiveTimelineV2``, ``BaseHoodieTimeline``, ``CompletionTimeQueryViewV2``. Reading payloads is
`drawstring.timeline.load`'s.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from drawstring_spec.instants import Action, Instant, State

WRITE_ACTIONS = frozenset({Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT})
"""Actions that a completed write has."""

PENDING_WRITE_ACTIONS = WRITE_ACTIONS | {Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING}
"""Actions that a pending write, or a service that rewrites data, has."""


@dataclass(frozen=True)
class Timeline:
    """The instants of the active timeline, each in its highest state.

    Attributes:
        instants: sorted by requested time, then action.

    """

    instants: tuple[Instant, ...]

    def __iter__(self) -> Iterator[Instant]:
        return iter(self.instants)

    @cached_property
    def completed_writes(self) -> tuple[Instant, ...]:
        """Completed commits, delta commits and replace commits, by requested time."""
        return tuple(i for i in self.instants if i.state is State.COMPLETED and i.action in WRITE_ACTIONS)

    @cached_property
    def pending_writes(self) -> tuple[Instant, ...]:
        """Requested and inflight writes and rewriting services, by requested time."""
        return tuple(i for i in self.instants if i.state is not State.COMPLETED and i.action in PENDING_WRITE_ACTIONS)

    def pending(self, action: Action) -> tuple[Instant, ...]:
        """Requested and inflight instants of one action."""
        return tuple(i for i in self.instants if i.state is not State.COMPLETED and i.action is action)

    def completed(self, action: Action) -> tuple[Instant, ...]:
        """Completed instants of one action."""
        return tuple(i for i in self.instants if i.state is State.COMPLETED and i.action is action)

    def find(self, requested_time: str, action: Action) -> Instant | None:
        """The instant of that time and (comparable) action, in its highest state."""
        for instant in self.instants:
            if instant.requested_time == requested_time and instant.action.comparable is action.comparable:
                return instant
        return None

    def last_write(self) -> Instant | None:
        """The completed write with the greatest requested time (format: snapshot time of a reader)."""
        return self.completed_writes[-1] if self.completed_writes else None

    @cached_property
    def start(self) -> str | None:
        """Requested time of the first write that is not savepointed; everything older is archived and complete."""
        savepoints = {i.requested_time for i in self.instants if i.action is Action.SAVEPOINT}
        for instant in self.instants:
            if instant.action in PENDING_WRITE_ACTIONS and instant.requested_time not in savepoints:
                return instant.requested_time
        return None

    @cached_property
    def _completion_times(self) -> dict[str, str]:
        return {i.requested_time: i.completion_time for i in self.completed_writes if i.completion_time is not None}

    def completion_time(self, requested_time: str) -> str | None:
        """Completion time of a completed write on the active timeline; None where it is not on it."""
        return self._completion_times.get(requested_time)

    def is_completed(self, requested_time: str) -> bool:
        """Whether a write is completed: it is on the timeline so, or it is older than the timeline."""
        if requested_time in self._completion_times:
            return True
        return self.start is not None and requested_time < self.start

    def up_to(self, requested_time: str) -> Timeline:
        """What is left without the instants that were requested later."""
        return Timeline(tuple(i for i in self.instants if i.requested_time <= requested_time))

    def latest_time(self) -> str | None:
        """The greatest time that stands on the timeline, requested or completion, of any action."""
        times = [i.requested_time for i in self.instants]
        times += [i.completion_time for i in self.instants if i.completion_time is not None]
        return max(times, default=None)
