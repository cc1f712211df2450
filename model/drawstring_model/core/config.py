"""The switches of the core and its bounds.

A `Config` says which protocol is modelled. The defaults are the protocol as the implementation follows it: every
guarantee of `drawstring_model.core.invariants` but time-travel stability holds under them. `Bounds` says how much of it
the explorer looks at; they bound what is *proposed*, never what is allowed, so a caller who drives the model step
by step (`drawstring_model.core.protocol.apply`) is not bound by them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from drawstring_model.core.state import Changes
from drawstring_model.planted import PlantedBug as PlantedBug  # noqa: PLC0414 - whoever has a Config names them from here
from drawstring_model.surroundings import ClockKind as ClockKind  # noqa: PLC0414 - whoever has a Config names it here
from drawstring_model.surroundings import RollbackPolicy as RollbackPolicy  # noqa: PLC0414 - the same


class ConcurrencyControl(StrEnum):
    """What keeps concurrent writers from undoing each other's work."""

    NONE = "NONE"
    """No lock and no check: one writer alone is safe, nobody else."""
    OPTIMISTIC = "OPTIMISTIC"
    """Writers work freely, and under the table lock the later one to complete gives way."""
    PESSIMISTIC = "PESSIMISTIC"
    """A writer locks each file group before it writes to it, until its operation is over."""


class SnapshotTime(StrEnum):
    """What a snapshot time is compared with."""

    REQUESTED = "REQUESTED"
    """Requested times, as Java Hudi does it."""
    COMPLETION = "COMPLETION"
    """Completion times, as the specification's text has it."""


def upsert(*keys: int) -> tuple[tuple[int, bool], ...]:
    """An operation of a workload that writes `keys`; the explorer gives each operation a value of its own."""
    return tuple((key, True) for key in sorted(keys))


def delete(*keys: int) -> tuple[tuple[int, bool], ...]:
    """An operation of a workload that deletes `keys`."""
    return tuple((key, False) for key in sorted(keys))


def numbered(operation: tuple[tuple[int, bool], ...], number: int) -> Changes:
    """The changes of the `number`-th operation: each written key gets `number` as its value."""
    return tuple((key, number if written else None) for key, written in operation)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much of the model is explored.

    Attributes:
        writers: number of concurrent writers.
        groups: number of file groups that new keys may be given to.
        workload: the operations, in the order in which they are started; any free writer starts the next one.
        crashes: how many times a writer may crash.
        heartbeat_expiries: how many heartbeats of living writers may expire; a dead writer's always may.
        lock_expiries: how many leases of living holders may run out; a dead holder's always may.
        faults: how many of these three there may be in all.
        faults_until: faults strike only while at most this many operations have been started.
        renewals: how many expired heartbeats may be renewed by their writer.
        clock_skew: how many ticks a clock that is not monotonic may be behind.

    """

    writers: int = 2
    groups: int = 2
    workload: tuple[tuple[tuple[int, bool], ...], ...] = field(
        default=(upsert(1), upsert(1, 2), delete(1)),
    )
    crashes: int = 1
    heartbeat_expiries: int = 1
    lock_expiries: int = 1
    faults: int = 1
    faults_until: int = 3
    renewals: int = 0
    clock_skew: int = 2


@dataclass(frozen=True, slots=True)
class Config:
    """Which protocol is modelled; the default is the implementation's, which is safe.

    Attributes:
        clock: what requested times promise.
        concurrency: how concurrent writers are kept apart.
        key_check: whether new keys of concurrent writers are compared too.
        put_if_absent: whether the storage can refuse to replace a file.
        salt: whether each attempt to write a file has a write token of its own.
        rollback: when a pending write is taken for a failed one.
        snapshot_time: what a reader's snapshot time is compared with.
        planted: a rule that is broken on purpose; None for none.
        modules: which concerns there are beside the core (`drawstring_model.core.module.Module`), in an order in which
            each comes after those that it requires.
        bounds: how much the explorer looks at.
        asked: the names of the switches that decided something, collected here where it is not None. A switch that
            was never asked would have changed nothing. No part of the configuration's identity.

    """

    clock: ClockKind = ClockKind.MONOTONIC
    concurrency: ConcurrencyControl = ConcurrencyControl.OPTIMISTIC
    key_check: bool = True
    put_if_absent: bool = True
    salt: bool = True
    rollback: RollbackPolicy = RollbackPolicy.LAZY
    snapshot_time: SnapshotTime = SnapshotTime.REQUESTED
    planted: PlantedBug | None = None
    modules: tuple[object, ...] = ()
    bounds: Bounds = field(default_factory=Bounds)
    asked: set[str] | None = field(default=None, compare=False, repr=False)

    def replaces_files(self) -> bool:
        """Whether a put replaces a file that is there; ask only where it is."""
        if self.asked is not None:
            self.asked.add("put_if_absent")
        return not self.put_if_absent

    @property
    def locking(self) -> bool:
        """Whether writers take the table lock."""
        return self.concurrency is not ConcurrencyControl.NONE
