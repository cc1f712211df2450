"""Merging what log files say with the rows of a base file, in columns.

Source: Java ``FileGroupRecordBuffer``, ``KeyBasedFileGroupRecordBuffer``, ``BufferedRecordMergerFactory``. Two stages:
log entries of one key among themselves, in their order; then what is left with the rows of the base file, which may
come in parts. "New" is what comes later in that order. Whose duty: which entries there are, and in which order, was
decided before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

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
        keys: record keys in the block's order, or, of all batches, positions (``int64``) of rows in the base file.
        rows: of the entries that are records, in the query's columns; of deletes nothing is read. None if all are.
        ordering: ordering values of the entries; None where the table merges by commit time.
        deleted: which entries are deletes.
        absolute: which deletes win over everything before them, whatever its ordering value.
        present: names of the columns that the block's records carry; None for all (no partial update).
        overrules: whether its deletes win over what log files say before, whatever the ordering values; over rows of
            the base file they need not.

    """

    keys: pa.Array
    rows: pa.Table | None
    ordering: pa.Array | None
    deleted: Mask
    absolute: Mask
    present: frozenset[str] | None = None
    overrules: bool = False


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
    if pat.is_integer(kind) or pat.is_floating(kind):
        return pa.scalar(0).cast(kind)
    if pat.is_decimal(kind):
        return pa.scalar(Decimal(0), kind)
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
    keys = single_chunk(pa.chunked_array([b.keys for b in batches]))
    deleted = np.concatenate([b.deleted for b in batches])
    absolute = np.concatenate([b.absolute for b in batches])
    orderings = [b.ordering for b in batches if b.ordering is not None]
    ordering = single_chunk(pa.chunked_array(orderings)) if orderings else None
    rows = np.where(deleted, -1, np.cumsum(~deleted) - 1).astype(np.int64)
    encoded = pc.dictionary_encode(keys)
    if len(encoded.dictionary) == len(keys):  # as a log file of one commit has them: there is nothing to merge
        return Winners(keys, deleted, absolute, ordering, rows)
    codes = encoded.indices.to_numpy().astype(np.int64)
    counting = np.flatnonzero(counting_entries(batches, codes))
    among = None if ordering is None else ordering.take(pa.array(counting))
    chosen = counting[_last_of_each(codes[counting], absolute[counting], among)]
    taken = pa.array(chosen)
    return Winners(
        keys=keys.take(taken),
        deleted=deleted[chosen],
        absolute=absolute[chosen],
        ordering=None if ordering is None else ordering.take(taken),
        rows=rows[chosen],
    )


def counting_entries(batches: Sequence[LogBatch], codes: Rows) -> Mask:
    """Which log entries are compared by their ordering values at all.

    Two kinds of entries of delete blocks are not, in Java's ``doProcessNextDeletedRecord``. One that comes upon an
    absolute delete changes nothing. One whose ordering value is of another Java class than those of records, though the
    column has one type, takes away everything before it.

    Args:
        batches: oldest first.
        codes: numbers of the keys of all their entries.

    """
    absolute = np.concatenate([b.absolute for b in batches])
    listed = np.concatenate([np.full(len(b.keys), b.rows is None) for b in batches])
    weak = listed & ~absolute
    if not weak.any():
        return np.ones(len(codes), np.bool_)
    overrules = weak & np.concatenate([np.full(len(b.keys), b.overrules) for b in batches])
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, codes[order][1:] != codes[order][:-1]))
    lengths = np.diff(np.append(starts, len(order)))
    place, first = np.arange(len(order)), np.repeat(starts, lengths)
    # The last absolute delete, and the last entry of a data block, up to each entry of the key.
    last_absolute = np.maximum.accumulate(np.where(absolute[order], place, -1))
    last_record = np.maximum.accumulate(np.where(listed[order], -1, place))
    idle = weak[order] & (last_absolute >= first) & (last_absolute > last_record)
    last_over = np.maximum.reduceat(np.where(overrules[order] & ~idle, place, -1), starts)
    counting = np.empty(len(order), np.bool_)
    counting[order] = ~idle & (place >= np.repeat(last_over, lengths))
    return counting


def _last_of_each(codes: Rows, absolute: Mask, ordering: pa.Array | None) -> Rows:
    """Positions of the entries that win over the others of their key; `codes` are numbers of the keys."""
    candidates: Rows = np.arange(len(codes), dtype=np.int64)
    rank = np.zeros(len(candidates), np.int64)
    if ordering is not None:
        candidates = candidates[_after_absolute_deletes(codes, absolute)]
        rank = pc.rank(ordering.take(pa.array(candidates)), tiebreaker="dense").to_numpy().astype(np.int64)
    order = np.lexsort((candidates, rank, codes[candidates]))
    sorted_codes = codes[candidates][order]
    last = np.append(sorted_codes[1:] != sorted_codes[:-1], True) if len(order) else np.empty(0, np.bool_)
    chosen: Rows = np.sort(candidates[order[last]])
    return chosen


