"""What is asked of a mixed table beside its queries: conditions, look-ups, and the examination of the table."""

from __future__ import annotations

import datetime as dt
import random
import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import drawstring as ds
from drawstring.doctor import examine
from drawstring.errors import TimeTravelError, UnsupportedTableError
from drawstring.options import Options
from drawstring.runtime import production_ports
from drawstring_conformance.compare import difference
from drawstring_conformance.compare_changes import change_difference
from drawstring_conformance.vectors import Case, Query, QueryType, load_case
from interop.random_tables import lost_in_images, without_members
from interop.unseen_filters import expression, filtered_queries, wrong_filtered
from interop.unseen_recording import unpack, wrong_answer

_KEY: Final = "_hoodie_record_key"
_FILE: Final = "_hoodie_file_name"
LOST: Final = "Java loses rows here, or repeats them"


@dataclass
class Judged:
    """What our answers about one table came to.

    Attributes:
        same: number of right answers.
        lost_by_java: where Java is known to lose or to repeat rows (``docs/compatibility.md``).
        refused: what we refuse by name.
        different: where an answer differs otherwise, in words, or the examination finds something.

    """

    same: int = 0
    lost_by_java: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    different: dict[str, str] = field(default_factory=dict)

    def ask(self, name: str, question: Callable[[], str]) -> None:
        """Count one answer."""
        try:
            text = question()
        except (UnsupportedTableError, TimeTravelError) as error:
            self.refused[name] = f"{type(error).__name__}: {error}"
            return
        except Exception as error:  # noqa: BLE001 -- what no error of ours tells is a finding, too
            text = f"{type(error).__name__}: {error}"
        if text == LOST:
            self.lost_by_java.append(name)
        elif text:
            self.different[name] = text
        else:
            self.same += 1


def judge(folder: Path, work: Path) -> Judged:
    """Ask the embedded engine everything of a case."""
    case = load_case(folder.name, folder.parent)
    judged = Judged()
    try:
        wrong = wrong_filtered(case, work / "a")
        judged.different |= wrong
        judged.same += len(filtered_queries(case)) - len(wrong)
        path, _ = unpack(case, work / "b")
        table = ds.Table.open(str(path))
        for query in case.queries:
            ask = {QueryType.CDC: _wrong_images, QueryType.INCREMENTAL: _wrong_rows}.get(query.type, wrong_answer)
            judged.ask(query.id, lambda ask=ask, query=query: ask(table, query))
        for name, question in _questions(case, table, {*judged.lost_by_java, *judged.refused}):
            judged.ask(name, question)
        judged.ask("doctor", lambda: _findings(path))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return judged


def _findings(path: Path) -> str:
    report = examine(production_ports(str(path), Options.parse({})), deep=True)
    # Writes and services that failed, or were planned, are findings that are true.
    findings = [f for f in report.findings if f.check not in ("pending-writes", "pending-services", "orphans")]
    found = [f"{f.check} {f.path}: {f.message}" for f in findings]
    return "; ".join([*found, *(f"{name} not run: {why}" for name, why in report.not_run.items())])


def _wrong_images(table: ds.Table, query: Query) -> str:
    """How change data differs, but for what Java loses in images: bytes, and the members of `lost_in_images`."""
    schema = table.read().schema
    lost = lost_in_images(schema) | {field.name for field in schema if pa.types.is_binary(field.type)}
    changes = table.changes(query.start, query.end, cdc=True)
    expected = pq.read_table(query.expected)
    deletes = [row["before"] for row in expected.to_pylist() if row["op"] == "d" and row["before"]]
    text = change_difference(without_members(changes, lost), without_members(expected, lost))
    return LOST if text and len(set(deletes)) < len(deletes) else text


def _wrong_rows(table: ds.Table, query: Query) -> str:
    """How rows of a range differ, but for what Java's scan of the whole table leaves in log files."""
    text = wrong_answer(table, query)
    expected = pq.read_table(query.expected)
    own = table.changes(query.start, query.end)
    kept, found = (set(filter(None, rows[_FILE].to_pylist())) for rows in (expected, own))
    return LOST if text and all(map(_is_base, kept)) and not all(map(_is_base, found)) else text


