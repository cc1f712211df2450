"""Clocks that are not monotonic: a time may repeat an earlier one or lie before it.

The core's clock shows only later and later times. With `ClockKind.NON_MONOTONIC` any time is possible; the explorer
looks at those down to the skew of the bounds. Source: RFC-53, ``TimeGenerator`` of Java Hudi, which
makes clocks monotonic across processes by reading them under the lock.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.core.config import Config
from drawstring_model.core.lock import may_start
from drawstring_model.core.module import Module
from drawstring_model.core.state import Move, Time, World, Writer
from drawstring_model.core.writer import GenerateRequestedTime


class GenerateSkewedTime(GenerateRequestedTime):
    """`GenerateRequestedTime` by a clock that may be behind.

    Enabled: as in the core; a clock that is not monotonic may give out any time.
    Effect: the writer has the time; the world's clock stays where it was if this one was behind.
    Unchanged: all files.
    """

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The next tick, and those before it down to the skew of the bounds."""
        del writer
        if not may_start(world, number, config):
            return
        skew = 0 if config.clock.is_monotonic else config.bounds.clock_skew
        for time in range(world.clock + 1 if not skew else max(1, world.clock + 1 - skew), world.clock + 2):
            yield Move(self.step, number, time=time)


class Clocks(Module):
    """Whether clocks promise to be monotonic is `Config.clock`."""

    name = "clocks"
    rules = (GenerateSkewedTime(),)

    def allows_time(self, world: World, time: Time, config: Config) -> bool:
        """Anything goes where clocks are not monotonic."""
        del world, time
        return not config.clock.is_monotonic
