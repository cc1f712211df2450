"""Simulated clocks: each writer has its own idea of the time.

Whose duty: the kernel has the one true time; a writer sees it through its skew and its jumps. Its monotonic clock
never jumps, but starts anywhere, so that a reading of one writer means nothing to another.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from drawstring_sim.kernel import Incarnation, Kernel

START_MS = 1_735_689_600_000
"""Epoch milliseconds of the simulation's time 0: 2025-01-01T00:00:00Z."""


@dataclass(slots=True)
class ClockSettings:
    """How a writer's clocks differ from the true time; may be changed while it runs.

    Attributes:
        skew_ms: what the wall clock is ahead.
        monotonic_start_ms: the monotonic clock's reading at time 0.
        local_offset_ms: what local time is ahead of UTC.
        granularity_ms: the wall clock moves in steps of this many milliseconds.

    """

    skew_ms: int = 0
    monotonic_start_ms: int = 0
    local_offset_ms: int = 0
    granularity_ms: int = 1

    def jump(self, by_ms: int) -> None:
        """Set the wall clock forward or back."""
        self.skew_ms += by_ms


class SimulatedClock:
    """The clock port of one incarnation."""

    def __init__(self, kernel: Kernel, incarnation: Incarnation, settings: ClockSettings) -> None:
        self._kernel = kernel
        self._incarnation = incarnation
        self.settings = settings

    def wall_ms(self) -> int:
        """Epoch milliseconds as this machine believes."""
        return self._kernel.call(self._incarnation, "clock", "wall_ms", "", self._wall)

    def _wall(self) -> int:
        exact = START_MS + self._kernel.now_ms + self.settings.skew_ms
        return exact - exact % self.settings.granularity_ms

    def monotonic_ms(self) -> int:
        """Milliseconds that never go back."""
        return self._kernel.call(self._incarnation, "clock", "monotonic_ms", "", self.true_monotonic_ms)

    def true_monotonic_ms(self) -> int:
        """Read the monotonic clock without it being a step: for the storage's deadlines."""
        return self._kernel.now_ms + self.settings.monotonic_start_ms

    def local_offset_ms(self, wall_ms: int) -> int:
        """What local time is ahead of UTC."""
        del wall_ms
        return self._kernel.call(
            self._incarnation, "clock", "local_offset_ms", "", lambda: self.settings.local_offset_ms
        )

    def sleep_ms(self, duration_ms: int) -> None:
        """Sleep in simulated time."""
        self._kernel.call(self._incarnation, "clock", "sleep_ms", str(duration_ms), lambda: None)
        self._kernel.sleep(self._incarnation, duration_ms)


class SimulatedEntropy:
    """UUIDs from a seed."""

    def __init__(self, kernel: Kernel, incarnation: Incarnation, seed: str) -> None:
        self._kernel = kernel
        self._incarnation = incarnation
        # A string seeds by its SHA-512, whatever PYTHONHASHSEED is.
        self._random = random.Random(seed)  # noqa: S311 -- repeatable on purpose

    def uuid(self) -> uuid.UUID:
        """Return a UUID of version 4."""
        make: Callable[[], uuid.UUID] = lambda: uuid.UUID(int=self._random.getrandbits(128), version=4)  # noqa: E731 -- one expression, used once
        return self._kernel.call(self._incarnation, "entropy", "uuid", "", make)
