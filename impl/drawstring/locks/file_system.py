"""A lock file on the table's storage: for writers in several processes, on any storage with conditional writes.

Source: Java's ``FileSystemBasedLockProvider`` (same file, created exclusively, so that both exclude each other), made
safe where Java's is not: it deletes only its own lock, a dead holder's lock expires after a time that stands in the
file, a lock is taken over by put-if-match so that two waiters cannot both win, and every lease has a deadline after
which its holder's writes have no effect.
"""

from __future__ import annotations

import json

from drawstring.errors import (
    AlreadyExistsError,
    LockTimeoutError,
    LostLockError,
    NotFoundError,
    PreconditionFailedError,
    StorageError,
)
from drawstring.locks.storage_clock import StorageClock
from drawstring.ports import Clock, Entropy, FileStatus, Lease, Storage
from drawstring_spec.layout import LOCK_FILE

POLL_INTERVAL_MS = 100
MAX_LOCK_FILE_BYTES = 64 * 1024
MARGIN_SHARE = 4
"""A holder gives up a quarter of the time before others may take over: what a call in flight may still take."""


class FileSystemLockProvider:
    """The lock file ``.hoodie/lock``.

    Args:
        storage: the table's storage.
        clock: of this process; only its monotonic part is used.
        entropy: names owners.
        lock_ttl_ms: a holder that has not renewed for this long (by the storage's clock) has lost the lock.
        foreign_expiry_ms: the same for a lock file that another implementation wrote; 0 means never, as in Java.

    """

    def __init__(
        self, storage: Storage, *, clock: Clock, entropy: Entropy, lock_ttl_ms: int, foreign_expiry_ms: int
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._entropy = entropy
        self._lock_ttl_ms = lock_ttl_ms
        self._foreign_expiry_ms = foreign_expiry_ms
        self._storage_clock = StorageClock(storage, clock=clock, entropy=entropy)
        self._etags: dict[str, str] = {}

    def acquire(self, *, timeout_ms: int) -> Lease:
        """Wait for the lock: create the file, or take an expired one over."""
        owner = str(self._entropy.uuid())
        give_up_at_ms = self._clock.monotonic_ms() + timeout_ms
        while True:
            lease = self._try_acquire(owner)
            if lease is not None:
                return lease
            if self._clock.monotonic_ms() >= give_up_at_ms:
                raise LockTimeoutError(
                    f"The lock {LOCK_FILE} of {self._storage.uri} was held by others for {timeout_ms} ms.",
                    rule="CC-021",
                    way_out="Raise hoodie.write.lock.wait_time_ms; a lock file that Java Hudi left behind after a "
                    "crash never expires unless hoodie.write.lock.filesystem.expire is set.",
                )
            self._clock.sleep_ms(POLL_INTERVAL_MS)

    def renew(self, lease: Lease) -> Lease:
        """Rewrite the lock file under its etag."""
        started_at_ms = self._clock.monotonic_ms()
        etag = self._etags.get(lease.owner)
        try:
            if etag is None:
                raise NotFoundError("never acquired here")
            status = self._storage.put_if_match(
                LOCK_FILE, self._content(lease.owner), etag, not_after_ms=lease.not_after_ms
            )
        except (NotFoundError, PreconditionFailedError) as error:
            status_or_none = self._own_lock(lease.owner)
            if status_or_none is None:
                raise _lost(lease) from error
            # An earlier answer was lost: the file is ours, under an etag that we had not heard of. When it was
            # written is not known, so the deadline stays.
            self._etags[lease.owner] = status_or_none.etag
            return lease
        self._etags[lease.owner] = status.etag
        return Lease(lease.owner, lease.fencing_token, self._deadline_ms(started_at_ms))

    def release(self, lease: Lease) -> None:
        """Delete the lock file while the lease is valid; afterwards it may be another holder's, and is left."""
        self._etags.pop(lease.owner, None)
        if lease.not_after_ms is not None and self._clock.monotonic_ms() >= lease.not_after_ms:
            return
        if self._own_lock(lease.owner) is not None:
            self._storage.delete([LOCK_FILE], not_after_ms=lease.not_after_ms)

    def _try_acquire(self, owner: str) -> Lease | None:
        started_at_ms = self._clock.monotonic_ms()
        try:
            status = self._storage.put_if_absent(LOCK_FILE, self._content(owner))
        except AlreadyExistsError:
            return self._try_take_over(owner, started_at_ms)
        except StorageError:
            # The answer was lost, not necessarily the lock.
            own = self._own_lock(owner)
            if own is None:
                raise
            status = own
        return self._acquired(owner, status, started_at_ms)

    def _try_take_over(self, owner: str, put_at_ms: int) -> Lease | None:
        try:
            status = self._storage.head(LOCK_FILE)
            content = self._read(status)
        except NotFoundError:
            return None
        if content.get("owner") == owner:
            # The storage's client repeated our put, and we were told what met the second one: our own lock.
            return self._acquired(owner, status, put_at_ms)
        ttl_ms = self._ttl_of(content)
        if ttl_ms is None or self._storage_clock.now_ms() - status.mtime_ms <= ttl_ms:
            return None
        started_at_ms = self._clock.monotonic_ms()
        try:
            taken = self._storage.put_if_match(LOCK_FILE, self._content(owner), status.etag)
        except StorageError as error:
            # Refused, or the answer was lost; either can be the answer to our own success.
            own = self._own_lock(owner)
            if own is None and isinstance(error, NotFoundError | PreconditionFailedError):
                return None
            if own is None:
                raise
            taken = own
        return self._acquired(owner, taken, started_at_ms)

    def _acquired(self, owner: str, status: FileStatus, started_at_ms: int) -> Lease:
        self._etags[owner] = status.etag
        return Lease(owner, status.mtime_ms, self._deadline_ms(started_at_ms))

    def _deadline_ms(self, started_at_ms: int) -> int:
        return started_at_ms + self._lock_ttl_ms - self._lock_ttl_ms // MARGIN_SHARE

    def _content(self, owner: str) -> bytes:
        return json.dumps({"owner": owner, "lockTtlMs": self._lock_ttl_ms}, sort_keys=True).encode()

    def _read(self, status: FileStatus) -> dict[str, object]:
        """Content of a lock file; empty where another implementation wrote it."""
        if status.size > MAX_LOCK_FILE_BYTES:
            return {}
        try:
            content = json.loads(bytes(self._storage.read(LOCK_FILE)))
        except ValueError:
            return {}
        return content if isinstance(content, dict) else {}

    def _ttl_of(self, content: dict[str, object]) -> int | None:
        """After how many milliseconds a lock of this content expires; None for never."""
        ttl_ms = content.get("lockTtlMs")
        if isinstance(ttl_ms, int) and ttl_ms > 0:
            return ttl_ms
        return self._foreign_expiry_ms or None

    def _own_lock(self, owner: str) -> FileStatus | None:
        """Status of the lock file where `owner` holds it."""
        try:
            status = self._storage.head(LOCK_FILE)
            return status if self._read(status).get("owner") == owner else None
        except NotFoundError:
            return None


def _lost(lease: Lease) -> LostLockError:
    return LostLockError(
        f"The table lock of owner {lease.owner} expired or was taken away.",
        rule="CC-022",
        way_out="Nothing of the operation is visible; try it again, with a larger drawstring.write.lock.ttl.ms "
        "where the machine pauses for long.",
    )
