"""Each requirement is covered by checks that exist; the catalogue, the errors and the reference page agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drawstring_spec.requirements import Level, Requirement, load_requirements, render_markdown
from meta.requirement_checks import MOST_REQUIREMENTS_OF_ONE_TEST, TOLERATED_UNCHECKED, find_tests, findings, rules_in

THIS_TEST = "tests/meta/test_requirements.py::test_the_checks_of_every_requirement_exist"
GOOD = Requirement(
    id="XX-001", chapter="Planted", level=Level.MUST, text="It holds.", source="Nowhere", checks=(THIS_TEST,)
)


def test_the_checks_of_every_requirement_exist(repository: Path) -> None:
    assert list(findings(load_requirements(), repository)) == []


def test_a_requirement_with_an_existing_test_and_promise_is_fine(repository: Path) -> None:
    fine = replace(GOOD, checks=(THIS_TEST, "model::no lost update"))

    assert list(findings([fine], repository)) == []


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        ([replace(GOOD, checks=("tests/meta/test_requirements.py::test_nothing",))], "there is no"),
        ([replace(GOOD, checks=("tests/meta/test_nothing.py::test_nothing",))], "there is no"),
        ([replace(GOOD, checks=("model::no such promise",))], "promises nothing"),
        ([replace(GOOD, checks=(), unchecked="Because.")], "a MUST that nothing checks"),
        ([GOOD, GOOD], "stands in the catalogue 2 times"),
        (
            [replace(GOOD, id=f"XX-00{number}") for number in range(MOST_REQUIREMENTS_OF_ONE_TEST + 1)],
            "6 requirements claim it",
        ),
    ],
)
def test_a_planted_gap_is_found(planted: list[Requirement], problem: str, repository: Path) -> None:
    found = list(findings(planted, repository))

    assert [finding for finding in found if problem in finding]


def test_what_is_tolerated_unchecked_is_unchecked() -> None:
    unchecked = {requirement.id for requirement in load_requirements() if requirement.unchecked}

    assert unchecked >= TOLERATED_UNCHECKED


def test_a_test_with_parameters_of_any_make_runs_on_many_examples() -> None:
    source = (
        "cases = pytest.mark.parametrize('case', CASES)\n"
        "@cases\ndef test_a(case): ...\n"
        "@pytest.mark.parametrize('x', [1])\ndef test_b(x): ...\n"
        "@given(st.text())\ndef test_c(x): ...\n"
        "@pytest.mark.slow\ndef test_d(): ...\n"
        "def helper(): ...\n"
    )

    assert find_tests(source) == {"test_a": True, "test_b": True, "test_c": True, "test_d": False}


def test_every_rule_that_an_error_names_is_in_the_catalogue(repository: Path) -> None:
    known = {requirement.id for requirement in load_requirements()}
    named = {
        rule: path.relative_to(repository).as_posix()
        for folder in ("spec", "model", "impl", "sim")
        for path in sorted((repository / folder).rglob("*.py"))
        for rule in sorted(rules_in(path.read_text(encoding="utf-8")))
    }

    assert {rule: path for rule, path in named.items() if rule not in known} == {}


def test_rules_are_read_off_the_errors_of_a_source() -> None:
    assert rules_in("raise FormatError('x', rule=\"TL-001\")\nCode(rule='SL-002')") == {"TL-001", "SL-002"}


def test_the_reference_page_is_the_catalogue(repository: Path) -> None:
    page = (repository / "docs/reference/requirements.md").read_text(encoding="utf-8")

    assert page == render_markdown(), "run: make docs"
