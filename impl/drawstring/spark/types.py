"""Spark's types and Arrow's: the columns of a table as Spark has them, and a DataFrame's columns as Arrow has them.

Spark's timestamps are microseconds; a table's may be milliseconds, which the same Spark type holds. The session's
time zone plays no part: a timestamp with a zone is an instant, whatever zone it is shown in.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types as pat
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from drawstring.errors import SchemaError


def spark_schema(columns: pa.Schema) -> StructType:
    """Return a table's columns as Spark's, all nullable.

    Raises:
        SchemaError: Spark has no type for a column.

    """
    for field in columns:
        if _has_time(field.type):
            raise SchemaError(
                f"Column {field.name!r} has type {field.type}: Spark has no time of day to read it as.",
                way_out="Leave the column out (columns=[...]), or read the table with table.read().",
            )
    nullable = pa.schema([field.with_nullable(True) for field in columns])
    try:
        return from_arrow_schema(nullable)
    except PySparkException as error:
        raise SchemaError(f"Spark has no type for one of the columns: {error}.") from error


def _has_time(kind: pa.DataType) -> bool:
    if pat.is_time(kind):
        return True
    if pat.is_map(kind):
        return _has_time(kind.key_type) or _has_time(kind.item_type)
    if pat.is_nested(kind):
        return any(_has_time(kind.field(i).type) for i in range(kind.num_fields))
    return False


def frame_columns(frame: DataFrame) -> pa.Schema:
    """Return a DataFrame's columns as its tasks will see them, but for the zone that timestamps are labelled with.

    Raises:
        SchemaError: a column has a type that Arrow has no form for.

    """
    try:
        return to_arrow_schema(frame.schema, timezone="UTC", error_on_duplicated_field_names_in_struct=True)
    except PySparkException as error:
        raise SchemaError(
            f"The DataFrame has a column that Arrow has no type for: {error}.",
            way_out="Cast it to a plain type, or leave it out.",
        ) from error
