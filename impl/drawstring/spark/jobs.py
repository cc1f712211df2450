"""Running Spark jobs: errors of tasks come back as what they were, and a failed job has ended when it is reported.

Whose duty: between Spark's exceptions and ours. A task that fails with an error of ours marks it, so that the driver
raises the same error; everything else becomes an `EngineError`. A write that failed is rolled back at once, so a
task that is still at work must not outlive its job: it would write a file that nobody rolls back.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn, TypeVar
from uuid import UUID

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import drawstring.errors
from drawstring.errors import DrawstringError, EngineError

logger = logging.getLogger("drawstring")

Batches = Iterable[pa.RecordBatch]
Task = Callable[[Batches], Iterator[pa.RecordBatch]]
Job = TypeVar("Job")

_MARK: Final = "drawstring-error:"
_MARKED: Final = re.compile(_MARK + r"([A-Za-z0-9+/=]+):")
_MAX_TEXT: Final = 1000
_END_WAIT_MS: Final = 60_000
_POLL_MS: Final = 50
_WORKER_VERSION: Final = "PYTHON_VERSION_MISMATCH"


def arrow_task(function: Callable[[Job, Batches], Iterator[pa.RecordBatch]], job: Job) -> Task:
    """Return a function for ``mapInArrow`` whose errors of ours reach the driver as what they are.

    Args:
        function: takes the job and the task's batches.
        job: what all tasks of the job share; picklable.

    """

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        try:
            yield from function(job, batches)
        except DrawstringError as error:
            raise RuntimeError(_marked(error)) from error

    return run


def _marked(error: DrawstringError) -> str:
    fields = [type(error).__name__, error.message, error.rule, error.way_out]
    return f"{_MARK}{base64.b64encode(json.dumps(fields).encode()).decode()}: {error}"


@contextmanager
def running(spark: SparkSession, name: UUID, what: str) -> Iterator[None]:
    """Run the jobs of a block: if one fails or is cancelled, its tasks have ended when the error is raised.

    Args:
        spark: the session.
        name: unique to the block; the jobs are tagged with it.
        what: what the jobs do, in words.

    Raises:
        DrawstringError: what a task raised.
        EngineError: Spark itself failed, or the job was cancelled.

    """
    context = spark.sparkContext
    tag = f"drawstring-{name}"
    context.addJobTag(tag)
    try:
        yield
    except (PySparkException, Py4JError) as error:
        _end(spark, tag)
        _raise(error, what)
    except BaseException:
        _end(spark, tag)
        raise
    finally:
        context.removeJobTag(tag)


def _raise(error: Exception, what: str) -> NoReturn:
    text = str(error)
    marked = _MARKED.search(text)
    if marked is not None:
        name, message, rule, way_out = json.loads(base64.b64decode(marked[1]))
        kind = getattr(drawstring.errors, name, DrawstringError)
        raise kind(message, rule=rule, way_out=way_out) from error
    if _WORKER_VERSION in text:
        raise EngineError(
            f"Spark could not {what}: its Python workers run another version of Python than this process.",
            way_out="Set PYSPARK_PYTHON to this interpreter before the session starts, "
            "or make it with drawstring.spark.local_session.",
        ) from error
    shown = text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."
    raise EngineError(
        f"Spark could not {what}: {shown}", way_out="Nothing of the operation is visible; look at Spark's log."
    ) from error


def _end(spark: SparkSession, tag: str) -> None:
    """Cancel what is still running of a block and wait for its tasks to end."""
    context = spark.sparkContext
    if context._jsc is None:  # noqa: SLF001 -- a session that stopped has no tasks, and no public way to ask
        return
    try:
        context.cancelJobsWithTag(tag)
        tracker = context._jsc.sc().statusTracker()  # noqa: SLF001 -- by tag, the tracker is only there in Java
        waited_ms = 0
        while _active_tasks(tracker, tag):
            if waited_ms >= _END_WAIT_MS:
                logger.warning("Tasks of a failed Spark job are still running after %s ms", waited_ms)
                return
            time.sleep(_POLL_MS / 1000)
            waited_ms += _POLL_MS
    except Py4JError as error:
        logger.warning("The end of a failed Spark job could not be awaited: %s", error)


def _active_tasks(tracker: Any, tag: str) -> int:
    active = 0
    for job_id in tracker.getJobIdsForTag(tag):
        job = tracker.getJobInfo(job_id)
        if job.isEmpty():
            continue
        for stage_id in job.get().stageIds():
            stage = tracker.getStageInfo(stage_id)
            active += 0 if stage.isEmpty() else stage.get().numActiveTasks()
    return active
