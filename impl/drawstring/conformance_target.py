"""drawstring's readers as targets of the conformance suite: entry points of the group ``drawstring.targets``.

Whose duty: a query's arguments become a call of the public face, nothing else. The suite knows nothing of drawstring,
and this module nothing of the suite: a target is what has a name, a version and a method ``answer``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final

import pyarrow as pa

from drawstring.table import Table
from drawstring_spec.errors import UnsupportedQueryError

_CHANGES: Final = frozenset({"incremental_completion", "cdc"})


class EmbeddedTarget:
    """`Table.read` and `Table.changes`, in this process."""

    name = "drawstring embedded"

    def __init__(self) -> None:
        self.version = metadata.version("drawstring")

    def answer(self, base_path: str, query: Mapping[str, Any]) -> pa.Table:
        """Answer one query with all rows and columns. Raises what the public face raises."""
        table = Table.open(base_path)
        if query["type"] in _CHANGES:
            return table.changes(query["start"], query["end"], cdc=query["type"] == "cdc")
        return table.read(**_snapshot(query))


class SparkTarget:
    """`Table.to_spark`, in a local session that the target starts and stops."""

    name = "drawstring Spark"

    def __init__(self) -> None:
        from drawstring.spark import local_session  # noqa: PLC0415 -- pyspark is an extra

        self.version = metadata.version("drawstring")
        self._spark = local_session(
            "drawstring conform",
            cores=2,
            config={
                "spark.sql.shuffle.partitions": "2",
                "spark.log.level": "ERROR",
                "spark.ui.showConsoleProgress": "false",
            },
        )

    def answer(self, base_path: str, query: Mapping[str, Any]) -> pa.Table:
        """Answer one query, in the types that Spark has. Raises what the public face raises."""
        table = Table.open(base_path)
        if query["type"] in _CHANGES:
            frame = self._changes(table, query)
        else:
            frame = table.to_spark(self._spark, **_snapshot(query))
        return frame.toArrow()

    def close(self) -> None:
        """Stop the session."""
        self._spark.stop()

    def _changes(self, table: Table, query: Mapping[str, Any]) -> Any:
        """Ask for changes in Spark, by the public face, where it has them."""
        changes = getattr(table, "changes_to_spark", None)
        if changes is None or "spark" not in inspect.signature(changes).parameters:
            raise UnsupportedQueryError("Changes are not read through Spark yet.")
        return changes(self._spark, start=query["start"], end=query["end"], cdc=query["type"] == "cdc")


def _snapshot(query: Mapping[str, Any]) -> dict[str, Any]:
    return {"as_of": query["as_of"], "read_optimized": query["type"] == "read_optimized"}
