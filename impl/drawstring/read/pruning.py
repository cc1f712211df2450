"""Leaving files out of which a filter can already say, by their partition, that it keeps no row of them.

Whose duty: only speed. What is left out is certain; the filter itself is still applied to the rows that are read.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.fs as pafs
import pyarrow.parquet as pq


def uses_column(expression: Any, name: str, available: pa.Schema) -> bool:
    """Whether an expression cannot be evaluated without a column; Arrow has no other way to tell.

    Args:
        expression: one that can be evaluated on `available`.
        name: of the column.
        available: all columns.

    """
    others = pa.schema([f for f in available if f.name != name])
    try:
        others.empty_table().filter(expression)
    except pa.ArrowInvalid:
        return True
    return False


def partition_condition(condition: Any, expression: Any, names: Sequence[str], available: pa.Schema) -> Any:
    """Return what a filter asks of the partition columns alone, as an expression; None if that is nothing.

    Of conditions in a list the others are dropped, which keeps more rows, never fewer. An expression cannot be
    taken apart: it counts only if it uses no other column.

    Args:
        condition: the filter as the caller gave it.
        expression: the same as an expression.
        names: of the columns that have one value in each partition.
        available: all columns.

    """
    if expression is None or not names:
        return None
    if isinstance(condition, pc.Expression):
        others = [name for name in available.names if name not in names]
        return None if any(uses_column(expression, name, available) for name in others) else expression
    if not isinstance(condition, Sequence):
        return None
    # As pyarrow takes it: a list of conditions is one "and", a list of lists an "or" of them.
    conjunctions = [condition] if isinstance(condition[0][0], str) else condition
    reduced = [[c for c in conjunction if c[0] in names] for conjunction in conjunctions]
    return pq.filters_to_expression(reduced) if all(reduced) else None


def may_hold_rows(condition: Any, values: Mapping[str, pa.Scalar]) -> bool:
    """Whether a partition with these values can have rows that the condition keeps."""
    if not values:
        return True  # A table without columns has no row, whatever the condition.
    row = pa.table({name: pa.array([value.as_py()], value.type) for name, value in values.items()})
    try:
        return bool(row.filter(condition).num_rows)
    except pa.ArrowInvalid:
        return True  # This file's path does not decide every column that the condition asks for.


def promise_of_values(values: Mapping[str, pa.Scalar]) -> Any:
    """What holds for every row of a partition with these values, as an expression; None if nothing is known.

    Of floating values nothing is said: no comparison holds for NaN.
    """
    parts = [
        pc.field(name) == value if value.is_valid else pc.field(name).is_null()
        for name, value in values.items()
        if not pa.types.is_floating(value.type)
    ]
    return functools.reduce(operator.and_, parts) if parts else None


def asked_values(condition: Any) -> dict[str, list[Any]]:
    """Return the columns of which a filter asks for values, with the values.

    Args:
        condition: the filter as the caller gave it. Only a list of conditions, all of which must hold, can be taken
            apart; of any other form nothing is said.

    """
    if not isinstance(condition, Sequence) or not condition:
        return {}
    conjunction = condition if isinstance(condition[0][0], str) else condition[0] if len(condition) == 1 else ()
    asked = {name: [value] for name, operator_name, value in conjunction if operator_name in ("=", "==")}
    return {name: list(value) for name, operator_name, value in conjunction if operator_name == "in"} | asked


def possible(promises: Sequence[Any], available: pa.Schema, expression: Any) -> list[int]:
    """Return which promises leave room for the filter. Arrow is asked with files that it never opens.

    Args:
        promises: what holds for every row of something, as expressions; None where nothing is known.
        available: all columns that the filter may use.
        expression: the filter.

    """
    kind = pads.ParquetFileFormat()
    nowhere = pafs.LocalFileSystem()
    fragments = [
        kind.make_fragment(str(index), filesystem=nowhere, partition_expression=promised)
        for index, promised in enumerate(promises)
    ]
    dataset = pads.FileSystemDataset(fragments, available, kind, nowhere)
    return sorted(int(fragment.path) for fragment in dataset.get_fragments(filter=expression))
