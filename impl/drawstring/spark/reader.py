"""Snapshots as Spark DataFrames: planned in the driver, scanned by Spark's own Parquet reader.

Whose duty: the same columns, types and rows as `drawstring.read.arrow_reader` gives. Files that were written with
the table's columns as they are now, or with fewer of them, are scanned natively, partition values taken from the
path. Where log files lie beside one, its scan leaves out the rows that they touch; what has become of
those is read beside it, in the driver where it is little, else by Arrow tasks. Files of an older schema (other types,
renamed columns), and tables on a storage that this Spark cannot open, are read by Arrow in tasks
(`drawstring.spark.ways`).
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from drawstring.context import TableContext
from drawstring.files import BaseFile, FileSlice, Snapshot
from drawstring.read.arrow_reader import (
    filter_expression,
    keep_rows,
    query_schema,
    slice_query,
    wanted_columns,
    with_filter_columns,
)
from drawstring.read.data_skipping import slices_with_rows
from drawstring.read.operation_field import with_operation_field
from drawstring.read.partition_values import partition_values
from drawstring.read.schema import TableSchema, resolve_schema
from drawstring.read.view import load_snapshot
from drawstring.spark import row_bits
from drawstring.spark.driver_rows import rows_frame
from drawstring.spark.filters import column, spark_condition
from drawstring.spark.jobs import Batches, arrow_task
from drawstring.spark.row_bits import MarkedFile
from drawstring.spark.scan import Scan, scan
from drawstring.spark.session import check_session
from drawstring.spark.slice_tasks import (
    SliceRead,
    as_spark_takes_it,
    own_merger,
    slices_frame,
    touched_rows,
    whole_slice,
)
from drawstring.spark.touched import MAX_ROWS, find_touched, is_little
from drawstring.spark.types import spark_schema
from drawstring.spark.ways import SliceWay, Way, base_files, choose_ways

logger = logging.getLogger("drawstring")


def to_spark(
    context: TableContext,
    spark: Any,
    *,
    as_of: str | None = None,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    read_optimized: bool = False,
    meta_columns: bool = True,
) -> DataFrame:
    """Return a snapshot as a DataFrame.

    Args:
        context: of the table.
        spark: the session.
        as_of: as `drawstring.table.Table.read`.
        columns: as there.
        filter: as there; a Spark `Column` is taken too. Conditions in a list, and Spark's, are pushed down into the
            scan; a `pyarrow.compute.Expression` is applied by Arrow to the rows that were scanned.
        read_optimized: as there.
        meta_columns: as there.

    Raises:
        EngineError: the session cannot be used.
        SchemaError: Spark has no type for a column.
        InputError: as there, and all other errors of `Table.read` that can be found without reading rows.

    """
    session = check_session(spark)
    snapshot = load_snapshot(context, as_of=as_of, read_optimized=read_optimized)
    asked: dict[str, Any] = {"columns": columns, "filter": filter, "meta_columns": meta_columns}
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
    schema = with_operation_field(context, snapshot.timeline, schema, as_of=snapshot.as_of, **asked)
    available = query_schema(context, schema)
    wanted = wanted_columns(available, columns, meta_columns=meta_columns)
    if isinstance(filter, Column):
        frame = snapshot_frame(context, session, snapshot, schema, available).where(filter)
        return frame.select(*map(column, wanted.names))
    expression = filter_expression(filter, available)
    needed = with_filter_columns(wanted, available, expression)
    kept = slices_with_rows(context, snapshot, schema, available, expression, filter)
    snapshot = dataclasses.replace(snapshot, slices=kept)
    frame = snapshot_frame(context, session, snapshot, schema, needed)
    if expression is not None:
        if isinstance(filter, pc.Expression):
            frame = frame.mapInArrow(arrow_task(_filter_rows, _Filtered(expression, needed)), frame.schema)
        else:
            frame = frame.where(spark_condition(filter, available))
    return frame if needed.names == wanted.names else frame.select(*map(column, wanted.names))


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """How the rows of a snapshot are read.

    Attributes:
        ways: that the slices take, in their order.
        marked: base files of the slices that are merged, with the rows that their scan leaves out.
        reads: what Arrow tasks read.
        rows: what this process has read already.

    """

    ways: tuple[SliceWay, ...]
    marked: tuple[MarkedFile, ...]
    reads: tuple[SliceRead, ...]
    rows: tuple[pa.Table, ...]


def plan_reads(
    context: TableContext, spark: SparkSession, snapshot: Snapshot, schema: TableSchema, needed: pa.Schema
) -> ReadPlan:
    """Plan how some columns of all rows of a snapshot are read; log files are looked into, arguments as below."""
    ways = choose_ways(context, spark, snapshot, schema, needed)
    query = functools.partial(slice_query, context, schema, snapshot, needed)
    merged = [query(one.file_slice) for one in ways if one.way is Way.MERGED]
    merger = own_merger(context.config) if any(one.file_slice.log_files for one in ways) else None
    touched = iter(zip(merged, find_touched(context, spark, merged, here=is_little(merged)), strict=True))
    final: list[SliceWay] = []
    marked: list[MarkedFile] = []
    reads: list[SliceRead] = []
    rows: list[pa.Table] = []
    num_rows = 0
    for one in ways:
        way = one
        if one.way is Way.MERGED and one.file_slice.base_file is not None:
            merged_query, found = next(touched)
            num_rows += found.num_rows
            reason = found.reason or ("too many rows have log files beside them" if num_rows > MAX_ROWS else "")
            if reason:
                way = SliceWay(one.file_slice, Way.ARROW, reason)
            else:
                marked.append(MarkedFile(one.file_slice.base_file, found.bits))
                if found.rows is not None:
                    rows.append(found.rows)
                else:
                    reads.append(touched_rows(merged_query, found, merger))
        if way.way is Way.ARROW:
            reads.append(whole_slice(query(one.file_slice), merger))
        logger.debug(
            "%s: read %s%s", _name(one.file_slice), way.way.value, f", since {way.reason}" if way.reason else ""
        )
        final.append(way)
    return ReadPlan(tuple(final), tuple(marked), tuple(reads), tuple(rows))


def _name(one: FileSlice) -> str:
    return f"{one.group.partition_path}/{one.group.file_id} of {one.base_instant_time}"


def slice_ways(
    context: TableContext,
    spark: Any,
    *,
    as_of: str | None = None,
    columns: Sequence[str] | None = None,
    read_optimized: bool = False,
) -> tuple[SliceWay, ...]:
    """Say how `to_spark` reads each file slice of a snapshot, and why not natively; arguments as there.

    The same is logged by the logger ``drawstring`` at the level of debugging.
    """
    snapshot = load_snapshot(context, as_of=as_of, read_optimized=read_optimized)
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
    schema = with_operation_field(context, snapshot.timeline, schema, as_of=snapshot.as_of, columns=columns)
    needed = wanted_columns(query_schema(context, schema), columns, meta_columns=True)
    return plan_reads(context, check_session(spark), snapshot, schema, needed).ways


def snapshot_frame(
    context: TableContext, spark: SparkSession, snapshot: Snapshot, schema: TableSchema, needed: pa.Schema
) -> DataFrame:
    """Return some columns of all rows of a snapshot.

    Args:
        context: of the table.
        spark: the session.
        snapshot: the file slices.
        schema: of the table at the snapshot's time.
        needed: columns, in order.

    """
    structure = spark_schema(needed)
    plan = plan_reads(context, spark, snapshot, schema, needed)
    native = _native_frames(context, spark, schema, needed, base_files(plan.ways, Way.NATIVE))
    frames = [_in_order(frame, needed.names) for frame, _ in native]
    for group in row_bits.groups(plan.marked):
        bits = {marked.file: marked for marked in group}
        for frame, files in _native_frames(context, spark, schema, needed, list(bits)):
            left = row_bits.without_marked_rows(spark, frame, [bits[file] for file in files])
            frames.append(_in_order(left, needed.names))
    if plan.reads:
        frames.append(slices_frame(spark, context.ports.storage, plan.reads, structure))
    if any(table.num_rows for table in plan.rows):
        frames.append(rows_frame(spark, pa.concat_tables(plan.rows), structure))
    return reduce(DataFrame.union, frames) if frames else spark.createDataFrame([], structure)


def _in_order(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the columns in an order; they are hardly ever in another one, and naming each of many takes long."""
    return frame if frame.columns == list(names) else frame.select(*map(column, names))


