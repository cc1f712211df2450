"""Snapshots as streams: the rows that `drawstring.read.arrow_reader` gives, a batch at a time.

Whose duty: memory that is bounded by a batch, the bytes of one row group and the log files of one slice, whatever the
table's size. `snapshot_batches` is plain Python and may run wherever the ports may be called. `ScanDataset` is for
libraries that pull batches from native code: the storage is then read below a native call, which production's storage
allows and a simulated one does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as pads

from drawstring.context import TableContext
from drawstring.errors import InputError
from drawstring.files import Snapshot
from drawstring.ports import TaskContext
from drawstring.read.arrow_reader import Plan, filter_expression, plan_snapshot
from drawstring.read.merge_reader import slice_parts

BATCH_ROWS: Final = 65_536
"""Rows of a batch, where nothing else is said."""
MAX_BATCH_ROWS: Final = 2**63 - 1
"""What Arrow can count."""


def scan_snapshot(
    context: TableContext,
    snapshot: Snapshot,
    *,
    columns: Sequence[str] | None = None,
    filter: Any = None,  # noqa: A002 -- the public face's name for it
    meta_columns: bool = True,
    batch_rows: int = BATCH_ROWS,
) -> pa.RecordBatchReader:
    """Plan a scan now, and read it as its batches are asked for.

    Args:
        context: of the table.
        snapshot: its slices.
        columns: as `drawstring.read.arrow_reader.read_snapshot`.
        filter: as there.
        meta_columns: as there.
        batch_rows: rows of a batch, at most.

    Raises as there: what needs no data file at once, the rest while the batches are read.

    """
    check_batch_rows(batch_rows)
    plan = plan_snapshot(context, snapshot, columns=columns, filter=filter, meta_columns=meta_columns)
    return pa.RecordBatchReader.from_batches(plan.wanted, snapshot_batches(context, plan, batch_rows))


def check_batch_rows(batch_rows: int) -> None:
    """Refuse what is no number of rows. Raises `InputError`."""
    if isinstance(batch_rows, bool) or not isinstance(batch_rows, int) or not 1 <= batch_rows <= MAX_BATCH_ROWS:
        raise InputError(f"batch_rows is {batch_rows!r}.", way_out=f"Pass a number of rows, 1 to {MAX_BATCH_ROWS}.")


def snapshot_batches(context: TableContext, plan: Plan, batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a plan, slice by slice, in the order of `read_snapshot`; no batch is empty."""
    for index, query in enumerate(plan.queries):
        task = TaskContext(context.ports.storage, index, 0)
        for part in slice_parts(task, query, batch_rows):
            answer = plan.answer(part)
            for batch in answer.combine_chunks().to_batches(max_chunksize=batch_rows):
                if batch.num_rows:
                    yield batch


class ScanDataset(pads.Dataset):  # type: ignore[misc]  # pyarrow has no types
    """One snapshot as an Arrow dataset, for libraries that know which columns and rows they want: DuckDB and polars.

    It can be scanned any number of times, and each scan sees the same snapshot. What is asked for is read of the
    files, and no more: columns, and file slices that statistics and partitions do not rule out.
    """

    def __init__(
        self,
        context: TableContext,
        snapshot: Snapshot,
        *,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 -- the public face's name for it
        meta_columns: bool = True,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        # Arrow's own constructor refuses to be called; nothing of the native dataset is used.
        check_batch_rows(batch_rows)
        plan = plan_snapshot(context, snapshot, columns=columns, filter=filter, meta_columns=meta_columns)
        self._context, self._snapshot = context, snapshot
        self._columns, self._filter, self._batch_rows = plan.wanted, filter, batch_rows
        self._available = plan.needed

    @property
    def schema(self) -> pa.Schema:
        """The columns that can be asked for."""
        return self._columns

    def scanner(
        self,
        columns: Sequence[str] | None = None,
        filter: Any = None,  # noqa: A002 -- pyarrow's name for it
        batch_size: int | None = None,
        **hints: Any,  # noqa: ARG002 -- how pyarrow should read; what is read does not depend on it
    ) -> ScanOfColumns:
        """Return a scan of some columns and rows.

        Args:
            columns: names; None for all.
            filter: an expression over `schema`, besides the dataset's own filter.
            batch_size: rows of a batch, at most; None for the dataset's own.
            hints: of pyarrow's scanners; passed over.

        Raises `InputError` where a column or the filter does not fit.

        """
        names = self._columns.names if columns is None else list(columns)
        unknown = [name for name in names if name not in self._columns.names]
        if unknown:
            raise InputError(
                f"The scan has no column {unknown[0]!r}.", way_out=f"It has: {', '.join(self._columns.names)}."
            )
        condition = self._filter
        if filter is not None:
            condition = filter_expression(filter, self._columns)
            own = filter_expression(self._filter, self._available)
            condition = condition if own is None else own & condition
        rows = min(batch_size or self._batch_rows, self._batch_rows)
        return ScanOfColumns(
            self._context, plan_snapshot(self._context, self._snapshot, columns=names, filter=condition), rows
        )

    def __reduce__(self) -> Any:
        raise InputError("A scan stays in its process.", way_out="Open the table in the other process, and scan it.")

    def _not_here(self, *_: object, **__: object) -> Any:
        # What is inherited would follow a pointer to a native dataset that is not there.
        raise InputError("A scan of a table can only be scanned.", way_out="Use scanner(), or Table.read().")

    filter = replace_schema = get_fragments = _get_fragments = _not_here
    join = join_asof = sort_by = count_rows = head = take = _not_here
    partition_expression = property(_not_here)


class ScanOfColumns:
    """A scan that was asked of a `ScanDataset`, in the form that pyarrow's scanners have."""

    def __init__(self, context: TableContext, plan: Plan, batch_rows: int) -> None:
        self._context, self._plan, self._batch_rows = context, plan, batch_rows

    @property
    def projected_schema(self) -> pa.Schema:
        """Columns of the batches."""
        return self._plan.wanted

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the batches, read as they are asked for."""
        batches = snapshot_batches(self._context, self._plan, self._batch_rows)
        return pa.RecordBatchReader.from_batches(self._plan.wanted, batches)

    def to_table(self) -> pa.Table:
        """Return all rows."""
        return self.to_reader().read_all()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the batches."""
        return snapshot_batches(self._context, self._plan, self._batch_rows)
