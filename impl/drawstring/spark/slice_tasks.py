"""File slices that Arrow tasks read: whole ones, and what log files put in the place of rows that they touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from drawstring.data.partial_merge import Merger
from drawstring.data.payloads.classes import PayloadClass
from drawstring.ports import Storage, TaskContext
from drawstring.read.arrow_reader import merge_rules
from drawstring.read.merge_reader import SliceQuery, read_slice, row_keys
from drawstring.read.mergers import find_merger, lend_merger
from drawstring.spark.jobs import Batches, arrow_task
from drawstring.spark.touched import Touched
from drawstring.table_config import TableConfig
from drawstring_spec.merge_modes import MergeMode

_TASK_BYTES: Final = 32 * 1024 * 1024
"""Of files that a task reads, at least, where there are more tasks than cores: a task of Python takes long to start."""


@dataclass(frozen=True, slots=True)
class OwnMerger:
    """What merges the rows of a table whose merge mode is CUSTOM, and the strategy that it stands for."""

    strategy_id: str
    merge: Merger


@dataclass(frozen=True, slots=True)
class SliceRead:
    """What a task reads of one slice.

    Attributes:
        query: what is wanted of it; its base file is left out where only log files are read.
        columns: that are returned.
        without: keys whose rows are left out, because the base file's are newer.
        merger: of the table, which tasks do not know otherwise; None where it has none.

    """

    query: SliceQuery
    columns: pa.Schema
    without: pa.Array | None = None
    merger: OwnMerger | None = None

    @property
    def num_bytes(self) -> int:
        """Size of the files that are read."""
        base = 0 if self.query.base is None else self.query.base.file.size
        return base + sum(log.size for log in self.query.logs)


def own_merger(config: TableConfig) -> OwnMerger | None:
    """Return what tasks have to know to merge rows of a table of mode CUSTOM. Raises `UnsupportedTableError`."""
    if config.merge_mode is not MergeMode.CUSTOM:
        return None
    rules = merge_rules(config)
    merger = find_merger(rules.strategy_id, rules.payload_class)
    return None if isinstance(merger, PayloadClass) else OwnMerger(rules.strategy_id, merger)


def whole_slice(query: SliceQuery, merger: OwnMerger | None) -> SliceRead:
    """Return a read of all rows of a slice."""
    return SliceRead(query, query.columns, merger=merger)


def touched_rows(query: SliceQuery, touched: Touched, merger: OwnMerger | None) -> SliceRead:
    """Return a read of the rows of a slice that its native scan leaves out, as the log files made them.

    Args:
        query: of the slice.
        touched: what its log files touch.
        merger: of the table, if it has one.

    """
    if touched.whole and query.base is not None:
        base = replace(query.base, record_keys=touched.keys)
        return SliceRead(replace(query, base=base), query.columns, merger=merger)
    if not len(touched.keys):
        return SliceRead(replace(query, base=None), query.columns)
    return SliceRead(replace(query, base=None, columns=query.merged_columns), query.columns, touched.keys)


@dataclass(frozen=True, slots=True)
class _Job:
    """Slices that tasks read; tasks are given their numbers."""

    storage: Storage
    reads: tuple[SliceRead, ...]


def slices_frame(spark: SparkSession, storage: Storage, reads: Sequence[SliceRead], structure: StructType) -> DataFrame:
    """Return the rows of some slices, read by Arrow tasks.

    Args:
        spark: the session.
        storage: of the table.
        reads: what is read of each slice.
        structure: the columns that all of them return, as Spark has them.

    """
    num_bytes = sum(read.num_bytes for read in reads)
    num_tasks = min(len(reads), max(spark.sparkContext.defaultParallelism, -(-num_bytes // _TASK_BYTES)))
    numbers = spark.range(0, len(reads), 1, num_tasks)
    return numbers.mapInArrow(arrow_task(_read, _Job(storage, tuple(reads))), structure)


def _read(job: _Job, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            read = job.reads[number]
            if read.merger is not None:
                lend_merger(read.merger.strategy_id, read.merger.merge)
            table = read_slice(TaskContext(job.storage, number, 0), read.query)
            if read.without is not None:
                table = table.filter(pc.invert(pc.is_in(row_keys(table, read.query.rules), value_set=read.without)))
            yield from as_spark_takes_it(table.select(read.columns.names)).to_batches()


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
