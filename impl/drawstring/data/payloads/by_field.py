"""Payload classes that merge field by field: what one record leaves null comes from the other.

Source: Java ``OverwriteNonDefaultsWithLatestAvroPayload``, ``PartialUpdateAvroPayload``. A "default" is null in every
reader on Spark: the schema by which records are merged is made of Spark's, which has no other defaults, whatever the
schema that the writer had says.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.log_merge import Mask
from drawstring.data.payloads.choice import Choice, Pairs, all_of, as_mask, column, compare_ordering, marked, none_of
from drawstring_spec.meta_fields import META_FIELDS


def overwrite_non_defaults(pairs: Pairs) -> Choice:
    """Each field is the newer record's, or the older one's where that is null; ordering values do not matter."""
    gone = marked(pairs.older) | marked(pairs.newer)
    return Choice(all_of(pairs.newer), gone, {name: ~_null(pairs.newer, name) for name in pairs.newer.column_names})


def partial_update(pairs: Pairs) -> Choice:
    """Each field is that of the record with the greater ordering value, or the other one's where that is null.

    The newer record counts among equals, and its meta fields count always: they say which commit changed the row.
    """
    late = _is_late(pairs)
    gone = marked(pairs.older) | marked(pairs.newer)
    fields = {}
    for name in pairs.newer.column_names:
        from_newer = ~_null(pairs.newer, name)
        if name not in META_FIELDS:
            from_newer = np.where(late, _null(pairs.older, name), from_newer)
        fields[name] = from_newer
    return Choice(all_of(pairs.newer), gone, fields)


def _null(rows: pa.Table, name: str) -> Mask:
    return as_mask(rows.column(name).is_null())


def _is_late(pairs: Pairs) -> Mask:
    """Which newer records have a lesser ordering value than the older ones, as Java can tell.

    It compares the reader's value with that of an Avro record, if they are of one class. Those of texts, dates and
    decimals are not, so that no record is late; the reader's value of a null is an integer zero, which compares with
    nothing but integers of 32 bits or less.
    """
    order = compare_ordering(pairs)
    if order is None or pairs.ordering_field is None:
        return none_of(pairs.newer)
    values = column(pairs.older, pairs.ordering_field)
    kind = values.type
    if not (pa.types.is_primitive(kind) and not pa.types.is_date(kind) and not pa.types.is_decimal(kind)):
        return none_of(pairs.newer)
    late = order.older_greater
    if pa.types.is_integer(kind) and kind.bit_width <= 32:
        late = late | (order.newer_null & as_mask(pc.greater(values, pa.scalar(0, kind))))
    return late
