"""Batch reads of ``format("drawstring")``: one split of a query for each of Spark's tasks.

Whose duty: Spark makes a reader in one Python process, which plans, and hands copies of it to its tasks in others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from drawstring.context import TableContext
from drawstring.errors import SchemaError
from drawstring.read.arrow_reader import query_schema
from drawstring.read.cdc import CDC_SCHEMA
from drawstring.read.operation_field import with_operation_field
from drawstring.read.ranges import Bounds
from drawstring.read.schema import resolve_schema
from drawstring.read.time_travel import parse_as_of
from drawstring.read.view import check_readable, load_snapshot
from drawstring.spark.source_filters import parse_filter
from drawstring.spark.source_options import AS_OF, BEGIN, DATA_SKIPPING, END, FILTER, Kind, ReadRequest
from drawstring.spark.splits import Reading, Split, SplitPlan, change_splits, snapshot_splits
from drawstring.spark.types import spark_schema
from drawstring.timeline.load import load_timeline


def request_columns(request: ReadRequest, context: TableContext) -> pa.Schema:
    """Return the columns that a read has.

    Args:
        request: what is read.
        context: of the table.

    Raises:
        SchemaError: the table has no columns yet.
        InputError: the snapshot time is none that the table has.

    """
    if request.kind is Kind.CHANGES:
        return CDC_SCHEMA
    check_readable(context)
    timeline = load_timeline(context.ports.storage, context.config)
    as_of = None if request.options[AS_OF] is None else parse_as_of(request.options[AS_OF])
    schema = resolve_schema(context, timeline, as_of)
    return query_schema(context, with_operation_field(context, timeline, schema, as_of=as_of))


def check_given_schema(given: StructType, columns: pa.Schema, uri: str, *, way_out: str) -> None:
    """Refuse columns that are not those of the table. Raises `SchemaError`."""
    own = spark_schema(columns)
    if [(f.name, f.dataType) for f in given] != [(f.name, f.dataType) for f in own]:
        raise SchemaError(f"The schema {given.simpleString()} is not the one of {uri}.", way_out=way_out)


@dataclass
class SplitPartition(InputPartition):
    """One split, and its number."""

    number: int
    split: Split


class TableReader(DataSourceReader):
    """Reads a snapshot, or the changes of a range.

    Args:
        request: what is read.
        schema: the columns as Spark has them.

    Raises:
        SchemaError: `schema` is not the table's.
        DrawstringError: all that can be found wrong without reading rows.

    """

    def __init__(self, request: ReadRequest, schema: StructType) -> None:
        self._request = request.for_batch()
        self._schema = schema
        self._context = request.open()
        columns = request_columns(request, self._context)
        way_out = "Leave the schema out, and select and cast columns afterwards."
        check_given_schema(schema, columns, self._context.ports.storage.uri, way_out=way_out)
        self._filter = parse_filter(self._request.options[FILTER], columns)

    @cached_property
    def _plan(self) -> SplitPlan:
        return plan_batch(self._request, self._context, self._filter)

    @cached_property
    def _reading(self) -> Reading:
        return self._plan.reading(self._context.ports.storage, self._schema)

    def __getstate__(self) -> dict[str, Any]:
        """Return what tasks need: not the plan, each of whose splits goes to its own task."""
        return {"_reading": self._reading}

    def partitions(self) -> Sequence[InputPartition]:
        """See `DataSourceReader.partitions`."""
        return [SplitPartition(number, split) for number, split in enumerate(self._plan.splits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """See `DataSourceReader.read`."""
        if isinstance(partition, SplitPartition):  # Spark asks for one empty partition where there are no splits.
            yield from self._reading.batches(partition.number, partition.split)


def plan_batch(request: ReadRequest, context: TableContext, condition: list[Any] | None) -> SplitPlan:
    """Plan a batch read.

    Args:
        request: what is read.
        context: of the table.
        condition: of the rows that are wanted, as `drawstring.table.Table.read` takes it; None for all.

    """
    if request.kind in {Kind.ROWS, Kind.CHANGES}:
        start, end = request.options[BEGIN], request.options[END]
        cdc = request.kind is Kind.CHANGES
        return change_splits(context, start, end, bounds=Bounds.CLOSED, cdc=cdc, filter=condition)
    read_optimized = request.kind is Kind.READ_OPTIMIZED
    snapshot = load_snapshot(context, as_of=request.options[AS_OF], read_optimized=read_optimized)
    return snapshot_splits(context, snapshot, condition, statistics=request.options[DATA_SKIPPING])
