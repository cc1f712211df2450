"""What may go wrong at one port call, and the plans that decide it.

Whose duty: a plan only decides; `kernel.Kernel.call` carries the decision out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Fault(Enum):
    """What happens to one port call."""

    NONE = "nothing goes wrong"
    ERROR = "the call fails and has no effect"
    ANSWER_LOST = "the call takes effect, but the caller sees an error"
    SENT_TWICE = "the client library sends the request again, and the caller sees the second answer"
    CRASH_BEFORE = "the process dies before the call takes effect"
    CRASH_AFTER = "the process dies after the call took effect"
    CRASH_ANSWER_LOST = "the call takes effect, the caller sees an error and dies at its next call"

    @property
    def is_crash(self) -> bool:
        """Whether the process dies of it."""
        return self in (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.CRASH_ANSWER_LOST)


@dataclass(frozen=True, slots=True)
class PortCall:
    """One call of a port.

    Attributes:
        number: position among the calls of its incarnation, from 0.
        process: name of the process that makes it.
        incarnation: name of the incarnation that the process belongs to.
        port: ``"storage"``, ``"clock"``, ``"entropy"``, ``"background"`` or ``"tasks"``.
        method: name of the port's method.
        target: path, or whatever else the call is about; ``""`` where there is nothing.
        at_ms: simulated time at which it takes effect.

    """

    number: int
    process: str
    incarnation: str
    port: str
    method: str
    target: str
    at_ms: int

    @property
    def writes(self) -> bool:
        """Whether the call can change the storage."""
        return self.method in ("put", "put_if_absent", "put_if_match", "delete")

    def __str__(self) -> str:
        return f"{self.at_ms:>8} ms  {self.process}: {self.port}.{self.method}({self.target})"


class FaultPlan(Protocol):
    """Decides what happens to each call."""

    def decide(self, call: PortCall) -> Fault:
        """Return what happens to `call`; asked exactly once for each."""
        ...


class NoFaults:
    """Nothing goes wrong."""

    def decide(self, call: PortCall) -> Fault:
        """Let it pass."""
        del call
        return Fault.NONE


@dataclass(slots=True)
class FaultAt:
    """One fault, at one call of one incarnation.

    Attributes:
        incarnation: whose call.
        number: which of its calls.
        fault: what happens to it.
        struck: the call that was struck; None until then.

    """

    incarnation: str
    number: int
    fault: Fault
    struck: PortCall | None = None

    def decide(self, call: PortCall) -> Fault:
        """Strike the one call."""
        if call.incarnation != self.incarnation or call.number != self.number:
            return Fault.NONE
        self.struck = call
        return self.fault


@dataclass(slots=True)
class FaultWhere:
    """One fault, at the first call that fits a condition.

    Attributes:
        condition: says whether a call fits.
        fault: what happens to it.
        skip: how many fitting calls pass first.
        struck: the call that was struck; None until then.

    """

    condition: Callable[[PortCall], bool]
    fault: Fault
    skip: int = 0
    struck: PortCall | None = None

    def decide(self, call: PortCall) -> Fault:
        """Strike the first fitting call after those to be skipped."""
        if self.struck is not None or not self.condition(call):
            return Fault.NONE
        if self.skip:
            self.skip -= 1
            return Fault.NONE
        self.struck = call
        return self.fault


class SeededFaults:
    """Faults at random, from a seed.

    Args:
        seed: the same seed and the same calls give the same faults.
        per_thousand: how often each fault strikes, in a thousand storage calls.

    """

    def __init__(self, seed: int, per_thousand: Mapping[Fault, int]) -> None:
        self._random = random.Random(seed)  # noqa: S311 -- repeatable on purpose
        self._odds = sorted(per_thousand.items(), key=lambda item: item[0].name)
        self.struck: list[tuple[PortCall, Fault]] = []

    def decide(self, call: PortCall) -> Fault:
        """Throw the dice."""
        if call.port != "storage":
            return Fault.NONE
        dice = self._random.randrange(1000)
        for fault, odds in self._odds:
            if dice < odds:
                self.struck.append((call, fault))
                return fault
            dice -= odds
        return Fault.NONE
