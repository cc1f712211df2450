"""The table of verdicts in the docs is what the explorer finds now."""

from __future__ import annotations

from pathlib import Path

import pytest

from drawstring_model.config import Config, PlantedBug
from drawstring_model.core.promises import Promise
from drawstring_model.verdicts import CASES, Case, judged, rendered_page, rendered_row, told_switches

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "model-verdicts.md"
ALL = {name: case for cases in CASES.values() for name, case in cases.items()}
ROWS = [
    line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ") and "(steps)" not in line
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_the_row_of_the_page_is_current(name):
    verdict = judged(ALL[name])

    assert ROWS[list(ALL).index(name)] == rendered_row(verdict)
    assert verdict.states < 50_000


def test_the_page_has_a_row_for_each_case_below_its_heading():
    small = [judged(ALL["optimistic"])] * len(ALL)

    page = rendered_page(small).splitlines()

    assert len(ROWS) == len(ALL)
    published = PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in page if not line.startswith("| ")] == [
        line for line in published if not line.startswith("| ")
    ]


def test_a_planted_bug_moves_a_promise_from_kept_to_broken():
    case = ALL["optimistic"]
    bugged = Case("with a bug", Config(planted=PlantedBug.READ_UNCOMMITTED, bounds=case.config.bounds))

    assert Promise.CONSISTENT_READ in judged(case).kept
    assert Promise.CONSISTENT_READ in judged(bugged).shortest
    assert told_switches(bugged.config) == "planted READ_UNCOMMITTED"
