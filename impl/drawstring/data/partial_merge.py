"""Merging records field by field: partial updates, payload classes, and mergers of the caller's own.

Source: Java ``PartialMergerWithKeepValues``, ``SparkRecordMergingUtils``, ``FileGroupRecordBuffer``. Entries are
folded in their order: of two records the one with the greater ordering value (the later one among equals) gives the
fields that it carries, the other one the rest. What that comes to is known of all entries of a key at once; what a
payload class or a merger makes of two of them is not, so there each entry is a step.

Partial updates change what deletes do, as in Java: from the first block that has some on, a record comes back to life
over a delete of a log file, however late it is; and over a row of the base file any delete wins.

A payload class chooses for itself which record gives which field. What it leaves empty is gone where a row of the base
file was to be updated; among log entries the earlier one then stays as it was, as in Java.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.key_texts import single_chunk
from drawstring.data.log_merge import LogBatch, Mask, Rows, counting_entries, first_matches
from drawstring.data.payloads.choice import Pairs, Rule, marked
from drawstring.errors import InputError

Merger = Callable[[pa.Table, pa.Table], pa.Table]
"""Merges aligned rows of two tables, older and newer by ordering value, into rows of the same columns. Those with a
true ``_hoodie_is_deleted``, which may be a column more, are deleted."""


@dataclass(frozen=True, slots=True)
class PayloadMerge:
    """How a table merges whose properties name a payload class.

    Attributes:
        rule: of the class, for entries of log files.
        in_base: the same for those that update rows of a base file.
        ordering_field: of the table; None where it has none.
        delete_field: as `drawstring.data.payloads.choice.Pairs` has it.
        delete_marker: likewise.

    """

    rule: Rule
    in_base: Rule
    ordering_field: str | None = None
    delete_field: str | None = None
    delete_marker: str | None = None


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of each key so far.

    Attributes:
        keys: each once.
        rows: the query's columns; anything where a key is deleted.
        present: for each column, which rows carry it.
        rank: ordering values as numbers.
        deleted: which keys are deleted.
        absolute: which of them whatever comes before.
        revives: which entries win over a delete, whatever their ordering values.

    """

    keys: pa.Array
    rows: pa.Table
    present: dict[str, Mask]
    rank: Rows
    deleted: Mask
    absolute: Mask
    revives: Mask


class FieldByField:
    """What log files say of each key, field by field, merged into the rows of a base file part by part.

    As `drawstring.data.log_merge.WholeRecords`, for batches of which some are partial, or with a merger.
    """

    def __init__(
        self, batches: Sequence[LogBatch], schema: pa.Schema, *, merger: Merger | PayloadMerge | None = None
    ) -> None:
        """Merge the log entries among themselves.

        Args:
            batches: oldest first, not empty; none is partial where a payload class merges.
            schema: the query's columns.
            merger: merges two whole records, or says which of them gives which field; None to merge what they carry.

        """
        ranks, self._ordering = _ranks(batches)
        partial = list(itertools.accumulate((b.present is not None and merger is None for b in batches), operator.or_))
        each = zip(batches, ranks, partial, strict=True)
        states = [_state_of(batch, rank, schema, partial=after) for batch, rank, after in each]
        entries = _concat(states)
        codes: Rows = pc.dictionary_encode(entries.keys).indices.to_numpy().astype(np.int64)
        counting = counting_entries(batches, codes)
        if not counting.all():
            entries, codes = _take(entries, np.flatnonzero(counting)), codes[counting]
        self._log = _folded(entries, codes, merger)
        if partial[-1]:
            self._log = replace(self._log, absolute=self._log.deleted)
        self._merger = merger
        self._unseen: Mask = np.ones(len(self._log.keys), np.bool_)

    @property
    def unseen(self) -> pa.Array:
        """Keys that no part had so far."""
        return self._log.keys.filter(pa.array(self._unseen))

    def merge(self, base: pa.Table, keys: pa.Array, ordering: pa.Array | None) -> pa.Table:
        """As `drawstring.data.log_merge.WholeRecords.merge`."""
        in_base, in_log = first_matches(keys, self._log.keys, self._unseen)
        self._unseen[in_log] = False
        if not len(in_base):
            return base
        touched, log = pa.array(in_base), _take(self._log, in_log)
        rank = np.zeros(len(in_base), np.int64)
        if ordering is not None and self._ordering is not None:
            rank, log = _on_one_scale(ordering.take(touched), self._ordering, log)
        whole, none = np.ones(len(in_base), np.bool_), np.zeros(len(in_base), np.bool_)
        present = dict.fromkeys(base.column_names, whole)
        old = _State(keys.take(touched), base.take(touched), present, rank, none, none, none)
        merged = _pairwise(old, log, self._merger, in_base=True)
        order: Rows = np.arange(base.num_rows, dtype=np.int64)
        order[in_base] = base.num_rows + np.arange(len(in_base))
        order = np.delete(order, in_base[merged.deleted])
        return pa.concat_tables([base, merged.rows]).take(pa.array(order))

    def rest(self) -> pa.Table:
        """As `drawstring.data.log_merge.WholeRecords.rest`."""
        return self._log.rows.filter(pa.array(self._unseen & ~self._log.deleted))


