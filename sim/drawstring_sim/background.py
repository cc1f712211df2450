"""Periodic duties as processes of the kernel: they share their writer's fate, and may be made to stall.

Whose duty: heartbeats and lease renewals run here beside the writer, interleaved with it at port calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import greenlet

from drawstring.ports import Duty
from drawstring_sim.kernel import Incarnation, Kernel, Process


@dataclasses.dataclass(slots=True)
class Stall:
    """Duties whose name contains `name` do not run between two times (simulated milliseconds): a hung thread."""

    name: str
    from_ms: int
    to_ms: int

    def holds(self, name: str, now_ms: int) -> bool:
        """Whether a duty is stalled now."""
        return self.name in name and self.from_ms <= now_ms < self.to_ms


class _SimulatedDuty:
    def __init__(
        self, kernel: Kernel, incarnation: Incarnation, interval_ms: int, duty: Callable[[], None], name: str
    ) -> None:
        self._kernel = kernel
        self._incarnation = incarnation
        self._interval_ms = interval_ms
        self._duty = duty
        self._name = name
        self._stopped = kernel.env.event()
        self.stalls: list[Stall] = []
        self._process: Process = kernel.spawn(incarnation, self._run, f"{incarnation.name}/{name}")

    def _run(self) -> None:
        env = self._kernel.env
        while True:
            self._kernel.wait_for(self._incarnation, env.any_of([env.timeout(self._interval_ms), self._stopped]))
            if self._stopped.triggered:
                return
            if not any(stall.holds(self._name, self._kernel.now_ms) for stall in self.stalls):
                # A duty that raises ends its process: it is not run again.
                self._duty()

    def stop(self) -> None:
        """No run begins after this returns, and none is under way (production joins its thread, too)."""
        if not self._stopped.triggered:
            self._stopped.succeed()
        if self._process is not greenlet.getcurrent():
            self._kernel.join(self._incarnation, self._process)


class SimulatedBackground:
    """The background port of one incarnation.

    Attributes:
        stalls: when which duties hang; may be changed while they run.

    """

    def __init__(self, kernel: Kernel, incarnation: Incarnation) -> None:
        self._kernel = kernel
        self._incarnation = incarnation
        self.stalls: list[Stall] = []

    def every(self, interval_ms: int, duty: Callable[[], None], *, name: str) -> Duty:
        """Start a duty."""

        def effect() -> _SimulatedDuty:
            started = _SimulatedDuty(self._kernel, self._incarnation, interval_ms, duty, name)
            started.stalls = self.stalls
            return started

        return self._kernel.call(self._incarnation, "background", "every", name, effect)
