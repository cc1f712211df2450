"""Merging rows: which of two rows with one key stays, and a base file with the changes of one write.

Source: Java ``DefaultHoodieRecordPayload``, ``OverwriteWithLatestAvroPayload``, ``HoodieMergeHandle`` (format chapter
"Copy-on-write merge"). By event time the greater ordering value stays and the later row among equals; by commit time
the later row. Rows of the file that no change wins over stay as they are, with their own commit time and sequence
number, in their place; changed rows take the new ones; new keys come last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.data.base_files import FileStamp, constant_column, with_meta_columns
from drawstring.data.key_texts import field_column, single_chunk
from drawstring.errors import InputError, SchemaError
from drawstring_spec.meta_fields import (
    COMMIT_SEQNO,
    COMMIT_TIME,
    FILE_NAME,
    IS_DELETED,
    META_FIELDS,
    PARTITION_PATH,
    RECORD_KEY,
)

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

KEPT_META_FIELDS: Final = (COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY)
"""Meta columns that a merge needs of the file; the other two are the same for all rows of the new file."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A base file's rows after a write.

    Attributes:
        rows: with all meta columns.
        inserted_keys: keys that the file did not hold.
        num_updates: rows that replaced one of the same key.
        num_deletes: rows that are gone.

    """

    rows: pa.Table
    inserted_keys: pa.Array
    num_updates: int
    num_deletes: int


def ordering_values(rows: pa.Table, field: str | None) -> pa.Array | None:
    """Return the ordering values of incoming rows, comparable and without nulls; None without an ordering field.

    Raises:
        SchemaError: values of that type have no order that Java and we agree on.
        InputError: the field is missing, or there are nulls (Java refuses them, too).

    """
    if field is None:
        return None
    values = field_column(rows, field)
    if pat.is_nested(values.type) or pat.is_binary(values.type) or pat.is_fixed_size_binary(values.type):
        raise SchemaError(
            f"The ordering field {field!r} has type {values.type}, whose values have no order.",
            way_out="Order by a number, a date, a timestamp or a text.",
        )
    if values.null_count:
        row = pc.index(values.is_null(), True).as_py()
        raise InputError(
            f"The ordering field {field!r} is null in {values.null_count} rows; the first is row {row}.",
            way_out="Every row needs an ordering value; nothing was written.",
        )
    return sortable(values)


def sortable(values: pa.Array) -> pa.Array:
    """Return values that compare as Java compares them: floating point in total order, NaN the greatest."""
    if pat.is_boolean(values.type):
        return pc.cast(values, pa.int8())
    if not pat.is_floating(values.type):
        return values
    doubles = pc.cast(values, pa.float64())
    bits = pc.fill_null(doubles, 0.0).to_numpy(zero_copy_only=False).view(np.int64).copy()
    bits[np.isnan(bits.view(np.float64))] = np.array([np.nan]).view(np.int64)[0]
    negative = bits < 0
    bits[negative] ^= np.int64(2**63 - 1)
    return pa.array(bits, mask=np.asarray(doubles.is_null()) if doubles.null_count else None)


def latest_rows(keys: pa.Array, ordering: pa.Array | None) -> Rows | None:
    """Return the positions of the rows that stay of each key, ascending; None where all do.

    Args:
        keys: of the rows, no nulls; rows of one partition.
        ordering: as `ordering_values` gives them; None for the later row.

    """
    encoded = pc.dictionary_encode(keys)
    if len(encoded.dictionary) == len(keys):
        return None
    codes = encoded.indices.to_numpy()
    repeated = np.flatnonzero(np.bincount(codes)[codes] > 1)
    if ordering is None:
        rank = np.zeros(len(repeated), np.int64)
    else:
        values = pc.take(ordering, pa.array(repeated))
        rank = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64)
    order = np.lexsort((repeated, rank, codes[repeated]))
    sorted_codes = codes[repeated][order]
    last = np.append(sorted_codes[1:] != sorted_codes[:-1], True)
    stays: Mask = np.ones(len(keys), np.bool_)
    stays[repeated] = False
    stays[repeated[order[last]]] = True
    return np.flatnonzero(stays)


def deletes(rows: pa.Table) -> Mask | None:
    """Return which rows ask for their deletion (``_hoodie_is_deleted``); None where none does."""
    if IS_DELETED not in rows.column_names:
        return None
    column = rows.column(IS_DELETED)
    if not pat.is_boolean(column.type):
        raise SchemaError(
            f"Column {IS_DELETED!r} has type {column.type}; Hudi takes it for a mark and needs a boolean.",
            way_out="Rename it if it is not the mark of a deleted row.",
        )
    marked: Mask = pc.fill_null(column, False).to_numpy().astype(np.bool_)
    return marked if marked.any() else None


def merge_rows(
    base: pa.Table,
    changes: pa.Table,
    keys: pa.Array,
    stamp: FileStamp,
    *,
    ordering_field: str | None,
) -> Merged:
    """Merge changes into the rows of a base file.

    Args:
        base: the file's rows: `KEPT_META_FIELDS`, then the table's own columns.
        changes: the table's own columns, each key once; rows with a true ``_hoodie_is_deleted`` are deletions.
        keys: of the changes.
        stamp: of the new file.
        ordering_field: None to merge by commit time.

    """
    found = pc.index_in(base.column(RECORD_KEY), value_set=keys)
    positions = single_chunk(found)
    in_base: Rows = np.flatnonzero(np.asarray(positions.is_valid()))
    in_changes: Rows = np.asarray(positions.drop_null()).astype(np.int64)
    is_new: Mask = np.ones(len(keys), np.bool_)
    is_new[in_changes] = False
    if ordering_field is not None:
        wins = _wins(base, changes, in_base, in_changes, ordering_field)
        in_base, in_changes = in_base[wins], in_changes[wins]
    gone = deletes(changes)
    removed: Rows = np.empty(0, np.int64)
    if gone is not None:
        is_new &= ~gone
        removed = in_base[gone[in_changes]]
        in_base, in_changes = in_base[~gone[in_changes]], in_changes[~gone[in_changes]]
    inserted = np.flatnonzero(is_new)
    rows = _assemble(base, changes, keys, stamp, _Moves(in_base, removed, in_changes, inserted))
    return Merged(rows, pc.take(keys, pa.array(inserted)), len(in_base), len(removed))


def remove_rows(base: pa.Table, keys: pa.Array, stamp: FileStamp) -> Merged:
    """Remove the rows of some keys from a base file, whatever their ordering values. See `merge_rows`."""
    kept = base.filter(pc.invert(pc.is_in(base.column(RECORD_KEY), value_set=keys)))
    return Merged(_complete(kept, stamp), keys.slice(0, 0), 0, base.num_rows - kept.num_rows)


@dataclass(frozen=True, slots=True)
class _Moves:
    """Which rows go where: positions in the file, and in the changes."""

    replaced: Rows
    removed: Rows
    replacements: Rows
    inserted: Rows


def _wins(base: pa.Table, changes: pa.Table, in_base: Rows, in_changes: Rows, field: str) -> Mask:
    """Return which changes win over the file's row: an equal or greater ordering value, or none in the file."""
    old = sortable(pc.take(field_column(base, field), pa.array(in_base)))
    new = sortable(pc.take(field_column(changes, field), pa.array(in_changes)))
    wins: Mask = np.asarray(pc.fill_null(pc.greater_equal(new, old), True)).astype(np.bool_)
    return wins


