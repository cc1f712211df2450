"""Changes of a table as Spark DataFrames: planned in the driver, each split read by one Arrow task.

Whose duty: the same columns, types and rows as `drawstring.read.changes` gives, for as many rows as executors can take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame

from drawstring.context import TableContext
from drawstring.errors import UnsupportedTableError
from drawstring.read.arrow_reader import wanted_columns
from drawstring.read.mergers import lend_merger
from drawstring.read.ranges import parse_bounds
from drawstring.spark.filters import column
from drawstring.spark.jobs import Batches, arrow_task
from drawstring.spark.session import check_session
from drawstring.spark.slice_tasks import OwnMerger, own_merger
from drawstring.spark.splits import Reading, Split, change_splits
from drawstring.spark.types import spark_schema


class SparkChanges(NamedTuple):
    """What a query for changes returns on Spark.

    Attributes:
        rows: a DataFrame; its files are read when Spark needs them.
        checkpoint: the start of the next query, whose bounds are ``"(]"``; None where the range had neither a commit
            nor a start.

    """

    rows: DataFrame
    checkpoint: str | None


@dataclass(frozen=True, slots=True)
class _Job:
    """What all tasks share, what each of them reads, and what merges rows where that is the caller's own function."""

    reading: Reading
    splits: tuple[Split, ...]
    merger: OwnMerger | None


def changes_to_spark(
    context: TableContext,
    spark: Any,
    start: str | None = None,
    end: str | None = None,
    *,
    bounds: str = "[]",
    cdc: bool = False,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
) -> SparkChanges:
    """Return the changes of a range as a DataFrame.

    Args:
        context: of the table.
        spark: the session.
        start: as `drawstring.table.Table.changes`.
        end: as there.
        bounds: as there.
        cdc: as there.
        columns: as there.
        filter: as there; a Spark `Column` is taken too.
        meta_columns: as there.

    Raises:
        EngineError: the session cannot be used.
        SchemaError: Spark has no type for a column.
        DrawstringError: as there, all that can be found without reading rows. A file that is cleaned before its task
            reads it fails the job.

    """
    session = check_session(spark)
    by_spark = isinstance(filter, Column)
    plan = change_splits(
        context,
        start,
        end,
        bounds=parse_bounds(bounds),
        cdc=cdc,
        columns=None if by_spark else columns,
        filter=None if by_spark else filter,
        meta_columns=meta_columns or by_spark,
    )
    structure = spark_schema(plan.columns)
    job = _Job(plan.reading(context.ports.storage, structure), plan.splits, _merger(context))
    numbers = session.range(0, len(plan.splits), 1, max(1, len(plan.splits)))
    frame = numbers.mapInArrow(arrow_task(_read, job), structure)
    if by_spark:
        frame = frame.where(filter)
        wanted = wanted_columns(plan.columns, columns, meta_columns=meta_columns or cdc)
        frame = frame.select(*map(column, wanted.names))
    return SparkChanges(frame, plan.checkpoint)


def _merger(context: TableContext) -> OwnMerger | None:
    """Return the caller's merger; where none is known, the task that would need it refuses."""
    try:
        return own_merger(context.config)
    except UnsupportedTableError:
        return None


def _read(job: _Job, batches: Batches) -> Iterator[pa.RecordBatch]:
    if job.merger is not None:
        lend_merger(job.merger.strategy_id, job.merger.merge)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from job.reading.batches(number, job.splits[number])
