"""The table lock while it is held: renewed in the background, with a deadline that every decisive put carries."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from drawstring.context import TableContext
from drawstring.errors import DeadlineExceededError, LostLockError, StorageError
from drawstring.events import Event
from drawstring.ports import Lease
from drawstring_spec.steps import Step

logger = logging.getLogger("drawstring")

RENEWALS_PER_TTL = 3


@dataclass
class CriticalSection:
    """A held lock.

    Attributes:
        lease: as last renewed.
        lost: why a renewal failed; None while none has.

    """

    lease: Lease
    lost: LostLockError | None = None

    def deadline_ms(self) -> int | None:
        """Monotonic time after which nothing decided under the lock may take effect; None without one.

        Raises:
            LostLockError: a renewal found the lock gone.

        """
        if self.lost is not None:
            raise self.lost
        return self.lease.not_after_ms


@contextlib.contextmanager
def critical_section(context: TableContext, *, purpose: str, requested_time: str | None) -> Iterator[CriticalSection]:
    """Hold the table lock.

    Args:
        context: of the table.
        purpose: ``"request"``, ``"commit"`` or ``"rollback"``; stands in the events.
        requested_time: of the operation that takes the lock, once it has one.

    Yields:
        The held lock.

    Raises:
        LockTimeoutError: others held it for too long.
        LostLockError: a call under the lock came after the lock's deadline, and had no effect.

    """
    ports = context.ports
    detail = {"purpose": purpose}
    lease = ports.lock.acquire(timeout_ms=int(context.options["hoodie.write.lock.wait_time_ms"]))
    section = CriticalSection(lease)

    def renew() -> None:
        try:
            section.lease = ports.lock.renew(section.lease)
        except LostLockError as error:
            section.lost = error
            raise
        except StorageError:
            return  # The next interval tries again; until then the old deadline stands.

    duty = None
    if lease.not_after_ms is not None:
        interval_ms = max(1, int(context.options["drawstring.write.lock.ttl.ms"]) // RENEWALS_PER_TTL)
        duty = ports.background.every(interval_ms, renew, name="drawstring-lock-renewal")
    try:
        # The step has happened by now; a listener that fails must not keep the lock.
        context.emit(Event(Step.ACQUIRE_LOCK, requested_time, detail))
        yield section
    except DeadlineExceededError as error:
        raise LostLockError(
            f"The table lock, held to {purpose}, ran out before its work was done.",
            rule="CC-022",
            way_out="Nothing of the operation is visible; try it again, with a larger drawstring.write.lock.ttl.ms "
            "where the machine pauses for long.",
        ) from error
    finally:
        if duty is not None:
            duty.stop()
        _release(context, section, requested_time, detail)


def _release(
    context: TableContext, section: CriticalSection, requested_time: str | None, detail: dict[str, str]
) -> None:
    try:
        context.ports.lock.release(section.lease)
    except StorageError:
        # What was decided under the lock stands; the lock expires by itself.
        logger.warning("The table lock could not be released and is left to expire")
        return
    context.emit(Event(Step.RELEASE_LOCK, requested_time, detail))
