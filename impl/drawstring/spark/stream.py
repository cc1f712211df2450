"""Streams of changes: ``spark.readStream.format("drawstring")``.

Source: Java ``HoodieStreamSourceV2``. Whose duty: which commits belong to which batch. An offset is a *completion*
time: a batch holds the commits that completed after its start and up to its end, whenever they were requested. So a
commit that was requested early and completed late is in a later batch, not in none. Spark writes the offsets of a
batch down before it is read; after a failure the same offsets give the same commits again.

Where a batch may end: at a completion time T such that no commit can still appear which completed before T. A
completion time is taken, and its instant published, in one hold of the table's lock (requirement TL-021; Java does the
same under the lock of its time generator), so whoever sees the instant of T published can be sure that all earlier
ones are published, too. *Seeing* takes two looks: a listing is no snapshot, and may hold the instant of T while it
misses an earlier one that was published while the listing went on. So the first listing, in
`ChangesStream.latestOffset`, says no more than that T is reached; the commits are those of a second one, in
`ChangesStream.partitions`, which begins after the first has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from drawstring.context import TableContext
from drawstring.errors import EngineError, InputError
from drawstring.read.ranges import BEGINNING, Bounds, parse_range
from drawstring.spark.source_filters import parse_filter
from drawstring.spark.source_options import FILTER, LATEST, START_OFFSET, Kind, ReadRequest
from drawstring.spark.source_reader import check_given_schema, request_columns
from drawstring.spark.splits import Reading, Split, arrow_columns, change_splits
from drawstring.timeline.load import load_timeline
from drawstring_spec.instants import Instant

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # Spark 4.1 gives all that is there in one batch, without asking.

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]  # one of the two
        """What later versions of Spark call before a stream reads what is there and ends."""


COMPLETION_TIME: Final = "completion_time"
"""The key of an offset."""


@dataclass
class StreamPartition(InputPartition):
    """One split of a batch, its number, and the expression of the rows that are wanted."""

    number: int
    split: Split
    keep: Any


class ChangesStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the changes of a table, batch by batch.

    Args:
        request: what is read.
        schema: the columns as Spark has them, as of the start of the stream.

    Raises:
        OptionError: an option is none of streams.
        SchemaError: `schema` is not the table's.
        DrawstringError: the table cannot be opened.

    """

    def __init__(self, request: ReadRequest, schema: StructType) -> None:
        self._request = request.for_stream()
        self._schema = schema
        self._last: str | None = None
        self._check_schema(self._context)

    def __getstate__(self) -> dict[str, Any]:
        """Return what tasks need: each of them gets its split by itself."""
        return {"_reading": self._reading}

    @property
    def _context(self) -> TableContext:
        """The table as it is now: its properties may change while the stream runs."""
        return self._request.open()

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self._context.ports.storage, arrow_columns(self._schema))

    def initialOffset(self) -> dict[str, str]:  # noqa: N802 -- Spark's own
        """Return where a new stream begins."""
        start = str(self._request.options[START_OFFSET])
        if start.lower() == LATEST:
            return _offset(self._newest(BEGINNING))
        return _offset(parse_range(start, None)[0] or BEGINNING)

    def latestOffset(self, start: Mapping[str, str] | None = None, limit: Any = None) -> dict[str, str]:  # noqa: N802, ARG002 -- Spark's own; 4.1 passes neither
        """Return where a batch that begins now ends: at the last completion time there is, or at its start.

        Hudi has no limit of what a batch may hold, so all that is there is one batch.
        """
        begin = BEGINNING if start is None else _time(start)
        newest = self._newest(begin)
        return _offset(newest if self._last is None else max(begin, min(newest, self._last)))

    def reportLatestOffset(self) -> dict[str, str]:  # noqa: N802 -- Spark's own
        """Return the last completion time there is, for the progress of the query."""
        return _offset(self._newest(BEGINNING))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 -- Spark's own
        """Take note of what is there: the stream ends when it has read that."""
        self._last = self._newest(BEGINNING)

    def partitions(self, start: Mapping[str, str], end: Mapping[str, str]) -> Sequence[InputPartition]:
        """Plan a batch: one split per task.

        Args:
            start: after which commits belong to the batch.
            end: up to which.

        Raises:
            TimeTravelError: what a commit of the batch changed cannot be told any more.
            SchemaError: the table's columns have changed since the stream started.

        """
        first, last = _time(start), _time(end)
        if last <= first:
            return []
        context = self._context
        self._check_schema(context)
        cdc = self._request.kind is Kind.CHANGES
        condition = parse_filter(self._request.options[FILTER], request_columns(self._request, context))
        plan = change_splits(context, first, last, bounds=Bounds.OPEN_CLOSED, cdc=cdc, filter=condition)
        return [StreamPartition(number, split, plan.keep) for number, split in enumerate(plan.splits)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """See `DataSourceStreamReader.read`."""
        if not isinstance(partition, StreamPartition):
            raise EngineError(f"Spark asks for {partition!r}, which is no part of a batch.")
        reading = Reading(self._reading.storage, self._reading.columns, partition.keep)
        yield from reading.batches(partition.number, partition.split)

    def _newest(self, at_least: str) -> str:
        """Return the greatest completion time of a write, or `at_least` where that is greater."""
        context = self._context
        writes = load_timeline(context.ports.storage, context.config).completed_writes
        return max([at_least, *(self._position(instant) for instant in writes)])

    @staticmethod
    def _position(instant: Instant) -> str:
        """Return where a completed instant stands among the others."""
        return instant.completion_time or instant.requested_time

    def _check_schema(self, context: TableContext) -> None:
        check_given_schema(
            self._schema,
            request_columns(self._request, context),
            context.ports.storage.uri,
            way_out="Start the stream without a schema; where it ran before, stop it and start it again: it goes on "
            "from its checkpoint with the columns that the table has now.",
        )


def _offset(time: str) -> dict[str, str]:
    return {COMPLETION_TIME: time}


def _time(offset: Mapping[str, str]) -> str:
    """Return the completion time of an offset. Raises `InputError` for what no stream of ours wrote down."""
    time = offset.get(COMPLETION_TIME)
    if not isinstance(time, str) or not (time.isascii() and time.isdigit()):
        raise InputError(
            f"The offset {dict(offset)!r} is none of a stream of drawstring.",
            way_out="The checkpoint is damaged, or of another source; start with a new one, at the option "
            f"{START_OFFSET!r}.",
        )
    return time
