"""The module by which Spark finds ``format("drawstring")``: it looks into every installed module ``pyspark_*``."""

from __future__ import annotations

from pyspark_drawstring.source import DrawstringSource as DefaultSource

__all__ = ["DefaultSource"]
