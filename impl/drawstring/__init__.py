"""Apache Hudi tables (table version 8) from Python.

Start with `Table`. Names are imported when they are first used, so that importing a part of the package does not
import all of it; pyspark is imported only with `SparkEngine`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from drawstring.engine import Engine
    from drawstring.engine.embedded import EmbeddedEngine
    from drawstring.errors import DrawstringError
    from drawstring.protocol.write import WriteResult
    from drawstring.read.changes import checkpoint
    from drawstring.read.mergers import register_merger
    from drawstring.spark import SparkEngine
    from drawstring.table import Table

__all__ = [
    "DrawstringError",
    "EmbeddedEngine",
    "Engine",
    "SparkEngine",
    "Table",
    "WriteResult",
    "__version__",
    "checkpoint",
    "register_merger",
]

_HOMES: Final = {
    "DrawstringError": "drawstring.errors",
    "EmbeddedEngine": "drawstring.engine.embedded",
    "Engine": "drawstring.engine",
    "SparkEngine": "drawstring.spark",
    "Table": "drawstring.table",
    "WriteResult": "drawstring.protocol.write",
    "checkpoint": "drawstring.read.changes",
    "register_merger": "drawstring.read.mergers",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version("drawstring")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
