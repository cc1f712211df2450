"""Comparing the rows of two readers: as multisets, with values in one form whoever returned them.

Readers differ in what says nothing about the data: the order of rows and of map entries, large and small
string types, the unit and zone of a timestamp. `canonical_rows` removes these differences and no other.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)


def canonical_rows(table: pa.Table, columns: Iterable[str] | None = None) -> Counter[tuple[object, ...]]:
    """The rows of `table` as a multiset of tuples, in the order of `columns` (all by name where None)."""
    names = sorted(table.column_names) if columns is None else list(columns)
    values = [[_canonical(value, table.schema.field(n).type) for value in table[n].to_pylist()] for n in names]
    return Counter(zip(*values, strict=True)) if names else Counter()


def data_columns(table: pa.Table) -> pa.Table:
    """The table without the meta columns."""
    return table.select([name for name in table.column_names if name not in META_COLUMNS])


def difference(actual: pa.Table, expected: pa.Table, columns: Iterable[str] | None = None) -> str:
    """What differs, in words for an assertion; ``""`` when the rows are the same."""
    if columns is None and sorted(actual.column_names) != sorted(expected.column_names):
        return f"columns {sorted(actual.column_names)}, expected {sorted(expected.column_names)}"
    names = sorted(expected.column_names) if columns is None else list(columns)
    got, wanted = canonical_rows(actual, names), canonical_rows(expected, names)
    if got == wanted:
        return ""
    missing, extra = list((wanted - got).elements()), list((got - wanted).elements())
    return (
        f"{len(missing)} rows missing, {len(extra)} too many, of {sum(wanted.values())}; columns {names}; "
        f"missing {missing[:2]}; too many {extra[:2]}"
    )


def _canonical(value: object, kind: pa.DataType) -> object:
    """A hashable value that is equal for two readers exactly when the data is."""
    if value is None:
        return None
    if pa.types.is_nested(kind):
        return _canonical_nested(value, kind)
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).isoformat()
    return value


def _canonical_nested(value: object, kind: pa.DataType) -> object:
    """Maps lose the order of their entries; structs and lists keep theirs."""
    if isinstance(value, dict):
        return ("struct", tuple((f.name, _canonical(value.get(f.name), f.type)) for f in kind))
    items = list(value) if isinstance(value, list) else []
    if pa.types.is_map(kind):
        pairs = [(_canonical(k, kind.key_type), _canonical(v, kind.item_type)) for k, v in items]
        return ("map", frozenset(Counter(pairs).items()))
    return ("list", tuple(_canonical(item, kind.value_type) for item in items))
