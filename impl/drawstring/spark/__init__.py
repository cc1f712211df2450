"""The Spark engine: native Parquet scans, and Arrow tasks on executors. Only here is pyspark imported.

Whose duty: planning happens in the driver (timeline, file slices, which rows go where); executors read and write
whole files; nothing that grows with the data comes to the driver.
"""

from __future__ import annotations

from drawstring.spark.engine import SparkEngine
from drawstring.spark.reader import to_spark
from drawstring.spark.session import local_session

__all__ = ["SparkEngine", "local_session", "to_spark"]
