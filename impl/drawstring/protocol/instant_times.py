"""Times of instants: later than everything that stands on the timeline, whatever the clocks say.

Source: Java ``HoodieInstantTimeGenerator`` takes a lock, reads the clock and waits for the clocks' expected skew. Here
the lock is the table lock and the timeline is read under it, so that no wait is needed and a clock that is wrong by
any amount cannot break the order (requirements TL-020, TL-021).
"""

from __future__ import annotations

from drawstring.context import TableContext
from drawstring.timeline.timeline import Timeline
from drawstring_spec.times import format_instant_time, next_instant_time


def next_time(context: TableContext, timeline: Timeline) -> str:
    """Return a time that is greater than every time on `timeline`; the table lock must be held.

    Args:
        context: gives the clock, and the zone that the table's times are written in.
        timeline: loaded under the lock.

    Returns:
        17 digits.

    """
    clock = context.ports.clock
    wall_ms = clock.wall_ms()
    if context.config.timeline_zone == "LOCAL":
        wall_ms += clock.local_offset_ms(wall_ms)
    now = format_instant_time(wall_ms)
    latest = timeline.latest_time()
    return now if latest is None or now > latest else next_instant_time(latest)
