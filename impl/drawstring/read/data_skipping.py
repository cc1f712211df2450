"""Leaving file slices out of which statistics in the metadata table say that a filter keeps no row of them.

Source: Java ``DataSkippingUtils``, ``ColumnStatsIndexSupport``, ``PartitionStatsIndexSupport``. Whose duty: only speed.
What is left out is certain; the filter itself is still applied to the rows that are read. Arrow decides whether a
filter can hold where a promise does: the same code that leaves row groups of Parquet files out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.context import TableContext
from drawstring.files import FileSlice, Snapshot
from drawstring.metadata import MetadataTable
from drawstring.metadata.keys import partition_identifier
from drawstring.metadata.records import COLUMN_STATS, PARTITION_STATS
from drawstring.metadata.table import partition_hashes
from drawstring.read.expression_index import slices_by_expression_indexes
from drawstring.read.index_lookup import is_newest, slices_by_secondary_index
from drawstring.read.listing import metadata_of
from drawstring.read.pruning import possible, uses_column
from drawstring.read.schema import TableSchema
from drawstring.read.statistics import Bounds, bounds_of_slices, promise, rows_of_files, rows_of_keys
from drawstring.table_config import TableType
from drawstring_spec.merge_modes import MergeMode
from drawstring_spec.meta_fields import META_FIELDS

_CALLS: Final = re.compile(r"[a-z_0-9]+(?=\()")


def slices_with_rows(
    context: TableContext,
    snapshot: Snapshot,
    schema: TableSchema,
    available: pa.Schema,
    expression: Any,
    condition: Any = None,
) -> tuple[FileSlice, ...]:
    """Return the slices of a snapshot that may have rows which a filter keeps.

    Args:
        context: of the table.
        snapshot: its slices.
        schema: of the table at the snapshot's time.
        available: all columns that the filter may use.
        expression: the filter, or None.
        condition: the same as the caller gave it; a list of conditions can be asked of a secondary index.

    Raises:
        CorruptFileError: the metadata table cannot be read.

    """
    slices = snapshot.slices
    # Where columns have ids, one name may have stood for another column when a file was written.
    if expression is None or schema.current is not None or not slices:
        return slices
    metadata = metadata_of(context, snapshot)
    columns = _columns(context, available, expression) if metadata is not None else []
    if metadata is None or not columns:
        return slices
    # What lies in source files no index knows: Java makes them of the skeleton files alone, which lack the columns.
    stitched = {one.group for one in slices if _goes_on_elsewhere(one)}
    others: Sequence[FileSlice] = [one for one in slices if one.group not in stitched]
    # A secondary index tells where values are now, which log files have changed since the base files were written.
    if not snapshot.without_logs:
        named = slices_by_secondary_index(context, metadata, snapshot, others, available, condition)
        others = others if named is None else named
    others = slices_by_expression_indexes(context, metadata, others, columns, available, expression, condition)
    if PARTITION_STATS in metadata and others and _partition_stats_hold(context, snapshot):
        others = _by_partition(metadata, others, columns, available, expression)
    kept = stitched.union(one.group for one in others)
    slices = tuple(one for one in slices if one.group in kept)
    if COLUMN_STATS in metadata and slices:
        slices = _by_file(context, metadata, slices, columns, available, expression)
    return slices


def slices_of_changes_with_rows(
    context: TableContext, snapshot: Snapshot, schema: TableSchema, available: pa.Schema, expression: Any
) -> tuple[FileSlice, ...]:
    """Return the slices of a query for changes that may have rows which a filter keeps; arguments as above.

    Such slices are of files that some commits wrote, which may be superseded: what an index says of the newest file of
    a group, or statistics say of a partition, does not hold for them. What statistics say of each file does.
    """
    slices = snapshot.slices
    if expression is None or schema.current is not None or not slices:
        return slices
    metadata = metadata_of(context, snapshot)
    columns = _columns(context, available, expression) if metadata is not None else []
    if metadata is None or not columns or COLUMN_STATS not in metadata:
        return slices
    return _by_file(context, metadata, slices, columns, available, expression)


def _goes_on_elsewhere(one: FileSlice) -> bool:
    """Whether the rows of a slice have their own columns in a source file."""
    return one.base_file is not None and one.base_file.source is not None


def _partition_stats_hold(context: TableContext, snapshot: Snapshot) -> bool:
    """Whether statistics of partitions are bounds: they are those of now, and say nothing of an earlier time.

    With log files Java makes them of the last commit's files alone, and calls them tight all the same (requirement
    MT-005): used, they lose rows.
    """
    return is_newest(snapshot) and context.config.table_type is TableType.COPY_ON_WRITE


def _columns(context: TableContext, available: pa.Schema, expression: Any) -> list[pa.Field]:
    """Columns of the filter whose bounds tell something.

    Values of partition columns come from the path. No bound tells where NaN is, for which most comparisons are false:
    floating columns count only in filters that negate nothing.
    """
    found = [
        field
        for field in available
        if field.name not in context.config.partition_fields and uses_column(expression, field.name, available)
    ]
    text = str(expression)
    plain = "!=" not in text and not _CALLS.search(text)
    return [field for field in found if plain or not pat.is_floating(field.type)]


def _by_partition(
    metadata: MetadataTable,
    slices: Sequence[FileSlice],
    columns: Sequence[pa.Field],
    available: pa.Schema,
    expression: Any,
) -> tuple[FileSlice, ...]:
    paths = sorted({one.group.partition_path for one in slices})
    stats = metadata.partition_stats([field.name for field in columns])
    names = pa.array([partition_identifier(path) for path in paths])
    columns = [field for field in columns if field.name not in META_FIELDS]
    bounds: dict[str, Bounds] = {}
    for field in columns:
        rows = stats.filter(pc.equal(stats.column("columnName"), field.name))
        positions = rows_of_keys(rows.column("fileName"), names)
        bounds[field.name] = bounds_of_slices(rows, positions, np.arange(len(paths)), len(paths), field.type)
    kept = {paths[i] for i in possible([promise(bounds, i) for i in range(len(paths))], available, expression)}
    return tuple(one for one in slices if one.group.partition_path in kept)


def _by_file(
    context: TableContext,
    metadata: MetadataTable,
    slices: Sequence[FileSlice],
    columns: Sequence[pa.Field],
    available: pa.Schema,
    expression: Any,
) -> tuple[FileSlice, ...]:
    paths = sorted({one.group.partition_path for one in slices})
    hashes = dict(zip(paths, partition_hashes(paths), strict=True))
    files: list[str] = []
    of_slice: list[int] = []
    for index, one in enumerate(slices):
        parts = [*([one.base_file.path] if one.base_file else []), *(log.path for log in one.log_files)]
        files += [hashes[one.group.partition_path] + path.rpartition("/")[2] for path in parts]
        of_slice += [index] * len(parts)
    names = pa.array(files, pa.string())
    stats = metadata.column_stats([field.name for field in columns])
    bounds: dict[str, Bounds] = {}
    for field in columns:
        rows = stats.filter(pc.equal(stats.column("columnName"), field.name))
        positions = rows_of_files(rows, names)
        bounds[field.name] = bounds_of_slices(rows, positions, np.array(of_slice), len(slices), field.type)
    # A merger of somebody's own may make values that no file has; and of log files the statistics were made before
    # the meta columns were filled in.
    custom = context.config.merge_mode is MergeMode.CUSTOM
    merged = {} if custom else {name: known for name, known in bounds.items() if name not in META_FIELDS}
    skeleton = {name: known for name, known in bounds.items() if name in META_FIELDS}
    promises = []
    for index, one in enumerate(slices):
        holding = merged if one.log_files else bounds
        if _goes_on_elsewhere(one):
            holding = {} if one.log_files else skeleton
        promises.append(promise(holding, index))
    return tuple(slices[i] for i in possible(promises, available, expression))