def take_rows(table: pa.Table, rows: Rows) -> pa.Table:
    """Return some rows of a table by their positions; all of them, in their order, are not copied."""
    if np.array_equal(rows, np.arange(table.num_rows)):
        return table
    return table.take(pa.array(rows))


def _after_absolute_deletes(codes: Rows, absolute: Mask) -> Mask:
    """Which entries are not before an absolute delete of their key."""
    if not absolute.any():
        return np.ones(len(codes), np.bool_)
    last = np.full(int(codes.max()) + 1, -1, np.int64)
    where = np.flatnonzero(absolute)
    last[codes[where]] = where  # of equal indices the last one stays
    alive: Mask = np.arange(len(codes)) >= last[codes]
    return alive


class WholeRecords:
    """What log files say of each key, as whole records, merged into the rows of a base file part by part.

    A base row stays where its ordering value is greater than that of what the log says, unless that is an absolute
    delete; otherwise it is replaced in its place, or goes. Keys that no part has come behind. Of rows with one key,
    which an insert may leave behind, the file's first one is merged; the others stay as they are.
    """

    def __init__(self, batches: Sequence[LogBatch], schema: pa.Schema) -> None:
        tables = [b.rows for b in batches if b.rows is not None]
        self._changes = pa.concat_tables(tables) if tables else schema.empty_table()
        self._won = winners(batches)
        self._unseen: Mask = np.ones(len(self._won.keys), np.bool_)

    @property
    def unseen(self) -> pa.Array:
        """Keys that no part had so far."""
        return self._won.keys.filter(pa.array(self._unseen))

    def merge(self, base: pa.Table, keys: pa.Array, ordering: pa.Array | None) -> pa.Table:
        """Return the rows that some rows of the base file become.

        Args:
            base: rows of the file, in the query's columns.
            keys: theirs, of the same kind as those of the log entries.
            ordering: their comparable ordering values; None by commit time.

        """
        won = self._won
        in_base, in_won = first_matches(keys, won.keys, self._unseen)
        self._unseen[in_won] = False
        if ordering is not None and won.ordering is not None:
            old = ordering.take(pa.array(in_base))
            new = won.ordering.take(pa.array(in_won))
            stays = np.asarray(pc.fill_null(pc.greater(old, new), False)).astype(np.bool_)
            stays &= ~(won.deleted & won.absolute)[in_won]
            in_base, in_won = in_base[~stays], in_won[~stays]
        if not len(in_base):
            return base
        gone = won.deleted[in_won]
        order: Rows = np.arange(base.num_rows, dtype=np.int64)
        order[in_base[~gone]] = base.num_rows + won.rows[in_won[~gone]]
        order = np.delete(order, in_base[gone])
        return pa.concat_tables([base, self._changes]).take(pa.array(order))

    def rest(self) -> pa.Table:
        """Return the records of the keys that no part had."""
        return take_rows(self._changes, self._won.rows[self._unseen & ~self._won.deleted])


def matches(keys: pa.Array, log_keys: pa.Array) -> tuple[Rows, Rows]:
    """Return where base rows and log entries have the same key: positions among `keys`, and among `log_keys`.

    Args:
        keys: of base rows, one behind the other in the file.
        log_keys: each once.

    """
    found = single_chunk(pc.index_in(keys, value_set=log_keys))
    in_base: Rows = np.flatnonzero(np.asarray(found.is_valid())).astype(np.int64)
    in_log: Rows = np.asarray(found.drop_null()).astype(np.int64)
    return in_base, in_log


def first_matches(keys: pa.Array, log_keys: pa.Array, unseen: Mask) -> tuple[Rows, Rows]:
    """Return the same for the first base row of each key, of keys that no row before had.

    Java takes a key's entry out of what the log files say with the first row that it meets.

    Args:
        keys: of base rows, one behind the other in the file.
        log_keys: each once.
        unseen: which of them no base row before had.

    """
    in_base, in_log = matches(keys, log_keys)
    first: Rows = np.full(len(log_keys), -1, np.int64)
    first[in_log[::-1]] = in_base[::-1]  # of equal indices the last one stays
    chosen = unseen[in_log] & (first[in_log] == in_base)
    return in_base[chosen], in_log[chosen]