def _is_base(file_name: str) -> bool:
    """Whether a row lies in a base file: in a log file its file's name is that of the group."""
    return file_name.endswith((".parquet", ".orc"))


def _questions(case: Case, table: ds.Table, lost: Collection[str]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Look-ups and conditions, which are held against rows that Java returned."""
    for query in case.queries:
        rows = pq.read_table(query.expected)
        if query.type is QueryType.SNAPSHOT and rows.num_rows and _KEY in rows.column_names:
            keys = [key for key in rows[_KEY].to_pylist() if key is not None]
            yield from _look_ups(table, rows, keys)
        if query.type is QueryType.CDC:
            continue
        for asked in filtered_queries(case)[:3]:
            if not {name for name, _, _ in asked["conditions"]} <= set(rows.column_names):
                continue  # It was renamed, or came later.
            condition = expression(asked["conditions"], rows.schema)
            expected = rows.filter(condition)
            if query.type is QueryType.INCREMENTAL and query.id in lost:
                continue
            asked_of_us = partial(_asked, table, query, condition)
            yield f"{query.id} where {asked['where']}", partial(_differs, asked_of_us, expected)


def _asked(table: ds.Table, query: Query, condition: pc.Expression) -> pa.Table:
    if query.type is QueryType.INCREMENTAL:
        return table.changes(query.start, query.end, filter=condition)
    optimized = query.type is QueryType.READ_OPTIMIZED
    return table.read(as_of=query.as_of, read_optimized=optimized, filter=condition)


def _differs(ask: Callable[[], pa.Table], expected: pa.Table) -> str:
    return difference(ask(), expected)


def _look_ups(table: ds.Table, rows: pa.Table, keys: list[str]) -> Iterator[tuple[str, Callable[[], str]]]:
    for chosen in (keys[:1], keys[::3], [*keys, "nobody"]):
        expected = rows.filter(pc.is_in(rows[_KEY], value_set=pa.array(chosen, pa.string())))
        yield f"look-up of {len(chosen)}", partial(_differs, partial(table.lookup, chosen), expected)


def condition(source: random.Random, rows: pa.Table) -> tuple[str, list[Any]]:
    """One condition on a column by a value that it has: in SQL, and as `interop.unseen_filters` has it."""
    asked = [f for f in rows.schema if _literal(_some_value(source, rows[f.name])) is not None]
    column = source.choice([f for f in asked if f.name != "_hoodie_commit_seqno"])
    value = _some_value(source, rows[column.name])
    operator = source.choice(("=", "<", ">=", "!=", "in", "is_null", "is_valid"))
    if pa.types.is_boolean(column.type) and operator in ("<", ">="):
        operator = "="
    if operator.startswith("is_"):
        return f"`{column.name}` is {'' if operator == 'is_null' else 'not '}null", [column.name, operator, None]
    if operator == "in":
        values = [value, _some_value(source, rows[column.name])]
        listed = ", ".join(str(_literal(one)) for one in values)
        return f"`{column.name}` in ({listed})", [column.name, operator, [_plain(one) for one in values]]
    return f"`{column.name}` {operator} {_literal(value)}", [column.name, operator, _plain(value)]


def _some_value(source: random.Random, column: pa.ChunkedArray) -> Any:
    present = column.drop_null()
    return present[source.randrange(len(present))].as_py() if len(present) else None


def _literal(value: Any) -> str | None:
    """A value in Spark's SQL; None where it has no plain literal there, or an order of its own, as NaN has."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value}L" if abs(value) > 2**31 - 1 else str(value)
    if isinstance(value, str) and value.isprintable() and "\\" not in value:
        return "'" + value.replace("'", "\\'") + "'"
    if isinstance(value, Decimal):
        return f"{value:f}BD"
    if isinstance(value, dt.datetime):
        return f"timestamp'{value:%Y-%m-%d %H:%M:%S.%f}Z'"
    return f"date'{value}'" if isinstance(value, dt.date) else None


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value) if isinstance(value, (Decimal, dt.date)) else value
