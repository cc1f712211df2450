"""The snapshot time that a query asks for: its forms, and where a table has no answer any more.

Source: Java ``HoodieSqlCommonUtils.formatQueryInstant``, ``TimelineUtils.validateTimestampAsOf``. A snapshot
time is compared with requested times, as text.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

from drawstring.context import TableContext
from drawstring.errors import NotFoundError, TimeTravelError
from drawstring.timeline.archived import load_archived, read_archived_payloads
from drawstring.timeline.load import read_payload
from drawstring.timeline.timeline import Timeline
from drawstring_spec.bootstrap import BOOTSTRAP_TIMES
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.times import is_instant_time

_DATE_TIME = re.compile(r"(\d{4})-(\d{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2})(?:\.(\d{3}))?")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_INSTANT_LENGTHS = (14, 17)
_FORMS = "Give yyyyMMddHHmmssSSS, yyyyMMddHHmmss, 'yyyy-MM-dd HH:mm:ss[.SSS]' or yyyy-MM-dd, in the table's time zone."


def parse_as_of(text: str) -> str:
    """Return the requested time that a snapshot time stands for.

    Args:
        text: 17 or 14 digits, taken as they are, those of a bootstrap too; ``yyyy-MM-dd HH:mm:ss[.SSS]``, whose
            missing milliseconds are 999; or ``yyyy-MM-dd``, its midnight. All of them in the zone of the table's
            timeline.

    Raises:
        TimeTravelError: `text` has none of these forms, or names no real time.

    """
    if not isinstance(text, str):  # A caller's value: what the annotation says is not certain.
        raise TimeTravelError(f"The snapshot time {text!r} is no text.", rule="RD-011", way_out=_FORMS)
    if text.isascii() and text.isdigit() and len(text) in _INSTANT_LENGTHS:
        digits = text
    elif matched := _DATE_TIME.fullmatch(text):
        *fields, milliseconds = matched.groups()
        digits = "".join(fields) + (milliseconds or "999")
    elif matched := _DATE.fullmatch(text):
        digits = "".join(matched.groups()) + "000000000"
    else:
        raise TimeTravelError(f"The snapshot time {text!r} has no form that is known.", rule="RD-011", way_out=_FORMS)
    if not _is_real(digits) and digits not in BOOTSTRAP_TIMES:
        raise TimeTravelError(f"The snapshot time {text!r} is no time of the calendar.", rule="RD-011", way_out=_FORMS)
    return digits


def _is_real(digits: str) -> bool:
    if len(digits) == max(_INSTANT_LENGTHS) and not is_instant_time(digits):
        return False
    try:
        dt.datetime.strptime(digits[:14], "%Y%m%d%H%M%S").replace(tzinfo=dt.UTC)
    except ValueError:
        return False
    return True


def check_as_of(context: TableContext, timeline: Timeline, as_of: str) -> None:
    """Refuse a snapshot time at which the table has no stable answer.

    Raises:
        TimeTravelError: a write that is still pending was requested at or before `as_of`, so the answer may
            yet change; or the cleaner has removed file slices that the answer needs.

    """
    pending = [
        instant.requested_time
        for instant in timeline.pending_writes
        if instant.action in {Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT}
    ]
    if pending and as_of >= min(pending):
        raise TimeTravelError(
            f"The snapshot time {as_of} is not earlier than the pending write {min(pending)}: its rows would "
            "be part of the answer once it completes.",
            rule="RD-013",
            way_out="Ask for an earlier time, or read without one; a failed write goes away with the next write.",
        )
    retained = _earliest_retained(context, timeline, as_of)
    if retained and as_of < retained:
        raise TimeTravelError(
            f"The snapshot time {as_of} lies before {retained}, the earliest time that the cleaner has kept, "
            "or the first that is not archived where the cleaner counts versions of files.",
            rule="RD-014",
            way_out="Ask for a later time.",
        )


def _earliest_retained(context: TableContext, timeline: Timeline, as_of: str) -> str | None:
    known = (_completed_retained(context, timeline, as_of), *_planned_retained(context, timeline))
    return max((time for time in known if time), default=None)


def _planned_retained(context: TableContext, timeline: Timeline) -> list[str | None]:
    """What the pending cleans are going to keep: they may have deleted files already, which nothing else tells."""
    times: list[str | None] = []
    for clean in timeline.pending(Action.CLEAN):
        requested = Instant(clean.requested_time, clean.action, State.REQUESTED)
        try:
            plan = read_payload(context.ports.storage, context.config, requested)
        except NotFoundError:
            continue  # Archived or taken back since the timeline was loaded.
        earliest = (plan or {}).get("earliestInstantToRetain")
        times.append(earliest.get("timestamp") if isinstance(earliest, Mapping) else None)
    return times


def _completed_retained(context: TableContext, timeline: Timeline, as_of: str) -> str | None:
    cleans = timeline.completed(Action.CLEAN)
    if not cleans:
        return _archived_retained(context, timeline, as_of)
    try:
        metadata = read_payload(context.ports.storage, context.config, cleans[-1])
    except NotFoundError:
        # Archived since the timeline was loaded: a later clean will be found by the next query.
        return None
    # A cleaner that counts file versions names no time. As in Java, what is archived then counts as cleaned.
    return _retained_by(metadata) or next((i.requested_time for i in timeline.completed_writes), None)


def _archived_retained(context: TableContext, timeline: Timeline, as_of: str) -> str | None:
    """What the newest archived clean kept; asked only of a time that lies before the active timeline."""
    if timeline.start is None or as_of >= timeline.start:
        return None
    storage = context.ports.storage
    archived = load_archived(storage, context.config, since=as_of)
    cleans = [i for i in archived.instants if i.action is Action.CLEAN]
    return _retained_by(read_archived_payloads(storage, archived, cleans[-1:])[cleans[-1]]) if cleans else None


def _retained_by(metadata: Mapping[str, Any] | None) -> str | None:
    retained = (metadata or {}).get("earliestCommitToRetain")
    return retained if isinstance(retained, str) and retained else None
