"""Asks a target every query of the golden tables, and judges the answers.

Whose duty: one `Verdict` for each query, whatever the target does; what a verdict looks like is
`drawstring_conformance.report`'s.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from drawstring_conformance.compare import difference
from drawstring_conformance.compare_changes import change_difference
from drawstring_conformance.defects import KNOWN_DEFECTS
from drawstring_conformance.targets import Target
from drawstring_conformance.vectors import Case, Query, QueryType
from drawstring_spec.errors import UnsupportedQueryError


class Outcome(StrEnum):
    """What became of a query."""

    PASSED = "passed"
    """The answer is Java's; or Java refused, and so did the target."""
    FAILED = "failed"
    """The answer is another one, or there is none."""
    UNSUPPORTED = "unsupported"
    """The target says that it does not do such queries."""
    VECTOR_DEFECT = "vector_defect"
    """Java's answer is known to be wrong: nobody is judged by it."""


@dataclass(frozen=True)
class Verdict:
    """What became of one query.

    Attributes:
        case: name of the golden table.
        query: id of the query in it.
        type: of the query.
        refusal: whether Java refused the query, so that the right answer is to refuse it.
        outcome: of the comparison.
        detail: what differs, or why the query is not judged; "" where it passed.
        duration_ms: what the target took.

    """

    case: str
    query: str
    type: QueryType
    refusal: bool
    outcome: Outcome
    detail: str
    duration_ms: int


_ARGUMENTS: Final = ("as_of", "start", "end")


def judge(cases: Sequence[Case], target: Target) -> Iterator[tuple[Case, list[Verdict]]]:
    """Unpack each case, ask all its queries, and yield it with the verdicts, in the order of the case's file."""
    folder = Path(tempfile.mkdtemp(prefix="drawstring-conform-"))
    try:
        for case in cases:
            base_path = case.extract(folder / case.name)
            verdicts = [_judge_answer(target, case, query, base_path) for query in case.queries]
            verdicts += [_judge_refusal(target, case, entry, base_path) for entry in refusals(case)]
            yield case, verdicts
            shutil.rmtree(base_path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refusals(case: Case) -> Sequence[Mapping[str, Any]]:
    """Return the queries that Java refused, as the case's file has them."""
    return tuple(case.details.get("failed_queries") or ())


def _judge_answer(target: Target, case: Case, query: Query, base_path: Path) -> Verdict:
    arguments = {name: getattr(query, name) for name in _ARGUMENTS}
    answer, refused, unsupported, duration_ms = _ask(target, base_path, query.type, arguments, query.read_options)
    defect = KNOWN_DEFECTS.get((case.name, query.id))
    if unsupported is not None:
        outcome, detail = Outcome.UNSUPPORTED, unsupported
    elif answer is None:
        outcome, detail = Outcome.FAILED, f"no answer: {refused}"
    else:
        compare = change_difference if query.type is QueryType.CDC else difference
        detail = _compared(compare, answer, pq.read_table(query.expected))
        outcome = Outcome.FAILED if detail else Outcome.PASSED
    if defect is not None and answer is not None:
        kind = "another answer than Java's" if detail else "Java's wrong answer"
        outcome, detail = Outcome.VECTOR_DEFECT, f"The target gives {kind}. {defect.what} ({defect.evidence})"
    return Verdict(case.name, query.id, query.type, False, outcome, detail, duration_ms)


def _judge_refusal(target: Target, case: Case, entry: Mapping[str, Any], base_path: Path) -> Verdict:
    arguments = {name: entry.get(name) for name in _ARGUMENTS}
    kind = QueryType(entry["type"])
    answer, _, unsupported, duration_ms = _ask(target, base_path, kind, arguments, entry.get("read_options") or {})
    if unsupported is not None:
        outcome, detail = Outcome.UNSUPPORTED, unsupported
    elif answer is None:
        outcome, detail = Outcome.PASSED, ""
    else:
        outcome = Outcome.FAILED
        detail = f"{answer.num_rows} rows instead of a refusal; Java said: {str(entry.get('error'))[:300]}"
    return Verdict(case.name, str(entry["id"]), kind, True, outcome, detail, duration_ms)


def _ask(
    target: Target, base_path: Path, kind: QueryType, arguments: Mapping[str, Any], read_options: Mapping[str, str]
) -> tuple[pa.Table | None, str, str | None, int]:
    """Return the rows, or why there are none; and, where the target does no such queries, its words for that."""
    request = {"type": kind.value, **arguments, "read_options": dict(read_options)}
    started = time.monotonic()
    answer, refused, unsupported = None, "", None
    try:
        answer = target.answer(str(base_path), request)
    except UnsupportedQueryError as error:
        unsupported = str(error)
    except Exception as error:  # noqa: BLE001 -- whatever a target raises is its answer to this query alone
        refused = f"{type(error).__name__}: {error}"
    return answer, refused, unsupported, round((time.monotonic() - started) * 1000)


def _compared(compare: Any, answer: Any, expected: pa.Table) -> str:
    if not isinstance(answer, pa.Table):
        return f"the target returned {type(answer).__name__}, not a pyarrow.Table"
    try:
        return str(compare(answer, expected))
    except pa.ArrowException as error:
        return f"the answer cannot be compared: {error}"
