"""The keys that base files hold, as a DataFrame: scanned by Spark where it opens the table's location, else by tasks.

Whose duty: the choice between the two, and the second way. On a storage that Spark has no file system for, Arrow tasks
read the few columns through the storage port, as they read whole slices there (`drawstring.spark.ways`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from drawstring.data.base_file_reader import open_base_file
from drawstring.files import BaseFile
from drawstring.ports import Storage
from drawstring.spark.jobs import Batches, arrow_task
from drawstring.spark.scan import FILE_NAME, FILE_ROW, PARTITION, scan_keys
from drawstring.spark.splits import arrow_columns
from drawstring.spark.ways import opens

_BATCH_ROWS: Final = 65_536
_TASK_BYTES: Final = 256 * 1024 * 1024
"""Size of the files of a task, about, where there are more than one for each core: it reads a small part of them."""


def held_keys(
    spark: SparkSession, storage: Storage, files: Sequence[BaseFile], columns: StructType, *, rows: bool = False
) -> DataFrame:
    """Return columns of base files with their partition path and file name, and the rows' positions if wanted.

    Args:
        spark: the session.
        storage: of the table.
        files: base files.
        columns: to read; those that a file does not have are null.
        rows: whether the rows' positions in their files, from 0, are the last column.

    Returns:
        the columns, then `PARTITION`, `FILE_NAME` and maybe `FILE_ROW`.

    """
    if opens(spark, storage.uri):
        return scan_keys(spark, storage.uri, files, columns, rows=rows)
    places = [StructField(PARTITION, StringType()), StructField(FILE_NAME, StringType())]
    structure = StructType([*columns, *places, *([StructField(FILE_ROW, LongType())] if rows else [])])
    num_bytes = sum(file.size for file in files)
    num_tasks = min(len(files), max(spark.sparkContext.defaultParallelism, -(-num_bytes // _TASK_BYTES)))
    numbers = spark.range(0, len(files), 1, max(1, num_tasks))
    job = _Job(storage, tuple(files), arrow_columns(structure))
    return numbers.mapInArrow(arrow_task(_read, job), structure)


@dataclass(frozen=True, slots=True)
class _Job:
    """Files that tasks read, which are given their numbers, and the columns of the answer."""

    storage: Storage
    files: tuple[BaseFile, ...]
    columns: pa.Schema


def _read(job: _Job, batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from _of_file(job, job.files[number])


def _of_file(job: _Job, file: BaseFile) -> Iterator[pa.RecordBatch]:
    reader = open_base_file(job.storage, file.path, file.size)
    constants = {PARTITION: file.group.partition_path, FILE_NAME: file.name}
    names = [name for name in job.columns.names if name not in {*constants, FILE_ROW}]
    first = 0
    for batch in reader.batches(names, _BATCH_ROWS):
        arrays = []
        for field in job.columns:
            if field.name in constants:
                array = pa.repeat(constants[field.name], batch.num_rows)
            elif field.name == FILE_ROW:
                array = pa.array(np.arange(first, first + batch.num_rows, dtype=np.int64))
            elif field.name in batch.schema.names:
                array = batch.column(field.name).cast(field.type)
            else:
                array = pa.nulls(batch.num_rows, field.type)
            arrays.append(array)
        yield pa.RecordBatch.from_arrays(arrays, schema=job.columns)
        first += batch.num_rows
