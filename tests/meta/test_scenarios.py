"""Every scenario has its cases, and every case that is named after one is on the page."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from meta.scenarios import Scenario, load_scenarios, named_cases, problems, render_scenarios

PLANTED = Scenario(id="S99", reports="1", what="It fails.")
# Who changes the protocol's core changes these: each has a case in the model and, where there is one, in the simulator.
OF_WRITERS = {"S01", "S04", "S05", "S13", "S14", "S15", "S20", "S21", "S22", "S38", "S39"}
SIMULATED = {"S01", "S13", "S14", "S15", "S20", "S21", "S22", "S39"}


def test_the_list_of_scenarios_and_the_cases_agree(repository: Path) -> None:
    assert list(problems(load_scenarios(), named_cases(repository), repository)) == []


def test_the_scenarios_of_writers_and_readers_are_cases_of_the_model(repository: Path) -> None:
    cases = named_cases(repository)

    modelled = {name for name, found in cases.items() if any(case.startswith("tests/unit/model/") for case in found)}
    simulated = {name for name, found in cases.items() if any(case.startswith("tests/stateful/") for case in found)}

    assert modelled >= OF_WRITERS
    assert simulated >= SIMULATED


def test_a_case_of_an_unknown_scenario_is_found(repository: Path) -> None:
    assert [*problems((), {"S99": ["tests/x.py::TestS99"]}, repository)] == [
        "S99: tests/x.py::TestS99 is named after a scenario that is not in the list"
    ]


def test_a_test_that_is_not_there_is_found(repository: Path) -> None:
    gone = replace(PLANTED, also=("tests/meta/test_scenarios.py::test_gone", "tests/gone.py"))

    assert len([*problems((gone,), {}, repository)]) == 2


def test_a_scenario_that_is_said_not_to_be_modelled_and_is_is_found(repository: Path) -> None:
    outside = replace(PLANTED, outside="It is none of the model's.")

    assert [*problems((outside,), {"S99": ["tests/unit/model/test_x.py::TestS99X"]}, repository)]


def test_the_page_says_where_a_scenario_is_tried_and_where_not(repository: Path) -> None:
    page = render_scenarios(repository)

    assert "[`TestS14AClockJumpsIntoTheFutureAndBack`](../../tests/unit/model/test_scenarios_writers.py)" in page
    assert "- model: The encoding of keys: a property of one function." in page
