"""Rows by their record keys: through the record index where the table has one, else through what else leaves files out.

Source: Java ``RecordLevelIndexSupport``, ``SparkMetadataTableRecordIndex``. Whose duty: open the file groups that hold
the keys and no others, and of their base files first the key column alone: the other columns are read only of row
groups that hold a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.context import TableContext
from drawstring.data.kept_files import KeptFiles
from drawstring.data.record_keys import record_keys
from drawstring.errors import InputError
from drawstring.files import FileSlice, Snapshot
from drawstring.read.arrow_reader import query_schema, slice_query, wanted_columns
from drawstring.read.data_skipping import slices_with_rows
from drawstring.read.index_lookup import keys_by_group, slices_by_bloom_filters
from drawstring.read.listing import metadata_of
from drawstring.read.merge_reader import SliceQuery, read_slice
from drawstring.read.operation_field import with_operation_field
from drawstring.read.schema import TableSchema, resolve_schema
from drawstring.table_config import TableConfig
from drawstring_spec.meta_fields import RECORD_KEY


def lookup_rows(
    context: TableContext,
    snapshot: Snapshot,
    keys: Any,
    *,
    columns: Sequence[str] | None = None,
    meta_columns: bool = True,
    schema: TableSchema | None = None,
    kept: KeptFiles | None = None,
) -> pa.Table:
    """Read the rows that have some record keys.

    Args:
        context: of the table.
        snapshot: its newest slices.
        keys: record keys as texts, or rows with the key columns (anything that exports an Arrow stream).
        columns: as in `drawstring.read.arrow_reader.read_snapshot`.
        meta_columns: as there.
        schema: what `lookup_schema` says; None to ask it.
        kept: files that earlier look-ups in the same snapshot opened; None where none are kept.

    Returns:
        The rows, in the order of the table; keys that the table does not hold have none.

    Raises:
        InputError: `keys` are no keys, or a column does not exist.
        SchemaError: the table has no columns yet.
        CorruptFileError: a file cannot be read.

    """
    wanted_keys = key_texts_of(keys, context.config)
    schema = schema or lookup_schema(context, snapshot, columns, meta_columns=meta_columns)
    available = query_schema(context, schema)
    wanted = wanted_columns(available, columns, meta_columns=meta_columns)
    has_key = RECORD_KEY in available.names
    by = [RECORD_KEY] if has_key else [name.partition(".")[0] for name in context.config.record_key_fields]
    needed = pa.schema([*wanted, *(available.field(name) for name in by if name not in wanted.names)])
    metadata = metadata_of(context, snapshot) if len(wanted_keys) else None
    groups = keys_by_group(context, metadata, snapshot, wanted_keys)
    chosen: Sequence[FileSlice] = snapshot.slices
    if groups is not None:
        chosen = [one for one in snapshot.slices if one.group in groups]
    elif has_key:
        condition = pc.field(RECORD_KEY).isin(wanted_keys)
        chosen = slices_with_rows(context, snapshot, schema, available, condition)
        chosen = slices_by_bloom_filters(metadata, chosen, wanted_keys)
    queries = [slice_query(context, schema, snapshot, needed, one) for one in chosen if len(wanted_keys)]
    if groups is not None:
        with_slices = zip(queries, chosen, strict=True)
        queries = [_with_keys(query, groups[one.group], kept, are_there=True) for query, one in with_slices]
    elif has_key:
        queries = [_with_keys(query, wanted_keys, kept, are_there=False) for query in queries]
    tables = context.ports.tasks.run(read_slice, queries, label="look rows up")
    table = pa.concat_tables(tables) if tables else needed.empty_table()
    found = table.column(RECORD_KEY) if has_key else record_keys(table, context.config)
    return table.filter(pc.is_in(found, value_set=wanted_keys)).select(wanted.names)


def lookup_schema(
    context: TableContext, snapshot: Snapshot, columns: Sequence[str] | None, *, meta_columns: bool
) -> TableSchema:
    """Return the table's schema for a look-up, arguments as of `lookup_rows`; a commit and a footer are read for it."""
    schema = resolve_schema(context, snapshot.timeline, snapshot.as_of)
    return with_operation_field(
        context, snapshot.timeline, schema, as_of=snapshot.as_of, columns=columns, meta_columns=meta_columns
    )


def key_texts_of(keys: Any, config: TableConfig) -> pa.Array:
    """Return record keys as distinct texts (``string``). Raises `InputError` where there are none in `keys`."""
    if isinstance(keys, (str, Mapping)):
        # Both can be iterated, and would be looked up letter by letter, or by the names of columns.
        raise InputError(
            f"The keys are a {type(keys).__name__}, not several keys.",
            way_out="Pass a list of texts, or rows with the key columns such as a pyarrow.Table.",
        )
    try:
        if hasattr(keys, "__arrow_c_stream__") and not isinstance(keys, pa.ChunkedArray):
            texts = record_keys(pa.table(keys), config)
        else:
            texts = pa.array(keys) if not isinstance(keys, (pa.Array, pa.ChunkedArray)) else keys
            if pa.types.is_dictionary(texts.type):
                texts = texts.cast(texts.type.value_type)
            if len(texts) and not pa.types.is_string(texts.type) and not pa.types.is_large_string(texts.type):
                raise InputError(
                    f"The keys are of type {texts.type}, not texts.",
                    way_out="Pass record keys as the column _hoodie_record_key has them, or rows with the key columns.",
                )
            texts = texts.cast(pa.string())
    except (pa.ArrowException, TypeError, UnicodeError) as error:
        raise InputError(f"The keys are none: {error}.", way_out="Pass texts, or rows with the key columns.") from error
    return pc.unique(texts.drop_null())


def _with_keys(query: SliceQuery, keys: pa.Array, kept: KeptFiles | None, *, are_there: bool) -> SliceQuery:
    if query.base is None:
        return query
    return replace(query, base=replace(query.base, record_keys=keys, keys_are_there=are_there, kept=kept))
