"""Whole tables with one damaged file, of which a snapshot, changes, a look-up and the file slices are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa

from drawstring.context import TableContext
from drawstring.errors import DrawstringError
from drawstring.options import Options
from drawstring.ports import Ports, TaskContext
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.changes import changes
from drawstring.read.lookup import lookup_rows
from drawstring.read.view import load_snapshot
from drawstring.table_config import load_table_config

from . import golden
from .mutators import damage
from .target import Answer, Files, Target, described

CASES = (
    "mor_basic",
    "mor_partial_update",
    "all_types_mor",
    "schema_on_read_mor",
    "rollback_restore_mor",
    "cdc_mor",
)
_END = b"\0"


class _Inline:
    """Tasks one after the other, here."""

    def __init__(self, storage: Files) -> None:
        self._storage = storage

    def run(self, function: Callable[[TaskContext, Any], Any], items: Sequence[Any], *, label: str) -> list[Any]:
        return [function(TaskContext(self._storage, index, 0), item) for index, item in enumerate(items)]


def context_of(files: Mapping[str, bytes]) -> TableContext:
    """What reading needs of a table that lies in memory."""
    storage = Files(files)
    unused: Any = None
    ports = Ports(storage, unused, unused, unused, unused, _Inline(storage))
    return TableContext(ports, load_table_config(storage), Options.parse(None))


@cache
def _wholes() -> tuple[bytes, ...]:
    """Case, path and content of each file that a query may look at."""
    return tuple(
        case.encode() + _END + path.encode() + _END + content
        for case in CASES
        for path, content in sorted(golden.files_of(case).items())
        if content and "/.temp/" not in path and "/.heartbeat/" not in path
    )


def _read_table(content: bytes) -> Answer:
    case, _, rest = content.partition(_END)
    path, _, damaged = rest.partition(_END)
    files = {**golden.files_of(case.decode()), path.decode(): damaged}
    answers: list[str] = []
    for question in (_snapshot, _changes, _lookup):
        try:
            answers.append(described(question(context_of(files))))
        except DrawstringError as error:
            answers.append(f"error {type(error).__name__}")
    if all(answer.startswith("error") for answer in answers):
        raise DrawstringError("No question is answered.")
    return tuple(answers)


def _snapshot(context: TableContext) -> pa.Table:
    return read_snapshot(context, load_snapshot(context))


def _changes(context: TableContext) -> pa.Table:
    return changes(context, "earliest", None, bounds="(]")


def _lookup(context: TableContext) -> pa.Table:
    return lookup_rows(context, load_snapshot(context), ["id:1", "1", "k1"])


def _damaged_file(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    case, path, body = content.split(_END, 2)
    other = chance.choice(others).split(_END, 2)[2]
    return case + _END + path + _END + damage(body, chance, [other])


TARGETS = (Target("table", _wholes, _read_table, (_damaged_file,), only_crafted=True),)
