"""Which way each file slice of a snapshot is read on Spark: natively, natively but for some rows, or by Arrow.

Whose duty: the choice, and its reason in words. Native is Spark's own Parquet scan, which prunes columns and rows. It
is chosen where it is certain to give the same values as the embedded reader does; Arrow tasks read all the rest with
that reader's own code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from drawstring.context import TableContext
from drawstring.data.base_file_reader import open_base_file
from drawstring.data.schema import avro_to_arrow, parse_avro, without_meta_fields
from drawstring.files import BaseFile, FileSlice, Snapshot
from drawstring.read.base_query import file_query
from drawstring.read.schema import TableSchema
from drawstring.spark import java
from drawstring.timeline.load import read_payload
from drawstring.timeline.timeline import Timeline
from drawstring_spec.meta_fields import META_FIELDS

_PARQUET: Final = ".parquet"
_METADATA: Final = "_metadata"
"""Spark's own column, by which rows of a native scan know their file and their place in it."""


class Way(StrEnum):
    """How a file slice is read."""

    NATIVE = "native"
    """Spark scans the base file; there are no log files."""
    MERGED = "native, merged"
    """Spark scans the base file's rows that no log file touches; what has become of the others is read beside it."""
    ARROW = "arrow"
    """An Arrow task reads the slice with the embedded reader's code."""


@dataclass(frozen=True, slots=True)
class SliceWay:
    """The way that one slice takes.

    Attributes:
        file_slice: the slice.
        way: how it is read.
        reason: why it is not read natively; empty where it is.

    """

    file_slice: FileSlice
    way: Way
    reason: str = ""


def choose_ways(
    context: TableContext, spark: SparkSession, snapshot: Snapshot, schema: TableSchema, needed: pa.Schema
) -> tuple[SliceWay, ...]:
    """Choose how each slice of a snapshot is read, without reading its rows.

    A slice that is `Way.MERGED` here may still be read by Arrow, when its log files turn out to be of a kind that
    allows nothing else (`drawstring.spark.touched`).

    Args:
        context: of the table.
        spark: the session.
        snapshot: the file slices.
        schema: of the table at the snapshot's time.
        needed: columns that are read.

    Raises:
        CorruptFileError: what a file was written with cannot be found out.

    """
    if not snapshot.slices:
        return ()
    uri = context.ports.storage.uri
    if not opens(spark, uri):
        reason = f"Spark has no file system for {uri}"
        return tuple(SliceWay(one, Way.ARROW, reason) for one in snapshot.slices)
    written = _WrittenColumns(context, snapshot.timeline)
    ways = []
    for one in snapshot.slices:
        reason = _why_not_native(context, schema, needed, one, written)
        native = Way.MERGED if one.log_files else Way.NATIVE
        ways.append(SliceWay(one, Way.ARROW if reason else native, reason))
    return tuple(ways)


def _why_not_native(
    context: TableContext, schema: TableSchema, needed: pa.Schema, one: FileSlice, written: _WrittenColumns
) -> str:
    """Say why Spark cannot scan a slice's base file; the empty text where it can."""
    if one.base_file is None:
        return "it has log files only"
    if one.base_file.source is not None:
        return "its base file is a skeleton file: the rows go on in a source file"
    if not one.base_file.path.endswith(_PARQUET):
        return f"its base file is no {_PARQUET} file"
    if schema.current is not None and file_query(context, schema, needed, one.base_file).written is not None:
        return "its columns go by ids"
    if one.log_files and any(name.lower() == _METADATA for name in needed.names):
        return f"the table has a column {_METADATA!r}, which hides Spark's own"
    odd = _odd_column(written.of(one.base_file), needed)
    return f"its column {odd!r} was written with another type" if odd else ""


def _odd_column(written: pa.Schema, needed: pa.Schema) -> str | None:
    """Return a column that Spark's reader would not give as the table has it: it is there, with another type."""
    return next(
        (
            field.name
            for field in needed
            if field.name not in META_FIELDS
            and field.name in written.names
            and written.field(field.name).type != field.type
        ),
        None,
    )


def opens(spark: SparkSession, uri: str) -> bool:
    """Whether Spark has a file system for the table's location."""
    if uri.startswith("file:"):
        return True
    configuration: Any = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 -- Spark has no public way to ask
    try:
        java.new(spark, "org.apache.hadoop.fs.Path", uri).getFileSystem(configuration)
    except Py4JError:
        return False
    return True


class _WrittenColumns:
    """Which columns files were written with, as their commits say, or else their footers."""

    def __init__(self, context: TableContext, timeline: Timeline) -> None:
        self._context = context
        self._instants = {instant.requested_time: instant for instant in timeline.completed_writes}
        self._by_time: dict[str, pa.Schema | None] = {}
        self._by_text: dict[str, pa.Schema] = {}

    def of(self, file: BaseFile) -> pa.Schema:
        """Return a file's own columns. Raises `CorruptFileError`."""
        if file.requested_time not in self._by_time:
            self._by_time[file.requested_time] = self._of_commit(file.requested_time)
        known = self._by_time[file.requested_time]
        if known is not None:
            return known
        return open_base_file(self._context.ports.storage, file.path, file.size).schema()

    def _of_commit(self, requested_time: str) -> pa.Schema | None:
        instant = self._instants.get(requested_time)
        if instant is None:
            return None
        payload = read_payload(self._context.ports.storage, self._context.config, instant) or {}
        text = (payload.get("extraMetadata") or {}).get("schema")
        if not text:
            return None
        if text not in self._by_text:
            self._by_text[text] = avro_to_arrow(without_meta_fields(parse_avro(text)))
        return self._by_text[text]


def base_files(ways: Sequence[SliceWay], way: Way) -> list[BaseFile]:
    """Return the base files of the slices that take one way."""
    return [w.file_slice.base_file for w in ways if w.way is way and w.file_slice.base_file is not None]
