"""Snapshots as Spark DataFrames: planned in the driver, scanned by Spark's own Parquet reader.

Whose duty: the same columns, types and rows as `drawstring.read.arrow_reader` gives. Files that were written with
the table's columns as they are now, or with fewer of them, are scanned natively, partition values taken from the
path. Files of an older schema (other types, renamed columns), and tables on a storage that this Spark cannot open,
are read by Arrow in tasks.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from drawstring.context import TableContext
from drawstring.data.base_file_reader import open_base_file
from drawstring.data.schema import avro_to_arrow, parse_avro, without_meta_fields
from drawstring.files import BaseFile, FileSlice, Snapshot
from drawstring.ports import Storage, TaskContext
from drawstring.read.arrow_reader import (
    filter_expression,
    query_schema,
    slice_query,
    wanted_columns,
    with_filter_columns,
)
from drawstring.read.base_query import file_query
from drawstring.read.data_skipping import slices_with_rows
from drawstring.read.merge_reader import SliceQuery, read_slice
from drawstring.read.partition_values import partition_values
from drawstring.read.schema import TableSchema, resolve_schema
from drawstring.read.view import load_snapshot
from drawstring.spark.filters import column, spark_condition
from drawstring.spark.jobs import Batches, arrow_task
from drawstring.spark.scan import Scan, scan
from drawstring.spark.session import check_session
from drawstring.spark.types import spark_schema
from drawstring.timeline.load import read_payload
from drawstring.timeline.timeline import Timeline
from drawstring_spec.meta_fields import META_FIELDS

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
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
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
    native, odd = _sorted_out(context, spark, snapshot, schema, needed)
    frames = [
        scan(spark, Scan(context.ports.storage.uri, files, structure, _constant_columns(structure, names), values))
        for names, files, values in _by_constants(context, schema, needed, native)
    ]
    if odd:
        queries = tuple(slice_query(context, schema, snapshot, needed, one) for one in odd)
        frames.append(_arrow_frame(spark, context.ports.storage, queries, structure))
    if not frames:
        return spark.createDataFrame([], structure)
    return reduce(DataFrame.union, [frame.select(*map(column, needed.names)) for frame in frames])


def _sorted_out(
    context: TableContext, spark: SparkSession, snapshot: Snapshot, schema: TableSchema, needed: pa.Schema
) -> tuple[list[BaseFile], list[FileSlice]]:
    """Return the base files that Spark scans, and the slices that Arrow has to read."""
    if not snapshot.slices:
        return [], []
    if not _opens(spark, context.ports.storage.uri):
        logger.info("Spark cannot open %s itself; the files are read by Arrow tasks", context.ports.storage.uri)
        return [], list(snapshot.slices)
    written = _WrittenColumns(context, snapshot.timeline)
    native: list[BaseFile] = []
    odd: list[FileSlice] = []
    for one in snapshot.slices:
        file = one.base_file
        if file is None or one.log_files:
            odd.append(one)
            continue
        by_id = schema.current is not None and file_query(context, schema, needed, file).written is not None
        if not by_id and _fits(written.of(file), needed):
            native.append(file)
        else:
            odd.append(one)
    return native, odd


def _opens(spark: SparkSession, uri: str) -> bool:
    """Whether Spark has a file system for the table's location."""
    if uri.startswith("file:"):
        return True
    jvm: Any = spark._jvm  # noqa: SLF001 -- Spark has no public way to ask
    configuration = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 -- as above
    try:
        jvm.org.apache.hadoop.fs.Path(uri).getFileSystem(configuration)
    except Py4JError:
        return False
    return True


def _fits(written: pa.Schema, needed: pa.Schema) -> bool:
    """Whether Spark's reader gives a file's columns as the table has them: same types, or not there at all."""
    return all(
        field.name in META_FIELDS or field.name not in written.names or written.field(field.name).type == field.type
        for field in needed
    )


class _WrittenColumns:
    """Which columns files were written with, as their commits say, or else their footers."""

    def __init__(self, context: TableContext, timeline: Timeline) -> None:
        self._context = context
        self._instants = {instant.requested_time: instant for instant in timeline.completed_writes}
        self._by_time: dict[str, pa.Schema | None] = {}
        self._by_text: dict[str, pa.Schema] = {}

    def of(self, file: BaseFile) -> pa.Schema:
        """Return a file's own columns. Raises `CorruptFileError`."""
        if file.requested_time not in self._by_time:
            self._by_time[file.requested_time] = self._of_commit(file.requested_time)
        known = self._by_time[file.requested_time]
        if known is not None:
            return known
        return open_base_file(self._context.ports.storage, file.path, file.size).schema()

    def _of_commit(self, requested_time: str) -> pa.Schema | None:
        instant = self._instants.get(requested_time)
        if instant is None:
            return None
        payload = read_payload(self._context.ports.storage, self._context.config, instant) or {}
        text = (payload.get("extraMetadata") or {}).get("schema")
        if not text:
            return None
        if text not in self._by_text:
            self._by_text[text] = avro_to_arrow(without_meta_fields(parse_avro(text)))
        return self._by_text[text]


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


def _constant_columns(structure: StructType, names: Sequence[str]) -> StructType:
    return StructType([structure[name] for name in names])


@dataclass(frozen=True, slots=True)
class _ArrowRead:
    """Slices that Arrow tasks read."""

    storage: Storage
    queries: tuple[SliceQuery, ...]


def _arrow_frame(
    spark: SparkSession, storage: Storage, queries: tuple[SliceQuery, ...], structure: StructType
) -> DataFrame:
    numbers = spark.range(0, len(queries), 1, len(queries))
    return numbers.mapInArrow(arrow_task(_read_files, _ArrowRead(storage, queries)), structure)


def _read_files(job: _ArrowRead, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            table = read_slice(TaskContext(job.storage, number, 0), job.queries[number])
            yield from as_spark_takes_it(table).to_batches()


def as_spark_takes_it(table: pa.Table) -> pa.Table:
    """Return the same values in types that Spark reads from Arrow: timestamps in microseconds."""
    fields = [pa.field(field.name, _microseconds(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


def _microseconds(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([_microsecond_field(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(_microsecond_field(kind.key_field), _microsecond_field(kind.item_field))
    if pa.types.is_list(kind):
        return pa.list_(_microsecond_field(kind.value_field))
    return kind


def _microsecond_field(field: pa.Field) -> pa.Field:
    return field.with_type(_microseconds(field.type))


@dataclass(frozen=True, slots=True)
class _Filtered:
    """A condition that Spark cannot express, and the columns it was checked against."""

    expression: pc.Expression
    columns: pa.Schema


def _filter_rows(job: _Filtered, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        table = pa.Table.from_batches([batch])
        kept = table.cast(pa.schema(list(job.columns))).filter(job.expression)
        yield from as_spark_takes_it(kept).to_batches()
