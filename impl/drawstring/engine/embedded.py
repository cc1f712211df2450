"""The embedded engine: looks up, merges and writes with pyarrow in this process.

Whose duty: `prepare_write` and `prepare_delete` check everything that can be checked before the table is touched.
Rows of a write are held in memory; base files are read and written one per task, as many at a time as
`drawstring.ports.Tasks` runs side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.context import TableContext
from drawstring.data.conform import conform, conform_columns
from drawstring.data.key_texts import top_level_names
from drawstring.data.merge import deletes, ordering_values
from drawstring.data.partition_paths import partition_paths
from drawstring.data.record_keys import check_key_generator, record_keys
from drawstring.engine.batch import split_by_partition
from drawstring.engine.delete_body import DeleteBody
from drawstring.engine.inputs import arrow_table, key_table
from drawstring.engine.preparation import TableShape, event_ordering, table_shape
from drawstring.engine.write_body import RowsBody
from drawstring.errors import InputError, RecordKeyError
from drawstring.write_stats import Operation, WriteBody


@dataclass(frozen=True, slots=True)
class EmbeddedEngine:
    """An engine that works in this process.

    Attributes:
        use_threads: whether Arrow may decode columns in its own threads. False makes every run alike, which the
            simulator needs.

    """

    use_threads: bool = True

    def prepare_write(self, context: TableContext, operation: Operation, data: Any) -> WriteBody:
        """See `drawstring.engine.Engine.prepare_write`.

        Args:
            context: of the table.
            operation: insert, upsert or bulk insert.
            data: anything with ``__arrow_c_stream__``, or a pandas DataFrame; meta columns are left out.

        Raises:
            SchemaError: the data does not fit the table's columns.
            RecordKeyError: a key or partition value is missing.
            InputError: an ordering value is missing, or the data is of no kind that is taken.

        """
        if operation is Operation.DELETE:
            raise InputError("A deletion takes keys.", way_out="Use prepare_delete.")
        check_key_generator(context.config)
        shape = table_shape(context)
        rows = conform(arrow_table(data), shape.columns)
        ordering = ordering_values(rows, event_ordering(context.config))
        deletes(rows)
        partitions = split_by_partition(
            record_keys(rows, context.config), partition_paths(rows, context.config), ordering, context.ports.tasks
        )
        return RowsBody(context, operation, shape, rows, partitions, use_threads=self.use_threads)

    def prepare_delete(self, context: TableContext, keys: Any) -> WriteBody:
        """See `drawstring.engine.Engine.prepare_delete`.

        Args:
            context: of the table.
            keys: as `data` of `prepare_write`, with the record key's columns; with the partition columns too, each
                key is looked for in its partition only, else in all. Where the key is one column, also a sequence
                of its values. Other columns are ignored.

        Raises:
            SchemaError: a key column has another type than the table's.
            RecordKeyError: a key is missing, or a key column is.

        """
        check_key_generator(context.config)
        shape = table_shape(context)
        given = key_table(keys, context.config.record_key_fields)
        return DeleteBody(context, shape, _deletions(context, shape, given), use_threads=self.use_threads)


def _deletions(context: TableContext, shape: TableShape, given: pa.Table) -> dict[str | None, pa.Array]:
    """Return the keys to delete by partition path; None stands for every partition."""
    config = context.config
    names = top_level_names(config.record_key_fields, shape.columns.names)
    partitions = top_level_names(config.partition_fields, shape.columns.names)
    present = [name for name in partitions if name in given.column_names and name not in names]
    local = all(name in given.column_names for name in partitions)
    if present and not local:
        raise RecordKeyError(
            f"The keys have the partition columns {', '.join(present)}, but the table's are {', '.join(partitions)}.",
            way_out="Give all of them to look in those partitions, or none to look in every partition.",
        )
    wanted = list(dict.fromkeys([*names, *partitions] if local else names))
    rows = conform_columns(given, shape.columns, wanted)
    keys = record_keys(rows, config)
    if not local:
        return {None: pc.unique(keys)}
    parts = split_by_partition(keys, partition_paths(rows, config), None, context.ports.tasks)
    return {part.partition_path: part.keys for part in parts}
