"""Time, randomness and periodic duties of this process."""

from __future__ import annotations

import datetime as dt
import logging
import threading
import time
import uuid
from collections.abc import Callable

from drawstring.ports import Duty

logger = logging.getLogger("drawstring")


class SystemClock:
    """The machine's clocks."""

    def wall_ms(self) -> int:
        """Epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> int:
        """Milliseconds since some fixed moment."""
        return time.monotonic_ns() // 1_000_000

    def local_offset_ms(self, wall_ms: int) -> int:
        """Offset of the machine's time zone at that time."""
        moment = dt.datetime.fromtimestamp(wall_ms / 1000, tz=dt.UTC).astimezone()
        offset = moment.utcoffset() or dt.timedelta(0)
        return int(offset.total_seconds() * 1000)

    def sleep_ms(self, duration_ms: int) -> None:
        """Sleep."""
        time.sleep(duration_ms / 1000)


class SystemEntropy:
    """The operating system's randomness."""

    def uuid(self) -> uuid.UUID:
        """Return a random UUID."""
        return uuid.uuid4()


class _ThreadDuty:
    def __init__(self, interval_ms: int, duty: Callable[[], None], name: str) -> None:
        self._stopped = threading.Event()
        self._interval_s = interval_ms / 1000
        self._duty = duty
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_s):
            try:
                self._duty()
            except Exception:
                # What the duty kept alive will expire, and its owner finds out when it checks.
                logger.exception("%s failed and is not tried again", self._thread.name)
                return

    def stop(self) -> None:
        """No run begins after this returns."""
        self._stopped.set()
        if self._thread is not threading.current_thread():
            self._thread.join()


class ThreadBackground:
    """Each duty is a daemon thread."""

    def every(self, interval_ms: int, duty: Callable[[], None], *, name: str) -> Duty:
        """Start a duty."""
        return _ThreadDuty(interval_ms, duty, name)
