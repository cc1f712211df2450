"""What a rule is asked, and how it answers: pairs of rows, and for each pair which of them gives each field.

Source: Java ``HoodieAvroRecordMerger``, which asks the earlier row's payload for its record (``getInsertValue``) and
then the later one's to combine with it (``combineAndGetUpdateValue``), whether rows of log files meet each other or one
of a base file. What either of them leaves empty is `Choice.nothing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.key_texts import single_chunk
from drawstring.data.log_merge import Mask
from drawstring.data.merge import sortable
from drawstring.errors import UnsupportedTableError
from drawstring_spec.meta_fields import IS_DELETED


@dataclass(frozen=True, slots=True)
class Pairs:
    """Rows of the same keys, side by side; none is an entry that deletes.

    Attributes:
        older: those that were there.
        newer: those that came after them, in the same columns.
        ordering_field: of the table; None where it has none.
        delete_field: column whose value marks a deleted row, with `delete_marker`; None without one.
        delete_marker: the value, as text.

    """

    older: pa.Table
    newer: pa.Table
    ordering_field: str | None = None
    delete_field: str | None = None
    delete_marker: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """What becomes of each pair.

    Attributes:
        newer: which pairs take their fields from the newer row.
        fields: the same for columns that differ from that.
        nothing: pairs of which the payload makes no record.

    """

    newer: Mask
    nothing: Mask
    fields: Mapping[str, Mask] = field(default_factory=dict)

    def of(self, name: str) -> Mask:
        """Return which pairs take a column from the newer row."""
        return self.fields.get(name, self.newer)


Rule = Callable[[Pairs], Choice]


@dataclass(frozen=True, slots=True)
class Ordering:
    """How the ordering values of pairs compare; of a pair with a null neither is greater.

    Attributes:
        older_null: pairs whose older row has none.
        newer_null: pairs whose newer row has none.
        older_greater: pairs whose older value is greater.
        newer_greater: pairs whose newer value is greater.

    """

    older_null: Mask
    newer_null: Mask
    older_greater: Mask
    newer_greater: Mask


def compare_ordering(pairs: Pairs) -> Ordering | None:
    """Compare ordering values as Java does; None where the table has no ordering field."""
    if pairs.ordering_field is None:
        return None
    older, newer = (sortable(column(rows, pairs.ordering_field)) for rows in (pairs.older, pairs.newer))
    return Ordering(
        as_mask(older.is_null()),
        as_mask(newer.is_null()),
        as_mask(pc.greater(older, newer)),
        as_mask(pc.greater(newer, older)),
    )


def column(rows: pa.Table, name: str) -> pa.Array:
    """Return a column as one array."""
    return single_chunk(rows.column(name))


def as_mask(values: pa.Array | pa.ChunkedArray) -> Mask:
    """Return booleans as a mask; a null is false."""
    filled = pc.fill_null(values, False)
    whole = single_chunk(filled) if isinstance(filled, pa.ChunkedArray) else filled
    mask: Mask = np.asarray(whole).astype(np.bool_)
    return mask


def all_of(rows: pa.Table) -> Mask:
    """Return a mask that is true everywhere."""
    return np.ones(rows.num_rows, np.bool_)


def none_of(rows: pa.Table) -> Mask:
    """Return a mask that is true nowhere."""
    return np.zeros(rows.num_rows, np.bool_)


def marked(rows: pa.Table) -> Mask:
    """Which rows have a true ``_hoodie_is_deleted`` (``BaseAvroPayload.isDeleteRecord``)."""
    if IS_DELETED not in rows.column_names or not pa.types.is_boolean(rows.schema.field(IS_DELETED).type):
        return none_of(rows)
    return as_mask(rows.column(IS_DELETED))


def has_marker(rows: pa.Table, delete_field: str | None, delete_marker: str | None) -> Mask:
    """Which rows have the text in a column that a table's properties name as the mark of a deleted row, if they do."""
    if delete_field not in rows.column_names or delete_marker is None:
        return none_of(rows)
    return as_mask(pc.equal(rows.column(delete_field).cast(pa.string()), delete_marker))


def says(rows: pa.Table, name: str, text: str) -> Mask:
    """Which rows have a text in a column, whatever its case."""
    values = rows.column(name)
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        values = values.cast(pa.string())
    return as_mask(pc.equal(pc.utf8_lower(values), text.lower()))


def refuse(wrong: Mask, what: str) -> None:
    """Refuse pairs that the payload class cannot merge in Java either. Raises `UnsupportedTableError`."""
    if wrong.any():
        raise UnsupportedTableError(
            f"{int(wrong.sum())} rows cannot be merged by the table's payload class, as Java Hudi cannot: {what}.",
            rule="MG-008",
            way_out="Read the table with read_optimized=True, without its log files, or as of a time before that.",
        )
