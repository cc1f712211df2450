"""What tasks read for a query that Spark cannot answer with a scan of its own: one split each, by Arrow.

Whose duty: from the plans of `drawstring.read` to picklable splits, and from a split to record batches of exactly the
types that Spark expects. Choosing what is read is `drawstring.read`'s; where the tasks run is the callers' (jobs of
`drawstring.spark.changes`, partitions of ``format("drawstring")`` and of its streams).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from drawstring.context import TableContext
from drawstring.files import Snapshot
from drawstring.ports import Storage, TaskContext
from drawstring.read.arrow_reader import (
    filter_expression,
    keep_rows,
    query_schema,
    slice_query,
    wanted_columns,
    with_filter_columns,
)
from drawstring.read.cdc import CDC_SCHEMA, plan_cdc
from drawstring.read.cdc_reader import ChangeSplit, read_split
from drawstring.read.data_skipping import slices_with_rows
from drawstring.read.incremental import incremental_query, plan_changes
from drawstring.read.merge_reader import SliceQuery, read_slice
from drawstring.read.operation_field import with_operation_field
from drawstring.read.pruning import may_hold_rows, partition_condition
from drawstring.read.ranges import Bounds
from drawstring.read.schema import resolve_schema

Split = SliceQuery | ChangeSplit
"""What one task reads; picklable."""

_MAX_BATCH_ROWS: Final = 65_536


@dataclass(frozen=True, slots=True)
class Reading:
    """What the tasks of one query share; picklable.

    Attributes:
        storage: of the table.
        columns: that are wanted, in order, in Arrow's types as Spark takes them.
        keep: expression of the rows that are wanted; None for all.

    """

    storage: Storage
    columns: pa.Schema
    keep: Any = None

    def batches(self, number: int, split: Split) -> Iterator[pa.RecordBatch]:
        """Read one split.

        Args:
            number: of the split.
            split: to read.

        Raises:
            CorruptFileError: a file cannot be read.
            NotFoundError: a file is gone since the query was planned.

        """
        task = TaskContext(self.storage, number, 0)
        table = read_slice(task, split) if isinstance(split, SliceQuery) else read_split(task, split)
        yield from (
            keep_rows(table, self.keep)
            .select(self.columns.names)
            .cast(self.columns)
            .to_batches(max_chunksize=_MAX_BATCH_ROWS)
        )


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """The splits of one query.

    Attributes:
        columns: of the answer, as the embedded engine has them.
        splits: to be read, in any order.
        keep: expression of the rows that are wanted; None for all.
        checkpoint: where a consumer of changes goes on; None for a snapshot.

    """

    columns: pa.Schema
    splits: tuple[Split, ...]
    keep: Any = None
    checkpoint: str | None = None

    def reading(self, storage: Storage, structure: StructType) -> Reading:
        """Return what the tasks share.

        Args:
            storage: of the table.
            structure: the answer's columns as Spark has them.

        """
        return Reading(storage, arrow_columns(structure), self.keep)


def arrow_columns(structure: StructType) -> pa.Schema:
    """Return Spark's columns in the types of Arrow that its tasks expect."""
    return to_arrow_schema(structure, timezone="UTC")


def snapshot_splits(
    context: TableContext, snapshot: Snapshot, condition: Sequence[Any] | None = None, *, statistics: bool = True
) -> SplitPlan:
    """Plan a snapshot: all of its columns, and the slices that may hold rows which a condition keeps.

    Args:
        context: of the table.
        snapshot: its slices.
        condition: a list of conditions as `drawstring.table.Table.read` takes it; None for all rows. Rows that it does
            not keep are left out.
        statistics: whether those of the metadata table may leave slices out.

    """
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
    schema = with_operation_field(context, snapshot.timeline, schema, as_of=snapshot.as_of)
    columns = query_schema(context, schema)
    expression = filter_expression(condition, columns)
    slices = snapshot.slices
    if statistics:
        slices = slices_with_rows(context, snapshot, schema, columns, expression, condition)
    queries = [slice_query(context, schema, snapshot, columns, one) for one in slices]
    return SplitPlan(columns, _pruned(context, queries, columns, condition, expression), expression)


def change_splits(
    context: TableContext,
    start: str | None,
    end: str | None,
    *,
    bounds: Bounds,
    cdc: bool,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
) -> SplitPlan:
    """Plan a query for changes; arguments and errors as `drawstring.table.Table.changes`."""
    if cdc:
        wanted = wanted_columns(CDC_SCHEMA, columns, meta_columns=True)
        expression = filter_expression(filter, CDC_SCHEMA)
        changes = plan_cdc(context, start, end, bounds=bounds)
        return SplitPlan(wanted, changes.splits, expression, changes.commits.checkpoint)
    plan = plan_changes(context, start, end, bounds=bounds)
    available = query_schema(context, plan.schema)
    wanted = wanted_columns(available, columns, meta_columns=meta_columns)
    given = filter_expression(filter, available)
    expression = plan.condition if given is None else given & plan.condition
    needed = with_filter_columns(wanted, available, expression)
    queries = [incremental_query(context, plan, needed, one) for one in plan.snapshot.slices]
    splits = _pruned(context, queries, available, filter, given)
    return SplitPlan(wanted, splits, expression, plan.commits.checkpoint)


def _pruned(
    context: TableContext, queries: Sequence[SliceQuery], available: pa.Schema, condition: Any, expression: Any
) -> tuple[Split, ...]:
    by_path = partition_condition(condition, expression, context.config.partition_fields, available)
    return tuple(query for query in queries if by_path is None or may_hold_rows(by_path, query.constants))
