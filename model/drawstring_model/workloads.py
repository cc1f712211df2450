"""Operations as they are written on a command line: ``upsert:1,2`` and ``delete:1``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drawstring_model.config import Bounds, delete, upsert
from drawstring_spec.errors import DrawstringError

Workload = tuple[tuple[tuple[int, bool], ...], ...]
_OPERATION = re.compile(r"(upsert|delete):([1-9][0-9]?(?:,[1-9][0-9]?)*)", re.ASCII)


class UnknownOperationError(DrawstringError):
    """A text is no operation; the message shows one."""


def parsed_workload(texts: Sequence[str]) -> Workload:
    """The operations in their order; the default workload where there is none. Raises `UnknownOperationError`."""
    return tuple(_parsed(text) for text in texts) or Bounds().workload


def _parsed(text: str) -> tuple[tuple[int, bool], ...]:
    found = _OPERATION.fullmatch(text)
    if found is None:
        raise UnknownOperationError(f"{text!r} is no operation.", way_out="Write upsert:1,2 or delete:1, say.")
    keys = {int(key) for key in found[2].split(",")}
    return upsert(*keys) if found[1] == "upsert" else delete(*keys)
