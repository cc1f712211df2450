"""A table's rows in the forms of other libraries, all through one scan.

Whose duty: `drawstring.table.Table` inherits these. What the rows are is `drawstring.read`'s; here they change hands,
batch by batch where the other library takes batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.errors import EngineError, InputError
from drawstring.read.arrow_reader import query_schema, read_snapshot
from drawstring.read.operation_field import with_operation_field
from drawstring.read.schema import resolve_schema
from drawstring.read.stream import BATCH_ROWS, ScanDataset, check_batch_rows, scan_snapshot
from drawstring.read.view import load_snapshot
from drawstring.timeline.load import load_timeline

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl


class TableExports(ABC):
    """What of a table can be handed on."""

    @abstractmethod
    def _refreshed(self) -> TableContext:
        """Return the table's context as of now."""

    def read(
        self,
        *,
        as_of: str | None = None,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 -- the word of pyarrow and pandas
        read_optimized: bool = False,
        meta_columns: bool = True,
    ) -> pa.Table:
        """Read a snapshot.

        Args:
            as_of: see the table as it was at this requested time: 17 or 14 digits, ``yyyy-MM-dd HH:mm:ss[.SSS]`` or
                ``yyyy-MM-dd``, in the time zone of the table's timeline. None for the newest.
            columns: names that are wanted, in the order wanted; None for all.
            filter: rows that are wanted: a `pyarrow.compute.Expression` or a list of conditions, as in
                ``pyarrow.parquet.read_table``. It may use columns that are not in `columns`.
            read_optimized: read base files only. On a copy-on-write table that is all there is.
            meta_columns: with the ``_hoodie_`` columns in front, unless `columns` says what is wanted.

        Raises:
            InputError: a column, the filter or `as_of` does not fit the table (`as_of`: `TimeTravelError`).
            SchemaError: the table has no columns yet.
            UnsupportedTableError: the table has a feature that drawstring does not read.
            CorruptFileError: a file of the table is damaged.

        """
        context = self._refreshed()
        snapshot = load_snapshot(context, as_of=as_of, read_optimized=read_optimized)
        return read_snapshot(context, snapshot, columns=columns, filter=filter, meta_columns=meta_columns)

    def scan(
        self,
        *,
        as_of: str | None = None,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 -- as in `read`
        read_optimized: bool = False,
        meta_columns: bool = True,
        batch_rows: int = BATCH_ROWS,
    ) -> pa.RecordBatchReader:
        """Read a snapshot as a stream, for tables that are larger than memory.

        The snapshot is chosen now; its files are read as the batches are asked for. In memory are one batch, the bytes
        of one row group, and what the log files of one file slice say.

        Args:
            as_of: as `read`.
            columns: as `read`.
            filter: as `read`.
            read_optimized: as `read`.
            meta_columns: as `read`.
            batch_rows: rows of a batch, at most.

        Returns:
            The rows of `read`, in the same order. The stream can be read once.

        Raises as `read`: what needs no data file at once, the rest while the stream is read, then also `NotFoundError`
        where the cleaner has removed a file of the snapshot meanwhile.

        """
        check_batch_rows(batch_rows)
        context = self._refreshed()
        snapshot = load_snapshot(context, as_of=as_of, read_optimized=read_optimized)
        return scan_snapshot(
            context, snapshot, columns=columns, filter=filter, meta_columns=meta_columns, batch_rows=batch_rows
        )

    def to_pandas(self, **query: Any) -> pd.DataFrame:
        """Read a snapshot into pandas; arguments and errors as `read`."""
        frame: pd.DataFrame = self.read(**query).to_pandas()
        return frame

    def to_polars(self, **query: Any) -> pl.DataFrame:
        """Read a snapshot into polars, a batch at a time; arguments and errors as `scan`."""
        try:
            import polars as pl  # noqa: PLC0415 -- slow to import
        except ImportError as error:
            raise EngineError("polars is not installed.", way_out="pip install polars") from error
        reader = self.scan(**query)
        # By hand, since what polars raises for a stream that breaks off does not say why it did.
        frames = [pl.DataFrame(reader.schema.empty_table()), *(pl.DataFrame(batch) for batch in reader)]
        return pl.concat(frames, rechunk=False)

    def to_duckdb(self, connection: duckdb.DuckDBPyConnection | None = None, **query: Any) -> duckdb.DuckDBPyRelation:
        """Return a snapshot as a relation of DuckDB, which reads only what a query needs of it.

        Each use of the relation scans the files anew, always those of one snapshot, chosen now. DuckDB asks the scan
        for the columns and rows that its query needs.

        Args:
            connection: of DuckDB; None for its default one.
            query: arguments of `scan`.

        Raises as `scan`, and:
            EngineError: duckdb is not installed.
            InputError: no column is asked for, which a relation cannot have.

        """
        try:
            import duckdb  # noqa: PLC0415 -- an extra
        except ImportError as error:
            raise EngineError("duckdb is not installed.", way_out="pip install 'drawstring[duckdb]'") from error
        choice = {name: query.pop(name) for name in ("as_of", "read_optimized") if name in query}
        context = self._refreshed()
        dataset = ScanDataset(context, load_snapshot(context, **choice), **query)
        if not dataset.schema.names:
            raise InputError("A relation of DuckDB has at least one column.", way_out="Name one in columns.")
        return duckdb.from_arrow(dataset, connection=connection)

    def __arrow_c_schema__(self) -> object:
        """Export the columns that `__arrow_c_stream__` has: meta columns too, which `schema` leaves out."""
        context = self._refreshed()
        timeline = load_timeline(context.ports.storage, context.config)
        schema = with_operation_field(context, timeline, resolve_schema(context, timeline))
        exported: object = query_schema(context, schema).__arrow_c_schema__()
        return exported

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export the newest snapshot as a stream, so that the handle can be given where a table is taken."""
        exported: object = self.scan().__arrow_c_stream__(requested_schema)
        return exported
