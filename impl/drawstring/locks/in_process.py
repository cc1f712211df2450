"""A lock among the threads of one process: enough for one writer, or for several in one process.

A process that dies takes the lock with it, so a lease has no deadline and cannot be lost.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import MutableMapping

from drawstring.errors import LockTimeoutError
from drawstring.ports import Clock, Entropy, Lease

POLL_INTERVAL_MS = 10

_process_locks: MutableMapping[str, threading.Lock] = defaultdict(threading.Lock)


class InProcessLockProvider:
    """One lock per table URI (Java: ``InProcessLockProvider``).

    Args:
        table_uri: the table that is locked.
        clock: waits between tries.
        entropy: names the owner.
        locks: the locks of this process by table URI; the simulator gives each simulated process its own.

    """

    def __init__(
        self,
        table_uri: str,
        *,
        clock: Clock,
        entropy: Entropy,
        locks: MutableMapping[str, threading.Lock] = _process_locks,
    ) -> None:
        self._table_uri = table_uri
        self._lock = locks[table_uri]
        self._clock = clock
        self._entropy = entropy
        self._acquisitions = 0
        self._owner: str | None = None

    def acquire(self, *, timeout_ms: int) -> Lease:
        """Wait for the lock, trying every few milliseconds."""
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        while not self._lock.acquire(blocking=False):
            if self._clock.monotonic_ms() >= deadline_ms:
                raise LockTimeoutError(
                    f"The lock of {self._table_uri} was held by another thread for {timeout_ms} ms.",
                    rule="CC-021",
                    way_out="Raise hoodie.write.lock.wait_time_ms, or look what the other writer waits for.",
                )
            self._clock.sleep_ms(POLL_INTERVAL_MS)
        self._acquisitions += 1
        self._owner = str(self._entropy.uuid())
        return Lease(self._owner, self._acquisitions, None)

    def renew(self, lease: Lease) -> Lease:
        """Return the lease as it is: it cannot expire."""
        return lease

    def release(self, lease: Lease) -> None:
        """Give the lock back; a lease that is not the current one is ignored."""
        if lease.owner == self._owner:
            self._owner = None
            self._lock.release()
