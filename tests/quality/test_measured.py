"""What ``planted_bugs.json`` says is complete, and what of it is cheap is measured again."""

from __future__ import annotations

import re

import pytest

from drawstring_model.config import PlantedBug
from quality.measure import (
    IN_TLA,
    MODEL_CASES,
    OF_IMPLEMENTATION,
    OF_MODEL,
    explorer_finds,
    load,
    meanings,
    play_shows,
    refinement_finds,
    tlc_finds,
)
from quality.mutants import BUGS
from unit.model.tlc import TlcMissingError

MEASURED = load()
AT_LEAST = 30
HOW = "measure them: PYTHONPATH=tests .venv/bin/python -m quality.measure --missing; then `make docs`"

# Those whose shortest histories are short enough to look for in every run.
CHEAP = [
    PlantedBug.IGNORE_HEARTBEAT,
    PlantedBug.SKIP_UPDATE_METADATA,
    PlantedBug.STALE_ROLLBACK_LIST,
    PlantedBug.READ_UNCOMMITTED,
]


def test_every_bug_of_the_model_and_of_the_implementation_is_in_the_table():
    missing = {bug.value for bug in PlantedBug} - set(MEASURED["model"])
    missing |= {bug.name for bug in BUGS} - set(MEASURED["implementation"])

    assert missing == set(), HOW
    assert len(MEASURED["model"]) + len(MEASURED["implementation"]) >= AT_LEAST


@pytest.mark.parametrize(("where", "tools"), [("model", OF_MODEL), ("implementation", OF_IMPLEMENTATION)])
def test_every_exact_tool_was_asked_about_every_bug_or_says_why_not(where, tools):
    exact = {"explorer", "play", "tlc"} & set(tools)
    missing = {(name, tool) for name, row in MEASURED[where].items() for tool in exact if tool not in row}

    assert missing == set(), HOW


@pytest.mark.parametrize(("where", "tools"), [("model", OF_MODEL), ("implementation", OF_IMPLEMENTATION)])
def test_no_bug_escapes_all_tools(where, tools):
    caught = {
        name: [tool for tool in tools if row.get(tool, {}).get("caught")] for name, row in MEASURED[where].items()
    }

    assert [name for name, by in caught.items() if not by] == []


def test_tlc_and_the_explorer_find_histories_of_one_length():
    rows = {name: row for name, row in MEASURED["model"].items() if name in IN_TLA}

    assert len(rows) == len(IN_TLA) > 5
    assert {name: row["tlc"]["how"] for name, row in rows.items()} == {
        name: row["explorer"]["how"] for name, row in rows.items()
    }


def test_what_a_bug_breaks_is_told_as_the_model_tells_it():
    told = meanings()

    differing = {bug.value for bug in MODEL_CASES if MEASURED["model"][bug.value]["about"] != told[bug.value]}

    assert differing == set(), HOW


@pytest.mark.parametrize("bug", CHEAP, ids=lambda bug: bug.value)
def test_the_explorer_still_finds_what_it_found(bug):
    assert explorer_finds(bug) == MEASURED["model"][bug.value]["explorer"]


@pytest.mark.slow
def test_tlc_still_finds_what_it_found():
    bug = PlantedBug.IGNORE_HEARTBEAT
    try:
        found = tlc_finds(bug)
    except TlcMissingError as missing:
        pytest.skip(str(missing))

    assert found == MEASURED["model"][bug.value]["tlc"]


def test_the_seeded_histories_still_tell_a_wrong_model():
    bug = PlantedBug.SKIP_KEY_CHECK

    found, known = refinement_finds(bug), MEASURED["model"][bug.value]["histories"]

    assert found["caught"]
    assert known["caught"]
    assert re.fullmatch(r"seed \d+", known["how"])


@pytest.mark.parametrize("bug", BUGS[::5], ids=lambda bug: bug.name)
def test_the_directed_history_is_objected_to_by_the_same_judges(bug):
    assert play_shows(bug) == MEASURED["implementation"][bug.name]["play"]
