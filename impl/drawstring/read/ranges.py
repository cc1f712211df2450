"""Which commits a query for changes covers.

Source: Java ``IncrementalQueryAnalyzer``, ``CompletionTimeQueryViewV2``, ``CDCRelation``. Whose duty: bounds are
texts, compared as texts with the *completion* times of commits, or with their requested times where that is what Java
does. The answer is a set of commits; their requested times are what rows carry as ``_hoodie_commit_time``. It is the
set that counts, not the range of requested times in it: commits complete in another order than they were requested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from drawstring.context import TableContext
from drawstring.errors import InputError, TimeTravelError
from drawstring.read.time_travel import parse_as_of
from drawstring.timeline.archived import load_archived
from drawstring.timeline.load import load_timeline
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import Instant
from drawstring_spec.times import format_instant_time, is_instant_time, parse_instant_time

EARLIEST: Final = "earliest"
"""A start from the beginning; ``"000"`` is another, since it is less than any time."""

BEGINNING: Final = "000"
_DAY_MS: Final = 24 * 60 * 60 * 1000


class Bounds(StrEnum):
    """Which ends of a range belong to it."""

    CLOSED = "[]"
    """Both, as in Java's batch queries."""
    OPEN_CLOSED = "(]"
    """The end only: for consumers, whose start is where they stopped."""


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The commits that a query for changes covers.

    Attributes:
        timeline: the active timeline that was looked at.
        active: commits of the range that are on it, by requested time.
        archived: commits of the range that are archived, by requested time.
        checkpoint: where a consumer goes on, with bounds ``"(]"``: the greatest completion time of the range, or its
            start where nothing completed in it; None where there is neither.

    """

    timeline: Timeline
    active: tuple[Instant, ...]
    archived: tuple[Instant, ...]
    checkpoint: str | None

    @property
    def commit_times(self) -> tuple[str, ...]:
        """Requested times of all commits of the range, ascending."""
        return tuple(sorted({i.requested_time for i in (*self.archived, *self.active)}))


def parse_bounds(text: str) -> Bounds:
    """Return the bounds that a text stands for. Raises `InputError`."""
    try:
        return Bounds(text)
    except ValueError:
        raise InputError(
            f"The bounds {text!r} are none that are known.",
            way_out="Give '[]' for both ends, or '(]' to go on after the checkpoint of an earlier result.",
        ) from None


def parse_range(start: str | None, end: str | None) -> tuple[str | None, str | None]:
    """Return both ends as texts to be compared with times. A range that ends before it begins is empty, as in Java.

    Args:
        start: ``"earliest"``; digits, which are taken as they are; or a form of
            `drawstring.read.time_travel.parse_as_of`. None for no start.
        end: the same, but for ``"earliest"``.

    Raises:
        InputError: an end has no form that is known.

    """
    if start is not None:
        start = BEGINNING if isinstance(start, str) and start.lower() == EARLIEST else _parse(start)
    if end is not None:
        end = _parse(end)
    return start, end


def _parse(text: str) -> str:
    if isinstance(text, str) and text.isascii() and text.isdigit():
        return text
    try:
        return parse_as_of(text)
    except TimeTravelError as error:
        raise InputError(
            f"The end {text!r} of a range has no form that is known.",
            way_out="Give a completion time of the table's timeline, 'earliest' as a start, or a date and time.",
        ) from error


def commits_completed_in(context: TableContext, start: str | None, end: str | None, bounds: Bounds) -> CommitRange:
    """Return the commits that completed in a range.

    Without a start it is one commit: the last that completed up to `end`, or the last of all.

    Args:
        context: of the table.
        start: as `parse_range` returns it.
        end: the same; None for no end.
        bounds: whether `start` belongs to the range.

    Raises:
        CorruptFileError: the archived timeline cannot be read.

    """
    timeline = load_timeline(context.ports.storage, context.config)
    if start is None:
        return _last(context, timeline, end)
    if end is None and bounds is Bounds.OPEN_CLOSED:
        # A listing may miss an instant that is published while it goes on, and show one that completed later. A
        # consumer that went on after that one would never see the other: so this listing only says how far the
        # timeline has come, and another one, which begins now, has all that completed up to there.
        end = _checkpoint(timeline.completed_writes, start)
        timeline = load_timeline(context.ports.storage, context.config)
    active = timeline.completed_writes
    inside = tuple(i for i in active if _holds(_completion(i), start, end, bounds))
    earlier = tuple(i for i in archived_writes(context, timeline, start) if _holds(_completion(i), start, end, bounds))
    return CommitRange(timeline, inside, earlier, _checkpoint((*earlier, *inside), start))


def commits_requested_in(context: TableContext, start: str, end: str | None) -> CommitRange:
    """Return the commits that were requested after `start`, and up to `end`: the range of Java's CDC queries.

    Raises:
        CorruptFileError: the archived timeline cannot be read.

    """
    timeline = load_timeline(context.ports.storage, context.config)
    inside = tuple(i for i in timeline.completed_writes if _holds(i.requested_time, start, end, Bounds.OPEN_CLOSED))
    earlier = tuple(
        i for i in archived_writes(context, timeline, start) if _holds(i.requested_time, start, end, Bounds.OPEN_CLOSED)
    )
    return CommitRange(timeline, inside, earlier, _checkpoint((*earlier, *inside), start))


def archived_writes(context: TableContext, timeline: Timeline, start: str) -> tuple[Instant, ...]:
    """Return commits that are archived, and not on the active timeline: all that completed at or after `start`.

    An instant lasts a day at most, as in Java: files of the archive that end earlier than a day before `start` are
    not read.
    """
    archived = load_archived(context.ports.storage, context.config, since=_day_before(start))
    known = {i.requested_time for i in timeline.completed_writes}
    return tuple(i for i in archived.completed_writes if i.requested_time not in known)


def _last(context: TableContext, timeline: Timeline, end: str | None) -> CommitRange:
    active = timeline.completed_writes
    if end is None:
        chosen = active[-1:]
        return CommitRange(timeline, chosen, (), _checkpoint(chosen, None))
    inside = [i for i in active if _completion(i) <= end]
    if inside:
        chosen = (max(inside, key=_completion),)
        return CommitRange(timeline, chosen, (), _checkpoint(chosen, None))
    earlier = [i for i in archived_writes(context, timeline, BEGINNING) if _completion(i) <= end]
    last = tuple(sorted(earlier, key=_completion)[-1:])
    return CommitRange(timeline, (), last, _checkpoint(last, None))


def _completion(instant: Instant) -> str:
    return instant.completion_time or instant.requested_time


def _holds(time: str, start: str, end: str | None, bounds: Bounds) -> bool:
    after = time >= start if bounds is Bounds.CLOSED else time > start
    return after and (end is None or time <= end)


def _checkpoint(instants: Sequence[Instant], start: str | None) -> str | None:
    return max((_completion(i) for i in instants), default=start)


def _day_before(start: str) -> str | None:
    text = start.ljust(17, "0") if len(start) == 14 else start
    if not is_instant_time(text):
        return None
    return format_instant_time(parse_instant_time(text) - _DAY_MS)
