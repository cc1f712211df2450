"""The body of a bulk insert: each task writes its own rows into new files, and no row moves between tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame

from drawstring.engine.preparation import check_same_shape
from drawstring.engine.sizing import RECORD_SIZE_ESTIMATE
from drawstring.files import BaseFile, Snapshot
from drawstring.spark.bulk_tasks import BulkJob, write_new_files
from drawstring.spark.jobs import arrow_task, running
from drawstring.spark.key_scans import held_keys
from drawstring.spark.preparation import Incoming
from drawstring.spark.scan import PARTITION
from drawstring.spark.tasks import RESULT_SCHEMA, parse_result
from drawstring.spark.uniqueness import KEY_COLUMNS, NAMED_KEYS, KeyGuard, NewFile
from drawstring.write_stats import Operation, Workload, WriteStat
from drawstring_spec.meta_fields import RECORD_KEY

TASK_BYTES: Final = 32 * 1024 * 1024
"""Partitions of the DataFrame are put together until each has about this much, where Spark knows its size."""


class BulkBody:
    """A `drawstring.write_stats.WriteBody` of rows that make new file groups.

    The DataFrame is evaluated once, by the tasks that write. That no key is stored twice is therefore checked after
    the files are written and before they are visible.

    Args:
        incoming: the rows.

    """

    operation = Operation.BULK_INSERT

    def __init__(self, incoming: Incoming) -> None:
        self.schema_json = incoming.shape.schema_json
        self._incoming = incoming
        self._existing: tuple[BaseFile, ...] = ()
        self._written: tuple[BaseFile, ...] = ()

    def lookup_keys(self, snapshot: Snapshot) -> Workload:
        """See `WriteBody.lookup_keys`. Like Java's, a bulk insert says nothing beforehand of what it will write."""
        check_same_shape(self._incoming.context, self._incoming.shape, snapshot.timeline)
        self._existing = snapshot.base_files()
        return Workload()

    def write_files(self, requested_time: str) -> Sequence[WriteStat]:
        """See `WriteBody.write_files`.

        Raises:
            DuplicateKeyError: the table holds a key already, and the policy is ``fail``.
            InputError: rows cannot be written; all that was is removed again.

        """
        incoming, context = self._incoming, self._incoming.context
        options = context.options
        job = BulkJob(
            storage=context.ports.storage,
            settings=incoming.settings(requested_time),
            key_job=incoming.key_job,
            seed=context.ports.entropy.uuid(),
            max_file_bytes=options["hoodie.parquet.max.file.size"],
            record_bytes=options[RECORD_SIZE_ESTIMATE] if RECORD_SIZE_ESTIMATE in options.given else None,
            memory_bytes=options["drawstring.spark.task.buffer.bytes"],
        )
        guard = KeyGuard(
            incoming.spark,
            context.ports.storage,
            job.settings,
            drop_known=options["hoodie.datasource.insert.dup.policy"] == "drop",
        )
        with running(incoming.spark, context.ports.entropy.uuid(), "write the files of a bulk insert"):
            frame = _coalesced(incoming.frame, incoming.spark.sparkContext.defaultParallelism)
            rows = frame.mapInArrow(arrow_task(write_new_files, job), RESULT_SCHEMA).collect()
            files = sorted((_new_file(row[0]) for row in rows), key=lambda file: file.order)
            stats = sorted(guard.mend(files, self._existing), key=lambda stat: stat.path)
        self._written = tuple(BaseFile(s.path, s.group, requested_time, s.file_size_bytes) for s in stats)
        return stats

    def find_key_conflicts(self, concurrent: Sequence[BaseFile]) -> Sequence[str]:
        """See `WriteBody.find_key_conflicts`."""
        if not self._written or not concurrent:
            return ()
        incoming = self._incoming
        with running(incoming.spark, incoming.context.ports.entropy.uuid(), "compare keys with other writes'"):
            mine, theirs = (
                held_keys(incoming.spark, incoming.storage, files, KEY_COLUMNS).select(RECORD_KEY, PARTITION)
                for files in (self._written, concurrent)
            )
            shared = mine.join(theirs, [RECORD_KEY, PARTITION], "left_semi").limit(NAMED_KEYS).collect()
        return sorted({row[0] for row in shared})

    def discard(self) -> None:
        """See `WriteBody.discard`."""
        self._existing, self._written = (), ()


def _new_file(text: str) -> NewFile:
    stat, extra = parse_result(text)
    task, number = extra["order"]
    least, greatest = extra["keys"]
    return NewFile(stat, least, greatest, (task, number))


def _coalesced(frame: DataFrame, parallelism: int) -> DataFrame:
    """Put small partitions together, without a shuffle: one file per task and table partition is enough.

    Spark's estimate of the size only ever makes fewer tasks where it is small; there are never fewer than the
    session's parallelism, if the DataFrame has as many. Which partitions come together is Spark's choice, so of rows
    with one key and equal ordering values in several partitions any one may stay.
    """
    size = int(str(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes()))  # noqa: SLF001 -- not public
    return frame.coalesce(max(parallelism, -(-size // TASK_BYTES))) if size < 2**31 * TASK_BYTES else frame
