"""The Spark engine: native Parquet scans, and Arrow tasks on executors. Only here is pyspark imported.

Whose duty: planning happens in the driver (timeline, file slices, which rows go where); executors read and write
whole files; nothing that grows with the data comes to the driver. Names are imported when they are first used: an
executor's worker, which only needs its task, starts in a third of the time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from drawstring.spark.changes import SparkChanges, changes_to_spark
    from drawstring.spark.engine import SparkEngine
    from drawstring.spark.reader import to_spark
    from drawstring.spark.session import local_session

__all__ = ["SparkChanges", "SparkEngine", "changes_to_spark", "local_session", "to_spark"]

_HOMES: Final = {
    "SparkChanges": "drawstring.spark.changes",
    "SparkEngine": "drawstring.spark.engine",
    "changes_to_spark": "drawstring.spark.changes",
    "local_session": "drawstring.spark.session",
    "to_spark": "drawstring.spark.reader",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
