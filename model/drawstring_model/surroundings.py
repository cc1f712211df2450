"""The switches of a configuration that the core never asks for: modules do.

`drawstring_model.modules.clocks` asks what clocks promise, `drawstring_model.modules.heartbeats` and
`drawstring_model.modules.rollback` when a pending write counts as failed.
"""

from __future__ import annotations

from enum import StrEnum


class ClockKind(StrEnum):
    """What the clocks that requested times come from promise."""

    MONOTONIC = "MONOTONIC"
    """Each time is later than every time given before, as a clock read under the table lock makes it."""
    NON_MONOTONIC = "NON_MONOTONIC"
    """A time may repeat an earlier one or lie before it."""

    @property
    def is_monotonic(self) -> bool:
        """Whether no time is ever repeated or preceded by a later one."""
        return self is ClockKind.MONOTONIC


class RollbackPolicy(StrEnum):
    """When a pending write is taken for a failed one."""

    EAGER = "EAGER"
    """As soon as anybody else starts: right only where one writer is alone."""
    LAZY = "LAZY"
    """When its heartbeat has expired or is gone."""
