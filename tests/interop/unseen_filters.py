"""Queries with conditions, as a case keeps them, and how our answers to them differ from Java's.

A condition is ``[column, operator, value]`` in JSON, values in the form of the option ``drawstring.read.filter``. A
column may be a path into a struct (a list of names), and the operators ``is_null`` and ``is_valid`` ask of null: those
two are asked as expressions, which that option has no form for.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import drawstring as ds
from drawstring.errors import DrawstringError
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case
from interop.unseen_recording import unpack


def filtered_queries(case: Case) -> Sequence[Mapping[str, Any]]:
    """The queries with conditions of a case."""
    return tuple(case.details.get("filtered_queries", ()))


def option_text(query: Mapping[str, Any]) -> str | None:
    """The conditions as an option of ``format("drawstring")``; None where they have no such form."""
    plain = all(isinstance(name, str) and not asked.startswith("is_") for name, asked, _ in query["conditions"])
    return json.dumps(query["conditions"]) if plain else None


def expression(conditions: Sequence[Any], schema: pa.Schema) -> pc.Expression:
    """Conditions that all hold, as one expression."""
    return reduce(operator.and_, (_expression(*condition, schema) for condition in conditions))


def _expression(name: str | list[str], operator_name: str, value: Any, schema: pa.Schema) -> pc.Expression:
    path = [name] if isinstance(name, str) else name
    column = pc.field(*path)
    if operator_name in ("is_null", "is_valid"):
        return column.is_null() if operator_name == "is_null" else column.is_valid()
    kind = schema.field(path[0]).type
    for part in path[1:]:
        kind = kind.field(part).type
    if operator_name in ("in", "not in"):
        typed: Any = [pa.scalar(one).cast(kind).as_py() for one in value]
    else:
        typed = pa.scalar(value).cast(kind)
    return pq.filters_to_expression([[(tuple(path), operator_name, typed)]])


def wrong_filtered(case: Case, folder: Path) -> dict[str, str]:
    """Queries with conditions that the embedded engine answers otherwise than Java, and how."""
    path, options = unpack(case, folder)
    table = ds.Table.open(str(path), options=options)
    found = {}
    for query in filtered_queries(case):
        expected = pq.read_table(case.folder / query["expect"])
        try:
            condition = expression(query["conditions"], table.read().schema)
            answer = table.read(filter=condition, columns=query["columns"])
            text = difference(answer, expected)
        except DrawstringError as error:
            text = f"{type(error).__name__}: {error}"
        if text:
            found[query["id"]] = f"{query['where']}: {text}"
    return found