def _ranks(batches: Sequence[LogBatch]) -> tuple[list[Rows], pa.Array | None]:
    """Ordering values of each batch as numbers of one scale, from 1, and the values; zeros and None by commit time."""
    counts = [len(b.keys) for b in batches]
    known = [b.ordering for b in batches if b.ordering is not None]
    if len(known) < len(counts):
        return [np.zeros(n, np.int64) for n in counts], None
    values = pa.chunked_array(known)
    rank = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64)
    _, first = np.unique(rank, return_index=True)
    ends = np.cumsum([0, *counts])
    return [rank[start:end] for start, end in itertools.pairwise(ends)], single_chunk(values.take(pa.array(first)))


def _on_one_scale(ordering: pa.Array, log_ordering: pa.Array, log: _State) -> tuple[Rows, _State]:
    """Return the ranks of base rows, and the log entries with ranks that compare with those."""
    both = pa.chunked_array([log_ordering, ordering])
    rank = pc.rank(both, tiebreaker="dense").to_numpy().astype(np.int64)
    return rank[len(log_ordering) :], replace(log, rank=rank[: len(log_ordering)][log.rank - 1])


def _state_of(batch: LogBatch, rank: Rows, schema: pa.Schema, *, partial: bool) -> _State:
    """A batch as a state of its own, `partial` from the first partial one on; deleted entries get rows of nulls."""
    carried = set(schema.names) if batch.present is None else batch.present
    rows = schema.empty_table() if batch.rows is None else batch.rows
    position = np.where(batch.deleted, -1, np.cumsum(~batch.deleted) - 1)
    taken = rows.take(pa.array(position, mask=batch.deleted))
    present = {name: ~batch.deleted & (name in carried) for name in schema.names}
    return _State(batch.keys, taken, present, rank, batch.deleted, batch.absolute, ~batch.deleted & partial)


def _folded(entries: _State, codes: Rows, merger: Merger | PayloadMerge | None) -> _State:
    """Fold the entries of each key in their order; keys come in the order of their numbers, `codes`."""
    may_revive = entries.revives.any() and (entries.deleted & ~entries.absolute).any()
    return _in_rounds(entries, codes, merger) if merger is not None or may_revive else _at_once(entries, codes)


def _at_once(entries: _State, codes: Rows) -> _State:
    """Fold them as `_pairwise` would without a merger, in as many steps for a key of many entries as for one of few.

    Nothing may be brought back to life but over absolute deletes, over which each record wins anyhow.

    An entry wins that is not less than the winners before it; a delete that is absolute wins, and what was before it no
    longer counts. Of a key stays what came from the first winner after the last delete that won: each field as the
    last winner has it that carries it, else as the first other record has it.
    """
    if not len(codes):
        return entries
    order = np.argsort(codes, kind="stable")
    codes, rank, deleted = codes[order], entries.rank[order], entries.deleted[order]
    is_first = np.append(True, codes[1:] != codes[:-1])
    starts, place = np.flatnonzero(is_first), np.arange(len(codes))
    lengths = np.diff(np.append(starts, len(codes)))
    # Ranks that only grow from one run of comparable entries to the next, so that one running maximum serves all.
    raised = np.cumsum(is_first | (deleted & entries.absolute[order])) * (int(rank.max()) + 1) + rank
    wins = raised == np.maximum.accumulate(raised)
    last_delete = np.maximum.reduceat(np.where(wins & deleted, place, -1), starts)
    alive = wins & ~deleted & (place > np.repeat(last_delete, lengths))
    none = len(codes)
    first = np.minimum.reduceat(np.where(alive, place, none), starts)
    counts = ~deleted & (place >= np.repeat(first, lengths))
    first = np.where(first == none, last_delete, first)
    arrays, present = [], {}
    for name, mask in entries.present.items():
        carries = counts & mask[order]
        winner = np.maximum.reduceat(np.where(carries & wins, place, -1), starts)
        other = np.minimum.reduceat(np.where(carries, place, none), starts)
        present[name] = other < none
        chosen = np.where(winner >= 0, winner, np.where(present[name], other, first))
        arrays.append(entries.rows.column(name).take(pa.array(order[chosen])))
    last = order[np.maximum.reduceat(np.where(wins, place, -1), starts)]
    return _State(
        entries.keys.take(pa.array(last)),
        pa.Table.from_arrays(arrays, schema=entries.rows.schema),
        present,
        entries.rank[last],
        entries.deleted[last],
        entries.absolute[last],
        entries.revives[last],
    )


