"""Base files as a DataFrame that Spark's own Parquet reader scans.

Whose duty: hand Spark an explicit list of files, an explicit schema and one constant row per partition folder, so
that column pruning, pushdown and the pruning of partitions are all Spark's own, and nothing is inferred. Spark's
public reader takes partition values from folder names by rules of its own, which differ from Hudi's; the relation
that it builds underneath takes them as given, so that is what is built here (as Java Hudi's own reader does).
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from drawstring.files import BaseFile
from drawstring.spark import java, unsafe_rows

_SOURCES: Final = "org.apache.spark.sql.execution.datasources"
_PATHS: Final = "org.apache.hadoop.util.StringUtils"
_WRAPPER: Final = "scala.collection.immutable.ArraySeq"

FILE_NAME = "_drawstring_file_name"
"""Name of the file that a row is in."""

FILE_ROW = "_drawstring_file_row"
"""Position of a row in its file, from 0."""

PARTITION = "_drawstring_partition_path"
"""Partition path of the file that a row is in."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Files of one schema.

    Attributes:
        uri: base path of the table.
        files: base files.
        columns: to read; those that a file does not have are null.
        constants: types of the columns that are the same for all rows of a partition; they stand last, unless
            `columns` has them too.
        values: their values, per partition path, of the kinds that `unsafe_rows.rows` takes.

    """

    uri: str
    files: Sequence[BaseFile]
    columns: StructType
    constants: StructType = field(default_factory=StructType)
    values: Mapping[str, Sequence[pa.Scalar]] = field(default_factory=dict)


def scan(spark: SparkSession, what: Scan) -> DataFrame:
    """Return the rows of base files. Nothing is read yet, but for what Spark asks the storage about the files."""
    columns, constants = _java_schema(spark, what.columns), _java_schema(spark, what.constants)
    none = java.some(spark, None)
    no_options = java.call(spark, "org.apache.spark.api.python.PythonUtils", "toScalaMap", {})
    session: Any = spark._jsparkSession  # noqa: SLF001 -- Spark's public reader cannot be told the partitions, see above
    index = java.new(
        spark,
        f"{_SOURCES}.InMemoryFileIndex",
        session,
        java.call(spark, _WRAPPER, "unsafeWrapArray", _paths(spark, what.uri, [file.path for file in what.files])),
        no_options,
        java.some(spark, columns),
        java.constant(spark, f"{_SOURCES}.NoopCache$", "MODULE$"),
        java.some(spark, java.new(spark, f"{_SOURCES}.PartitionSpec", constants, _folders(spark, what))),
        none,
    )
    relation = java.new(
        spark,
        f"{_SOURCES}.HadoopFsRelation",
        index,
        constants,
        columns,
        none,
        java.new(spark, f"{_SOURCES}.parquet.ParquetFileFormat"),
        no_options,
        session,
    )
    return DataFrame(session.baseRelationToDataFrame(relation), spark)


def scan_keys(
    spark: SparkSession, uri: str, files: Sequence[BaseFile], columns: StructType, *, rows: bool = False
) -> DataFrame:
    """Return columns of base files with their partition path and file name, and the rows' positions if wanted."""
    partitions = {file.group.partition_path for file in files}
    constants = StructType([StructField(PARTITION, StringType())])
    frame = scan(spark, Scan(uri, files, columns, constants, {p: [pa.scalar(p, pa.string())] for p in partitions}))
    extra = [frame["_metadata.file_name"].alias(FILE_NAME)]
    if rows:
        extra.append(frame["_metadata.row_index"].alias(FILE_ROW))
    return frame.select("*", *extra)


def _folders(spark: SparkSession, what: Scan) -> Any:
    """Return the folders of the files, each with its row of constants; none where there are no constants."""
    if not len(what.constants):
        return java.sequence(spark, [])
    partitions = sorted({file.group.partition_path for file in what.files})
    constants = unsafe_rows.rows(spark, what.constants, [what.values[partition] for partition in partitions])
    pairs = zip(constants, _paths(spark, what.uri, partitions), strict=True)
    return java.sequence(spark, [java.new(spark, f"{_SOURCES}.PartitionPath", row, path) for row, path in pairs])


def _java_schema(spark: SparkSession, schema: StructType) -> Any:
    return java.data_type(spark, schema.json())


def _paths(spark: SparkSession, uri: str, paths: Sequence[str]) -> Any:
    """Return an array of Hadoop's paths, made in one call.

    From plain text, so that a path is escaped as Hadoop escapes those that it lists: they are compared as escaped.
    """
    plain = urllib.parse.unquote(uri) if uri.startswith("file:") else uri
    joined = "\0".join(f"{plain}/{path}" if path else plain for path in paths)
    texts = java.call(spark, _PATHS, "getStrings", joined, "\0")
    return java.call(spark, _PATHS, "stringToPath", texts)
