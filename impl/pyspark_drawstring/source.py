"""``format("drawstring")``: what Spark's Python data sources allow of a Hudi table, with Hudi's own option keys.

Whose duty: the source that Spark finds, and writes. Spark runs each method in a Python process of its own, without a
session: a reader plans in one and reads splits in others (`drawstring.spark.source_reader`, `drawstring.spark.stream`),
a writer's tasks stage their rows as files, and `commit` writes them with the embedded engine. Columns are not pruned,
since Spark has no such thing here, and Spark's conditions are not pushed down, since that loses rows (see
`drawstring.spark.source_filters`): ``table.to_spark`` and ``table.upsert(df)`` are the fast ways.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamReader,
    WriterCommitMessage,
)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from drawstring.errors import EngineError, InputError, OptionError, TableExistsError, TableNotFoundError
from drawstring.options import Options
from drawstring.protocol.write import WriteResult
from drawstring.runtime import open_storage
from drawstring.spark.source_options import ReadRequest, table_location
from drawstring.spark.source_reader import TableReader, request_columns
from drawstring.spark.stream import ChangesStream
from drawstring.spark.tasks import spark_attempt
from drawstring.spark.types import spark_schema
from drawstring.table import Table
from drawstring_spec.layout import TEMP_FOLDER
from drawstring_spec.meta_fields import META_FIELDS

logger = logging.getLogger("drawstring")

OPERATION: Final = "hoodie.datasource.write.operation"
MAX_STAGED_BYTES: Final = "drawstring.spark.staged.max.bytes"

_KEY_FIELDS: Final = "hoodie.datasource.write.recordkey.field"
_PARTITION_FIELDS: Final = "hoodie.datasource.write.partitionpath.field"
_ORDERING_FIELD: Final = "hoodie.datasource.write.precombine.field"
_STAGED_PIECE_BYTES: Final = 64 * 1024 * 1024
_SAID_FROM_BYTES: Final = 16 * 1024 * 1024
_DISTRIBUTED: Final = "ds.Table.open(path, engine=ds.SparkEngine(spark))"


class DrawstringSource(DataSource):
    """The data source that Spark finds by the name ``drawstring``."""

    @classmethod
    def name(cls) -> str:
        """See `DataSource.name`."""
        return "drawstring"

    def schema(self) -> StructType:
        """Return the columns of what is asked for, meta columns first."""
        request = ReadRequest.parse(self.options)
        return spark_schema(request_columns(request, request.open()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of a snapshot, or of the changes of a range; raises as `TableReader`."""
        return TableReader(ReadRequest.parse(self.options), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 -- Spark's own
        """Return a reader of a stream of changes; raises as `ChangesStream`."""
        return ChangesStream(ReadRequest.parse(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: FBT001 -- Spark's own
        """Return a writer; the table is made if there is none.

        Raises:
            OptionError: an option is unknown or not honoured, or the mode is ``overwrite``.

        """
        location, raw = table_location(self.options)
        options = Options.parse(raw)
        if overwrite:
            raise OptionError(
                "The mode 'overwrite' is not supported.",
                way_out="Write with mode('append'); delete rows with the operation 'delete'.",
            )
        columns = to_arrow_schema(schema, timezone="UTC")
        own = pa.schema([field for field in columns if field.name not in META_FIELDS])
        _ensure_table(location, own, options, raw)
        return StagingWriter(location, dict(raw), str(options[OPERATION]), uuid4())


def _ensure_table(location: str, columns: pa.Schema, options: Options, raw: Mapping[str, str]) -> None:
    """Make the table if there is none; its options are refused where they contradict one that is there."""
    of_table = _of_table(raw)
    try:
        Table.open(location, options=of_table)
    except TableNotFoundError:
        if options[OPERATION] == "delete":
            raise
        if not options[_KEY_FIELDS]:
            raise OptionError(
                f"There is no table at {location!r}, and option {_KEY_FIELDS!r} is not given.",
                way_out="Say which columns identify a row.",
            ) from None
        try:
            Table.create(
                location,
                columns,
                record_key=_fields(options[_KEY_FIELDS]),
                partition_by=_fields(options[_PARTITION_FIELDS]),
                ordering=options[_ORDERING_FIELD],
                options=of_table,
            )
        except TableExistsError:
            Table.open(location, options=of_table)  # Somebody was faster.


def _of_table(raw: Mapping[str, str]) -> dict[str, str]:
    """Return the options without those that are this module's to honour."""
    return {key: value for key, value in raw.items() if key not in {OPERATION, MAX_STAGED_BYTES}}


def _fields(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


@dataclass
class Staged(WriterCommitMessage):
    """Files that one attempt of a task staged.

    Attributes:
        task: of the attempt: rows of later tasks came later.
        paths: in the order of their rows.
        num_bytes: of the files.

    """

    task: int
    paths: tuple[str, ...]
    num_bytes: int


class StagingWriter(DataSourceArrowWriter):
    """Stages the rows of tasks beside the table, and writes them in one operation at the end.

    Args:
        location: of the table.
        options: as they were given, but for the path.
        operation: what is done with the rows.
        name: of this write, for its folder.

    """

    def __init__(self, location: str, options: dict[str, str], operation: str, name: UUID) -> None:
        self._location = location
        self._options = options
        self._operation = operation
        self._folder = f"{TEMP_FOLDER}/staged-{name}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """See `DataSourceArrowWriter.write`."""
        task, attempt = spark_attempt()
        storage = open_storage(self._location)
        paths: list[str] = []
        num_bytes = 0
        for number, piece in enumerate(_pieces(iterator)):
            sink = pa.BufferOutputStream()
            pq.write_table(piece, sink, compression="zstd")
            path = f"{self._folder}/{task}-{attempt}-{number}.parquet"
            num_bytes += storage.put(path, memoryview(sink.getvalue())).size
            paths.append(path)
        return Staged(task, tuple(paths), num_bytes)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """See `DataSourceWriter.commit`; rows that lost attempts staged are not among the messages.

        Raises:
            EngineError: there are more rows than one process should take.

        """
        staged = sorted((m for m in messages if isinstance(m, Staged)), key=lambda m: m.task)
        try:
            self._check_size(sum(message.num_bytes for message in staged))
            storage = open_storage(self._location)
            tables = [pq.read_table(pa.py_buffer(storage.read(path))) for message in staged for path in message.paths]
            if tables:
                rows = pa.concat_tables(tables)
                _operate(Table.open(self._location, options=_of_table(self._options)), self._operation, rows)
        finally:
            self._remove()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """See `DataSourceWriter.abort`: nothing was written but staged files."""
        del messages
        self._remove()

    def _check_size(self, num_bytes: int) -> None:
        limit = Options.parse(self._options)[MAX_STAGED_BYTES]
        if num_bytes > limit:
            raise EngineError(
                f"The write has {num_bytes:,} bytes, more than the {limit:,} that one process takes over.",
                way_out=f"Write with executor tasks: {_DISTRIBUTED}.{self._operation}(df); "
                f"or raise {MAX_STAGED_BYTES}.",
            )
        if num_bytes > _SAID_FROM_BYTES:
            logger.warning(
                "%s bytes are written by one process; %s.%s(df) writes with executor tasks",
                num_bytes,
                _DISTRIBUTED,
                self._operation,
            )

    def _remove(self) -> None:
        storage = open_storage(self._location)
        storage.delete([status.path for status in storage.list(self._folder, recursive=True)])


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
        if sum(b.nbytes for b in held) >= _STAGED_PIECE_BYTES:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _operate(table: Table, operation: str, rows: pa.Table) -> WriteResult:
    match operation:
        case "upsert":
            return table.upsert(rows)
        case "insert":
            return table.insert(rows)
        case "bulk_insert":
            return table.bulk_insert(rows)
        case "delete":
            return table.delete(rows)
    raise InputError(f"There is no operation {operation!r}.")
