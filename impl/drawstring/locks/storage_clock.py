"""The storage's own clock, as seen from here.

Whether a lock or a heartbeat is old is judged by one clock, the one that stamped it: the storage's. A machine whose
clock is wrong can then neither take a live lock away nor keep a dead one alive.
"""

from __future__ import annotations

from drawstring.ports import Clock, Entropy, Storage
from drawstring_spec.layout import HOODIE_FOLDER

RECALIBRATE_AFTER_MS = 60_000


class StorageClock:
    """Reads the storage's clock by writing a small file, then counts on by the monotonic clock."""

    def __init__(self, storage: Storage, *, clock: Clock, entropy: Entropy) -> None:
        self._storage = storage
        self._clock = clock
        self._entropy = entropy
        self._calibrated_at_ms: int | None = None
        self._storage_ms = 0

    def now_ms(self) -> int:
        """Epoch milliseconds on the storage's clock: never too late, at most one call's duration too early."""
        now_ms = self._clock.monotonic_ms()
        if self._calibrated_at_ms is None or now_ms - self._calibrated_at_ms > RECALIBRATE_AFTER_MS:
            probe = f"{HOODIE_FOLDER}/.locks/clock-{self._entropy.uuid()}"
            self._storage_ms = self._storage.put(probe, b"").mtime_ms
            # After the call, so that the estimate is late rather than early: nothing expires before its time.
            self._calibrated_at_ms = self._clock.monotonic_ms()
            self._storage.delete([probe])
            now_ms = self._clock.monotonic_ms()
        return self._storage_ms + (now_ms - self._calibrated_at_ms)
