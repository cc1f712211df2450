"""How rows of one key are merged, as a table's properties say; picklable, so that tasks know it.

Source: Java ``HoodieReaderContext``, ``FileGroupReaderSchemaHandler``. Whose duty: what merges, which columns it needs,
and what of it cannot be done. Merging itself is in `drawstring.data.log_merge` and `drawstring.data.partial_merge`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from drawstring.data.partial_merge import Merger, PayloadMerge
from drawstring.data.payloads.choice import Choice, Pairs, all_of, none_of
from drawstring.data.payloads.classes import PayloadClass
from drawstring.errors import UnsupportedTableError
from drawstring.read.mergers import find_merger, known_payload
from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.merge_modes import MergeMode
from drawstring_spec.meta_fields import IS_DELETED, RECORD_KEY


@dataclass(frozen=True, slots=True)
class RecordKeys:
    """How record keys are built; picklable (see `drawstring.data.record_keys.KeyConfig`)."""

    record_key_fields: tuple[str, ...]
    key_generator: KeyGenerator


@dataclass(frozen=True, slots=True)
class MergeRules:
    """How rows of one key are merged; picklable.

    Attributes:
        mode: of the table.
        strategy_id: of the table; names the merger in mode CUSTOM.
        ordering_field: None where the table has none.
        keys: how record keys are built, for tables whose rows do not carry them.
        has_record_key: whether rows carry their record key.
        delete_field: column whose value marks a deleted row, with `delete_marker`; None without one.
        delete_marker: the value, as text.
        payload_class: Java class that merges rows in mode CUSTOM, if one does.

    """

    mode: MergeMode
    strategy_id: str
    ordering_field: str | None
    keys: RecordKeys
    has_record_key: bool
    delete_field: str | None = None
    delete_marker: str | None = None
    payload_class: str = ""

    @property
    def by_event_time(self) -> bool:
        """Whether ordering values decide; without an ordering field all are equal, and the later row wins."""
        return self.mode is not MergeMode.COMMIT_TIME_ORDERING and self.ordering_field is not None

    @property
    def payload(self) -> PayloadClass | None:
        """The payload class of Hudi's own by which rows are merged; None where something else merges them."""
        return known_payload(self.strategy_id, self.payload_class) if self.mode is MergeMode.CUSTOM else None


def needed_for_merging(available: pa.Schema, columns: pa.Schema, rules: MergeRules) -> pa.Schema:
    """Return `columns` and behind them those that decide which rows are the same, which is newer, which is deleted.

    Raises:
        UnsupportedTableError: the table has no column of the ordering field's name, such as one within a struct, or
            nothing of what its payload class cannot do without.

    """
    if rules.by_event_time and rules.ordering_field not in available.names:
        raise UnsupportedTableError(
            f"The table has no column {rules.ordering_field!r}, its ordering field: its log files cannot be merged.",
            way_out="Correct hoodie.table.precombine.field in hoodie.properties, or read with read_optimized=True.",
        )
    if rules.payload is not None:
        _check_payload(available, rules, rules.payload)
    keys = [RECORD_KEY] if rules.has_record_key else [n.partition(".")[0] for n in rules.keys.record_key_fields]
    wanted = dict.fromkeys([*keys, *deciding_columns(rules)])
    extra = [n for n in wanted if n in available.names and n not in columns.names]
    return pa.schema([*columns, *(available.field(n) for n in extra)])


def _check_payload(available: pa.Schema, rules: MergeRules, payload: PayloadClass) -> None:
    """Refuse what a payload class cannot merge. Raises `UnsupportedTableError`."""
    reasons = [f"it has no column {name!r}" for name in payload.columns if name not in available.names]
    if not rules.has_record_key:
        reasons.append("its rows have no meta fields")
    if reasons:
        raise UnsupportedTableError(
            f"The table merges its rows by the payload class {rules.payload_class}, but {reasons[0]}.",
            rule="MG-008",
            way_out="Java Hudi cannot merge its log files either; read with read_optimized=True.",
        )


def deciding_columns(rules: MergeRules) -> list[str]:
    """Columns that decide which of two rows is newer, and whether it is deleted."""
    names = [rules.ordering_field or "", rules.delete_field or "", IS_DELETED]
    if rules.payload is not None:
        names += [*rules.payload.columns, *rules.payload.marks]
    return [name.partition(".")[0] for name in names]


def merger_of(rules: MergeRules, *, partial: bool, by_ids: bool) -> Merger | PayloadMerge | None:
    """Return what merges rows in mode CUSTOM; None in other modes.

    Args:
        rules: of the table.
        partial: whether log files have partial updates.
        by_ids: whether the table's columns have ids, by which its schema evolves.

    Raises:
        UnsupportedTableError: nothing is known that merges such rows.

    """
    if rules.mode is not MergeMode.CUSTOM:
        return None
    merger = find_merger(rules.strategy_id, rules.payload_class)
    if not isinstance(merger, PayloadClass):
        return merger
    if partial:
        raise UnsupportedTableError(
            f"The table merges its rows by the payload class {rules.payload_class}, and its log files have partial "
            "updates, which payload classes cannot merge.",
            rule="MG-008",
            way_out="Java Hudi cannot merge them either; read with read_optimized=True.",
        )
    in_base = _no_pairs if by_ids else merger.rule
    return PayloadMerge(merger.rule, in_base, rules.ordering_field, rules.delete_field, rules.delete_marker)


def _no_pairs(pairs: Pairs) -> Choice:
    """Refuse to update rows of base files where columns have ids. Raises `UnsupportedTableError`.

    Java decodes such a row in the schema of what updates it, which is another one then, and fails.
    """
    if pairs.newer.num_rows:
        raise UnsupportedTableError(
            "The table merges its rows by a payload class, and its columns have ids: log files update rows of a base "
            "file that are of another schema.",
            rule="MG-008",
            way_out="Java Hudi cannot merge them either; read with read_optimized=True, or as of a time before the "
            "table's columns were changed.",
        )
    return Choice(all_of(pairs.newer), none_of(pairs.newer))
