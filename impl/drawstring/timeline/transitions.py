"""Moves instants through their states, each move one exclusive create of a file.

Source: Java ``ActiveTimelineV2``. Whose duty: the only code that creates or deletes timeline files. A storage may
fail after it did what was asked: a create whose answer was lost is recognised as our own by what stands there.
"""

from __future__ import annotations

from drawstring.context import TableContext
from drawstring.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    NotFoundError,
    PreconditionFailedError,
    StorageError,
)
from drawstring.ports import FileStatus, Storage
from drawstring.timeline.load import instant_path
from drawstring_spec.instants import Action, Instant, State, check_transition, completed_action

ATTEMPTS = 3


def create_exactly_once(
    storage: Storage, path: str, content: bytes | memoryview, *, not_after_ms: int | None = None
) -> FileStatus:
    """Create a file exclusively, and recognise our own work where an answer was lost.

    Raises:
        AlreadyExistsError: somebody else created the file.
        DeadlineExceededError: the deadline passed; the file was not created by us.
        StorageError: the storage kept failing, and it is not known whether the file was created.

    """
    unknown: StorageError | None = None
    for _ in range(ATTEMPTS):
        try:
            return storage.put_if_absent(path, content, not_after_ms=not_after_ms)
        except AlreadyExistsError:
            # Storage clients repeat a request by themselves, and then the refusal answers our own success. Content
            # tells it (each payload has random bytes of its own); an empty file could be anybody's.
            if (unknown is not None or len(content)) and _holds(storage, path, content):
                return storage.head(path)
            raise
        except DeadlineExceededError:
            if unknown is not None and _holds(storage, path, content):
                return storage.head(path)
            raise
        except (NotFoundError, PreconditionFailedError):
            raise
        except StorageError as error:
            unknown = error
    if _holds(storage, path, content):
        return storage.head(path)
    raise unknown if unknown is not None else StorageError(f"{path!r} could not be created.")


def _holds(storage: Storage, path: str, content: bytes | memoryview) -> bool:
    try:
        status = storage.head(path)
        return status.size == len(content) and bytes(storage.read(path)) == bytes(content)
    except NotFoundError:
        return False


def request(
    context: TableContext,
    requested_time: str,
    action: Action,
    plan: bytes = b"",
    *,
    not_after_ms: int | None = None,
) -> Instant:
    """Put an instant on the timeline. Raises `AlreadyExistsError` where another has its time and action."""
    instant = Instant(requested_time, action, State.REQUESTED)
    create_exactly_once(context.ports.storage, instant_path(context.config, instant), plan, not_after_ms=not_after_ms)
    return instant


def start(context: TableContext, instant: Instant, payload: bytes = b"", *, not_after_ms: int | None = None) -> Instant:
    """Move a requested instant to inflight. Raises `NotFoundError` where the requested file is gone."""
    check_transition(instant, State.INFLIGHT)
    context.ports.storage.head(instant_path(context.config, instant))
    inflight = Instant(instant.requested_time, instant.action, State.INFLIGHT)
    create_exactly_once(
        context.ports.storage, instant_path(context.config, inflight), payload, not_after_ms=not_after_ms
    )
    return inflight


def complete(
    context: TableContext, instant: Instant, completion_time: str, payload: bytes, *, not_after_ms: int | None
) -> Instant:
    """Move an inflight instant to completed: the moment from which readers see it.

    Args:
        context: of the table.
        instant: inflight.
        completion_time: later than every time on the timeline.
        payload: what the action did.
        not_after_ms: deadline of the lock (and heartbeat) that permits this, on the monotonic clock.

    Returns:
        The completed instant.

    Raises:
        DeadlineExceededError: the permission ran out; the instant is not completed.
        StorageError: see `create_exactly_once`.

    """
    check_transition(instant, State.COMPLETED)
    done = Instant(instant.requested_time, completed_action(instant.action), State.COMPLETED, completion_time)
    create_exactly_once(context.ports.storage, instant_path(context.config, done), payload, not_after_ms=not_after_ms)
    return done


def remove_pending(context: TableContext, instant: Instant, *, not_after_ms: int | None) -> None:
    """Take a failed instant's inflight and requested files off the timeline, inflight first."""
    paths = [
        instant_path(context.config, Instant(instant.requested_time, instant.action, state))
        for state in (State.INFLIGHT, State.REQUESTED)
    ]
    context.ports.storage.delete(paths, not_after_ms=not_after_ms)
