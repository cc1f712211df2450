"""What executor tasks do with the rows of a write, in columns: give them keys, and write them into base files.

Whose duty: each function takes Arrow batches and yields few rows about what it did. Data files are written through
the protocol's `publish_data_file`; their names carry Spark's id of the attempt, so that attempts never meet. Kernels
and file tasks are those of the embedded engine: both engines write the same rows.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext as SparkTaskContext

from drawstring.data.conform import conform, conform_columns
from drawstring.data.merge import deletes, latest_rows, ordering_values
from drawstring.data.partition_paths import partition_paths
from drawstring.data.record_keys import record_keys
from drawstring.engine.file_tasks import CreateFile, DeleteFromFile, MergeFile, WriteSettings, write_file
from drawstring.errors import EngineError
from drawstring.files import BaseFile, FileGroupId
from drawstring.ports import Storage, TaskContext
from drawstring.spark.jobs import Batches
from drawstring.table_config import TableConfig
from drawstring.write_stats import WriteStat
from drawstring_spec.key_generators import KeyGenerator

KEY: Final = "_drawstring_key"
"""Record key of an incoming row."""

PATH: Final = "_drawstring_path"
"""Partition path of an incoming row."""

ORDER: Final = "_drawstring_order"
"""Position of an incoming row among all: which of two rows is the later one."""

GROUP: Final = "_drawstring_group"
"""Number of the file that a row goes to."""

ADDED: Final = (KEY, PATH, ORDER)

RESULT_SCHEMA: Final = "result string"
"""What write jobs return: one JSON text per file."""

_ORDER_BITS: Final = 33
"""Rows of one task are numbered in so many bits, like Spark's own ``monotonically_increasing_id``."""


@dataclass(frozen=True, slots=True)
class KeyRules:
    """How keys and partition paths are made of columns; a picklable part of the table's configuration."""

    record_key_fields: tuple[str, ...]
    key_generator: KeyGenerator
    partition_fields: tuple[str, ...]
    hive_style: bool
    url_encode: bool

    @classmethod
    def of(cls, config: TableConfig) -> Self:
        """Take the rules out of a table's configuration."""
        return cls(
            config.record_key_fields,
            config.key_generator,
            config.partition_fields,
            config.hive_style,
            config.url_encode,
        )


@dataclass(frozen=True, slots=True)
class KeyJob:
    """What the tasks share that give incoming rows their keys.

    Attributes:
        rules: of keys and paths.
        columns: the table's.
        names: the columns that are needed of the rows; None where they are whole rows of the table.
        with_paths: whether the rows have their partition; False where keys are looked for in all partitions.
        ordering_field: None where the later row stays.

    """

    rules: KeyRules
    columns: pa.Schema
    names: tuple[str, ...] | None
    with_paths: bool
    ordering_field: str | None


def spark_attempt() -> tuple[int, int]:
    """Return the running task's partition id and its attempt's id, which is unique among all of the session's."""
    context = SparkTaskContext.get()
    if context is None:
        raise EngineError("A task of the Spark engine runs outside of Spark.")
    return context.partitionId(), context.taskAttemptId()


def add_keys(job: KeyJob, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Check rows against the table, and yield them as they are with key, partition path and position behind.

    Raises:
        SchemaError: the data does not fit the table's columns.
        RecordKeyError: a key is missing, or a partition value leads nowhere.
        InputError: an ordering value is missing.

    """
    position = spark_attempt()[0] << _ORDER_BITS
    for batch in batches:
        given = pa.Table.from_batches([batch])
        rows = checked_rows(given, job)
        keys = record_keys(rows, job.rules)
        if job.with_paths:
            paths = pc.cast(partition_paths(rows, job.rules), pa.string())
        else:
            paths = pa.nulls(batch.num_rows, pa.string())
        positions = pa.array(np.arange(position, position + batch.num_rows, dtype=np.int64))
        position += batch.num_rows
        own = [column.combine_chunks() for column in given.columns]
        yield pa.RecordBatch.from_arrays([*own, keys, paths, positions], names=[*given.column_names, *ADDED])


def checked_rows(given: pa.Table, job: KeyJob) -> pa.Table:
    """Return rows in the table's columns and types. Raises as `add_keys`."""
    if job.names is not None:
        return conform_columns(given, job.columns, job.names)
    rows = conform(given, job.columns)
    ordering_values(rows, job.ordering_field)
    deletes(rows)
    return rows


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """One file that a write makes.

    Attributes:
        group: its file group.
        file: the base file that it replaces; None for a new file group.

    """

    group: FileGroupId
    file: BaseFile | None


@dataclass(frozen=True, slots=True)
class GroupJob:
    """What the tasks share that merge rows into file groups.

    Attributes:
        storage: of the table.
        settings: of all files.
        plans: by number; rows say theirs in the column `GROUP`.
        removes: the rows are keys whose rows are to be removed.
        key_job: brings rows into the table's columns.

    """

    storage: Storage
    settings: WriteSettings
    plans: tuple[GroupPlan, ...]
    removes: bool
    key_job: KeyJob


def write_groups(job: GroupJob, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Write the file of each group that the task has rows of; the rows of a group are all in one task."""
    _, attempt = spark_attempt()
    table = pa.Table.from_batches(list(batches)) if (batches := list(batches)) else None
    if table is None:
        return
    numbers = table.column(GROUP).combine_chunks().to_numpy()
    order = np.lexsort((table.column(ORDER).combine_chunks().to_numpy(), numbers))
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        rows = table.take(pa.array(order[start:end]))
        number = int(numbers[order[start]])
        item = _item(job, job.plans[number], rows)
        if item is not None:
            yield result_batch(write_file(TaskContext(job.storage, number, attempt), item), {})


def _item(job: GroupJob, plan: GroupPlan, rows: pa.Table) -> CreateFile | MergeFile | DeleteFromFile | None:
    """Return what is to be written of one group's rows; None where nothing is left of them."""
    keys = rows.column(KEY).combine_chunks()
    if job.removes and plan.file is not None:
        return DeleteFromFile(job.settings, plan.file, pc.unique(keys))
    changes = checked_rows(rows.drop_columns([*ADDED, GROUP]), job.key_job)
    stays = latest_rows(keys, ordering_values(changes, job.settings.ordering_field))
    picked = np.arange(len(keys), dtype=np.int64) if stays is None else stays
    if plan.file is not None:
        return MergeFile(job.settings, plan.file, changes, picked, _taken(keys, picked))
    gone = deletes(changes)
    if gone is not None:
        picked = picked[~gone[picked]]
    return CreateFile(job.settings, plan.group, changes, picked, _taken(keys, picked)) if len(picked) else None


def _taken(keys: pa.Array, picked: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Array:
    return keys if len(picked) == len(keys) else pc.take(keys, pa.array(picked))


def result_batch(stat: WriteStat, extra: Mapping[str, object]) -> pa.RecordBatch:
    """Return one row that says what was written; `extra` goes with it."""
    text = json.dumps({"stat": dataclasses.asdict(stat), **extra})
    return pa.RecordBatch.from_pydict({"result": [text]})


def parse_result(text: str) -> tuple[WriteStat, dict[str, Any]]:
    """Return what a task reported; the inverse of `result_batch`."""
    values = json.loads(text)
    stat = values.pop("stat")
    group = FileGroupId(**stat.pop("group"))
    return WriteStat(group=group, **stat), values
