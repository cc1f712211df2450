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
from typing import Any

import pyarrow as pa
from pyarrow import types as pat
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from drawstring.files import BaseFile

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
        values: their values, per partition path.

    """

    uri: str
    files: Sequence[BaseFile]
    columns: StructType
    constants: StructType = field(default_factory=StructType)
    values: Mapping[str, Sequence[pa.Scalar]] = field(default_factory=dict)


def scan(spark: SparkSession, what: Scan) -> DataFrame:
    """Return the rows of base files. Nothing is read yet, but for what Spark asks the storage about the files."""
    jvm: Any = spark._jvm  # noqa: SLF001 -- Spark's public reader cannot be told the partitions, see above
    sources = jvm.org.apache.spark.sql.execution.datasources
    none, no_options = jvm.scala.Option.empty(), jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({})
    columns, constants = _java_schema(jvm, what.columns), _java_schema(jvm, what.constants)
    partitions = sorted({file.group.partition_path for file in what.files})
    rows = _constant_rows(spark, what, partitions) if len(what.constants) else []
    folders = [
        sources.PartitionPath(row, _path(jvm, what.uri, partition))
        for row, partition in zip(rows, partitions, strict=False)
    ]
    index = sources.InMemoryFileIndex(
        spark._jsparkSession,  # noqa: SLF001 -- as above
        _sequence(jvm, [_path(jvm, what.uri, file.path) for file in what.files]),
        no_options,
        jvm.scala.Option.apply(columns),
        getattr(getattr(sources, "NoopCache$"), "MODULE$"),
        jvm.scala.Option.apply(sources.PartitionSpec(constants, _sequence(jvm, folders))),
        none,
    )
    relation = sources.HadoopFsRelation(
        index,
        constants,
        columns,
        none,
        sources.parquet.ParquetFileFormat(),
        no_options,
        spark._jsparkSession,  # noqa: SLF001 -- no public way
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(relation), spark)  # noqa: SLF001 -- no public way


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


def _constant_rows(spark: SparkSession, what: Scan, partitions: Sequence[str]) -> Sequence[Any]:
    """Return the constants of each partition as rows of Spark's own kind.

    The values go as text and are cast by Spark, which works on so little data without running a job.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 -- as in `scan`
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 -- as in `scan`
    rows = jvm.java.util.ArrayList()
    for partition in partitions:
        values = gateway.new_array(jvm.java.lang.Object, len(what.constants))
        for position, scalar in enumerate(what.values[partition]):
            values[position] = _text(scalar)
        rows.add(jvm.org.apache.spark.sql.RowFactory.create(values))
    texts = StructType([StructField(field.name, StringType()) for field in what.constants])
    frame = DataFrame(spark._jsparkSession.createDataFrame(rows, _java_schema(jvm, texts)), spark)  # noqa: SLF001 -- no public way
    typed = frame.select(*[frame[f"`{f.name}`"].cast(f.dataType).alias(f.name) for f in what.constants])
    return list(typed._jdf.queryExecution().executedPlan().executeCollect())  # noqa: SLF001 -- as in `scan`


def _text(scalar: pa.Scalar) -> str | None:
    value = scalar.as_py()
    if value is None:
        return None
    return str(value).lower() if pat.is_boolean(scalar.type) else str(value)


def _java_schema(jvm: Any, schema: StructType) -> Any:
    return jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())


def _path(jvm: Any, uri: str, path: str) -> Any:
    # From plain text, so that the path is escaped as Hadoop escapes those that it lists: they are compared as escaped.
    plain = urllib.parse.unquote(uri) if uri.startswith("file:") else uri
    return jvm.org.apache.hadoop.fs.Path(f"{plain}/{path}" if path else plain)


def _sequence(jvm: Any, items: Sequence[Any]) -> Any:
    return jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(items))
