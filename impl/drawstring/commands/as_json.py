"""One way of writing values as JSON, for all commands: what JSON has no form for becomes text.

The forms are those that the documents promise (docs/reference/command-line.md): dates and times as ISO 8601, decimals
as their digits, bytes as base64, floats that are no number as ``"NaN"``, ``"Infinity"`` and ``"-Infinity"``, maps as
lists of pairs.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from typing import Any


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Write a value as JSON.

    Args:
        value: of what Arrow's ``to_pylist`` and this package's commands give.
        indent: blanks for each level; None for one line.

    """
    return json.dumps(_finite(value), indent=indent, default=_text, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {str(key): _finite(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(member) for member in value]
    return value


def _text(value: object) -> str:
    if isinstance(value, bytes | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value)
