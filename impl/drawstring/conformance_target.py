"""drawstring's readers as targets of the conformance suite: entry points of the group ``drawstring.targets``.

Whose duty: a query's arguments become a call of the public face, nothing else. The suite knows nothing of drawstring,
and this module nothing of the suite: a target is what has a name, a version and a method ``answer``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any, Final

import pyarrow as pa

from drawstring.table import Table

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
    """`Table.to_spark` and `Table.changes_to_spark`, in a local session that the target starts and stops."""

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
            is_cdc = query["type"] == "cdc"
            frame = table.changes_to_spark(self._spark, query["start"], query["end"], cdc=is_cdc).rows
        else:
            frame = table.to_spark(self._spark, **_snapshot(query))
        rows: pa.Table = frame.toArrow()
        return rows

    def close(self) -> None:
        """Stop the session."""
        self._spark.stop()


def _snapshot(query: Mapping[str, Any]) -> dict[str, Any]:
    return {"as_of": query["as_of"], "read_optimized": query["type"] == "read_optimized"}
