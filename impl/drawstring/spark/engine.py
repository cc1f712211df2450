"""The Spark engine: writes of Spark DataFrames by executor tasks.

Whose duty: choose the body of a write. Data that is no Spark DataFrame is in this process already, and goes to the
embedded engine.
"""

from __future__ import annotations

from typing import Any

from drawstring.context import TableContext
from drawstring.engine.embedded import EmbeddedEngine
from drawstring.errors import InputError
from drawstring.spark.bulk_body import BulkBody
from drawstring.spark.preparation import incoming_keys, incoming_rows
from drawstring.spark.rows_body import RowsBody
from drawstring.spark.session import check_session, is_spark_frame
from drawstring.write_stats import Operation, WriteBody
from drawstring_spec.meta_fields import IS_DELETED


class SparkEngine:
    """An engine that works in a Spark session.

    Args:
        spark: a classic session of Spark 4.1 or later.

    Raises:
        EngineError: the session cannot be used.

    """

    def __init__(self, spark: Any) -> None:
        self._spark = check_session(spark)
        self._embedded = EmbeddedEngine()

    def __repr__(self) -> str:
        return f"SparkEngine({self._spark.sparkContext.master!r})"

    def prepare_write(self, context: TableContext, operation: Operation, data: Any) -> WriteBody:
        """See `drawstring.engine.Engine.prepare_write`.

        Args:
            context: of the table.
            operation: insert, upsert or bulk insert.
            data: a Spark DataFrame; or what the embedded engine takes, which then does the work.

        Raises:
            EngineError: the session has stopped.
            SchemaError: the data does not fit the table's columns.

        """
        if operation is Operation.DELETE:
            raise InputError("A deletion takes keys.", way_out="Use prepare_delete.")
        if not is_spark_frame(data):
            return self._embedded.prepare_write(context, operation, data)
        incoming = incoming_rows(check_session(self._spark), context, operation, data)
        if operation is Operation.BULK_INSERT and IS_DELETED not in incoming.shape.columns.names:
            return BulkBody(incoming)
        return RowsBody(incoming, self._embedded)

    def prepare_delete(self, context: TableContext, keys: Any) -> WriteBody:
        """See `drawstring.engine.Engine.prepare_delete`.

        Args:
            context: of the table.
            keys: a Spark DataFrame with the record key's columns; with the partition columns too, each key is looked
                for in its partition only, else in all. Or what the embedded engine takes.

        """
        if not is_spark_frame(keys):
            return self._embedded.prepare_delete(context, keys)
        return RowsBody(incoming_keys(check_session(self._spark), context, keys), self._embedded)
