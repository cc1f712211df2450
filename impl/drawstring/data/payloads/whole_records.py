"""Payload classes that take one of the two records whole, as their ordering values choose.

Source: Java ``EventTimeAvroPayload``, ``FirstValueAvroPayload``, and ``DefaultHoodieRecordPayload``, which both extend.
They compare what the records have in the ordering field themselves, not what the reader takes for their ordering
values: a null of the older row loses, where a reader counts it as zero.
"""

from __future__ import annotations

import pyarrow as pa

from drawstring.data.log_merge import Mask
from drawstring.data.payloads.choice import (
    Choice,
    Ordering,
    Pairs,
    all_of,
    compare_ordering,
    has_marker,
    marked,
    refuse,
)


def event_time(pairs: Pairs) -> Choice:
    """The record with the greater ordering value stays, the newer one among equals."""
    order = _comparable(pairs)
    newer = all_of(pairs.newer) if order is None else ~order.older_greater
    return Choice(newer, marked(pairs.older) | marked(pairs.newer))


def first_value(pairs: Pairs) -> Choice:
    """The record with the greater ordering value stays, the older one among equals.

    A record with the table's own mark of deletes is none, where it is the one that stays.
    """
    order = _comparable(pairs)
    newer = all_of(pairs.newer) if order is None else order.older_null | order.newer_greater
    return Choice(newer, _deleted(pairs.older, pairs) | (newer & _deleted(pairs.newer, pairs)))


def _comparable(pairs: Pairs) -> Ordering | None:
    order = compare_ordering(pairs)
    if order is not None:
        refuse(
            order.newer_null & ~order.older_null,
            f"the ordering field {pairs.ordering_field!r} is null in a record of a log file",
        )
    return order


def _deleted(rows: pa.Table, pairs: Pairs) -> Mask:
    """Which records the payload takes for deletes: by the table's own mark where it has one, else by the built-in."""
    if not pairs.delete_field:
        return marked(rows)
    return has_marker(rows, pairs.delete_field, pairs.delete_marker)
