"""Queries for changes: what happened to a table between two times.

Whose duty: one face for both kinds, rows in their last state (`drawstring.read.incremental`) and change data
(`drawstring.read.cdc`), and the checkpoint that a consumer goes on from. It lies in the metadata of the result's
schema, so it travels with the rows, into a Parquet file too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.errors import NotFoundError
from drawstring.read.arrow_reader import filter_expression, keep_rows, wanted_columns
from drawstring.read.cdc import CDC_SCHEMA, plan_cdc, read_cdc
from drawstring.read.incremental import plan_changes, read_changes
from drawstring.read.ranges import parse_bounds

CHECKPOINT_KEY: Final = b"drawstring.checkpoint"
"""In the schema's metadata of a result: where to go on, as the start of a query with bounds ``"(]"``."""

_RETRIES: Final = 3
"""Files that the cleaner takes away between the plan and the reading make the query be planned again."""


def changes(
    context: TableContext,
    start: str | None = None,
    end: str | None = None,
    *,
    bounds: str = "[]",
    cdc: bool = False,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
) -> pa.Table:
    """Read the changes of a range; arguments and errors as `drawstring.table.Table.changes`."""
    for attempt in range(_RETRIES):
        try:
            return _changes(context, start, end, bounds, cdc=cdc, columns=columns, filter=filter, meta=meta_columns)
        except NotFoundError:
            if attempt + 1 == _RETRIES:
                raise
    raise AssertionError("the last attempt returns or raises")


def checkpoint(changes: pa.Table | pa.Schema) -> str | None:
    """Return where a consumer of changes goes on.

    Args:
        changes: what `Table.changes` returned, or its schema.

    Returns:
        The start of the next query, whose bounds are ``"(]"``; None where the range had neither a commit nor a start.

    """
    schema = changes.schema if isinstance(changes, pa.Table) else changes
    text = (schema.metadata or {}).get(CHECKPOINT_KEY)
    return None if text is None else str(text.decode())


def _changes(
    context: TableContext,
    start: str | None,
    end: str | None,
    bounds: str,
    *,
    cdc: bool,
    columns: Sequence[str] | None,
    filter: Any,  # noqa: A002 -- as in `Table.read`
    meta: bool,
) -> pa.Table:
    parsed = parse_bounds(bounds)
    if not cdc:
        plan = plan_changes(context, start, end, bounds=parsed)
        rows = read_changes(context, plan, columns=columns, filter=filter, meta_columns=meta)
        return _with_checkpoint(rows, plan.commits.checkpoint)
    wanted = wanted_columns(CDC_SCHEMA, columns, meta_columns=True)
    expression = filter_expression(filter, CDC_SCHEMA)
    cdc_plan = plan_cdc(context, start, end, bounds=parsed)
    rows = read_cdc(context, cdc_plan)
    kept = keep_rows(rows, expression)
    return _with_checkpoint(kept.select(wanted.names), cdc_plan.commits.checkpoint)


def _with_checkpoint(rows: pa.Table, text: str | None) -> pa.Table:
    if text is None:
        return rows
    # Replacing the metadata of a table without columns would forget how many rows it has.
    return pa.Table.from_batches(rows.to_batches(), schema=rows.schema.with_metadata({CHECKPOINT_KEY: text.encode()}))
