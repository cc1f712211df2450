"""Reports of a run: a table for people, JUnit XML for build servers, JSON for programs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.markup import escape
from rich.table import Table as Grid

from drawstring_conformance.runner import Outcome, Verdict
from drawstring_conformance.vectors import QueryType

REFUSALS: Final = "refusals"
"""Kind under which queries are counted that Java refused."""

_HEADINGS: Final = {
    Outcome.PASSED: "passed",
    Outcome.FAILED: "failed",
    Outcome.UNSUPPORTED: "unsupported",
    Outcome.VECTOR_DEFECT: "vector defect",
}
_STYLES: Final = {Outcome.PASSED: "green", Outcome.FAILED: "bold red", Outcome.UNSUPPORTED: "yellow"}
_NOT_XML: Final = re.compile("[^\\t\\n\\r\\u0020-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
_MOST_DETAILS: Final = 20
_DETAIL_CHARACTERS: Final = 240


def kind_of(verdict: Verdict) -> str:
    """Return what a verdict is counted under: the type of its query, or `REFUSALS`."""
    return REFUSALS if verdict.refusal else verdict.type.value


def counts(verdicts: Iterable[Verdict]) -> dict[str, Counter[Outcome]]:
    """Return how many verdicts of each kind had each outcome; kinds in a fixed order."""
    found: dict[str, Counter[Outcome]] = {kind: Counter() for kind in (*(t.value for t in QueryType), REFUSALS)}
    for verdict in verdicts:
        found[kind_of(verdict)][verdict.outcome] += 1
    return {kind: counter for kind, counter in found.items() if counter}


def summary_table(verdicts: Sequence[Verdict], title: str) -> Grid:
    """One line for each kind of query, and one for all answers."""
    grid = Grid(title=escape(title), title_justify="left", title_style="bold", header_style="dim", box=None)
    grid.add_column("queries", no_wrap=True)
    for heading in ("of", *_HEADINGS.values()):
        grid.add_column(heading, justify="right", no_wrap=True)
    by_kind = counts(verdicts)
    for kind, counter in by_kind.items():
        if kind != REFUSALS:
            grid.add_row(kind, *_cells(counter))
    answers = sum((counter for kind, counter in by_kind.items() if kind != REFUSALS), Counter[Outcome]())
    grid.add_row("[bold]all answers[/]", *_cells(answers))
    if REFUSALS in by_kind:
        grid.add_row("refused by Java", *_cells(by_kind[REFUSALS]))
    return grid


def _cells(counter: Counter[Outcome]) -> list[str]:
    cells = [f"{counter.total():,}"]
    for outcome in _HEADINGS:
        style = _STYLES.get(outcome)
        text = f"{counter[outcome]:,}"
        cells.append(f"[{style}]{text}[/]" if style and counter[outcome] else text)
    return cells


def details_table(verdicts: Sequence[Verdict]) -> Grid | None:
    """List the queries that did not pass, the first ones, each with what differs; None where all passed."""
    order = (Outcome.FAILED, Outcome.VECTOR_DEFECT)
    # Queries of one case that have the same to say are one line.
    grouped: dict[tuple[Outcome, str, str], list[str]] = {}
    for outcome in order:
        for verdict in verdicts:
            if verdict.outcome is outcome:
                grouped.setdefault((outcome, verdict.case, verdict.detail), []).append(verdict.query)
    if not grouped:
        return None
    grid = Grid(title="Not passed", title_justify="left", title_style="bold", header_style="dim", box=None)
    for heading in ("outcome", "case", "queries", "what"):
        grid.add_column(heading, overflow="fold")
    for (outcome, case, detail), queries in list(grouped.items())[:_MOST_DETAILS]:
        style = _STYLES.get(outcome, "magenta")
        text = detail if len(detail) <= _DETAIL_CHARACTERS else detail[:_DETAIL_CHARACTERS] + " …"
        grid.add_row(
            f"[{style}]{_HEADINGS[outcome]}[/]", escape(case), escape(", ".join(sorted(queries))), escape(text)
        )
    if len(grouped) > _MOST_DETAILS:
        grid.add_row("", f"… {len(grouped) - _MOST_DETAILS:,} more: see --json or --junit")
    return grid


def as_json(verdicts: Sequence[Verdict], target: Mapping[str, str]) -> dict[str, Any]:
    """Return a run as values for JSON.

    Returns:
        ``target`` (name, version), ``counts`` (by kind and outcome), ``verdicts`` (case, query, type, refusal,
        outcome, detail, duration_ms).

    """
    return {
        "target": dict(target),
        "counts": {
            kind: {outcome.value: counter[outcome] for outcome in Outcome} for kind, counter in counts(verdicts).items()
        },
        "verdicts": [
            {
                "case": verdict.case,
                "query": verdict.query,
                "type": verdict.type.value,
                "refusal": verdict.refusal,
                "outcome": verdict.outcome.value,
                "detail": verdict.detail,
                "duration_ms": verdict.duration_ms,
            }
            for verdict in verdicts
        ],
    }


def as_junit(verdicts: Sequence[Verdict], target: Mapping[str, str]) -> bytes:
    """Return a run as JUnit XML: a suite for each case; what is not judged is skipped, with its reason."""
    root = ET.Element("testsuites", name=_xml(f"{target['name']} {target['version']}".strip()))
    by_case: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_case.setdefault(verdict.case, []).append(verdict)
    for case, members in by_case.items():
        outcomes = Counter(verdict.outcome for verdict in members)
        suite = ET.SubElement(
            root,
            "testsuite",
            name=case,
            tests=str(len(members)),
            failures=str(outcomes[Outcome.FAILED]),
            errors="0",
            skipped=str(outcomes[Outcome.UNSUPPORTED] + outcomes[Outcome.VECTOR_DEFECT]),
            time=_seconds(sum(verdict.duration_ms for verdict in members)),
        )
        for verdict in members:
            _test_case(suite, verdict)
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _test_case(suite: ET.Element, verdict: Verdict) -> None:
    element = ET.SubElement(
        suite,
        "testcase",
        classname=f"{verdict.case}.{kind_of(verdict)}",
        name=_xml(verdict.query),
        time=_seconds(verdict.duration_ms),
    )
    if verdict.outcome is Outcome.FAILED:
        ET.SubElement(element, "failure", message=_xml(verdict.detail[:_DETAIL_CHARACTERS])).text = _xml(verdict.detail)
    elif verdict.outcome is not Outcome.PASSED:
        ET.SubElement(element, "skipped", message=_xml(f"{_HEADINGS[verdict.outcome]}: {verdict.detail}"))


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.3f}"


def _xml(text: str) -> str:
    """Replace what XML has no characters for: details quote bytes of tables."""
    return _NOT_XML.sub("\ufffd", text)
