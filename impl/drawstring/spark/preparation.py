"""What the bodies of Spark writes share: the data, the table, the session, and how incoming rows get their keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from drawstring.context import TableContext
from drawstring.data.conform import conform, conform_columns
from drawstring.data.key_texts import top_level_names
from drawstring.data.merge import deletes, ordering_values
from drawstring.data.record_keys import check_key_generator
from drawstring.engine.file_tasks import WriteSettings
from drawstring.engine.preparation import TableShape, event_ordering, table_shape
from drawstring.errors import InputError, RecordKeyError
from drawstring.ports import Storage
from drawstring.spark.filters import column
from drawstring.spark.jobs import arrow_task
from drawstring.spark.tasks import KEY, ORDER, PATH, KeyJob, KeyRules, add_keys
from drawstring.spark.types import frame_columns
from drawstring.write_stats import Operation
from drawstring_spec.meta_fields import META_FIELDS


@dataclass(frozen=True, slots=True)
class Incoming:
    """The data of one write, checked as far as its schema goes.

    Attributes:
        spark: the session.
        context: of the table.
        operation: what is done with the data.
        shape: the table's schema.
        frame: the rows, without meta columns; or the keys of a deletion.
        key_job: how its rows get keys.

    """

    spark: SparkSession
    context: TableContext
    operation: Operation
    shape: TableShape
    frame: DataFrame
    key_job: KeyJob

    @property
    def storage(self) -> Storage:
        """Of the table."""
        return self.context.ports.storage

    def keyed(self) -> DataFrame:
        """Return the rows with key, partition path and position; they are checked as they are computed."""
        added = [StructField(KEY, StringType()), StructField(PATH, StringType()), StructField(ORDER, LongType())]
        schema = StructType([*self.frame.schema.fields, *added])
        return self.frame.mapInArrow(arrow_task(add_keys, self.key_job), schema)

    def settings(self, requested_time: str) -> WriteSettings:
        """Return what all files of the write share; a task decodes without threads, its core is its own."""
        return self.shape.settings(self.context, requested_time, use_threads=False)


def incoming_rows(spark: SparkSession, context: TableContext, operation: Operation, data: DataFrame) -> Incoming:
    """Check a DataFrame's columns against the table.

    Raises:
        SchemaError: they do not fit.
        UnsupportedTableError: the table's keys cannot be made here.

    """
    check_key_generator(context.config)
    shape = table_shape(context)
    frame = _own_columns(data)
    conform(frame_columns(frame).empty_table(), shape.columns)
    empty = shape.columns.empty_table()
    ordering = event_ordering(context.config)
    ordering_values(empty, ordering)
    deletes(empty)
    job = KeyJob(KeyRules.of(context.config), shape.columns, None, with_paths=True, ordering_field=ordering)
    return Incoming(spark, context, operation, shape, frame, job)


def incoming_keys(spark: SparkSession, context: TableContext, data: DataFrame) -> Incoming:
    """Check the keys of a deletion against the table. Raises as `incoming_rows`, and `RecordKeyError`."""
    config = context.config
    check_key_generator(config)
    shape = table_shape(context)
    names = top_level_names(config.record_key_fields, shape.columns.names)
    partitions = top_level_names(config.partition_fields, shape.columns.names)
    present = [name for name in partitions if name in data.columns and name not in names]
    local = all(name in data.columns for name in partitions)
    if present and not local:
        raise RecordKeyError(
            f"The keys have the partition columns {', '.join(present)}, but the table's are {', '.join(partitions)}.",
            way_out="Give all of them to look in those partitions, or none to look in every partition.",
        )
    wanted = tuple(dict.fromkeys([*names, *partitions] if local else names))
    conform_columns(frame_columns(data).empty_table(), shape.columns, wanted)
    job = KeyJob(KeyRules.of(config), shape.columns, wanted, with_paths=local, ordering_field=None)
    return Incoming(spark, context, Operation.DELETE, shape, data.select(*map(column, wanted)), job)


def _own_columns(data: Any) -> DataFrame:
    if not isinstance(data, DataFrame):
        raise InputError(
            f"The data is a {type(data).__name__}, which has no columns.",
            way_out="Pass a DataFrame of Spark, pandas or polars, or anything that exports an Arrow stream.",
        )
    names = [name for name in data.columns if name not in META_FIELDS]
    return data if len(names) == len(data.columns) else data.select(*map(column, names))