def _in_rounds(entries: _State, codes: Rows, merger: Merger | PayloadMerge | None) -> _State:
    """Fold them where each step needs the rows that the one before it made.

    Keys have nothing to do with each other: in each round the next entry of all keys that have one is merged, and what
    keys without one have become is put aside. So a round costs what it merges, however many there are.
    """
    occurrence = _occurrences(codes)
    order = np.lexsort((codes, occurrence))
    entries, codes = _take(entries, order), codes[order]
    ends = np.cumsum(np.bincount(occurrence))
    live, live_codes = _slice(entries, 0, ends[0]), codes[: ends[0]]
    done, done_codes = [], []
    for start, end in itertools.pairwise(ends):
        goes_on = np.isin(live_codes, codes[start:end], assume_unique=True)
        if not goes_on.all():
            done.append(_take(live, np.flatnonzero(~goes_on)))
            done_codes.append(live_codes[~goes_on])
            live = _take(live, np.flatnonzero(goes_on))
        live_codes = codes[start:end]
        live = _pairwise(live, _slice(entries, start, end), merger, in_base=False)
    if not done:
        return live
    return _take(_concat([*done, live]), np.argsort(np.concatenate([*done_codes, live_codes])))


def _occurrences(codes: Rows) -> Rows:
    """Return for each entry how many entries of its key come before it."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.append(True, codes[order][1:] != codes[order][:-1]))
    occurrence: Rows = np.empty(len(codes), np.int64)
    occurrence[order] = np.arange(len(codes)) - np.repeat(starts, np.diff(np.append(starts, len(codes))))
    return occurrence


def _slice(state: _State, start: int, end: int) -> _State:
    return _State(
        state.keys[start:end],
        state.rows.slice(start, end - start),
        {name: mask[start:end] for name, mask in state.present.items()},
        state.rank[start:end],
        state.deleted[start:end],
        state.absolute[start:end],
        state.revives[start:end],
    )


def _take(state: _State, rows: Rows) -> _State:
    taken = pa.array(rows)
    return _State(
        state.keys.take(taken),
        state.rows.take(taken),
        {name: mask[rows] for name, mask in state.present.items()},
        state.rank[rows],
        state.deleted[rows],
        state.absolute[rows],
        state.revives[rows],
    )


def _concat(states: Sequence[_State]) -> _State:
    return _State(
        single_chunk(pa.chunked_array([s.keys for s in states])),
        pa.concat_tables([s.rows for s in states]),
        {name: np.concatenate([s.present[name] for s in states]) for name in states[0].present},
        np.concatenate([s.rank for s in states]),
        np.concatenate([s.deleted for s in states]),
        np.concatenate([s.absolute for s in states]),
        np.concatenate([s.revives for s in states]),
    )


def _pairwise(old: _State, new: _State, merger: Merger | PayloadMerge | None, *, in_base: bool) -> _State:
    """Merge aligned entries of the same keys; `in_base` says that the old ones are rows of the base file."""
    new_wins = (new.rank >= old.rank) | (new.deleted & new.absolute) | (old.deleted & new.revives)
    both = ~old.deleted & ~new.deleted
    if isinstance(merger, PayloadMerge):
        return _by_payload(old, new, both, new_wins, merger, in_base=in_base)
    from_new, present = {}, {}
    for name in old.rows.column_names:
        # Where both are records, a field that the winner does not carry comes from the other one.
        from_new[name] = np.where(
            both, np.where(new_wins, new.present[name], ~old.present[name] & new.present[name]), new_wins
        )
        present[name] = np.where(
            both, old.present[name] | new.present[name], np.where(new_wins, new.present[name], old.present[name])
        )
    merged = _State(
        old.keys,
        _fields_of(old.rows, new.rows, from_new),
        present,
        np.where(new_wins, new.rank, old.rank),
        np.where(new_wins, new.deleted, old.deleted),
        np.where(new_wins, new.absolute, old.absolute),
        np.where(new_wins, new.revives, old.revives),
    )
    return merged if merger is None else _by_merger(merged, old, new, both, new_wins, merger)


def _fields_of(old: pa.Table, new: pa.Table, from_new: Mapping[str, Mask]) -> pa.Table:
    """Return rows that have each column from one of two tables, row by row."""
    arrays = [_either(mask, new.column(name), old.column(name)) for name, mask in from_new.items()]
    return pa.Table.from_arrays(arrays, schema=old.schema)


def _either(mask: Mask, yes: pa.ChunkedArray, no: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if mask.all() or not mask.any():
        return yes if mask.all() else no
    return pc.if_else(pa.array(mask), single_chunk(yes), single_chunk(no))


def _by_payload(old: _State, new: _State, both: Mask, new_wins: Mask, merge: PayloadMerge, *, in_base: bool) -> _State:
    """Merge where two records meet as a payload class says, elsewhere by ordering values.

    The merged record's ordering value is what its ordering field has then.
    """
    where = np.flatnonzero(both)
    taken = pa.array(where)
    older, newer = old.rows.take(taken), new.rows.take(taken)
    rule = merge.in_base if in_base else merge.rule
    choice = rule(Pairs(older, newer, merge.ordering_field, merge.delete_field, merge.delete_marker))
    from_new = {}
    for name in old.rows.column_names:
        from_new[name] = new_wins.copy()
        from_new[name][where] = choice.of(name) & ~choice.nothing
    decides = from_new.get(merge.ordering_field or "", new_wins)
    deleted = np.where(new_wins, new.deleted, old.deleted)
    if in_base:
        deleted[where] = choice.nothing
    return _State(
        old.keys,
        _fields_of(old.rows, new.rows, from_new),
        dict.fromkeys(old.rows.column_names, ~deleted),
        np.where(decides, new.rank, old.rank),
        deleted,
        np.where(new_wins, new.absolute, old.absolute),
        np.where(new_wins, new.revives, old.revives),
    )


def _by_merger(merged: _State, old: _State, new: _State, both: Mask, new_wins: Mask, merger: Merger) -> _State:
    """Replace the rows where two records met by what the caller's merger makes of them, if anything."""
    where = np.flatnonzero(both)
    if not len(where):
        return merged
    taken = pa.array(where)
    newer = _choose(pa.array(new_wins[where]), new.rows.take(taken), old.rows.take(taken))
    older = _choose(pa.array(~new_wins[where]), new.rows.take(taken), old.rows.take(taken))
    result, gone = _checked(merger(older, newer), len(where), merged.rows.schema)
    order: Rows = np.arange(len(merged.keys), dtype=np.int64)
    order[where] = len(order) + np.arange(len(where))
    rows = pa.concat_tables([merged.rows, result])
    deleted = merged.deleted.copy()
    deleted[where] = gone
    return replace(merged, rows=rows.take(pa.array(order)), deleted=deleted)


def _checked(result: object, count: int, schema: pa.Schema) -> tuple[pa.Table, Mask]:
    """Return what a merger made, in the query's types, and which rows it deletes.

    Raises `InputError` where it is not what was asked for.
    """
    if not isinstance(result, pa.Table) or result.num_rows != count:
        made = f"{result.num_rows} rows" if isinstance(result, pa.Table) else type(result).__name__
        raise InputError(
            f"The merger was given {count} pairs of rows and returned {made}.",
            rule="MG-003",
            way_out="Return a pyarrow.Table with one row for each pair, in their order.",
        )
    try:
        return result.select(schema.names).cast(schema), marked(result)
    except (pa.ArrowException, KeyError, ValueError) as error:
        raise InputError(
            f"What the merger returned does not fit the columns that it was given: {error}.",
            rule="MG-003",
            way_out="Return the same columns in the same types; rows come with the columns of the query only.",
        ) from error


def _choose(mask: pa.Array, yes: pa.Table, no: pa.Table) -> pa.Table:
    arrays = [pc.if_else(mask, single_chunk(yes.column(n)), single_chunk(no.column(n))) for n in yes.column_names]
    return pa.Table.from_arrays(arrays, schema=yes.schema)