def _assemble(base: pa.Table, changes: pa.Table, keys: pa.Array, stamp: FileStamp, moves: _Moves) -> pa.Table:
    source = pa.array(np.concatenate([moves.replacements, moves.inserted]))
    fresh = _stamped(changes.take(source), pc.take(keys, source), stamp)
    order: Rows = np.arange(base.num_rows, dtype=np.int64)
    order[moves.replaced] = base.num_rows + np.arange(len(moves.replaced))
    if len(moves.removed):
        order = np.delete(order, moves.removed)
    new = base.num_rows + len(moves.replaced) + np.arange(len(moves.inserted))
    both = pa.concat_tables([_plain_dictionaries(base), fresh]).unify_dictionaries()
    # Appending is cheaper than picking rows one by one.
    rows = both if not len(moves.replaced) and not len(moves.removed) else both.take(pa.array(np.append(order, new)))
    return _complete(rows, stamp)


def _stamped(changes: pa.Table, keys: pa.Array, stamp: FileStamp) -> pa.Table:
    meta = {
        COMMIT_TIME: constant_column(stamp.requested_time, changes.num_rows),
        COMMIT_SEQNO: stamp.sequence_numbers(0, changes.num_rows),
        RECORD_KEY: keys,
    }
    return with_meta_columns(meta, changes)


def _plain_dictionaries(base: pa.Table) -> pa.Table:
    """Make the commit time a dictionary column, as the rows that come in have it."""
    times = base.column(COMMIT_TIME)
    if not pat.is_dictionary(times.type):
        times = pc.dictionary_encode(times)
    meta = {COMMIT_TIME: times, COMMIT_SEQNO: base.column(COMMIT_SEQNO), RECORD_KEY: base.column(RECORD_KEY)}
    return with_meta_columns(meta, base)


def _complete(rows: pa.Table, stamp: FileStamp) -> pa.Table:
    """Add the two meta columns that are the same for all rows of the file."""
    constants = {PARTITION_PATH: stamp.partition_path, FILE_NAME: stamp.file_name}
    meta = {
        name: constant_column(constants[name], rows.num_rows) if name in constants else rows.column(name)
        for name in META_FIELDS
    }
    return with_meta_columns(meta, rows)
