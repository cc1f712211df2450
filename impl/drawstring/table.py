"""The public face: a Hudi table that is created or opened, written and read.

Whose duty: bring arguments into the forms that the layers below take, and refuse what does not fit before anything
is touched. How rows are found, merged and written is the engine's; how a write becomes visible is the protocol's.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.engine import Engine
from drawstring.engine.embedded import EmbeddedEngine
from drawstring.errors import InputError, StorageError
from drawstring.events import Listener, ignore
from drawstring.files import FileSlice, Snapshot
from drawstring.metadata import MetadataTable
from drawstring.options import Options
from drawstring.ports import Ports
from drawstring.protocol.write import WriteResult, run_write
from drawstring.read.changes import changes
from drawstring.read.repeated_lookup import RepeatedLookup
from drawstring.read.schema import table_schema
from drawstring.read.view import load_snapshot
from drawstring.runtime import open_source_files, production_ports
from drawstring.table_arguments import (
    check_options_fit,
    check_options_of_a_handle,
    creation_arguments,
    field_names,
    parse_table_type,
)
from drawstring.table_config import TableConfig, load_table_config
from drawstring.table_creation import create_table
from drawstring.table_exports import TableExports
from drawstring.table_properties import read_properties
from drawstring.timeline.archived import load_archived
from drawstring.timeline.load import load_timeline
from drawstring.timeline.timeline import Timeline
from drawstring.writable import check_writable
from drawstring.write_stats import Operation

if TYPE_CHECKING:
    from drawstring.spark import SparkChanges


class Table(TableExports):
    """A handle on one Hudi table. Made by `Table.create` and `Table.open`.

    Each operation sees the table as it is then; what a handle keeps of one look-up for the next counts only while the
    timeline is the same. It may be used from several threads, as far as its engine may; two writes at once need
    optimistic concurrency control, like two processes.
    """

    def __init__(self, context: TableContext, engine: Engine) -> None:
        self._context = context
        self._engine = engine
        self._lookups = RepeatedLookup()

    @classmethod
    def create(
        cls,
        uri: str,
        schema: pa.Schema,
        *,
        record_key: str | Sequence[str],
        partition_by: str | Sequence[str] = (),
        ordering: str | None = None,
        type: str = "COPY_ON_WRITE",  # noqa: A002 -- Hudi's own word
        engine: Engine | None = None,
        options: Mapping[str, object] | None = None,
        ports: Ports | None = None,
        emit: Listener = ignore,
    ) -> Self:
        """Make a new, empty table.

        Args:
            uri: a local path, or the URI of a folder in an object store (``s3://``, ``gs://``, ``az://``).
            schema: the table's columns, an Arrow schema or anything that exports one (``__arrow_c_schema__``).
            record_key: the column or columns that identify a row.
            partition_by: partition columns, outermost first.
            ordering: the column that decides which of two rows with one key stays: the greater one. Without it the
                later write wins.
            type: ``COPY_ON_WRITE``; merge-on-read tables cannot be made yet.
            engine: what does the work; None for an `EmbeddedEngine`.
            options: see docs/reference/options.md.
            ports: the outside world; None for the real one.
            emit: hears each step of the protocol.

        Raises:
            TableExistsError: the location holds a table; it is left as it was.
            OptionError: an option is unknown, not honoured or does not fit.
            SchemaError: a column has a type or a name that Hudi does not have.
            InputError: a field that is named is not in the schema.
            UnsupportedTableError: a table of this type cannot be made.

        """
        parsed = Options.parse(options)
        check_options_of_a_handle(parsed)
        table_type = parse_table_type(type)
        keys, partitions = field_names(record_key, "record_key"), field_names(partition_by, "partition_by")
        ports = ports or production_ports(uri, parsed, emit=emit)
        arguments = creation_arguments(ports.storage.uri, schema, keys, partitions, ordering, parsed)
        config = create_table(
            ports.storage,
            name=arguments.name,
            record_key=arguments.record_key,
            partition_by=arguments.partition_by,
            ordering=ordering,
            create_schema=arguments.avro_json,
            options=parsed,
            now_ms=ports.clock.wall_ms(),
            table_type=table_type,
        )
        return cls(TableContext(ports, config, parsed, emit), engine or EmbeddedEngine())

    @classmethod
    def open(
        cls,
        uri: str,
        *,
        engine: Engine | None = None,
        options: Mapping[str, object] | None = None,
        ports: Ports | None = None,
        emit: Listener = ignore,
    ) -> Self:
        """Open a table.

        Args:
            uri: as in `create`.
            engine: what does the work; None for an `EmbeddedEngine`.
            options: see docs/reference/options.md.
            ports: the outside world; None for the real one.
            emit: hears each step of the protocol.

        Raises:
            TableNotFoundError: the location holds no table.
            UnsupportedTableError: the table has a version or a feature that drawstring does not handle.
            CorruptFileError: its properties cannot be read.
            OptionError: an option is unknown, not honoured, or contradicts the table.

        """
        parsed = Options.parse(options)
        check_options_of_a_handle(parsed)
        ports = ports or production_ports(uri, parsed, emit=emit)
        if ports.source_files is None:
            ports = dataclasses.replace(ports, source_files=open_source_files(parsed))
        config = load_table_config(ports.storage)
        check_options_fit(config, parsed)
        return cls(TableContext(ports, config, parsed, emit), engine or EmbeddedEngine())

    def __repr__(self) -> str:
        return f"Table({self.uri!r})"

    def __reduce__(self) -> Any:
        raise InputError(
            "A table's handle stays in its process: it holds an engine and ports.",
            way_out=f"Pass the location on, and open the table there: Table.open({self.uri!r}).",
        )

    @property
    def uri(self) -> str:
        """The table's location."""
        return self._context.ports.storage.uri

    @property
    def config(self) -> TableConfig:
        """The table's configuration as of the last operation of this handle."""
        return self._context.config

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties as they stand now, raw."""
        return read_properties(self._context.ports.storage)

    @property
    def schema(self) -> pa.Schema:
        """The table's own columns as of now, without meta columns. Raises `SchemaError` where it has none."""
        return table_schema(self._refreshed())

    def timeline(self, *, archived: bool = False) -> Timeline:
        """Load the timeline.

        Args:
            archived: with the archived instants in front of the active ones.

        Raises:
            CorruptFileError: the archived timeline cannot be read.

        """
        context = self._refreshed()
        active = load_timeline(context.ports.storage, context.config)
        # The active one first: an instant that is archived in between is then seen twice, never not at all.
        return load_archived(context.ports.storage, context.config).before(active) if archived else active

    def file_slices(self, as_of: str | None = None) -> tuple[FileSlice, ...]:
        """Choose the file slices of a snapshot, sorted by file group; `as_of` as in `read`."""
        return load_snapshot(self._refreshed(), as_of=as_of).slices

    def bulk_insert(self, data: Any) -> WriteResult:
        """Write rows with new keys into new file groups: `insert` without packing. Arguments and errors as `insert`."""
        return self._write(Operation.BULK_INSERT, data)

    def insert(self, data: Any) -> WriteResult:
        """Write rows with new keys; the option ``hoodie.datasource.insert.dup.policy`` says what old keys do.

        Arguments and errors as `upsert`; besides:

        Raises:
            DuplicateKeyError: the table holds a key already, and the policy is ``fail``.

        """
        return self._write(Operation.INSERT, data)

    def upsert(self, data: Any) -> WriteResult:
        """Write rows: those with a key that the table holds replace its row, the others are added.

        Args:
            data: anything that exports an Arrow stream (``__arrow_c_stream__``: pyarrow, polars, DuckDB), a pandas
                DataFrame, or, with a `SparkEngine`, a Spark DataFrame.

        Returns:
            The times of the write, and how many rows it touched.

        Raises:
            InputError: the data does not fit the table; nothing was written.
            UnsupportedTableError: the table cannot be written rightly; it is left as it was.
            ConcurrencyError: another writer stood in the way; nothing is visible, and it can be tried again.

        """
        return self._write(Operation.UPSERT, data)

    def delete(self, keys: Any) -> WriteResult:
        """Remove rows by their keys.

        Args:
            keys: as `data` of `upsert`; it needs the record key and partition columns, others are ignored. Keys that
                the table does not hold are passed over.

        Errors are those of `upsert`.
        """
        context = self._writable()
        return self._run(context, self._engine.prepare_delete(context, keys))

    def _write(self, operation: Operation, data: Any) -> WriteResult:
        context = self._writable()
        return self._run(context, self._engine.prepare_write(context, operation, data))

    def _run(self, context: TableContext, body: Any) -> WriteResult:
        result = run_write(context, body, load_snapshot=_writer_snapshot)
        with contextlib.suppress(StorageError):
            # The write is complete; that its properties cannot be read again now must not say otherwise.
            self._refreshed()
        return result

    def changes(
        self,
        start: str | None = None,
        end: str | None = None,
        *,
        bounds: str = "[]",
        cdc: bool = False,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 -- as in `read`
        meta_columns: bool = True,
    ) -> pa.Table:
        """Read what changed between two times.

        Without `cdc` these are the rows that commits of the range wrote, each in the last state that the range gave
        it; deletes are not seen. With it, every single change: ``op`` (``i``, ``u`` or ``d``), ``ts_ms`` (requested
        time of the commit), and the row ``before`` and ``after`` as JSON.

        To follow a table, start with ``changes("earliest", bounds="(]")`` and go on with
        ``changes(drawstring.checkpoint(last), bounds="(]")``: each commit is seen once, in whichever order commits
        complete.

        Args:
            start: completion time from which on: digits, ``"earliest"``, or a form as in `read`. None for the last
                commit only (with `cdc`: for all).
            end: completion time up to which, inclusive; None for no end.
            bounds: ``"[]"`` as Java's queries have them: `start` belongs to the range; with `cdc` it does not, and both
                ends are compared with *requested* times. ``"(]"``: commits that completed after `start`.
            cdc: change data, of a table that logs it (``hoodie.table.cdc.enabled``).
            columns: as in `read`.
            filter: as in `read`; of the rows in their last state.
            meta_columns: as in `read`.

        Returns:
            The rows, with the checkpoint in the metadata of their schema (see `drawstring.checkpoint`).

        Raises:
            InputError: `start`, `end`, `bounds`, a column or the filter does not fit.
            TimeTravelError: what a commit of the range changed cannot be told any more, since it is archived or its
                files are cleaned. Without `cdc` the option
                ``hoodie.datasource.read.incr.fallback.fulltablescan.enable``, which is on as in Java, answers from the
                newest snapshot instead.
            UnsupportedTableError: the table has no meta fields; or, with `cdc`, does not log changes.
            SchemaError: the table has no columns yet.
            CorruptFileError: a file of the table is damaged.

        """
        return changes(
            self._refreshed(),
            start,
            end,
            bounds=bounds,
            cdc=cdc,
            columns=columns,
            filter=filter,
            meta_columns=meta_columns,
        )

    def lookup(self, keys: Any, *, columns: Sequence[str] | None = None, meta_columns: bool = True) -> pa.Table:
        """Read the rows that have some record keys, as the table is now.

        With a record index in the table's metadata table only the file groups that hold a key are opened; without one,
        what statistics cannot rule out. Look-ups through one handle fetch again only what earlier ones did not.

        Args:
            keys: record keys as texts, as the column ``_hoodie_record_key`` has them, or rows with the key columns
                (anything that exports an Arrow stream).
            columns: as in `read`.
            meta_columns: as in `read`.

        Raises:
            InputError: `keys` are no keys, or a column does not exist.
            SchemaError: the table has no columns yet.
            CorruptFileError: a file of the table is damaged.

        """
        return self._lookups.rows(self._refreshed(), keys, columns=columns, meta_columns=meta_columns)

    def metadata(self) -> MetadataTable | None:
        """Open the table's metadata table; None where it has none, or ``hoodie.metadata.enable`` is false.

        Raises `CorruptFileError` where there is one and it cannot be read.
        """
        return MetadataTable.open(self._refreshed())

    def to_spark(self, spark: Any, **query: Any) -> Any:
        """Read a snapshot into a Spark DataFrame: base files are scanned by Spark's own Parquet reader.

        Args:
            spark: the session.
            query: arguments as `read`.

        Raises as `read`, and `EngineError` where Spark cannot run here.

        """
        from drawstring.spark import to_spark  # noqa: PLC0415 -- pyspark is an extra

        return to_spark(self._refreshed(), spark, **query)

    def changes_to_spark(
        self, spark: Any, start: str | None = None, end: str | None = None, **query: Any
    ) -> SparkChanges:
        """Read what changed between two times into a Spark DataFrame; its files are read by executors.

        To follow a table, start with ``rows, checkpoint = table.changes_to_spark(spark, "earliest", bounds="(]")``
        and go on with ``changes_to_spark(spark, checkpoint, bounds="(]")``.

        Args:
            spark: the session.
            start: as `changes`.
            end: as `changes`.
            query: the other arguments of `changes`; `filter` may be a Spark `Column`, too.

        Returns:
            The rows, and the checkpoint.

        Raises as `changes`, and `EngineError` where Spark cannot run here.

        """
        from drawstring.spark import changes_to_spark  # noqa: PLC0415 -- pyspark is an extra

        return changes_to_spark(self._refreshed(), spark, start, end, **query)

    def _refreshed(self) -> TableContext:
        """Return the context with the table's properties as they stand now."""
        config = load_table_config(self._context.ports.storage)
        self._context = dataclasses.replace(self._context, config=config)
        return self._context

    def _writable(self) -> TableContext:
        context = self._refreshed()
        check_writable(context.config)
        return context


def _writer_snapshot(context: TableContext, timeline: Timeline) -> Snapshot:
    return load_snapshot(context, timeline=timeline)
