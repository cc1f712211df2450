"""Heartbeats: how other writers know that a pending write is alive.

Source: Java ``HoodieHeartbeatClient``: an empty file ``.hoodie/.heartbeat/<requested time>``, rewritten in intervals.
Its age is judged by the storage's clock. The writer itself counts from before its last successful rewrite, by its
monotonic clock, so it regards itself as dead no later than others do.
"""

from __future__ import annotations

import contextlib

from drawstring.context import TableContext
from drawstring.errors import HeartbeatExpiredError, NotFoundError, PreconditionFailedError, StorageError
from drawstring.events import Event
from drawstring.locks.storage_clock import StorageClock
from drawstring.ports import Duty
from drawstring_spec.layout import HEARTBEAT_FOLDER
from drawstring_spec.steps import Step


def tolerance_ms(context: TableContext) -> int:
    """How long a heartbeat may go without being rewritten before its writer counts as dead."""
    interval_ms = int(context.options["hoodie.client.heartbeat.interval_in_ms"])
    return interval_ms * int(context.options["hoodie.client.heartbeat.tolerable.misses"])


def heartbeat_path(requested_time: str) -> str:
    """Path of an operation's heartbeat file."""
    return f"{HEARTBEAT_FOLDER}/{requested_time}"


class Heartbeat:
    """The heartbeat of one operation of this writer."""

    def __init__(self, context: TableContext, requested_time: str) -> None:
        self._context = context
        self._requested_time = requested_time
        self._alive_since_ms = 0
        self._etag = ""
        self._duty: Duty | None = None

    def start(self) -> None:
        """Write the file and keep it fresh."""
        context = self._context
        started_at_ms = context.ports.clock.monotonic_ms()
        self._etag = context.ports.storage.put(heartbeat_path(self._requested_time), b"").etag
        self._alive_since_ms = started_at_ms
        context.emit(Event(Step.START_HEARTBEAT, self._requested_time))
        interval_ms = int(context.options["hoodie.client.heartbeat.interval_in_ms"])
        self._duty = context.ports.background.every(interval_ms, self._renew, name="drawstring-heartbeat")

    def _renew(self) -> None:
        """Rewrite the file, unless others may regard it as expired: coming back to life would deceive them."""
        storage, path = self._context.ports.storage, heartbeat_path(self._requested_time)
        started_at_ms = self._context.ports.clock.monotonic_ms()
        try:
            self._etag = storage.put_if_match(path, b"", self._etag, not_after_ms=self.deadline_ms()).etag
        except PreconditionFailedError:
            # Ours, under an etag whose answer was lost. When it was written is not known, so the deadline stands.
            with contextlib.suppress(StorageError):
                self._etag = storage.head(path).etag
            return
        except StorageError:
            return  # Gone, or too late, or the next interval tries again; until then the deadline stands.
        self._alive_since_ms = started_at_ms
        self._context.emit(Event(Step.RENEW_HEARTBEAT, self._requested_time))

    def deadline_ms(self) -> int:
        """Monotonic time from which others may regard this operation as dead."""
        return self._alive_since_ms + tolerance_ms(self._context)

    def check(self) -> None:
        """Raise `HeartbeatExpiredError` where the deadline has passed."""
        if self._context.ports.clock.monotonic_ms() >= self.deadline_ms():
            raise HeartbeatExpiredError(
                f"The heartbeat of {self._requested_time} was not renewed for {tolerance_ms(self._context)} ms.",
                rule="CC-030",
                way_out="Nothing of the operation is visible; try it again, with a larger "
                "hoodie.client.heartbeat.interval_in_ms where the storage stalls for long.",
            )

    def cease(self) -> None:
        """Renew no more; the file stays."""
        if self._duty is not None:
            self._duty.stop()

    def stop(self) -> None:
        """End the heartbeat: renew no more, and remove the file."""
        self.cease()
        self._context.ports.storage.delete([heartbeat_path(self._requested_time)])
        self._context.emit(Event(Step.STOP_HEARTBEAT, self._requested_time))


def is_expired(context: TableContext, requested_time: str, storage_clock: StorageClock) -> bool:
    """Whether a pending operation counts as dead: no heartbeat file, or one that is too old (Java: the same)."""
    # The clock first: a judge who is held up between the two then finds a heartbeat younger than it is, never older.
    now_ms = storage_clock.now_ms()
    try:
        status = context.ports.storage.head(heartbeat_path(requested_time))
    except NotFoundError:
        return True
    return now_ms - status.mtime_ms > tolerance_ms(context)
