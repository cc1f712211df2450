"""Merging what log files say with the rows of a base file, in columns.

Source: Java ``FileGroupRecordBuffer``, ``KeyBasedFileGroupRecordBuffer``, ``BufferedRecordMergerFactory``. Two stages:
log entries of one key among themselves, in their order; then what is left with the row of the base file. "New" is
what comes later in that order. Whose duty: which entries there are, and in which order, was decided before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.data.key_texts import single_chunk
from drawstring.data.merge import sortable

Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LogBatch:
    """The entries of one log block.

    Attributes:
        keys: record keys, in the block's order.
        rows: of the entries that are records, in the query's columns; of deletes nothing is read. None if all are.
        ordering: ordering values of the entries; None where the table merges by commit time.
        deleted: which entries are deletes.
        absolute: which deletes win over everything before them, whatever its ordering value.
        present: names of the columns that the block's records carry; None for all (no partial update).

    """

    keys: pa.Array
    rows: pa.Table | None
    ordering: pa.Array | None
    deleted: Mask
    absolute: Mask
    present: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Winners:
    """What the log files have to say about each key.

    Attributes:
        keys: each once.
        deleted: which keys are deleted.
        absolute: which of them whatever the base file's ordering value.
        ordering: comparable ordering values; None by commit time.
        rows: positions, in all data rows of the batches one behind the other, of those that are not deleted; -1 for
            deleted keys.

    """

    keys: pa.Array
    deleted: Mask
    absolute: Mask
    ordering: pa.Array | None
    rows: Rows


def comparable(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Ordering values as numbers or texts that compare as Java compares them; nulls are Java's default, zero.

    Args:
        values: of one block, in the type that it has them in.
        kind: type of the table's ordering field.

    """
    if not pa.types.is_null(values.type) and values.type != kind:
        values = pc.cast(values, kind, safe=False)
    if pa.types.is_null(values.type):
        values = pa.nulls(len(values), kind)
    plain = sortable(values)
    return plain if plain.null_count == 0 else pc.fill_null(plain, _least(plain.type))


def _least(kind: pa.DataType) -> pa.Scalar:
    """Java's default ordering value, an integer zero; where the type has no zero, less than any value."""
    if pat.is_integer(kind) or pat.is_floating(kind) or pat.is_decimal(kind):
        return pa.scalar(0).cast(kind)
    if pat.is_string(kind):
        return pa.scalar("", kind)
    if pat.is_timestamp(kind) or pat.is_date(kind) or pat.is_time(kind):
        return pa.scalar(0, pa.int64() if kind.bit_width == 64 else pa.int32()).cast(kind)
    return pa.scalar(None, kind)


def winners(batches: Sequence[LogBatch]) -> Winners:
    """Merge the log entries of each key among themselves.

    By commit time the last entry stays. By event time the greatest ordering value does, the later one among equals;
    an absolute delete takes away everything before it and counts as ordering value zero afterwards.

    Args:
        batches: oldest first, not empty; none is partial.

    """
    keys = single_chunk(pa.chunked_array([b.keys.cast(pa.string()) for b in batches]))
    deleted = np.concatenate([b.deleted for b in batches])
    absolute = np.concatenate([b.absolute for b in batches])
    encoded = pc.dictionary_encode(keys)
    codes: Rows = encoded.indices.to_numpy().astype(np.int64)
    positions: Rows = np.arange(len(codes), dtype=np.int64)
    orderings = [b.ordering for b in batches]
    ordering = None
    if any(o is not None for o in orderings):
        ordering = single_chunk(pa.chunked_array([o for o in orderings if o is not None]))
    alive = _after_absolute_deletes(codes, absolute) if ordering is not None else np.ones(len(codes), np.bool_)
    candidates = positions[alive]
    rank = np.zeros(len(candidates), np.int64)
    if ordering is not None:
        rank = pc.rank(ordering.take(pa.array(candidates)), tiebreaker="dense").to_numpy().astype(np.int64)
    order = np.lexsort((candidates, rank, codes[candidates]))
    sorted_codes = codes[candidates][order]
    last = np.append(sorted_codes[1:] != sorted_codes[:-1], True) if len(order) else np.empty(0, np.bool_)
    chosen = np.sort(candidates[order[last]])
    data_position = np.cumsum(~deleted) - 1
    taken = pa.array(chosen)
    return Winners(
        keys=keys.take(taken),
        deleted=deleted[chosen],
        absolute=absolute[chosen],
        ordering=None if ordering is None else ordering.take(taken),
        rows=np.where(deleted[chosen], -1, data_position[chosen]).astype(np.int64),
    )


def _after_absolute_deletes(codes: Rows, absolute: Mask) -> Mask:
    """Which entries are not before an absolute delete of their key."""
    if not absolute.any():
        return np.ones(len(codes), np.bool_)
    last = np.full(int(codes.max()) + 1, -1, np.int64)
    where = np.flatnonzero(absolute)
    last[codes[where]] = where  # of equal indices the last one stays
    alive: Mask = np.arange(len(codes)) >= last[codes]
    return alive


def apply_winners(
    base: pa.Table, base_keys: pa.Array, base_ordering: pa.Array | None, changes: pa.Table, won: Winners
) -> pa.Table:
    """Merge what the log files say into the rows of a base file.

    A base row stays where its ordering value is greater than that of what the log says, unless that is an absolute
    delete; otherwise it is replaced in its place, or goes. Keys that the file does not have come behind.

    Args:
        base: rows of the file, in the query's columns.
        base_keys: their record keys.
        base_ordering: their comparable ordering values; None by commit time.
        changes: all data rows of the log files, one block behind the other, in the same columns.
        won: see `winners`.

    """
    found = single_chunk(pc.index_in(base_keys, value_set=won.keys))
    in_base: Rows = np.flatnonzero(np.asarray(found.is_valid())).astype(np.int64)
    in_won: Rows = np.asarray(found.drop_null()).astype(np.int64)
    is_new: Mask = np.ones(len(won.keys), np.bool_)
    is_new[in_won] = False
    if base_ordering is not None and won.ordering is not None:
        old = base_ordering.take(pa.array(in_base))
        new = won.ordering.take(pa.array(in_won))
        stays = np.asarray(pc.fill_null(pc.greater(old, new), False)).astype(np.bool_)
        stays &= ~(won.deleted & won.absolute)[in_won]
        in_base, in_won = in_base[~stays], in_won[~stays]
    gone = won.deleted[in_won]
    order: Rows = np.arange(base.num_rows, dtype=np.int64)
    replaced = in_base[~gone]
    order[replaced] = base.num_rows + won.rows[in_won[~gone]]
    order = np.delete(order, in_base[gone])
    appended = base.num_rows + won.rows[is_new & ~won.deleted]
    if not len(replaced) and len(order) == base.num_rows and not len(appended):
        return base
    return pa.concat_tables([base, changes]).take(pa.array(np.append(order, appended)))
