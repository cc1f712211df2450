"""Payload classes that take one of the two records whole, as their ordering values choose.

Source: Java ``EventTimeAvroPayload``, ``FirstValueAvroPayload``, and ``DefaultHoodieRecordPayload``, which both extend.
They compare what the records have in the ordering field themselves, not what the reader takes for their ordering
values: a null of the older row loses, where a reader counts it as zero.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.log_merge import Mask
from drawstring.data.payloads.choice import (
    Choice,
    Ordering,
    Pairs,
    all_of,
    as_mask,
    compare_ordering,
    marked,
    none_of,
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
    if pairs.delete_field not in rows.column_names or pairs.delete_marker is None:
        return none_of(rows)
    return as_mask(pc.equal(rows.column(pairs.delete_field).cast(pa.string()), pairs.delete_marker))
