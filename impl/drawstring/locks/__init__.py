"""Lock providers: who may change the timeline now. Written over the ports, so the simulator runs them too."""

from __future__ import annotations

from drawstring.errors import OptionError
from drawstring.locks.file_system import FileSystemLockProvider
from drawstring.locks.in_process import InProcessLockProvider
from drawstring.options import Options
from drawstring.ports import Clock, Entropy, LockProvider, Storage

__all__ = ["FileSystemLockProvider", "InProcessLockProvider", "make_lock_provider"]


def make_lock_provider(options: Options, *, storage: Storage, clock: Clock, entropy: Entropy) -> LockProvider:
    """Return the provider that the options name.

    Args:
        options: ``hoodie.write.lock.provider`` and the times of the lease.
        storage: where the table is.
        clock: of this process.
        entropy: for owners' names.

    Returns:
        A provider; nothing is touched yet.

    Raises:
        OptionError: the name is not one of ours.

    """
    provider = str(options["hoodie.write.lock.provider"]).rpartition(".")[2]
    if provider == "InProcessLockProvider":
        return InProcessLockProvider(storage.uri, clock=clock, entropy=entropy)
    if provider == "FileSystemBasedLockProvider":
        return FileSystemLockProvider(
            storage,
            clock=clock,
            entropy=entropy,
            lock_ttl_ms=int(options["drawstring.write.lock.ttl.ms"]),
            foreign_expiry_ms=int(options["hoodie.write.lock.filesystem.expire"] or 0) * 60_000,
        )
    raise OptionError(
        f"hoodie.write.lock.provider={options['hoodie.write.lock.provider']} is no lock provider of drawstring's.",
        rule="CC-020",
        way_out="Use InProcessLockProvider (one process) or FileSystemBasedLockProvider (several).",
    )
