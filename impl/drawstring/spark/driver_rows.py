"""Rows that this process has, as a DataFrame: Spark keeps them, and no task of Python starts.

Whose duty: hand Spark the rows as Arrow's own bytes, which its tasks turn into rows. ``SparkSession.createDataFrame``
of a small table makes rows in the driver, one by one, and serializes them for the tasks, which costs several times as
much; and of nested columns with nulls it takes slices apart in a way that Arrow cannot put together again.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.sql.types import StructType

from drawstring.spark import java
from drawstring.spark.splits import arrow_columns

_LEAST_BATCH_ROWS: Final = 8_192
_MOST_BATCH_ROWS: Final = 65_536
"""Each batch becomes a task of the query."""

_FOR_PYTHON: Final = "org.apache.spark.sql.api.python"
_UTILITIES: Final = f"{_FOR_PYTHON}.PythonSQLUtils"
_LOCAL_BYTES: Final = "spark.sql.execution.arrow.localRelationThreshold"
_UNKNOWN_BYTES: Final = "spark.sql.defaultSizeInBytes"


def rows_frame(spark: SparkSession, rows: pa.Table, structure: StructType) -> DataFrame:
    """Return rows that this process has as a DataFrame.

    Args:
        spark: the session.
        rows: in the columns of the structure.
        structure: the columns, as Spark has them.

    """
    # In one piece: Spark stops reading at a batch without rows, and tables have such pieces.
    whole = rows.cast(arrow_columns(structure)).combine_chunks()
    size = -(-whole.num_rows // spark.sparkContext.defaultParallelism)
    batches = whole.to_batches(max_chunksize=min(max(size, _LEAST_BATCH_ROWS), _MOST_BATCH_ROWS))
    stream = spark.sparkContext._serialize_to_jvm(  # noqa: SLF001 -- Spark has no public way to hand over bytes of Arrow
        batches,
        ArrowStreamSerializer(),
        lambda name: java.call(spark, _UTILITIES, "readArrowStreamFromFile", name),
        lambda: java.new(spark, f"{_FOR_PYTHON}.ArrowIteratorServer"),
    )
    session = _keeping_bytes(spark, whole.nbytes)
    plan = java.call(spark, _UTILITIES, "toDataFrame", stream, structure.json(), session).logicalPlan()
    own: Any = spark._jsparkSession  # noqa: SLF001 -- as above
    return DataFrame(java.call(spark, "org.apache.spark.sql.classic.Dataset", "ofRows", own, plan), spark)


def _keeping_bytes(spark: SparkSession, num_bytes: int) -> Any:
    """Return a session by whose settings rows stay bytes until a task reads them, and are so many bytes.

    Of an own session, since the caller's settings are not ours to change; the rows' plan is taken back from it.
    """
    session = spark._jsparkSession.cloneSession()  # noqa: SLF001 -- no public way
    session.conf().set(_LOCAL_BYTES, "0")
    session.conf().set(_UNKNOWN_BYTES, str(max(num_bytes, 1)))
    return session
