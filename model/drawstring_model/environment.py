"""The surroundings of a protocol as an operator names them: clocks, locks, storage; and what each is in a `Config`.

A process that hangs needs no step of its own: it takes none for as long as one likes, while the others take theirs.
What others see of it is that its heartbeat or its lease runs out; when it wakes up, it goes on where it was.
"""

from __future__ import annotations

from enum import StrEnum

from drawstring_model.config import ClockKind, ConcurrencyControl
from drawstring_model.core.module import Module
from drawstring_spec.errors import DrawstringError

_AS_FAR_AS_IT_GOES = 1_000


class ContradictionError(DrawstringError):
    """Two switches exclude each other; the message names both."""


class Clock(StrEnum):
    """What requested times are like."""

    MONOTONIC = "MONOTONIC"
    """Each is later than all before: a clock read under the lock, or one that waits its uncertainty out (TrueTime)."""
    SKEWED = "SKEWED"
    """One may repeat the last or lie before it, by as many ticks as the skew."""
    FREE = "FREE"
    """Any time that is not in the future."""


class Lock(StrEnum):
    """What the table lock is worth."""

    CORRECT = "CORRECT"
    """Held by one process at a time, and until that one gives it back or dies."""
    EXPIRES = "EXPIRES"
    """A lease, which may run out while its living holder is slow."""
    NONE = "NONE"
    """There is none, and nobody compares anything before completion."""


class Storage(StrEnum):
    """What the storage does with a put where a file is."""

    PUT_IF_ABSENT = "PUT_IF_ABSENT"
    """It refuses."""
    REPLACES = "REPLACES"
    """It replaces the file."""
    LOSES_ANSWERS = "LOSES_ANSWERS"
    """It refuses, and the answer of one put that took effect does not reach its writer."""

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules that know of it."""
        return ("lost_answers",) if self is Storage.LOSES_ANSWERS else ()


def clock_of(clock: Clock, skew: int) -> tuple[ClockKind, int]:
    """The clock's kind, and how many ticks it may be behind."""
    if clock is Clock.FREE:
        skew = _AS_FAR_AS_IT_GOES
    return (ClockKind.MONOTONIC if clock is Clock.MONOTONIC else ClockKind.NON_MONOTONIC), skew


def control_of(
    control: ConcurrencyControl | None, lock: Lock | None, modules: tuple[Module, ...]
) -> tuple[ConcurrencyControl, int]:
    """The control of concurrent writers, and how many leases may run out.

    Without a word on the control it is optimistic where there is a lock, and none where there is none.
    Raises `ContradictionError` where the two exclude each other, or a lease is to run out without the module for it.
    """
    chosen = control or (ConcurrencyControl.NONE if lock is Lock.NONE else ConcurrencyControl.OPTIMISTIC)
    locks = chosen is not ConcurrencyControl.NONE
    if lock is Lock.NONE and locks:
        raise ContradictionError(
            f"{chosen} control needs a lock.", way_out="Leave --control out, or name another --lock."
        )
    if lock not in {None, Lock.NONE} and not locks:
        raise ContradictionError("Nobody takes a lock where --control is NONE.", way_out="Leave --lock out.")
    leased = any(module.name == "locks" for module in modules)
    if lock is Lock.EXPIRES and not leased:
        raise ContradictionError("A lease runs out in the module locks, which is left out.")
    return chosen, int(locks and leased and lock is not Lock.CORRECT)