def _native_frames(
    context: TableContext, spark: SparkSession, schema: TableSchema, needed: pa.Schema, files: Sequence[BaseFile]
) -> Iterator[tuple[DataFrame, list[BaseFile]]]:
    """Yield scans of base files, with the files of each."""
    structure = spark_schema(needed)
    for names, members, values in _by_constants(context, schema, needed, files):
        constants = StructType([structure[name] for name in names])
        yield scan(spark, Scan(context.ports.storage.uri, members, structure, constants, values)), members


def _by_constants(
    context: TableContext, schema: TableSchema, needed: pa.Schema, files: Sequence[BaseFile]
) -> Iterator[tuple[tuple[str, ...], list[BaseFile], Mapping[str, Sequence[pa.Scalar]]]]:
    """Yield files by the columns that their paths decide, with the values per partition."""
    groups: dict[tuple[str, ...], list[BaseFile]] = {}
    values: dict[str, dict[str, pa.Scalar]] = {}
    for file in files:
        partition = file.group.partition_path
        if partition not in values:
            found = partition_values(context.config, schema.columns, partition)
            values[partition] = {name: found[name] for name in needed.names if name in found}
        groups.setdefault(tuple(values[partition]), []).append(file)
    for names, members in sorted(groups.items()):
        partitions = {file.group.partition_path for file in members}
        yield names, members, {partition: tuple(values[partition].values()) for partition in partitions}


@dataclass(frozen=True, slots=True)
class _Filtered:
    """A condition that Spark cannot express, and the columns it was checked against."""

    expression: pc.Expression
    columns: pa.Schema


def _filter_rows(job: _Filtered, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        table = pa.Table.from_batches([batch])
        kept = keep_rows(table.cast(pa.schema(list(job.columns))), job.expression)
        yield from as_spark_takes_it(kept).to_batches()
