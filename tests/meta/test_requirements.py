"""Each requirement is covered by checks that exist; the catalogue, the errors and the reference page agree."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drawstring_spec.errata import AREAS, render_errata
from drawstring_spec.requirements import Level, Requirement, load_requirements, render_markdown
from meta.requirement_checks import MOST_REQUIREMENTS_OF_ONE_TEST, find_tests, findings, gaps_of_errata, rules_in

THIS_TEST = "tests/meta/test_requirements.py::test_the_checks_of_every_requirement_exist"
GOOD = Requirement(
    id="XX-001", chapter="Planted", level=Level.MUST, text="It holds.", source="Nowhere", checks=(THIS_TEST,)
)


def test_the_checks_of_every_requirement_exist(repository: Path) -> None:
    assert list(findings(load_requirements(), repository)) == []


def test_a_requirement_with_an_existing_test_and_promise_is_fine(repository: Path) -> None:
    fine = replace(GOOD, checks=(THIS_TEST, "model::no lost update", "tla::NoLostUpdate"))

    assert list(findings([fine], repository)) == []


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        ([replace(GOOD, checks=("tests/meta/test_requirements.py::test_nothing",))], "there is no"),
        ([replace(GOOD, checks=("tests/meta/test_nothing.py::test_nothing",))], "there is no"),
        ([replace(GOOD, checks=("model::no such promise",))], "promises nothing"),
        ([replace(GOOD, checks=("tla::NoSuchInvariant",))], "no TLA+ module defines"),
        ([replace(GOOD, checks=())], "a MUST that nothing checks, without a reason"),
        ([replace(GOOD, model_switch="no_such_switch")], "the model has no switch"),
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


@pytest.mark.parametrize("reason", ["unmet", "unchecked"])
def test_a_must_that_nothing_checks_is_fine_with_a_reason(reason: str, repository: Path) -> None:
    explained = replace(GOOD, checks=(), **{reason: "Because."})

    assert list(findings([explained], repository)) == []


def test_the_errata_of_each_area_are_numbered_without_a_gap() -> None:
    assert gaps_of_errata(load_requirements()) == []


@pytest.mark.parametrize(("numbers", "gaps"), [(("T1", "T3"), ["T2"]), (("T1", "T1"), ["T1"]), (("T2",), ["T1"])])
def test_a_planted_gap_in_the_errata_is_found(numbers: tuple[str, ...], gaps: list[str]) -> None:
    planted = [replace(GOOD, erratum=number) for number in numbers]
    others = [replace(GOOD, erratum=f"{area}1") for area in AREAS if area != "T"]

    assert gaps_of_errata([*planted, *others]) == gaps


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


def test_the_page_of_errata_is_that_of_the_catalogue(repository: Path) -> None:
    page = (repository / "docs/reference/errata.md").read_text(encoding="utf-8")

    assert page == render_errata(), "run: make docs"
