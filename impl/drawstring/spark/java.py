"""Classes of the Java process that a Spark session drives, by their full names.

Whose duty: name them without asking. ``spark._jvm.org.apache...`` asks the Java process at every dot whether what
stands there is a package or a class; planning a read that way spends more time on dots than on work.
"""

from __future__ import annotations

from typing import Any, Final

from py4j.java_gateway import JavaClass, JavaMember
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import SparkSession

_SQL: Final = "org.apache.spark.sql."
FUNCTIONS: Final = f"{_SQL}functions"


def new(spark: SparkSession, class_name: str, *arguments: Any) -> Any:
    """Return a new object.

    Args:
        spark: the session.
        class_name: full name, such as ``"java.util.ArrayList"``.
        arguments: of its constructor.

    Raises:
        py4j.protocol.Py4JError: there is no such class or constructor, or it throws.

    """
    return JavaClass(class_name, _client(spark))(*arguments)


def call(spark: SparkSession, class_name: str, method: str, *arguments: Any) -> Any:
    """Return what a static method returns; arguments and errors as `new`."""
    return JavaMember(method, None, STATIC_PREFIX + class_name, _client(spark))(*arguments)


def constant(spark: SparkSession, class_name: str, name: str) -> Any:
    """Return a static field; arguments and errors as `new`."""
    return getattr(JavaClass(class_name, _client(spark)), name)


def sequence(spark: SparkSession, items: Any) -> Any:
    """Return a list, of Python's or Java's, as Scala's ``Seq``."""
    return call(spark, "org.apache.spark.api.python.PythonUtils", "toSeq", items)


def some(spark: SparkSession, value: Any) -> Any:
    """Return Scala's ``Some`` of a value; None for None."""
    return call(spark, "scala.Option", "empty") if value is None else call(spark, "scala.Option", "apply", value)


def data_type(spark: SparkSession, json: str) -> Any:
    """Return a type of Spark's from its JSON."""
    return call(spark, f"{_SQL}types.DataType", "fromJson", json)


def _client(spark: SparkSession) -> Any:
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 -- Spark has no public way to its Java process
    return gateway._gateway_client  # noqa: SLF001 -- as above
