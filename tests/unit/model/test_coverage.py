"""The coverage of configurations: every possible pair is there, a bug is noticed in each, and the page is current."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from drawstring_model import coverage_command, coverage_page
from drawstring_model.combinations import (
    IMPOSSIBLE,
    Control,
    Service,
    TableType,
    all_pairs,
    chosen_combinations,
    config_of,
    pairs_of,
    possible,
    uncovered,
)
from drawstring_model.commands import app
from drawstring_model.coverage import Found, Limits, Row, covered, explored_fittingly, noticed_bug
from drawstring_model.coverage_page import NoRowsError, read_rows, rendered_page, write_rows
from drawstring_model.explorer import explore

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
ROWS = read_rows(REFERENCE / "model-coverage.jsonl")
SMALLEST = sorted((row for row in ROWS if row.calm.exhausted), key=lambda row: row.calm.states)


def test_each_possible_pair_of_choices_is_in_a_configuration():
    chosen = chosen_combinations()

    assert uncovered(chosen) == set()
    assert len(set(chosen)) == len(chosen) >= 24


def test_a_pair_is_possible_or_named_impossible_with_its_reason():
    assert set().union(*map(pairs_of, possible())) == all_pairs() - IMPOSSIBLE.keys()
    assert all(IMPOSSIBLE.values())


def test_without_one_of_the_configurations_a_pair_would_be_missing():
    chosen = chosen_combinations()
    often = Counter(pair for each in chosen for pair in pairs_of(each))
    needed = next(each for each in chosen if any(often[pair] == 1 for pair in pairs_of(each)))

    assert uncovered([each for each in chosen if each is not needed])


def test_each_configuration_is_the_one_that_its_choices_name():
    for each in chosen_combinations():
        config = config_of(each, faults=False)
        modules = {module.name for module in config.modules}
        assert (each.table is TableType.MERGE_ON_READ) == ("log_files" in modules)
        assert (each.control is Control.NON_BLOCKING) == ("non_blocking" in modules)
        assert each.service is Service.NONE or each.service.value in modules
        assert config.clock is each.clock


def test_the_rows_are_those_of_the_configurations():
    assert [row.combination for row in ROWS] == chosen_combinations()


def test_a_planted_bug_is_noticed_in_each_row():
    assert all(row.noticed and row.noticed.promise not in row.calm.broken for row in ROWS)


def test_no_row_has_more_than_a_fifth_of_all_states():
    states = [row.states for row in ROWS]

    assert max(states) <= sum(states) / 5


def test_the_page_is_made_of_the_rows():
    assert (REFERENCE / "model-coverage.md").read_text(encoding="utf-8") == rendered_page(ROWS)


@pytest.mark.parametrize("row", SMALLEST[:3], ids=lambda row: "-".join(row.combination.choices))
def test_the_smallest_rows_are_current(row):
    exploration = explore(config_of(row.combination, faults=False))

    lengths = {promise: len(example.moves) for promise, example in exploration.counterexamples.items()}
    assert row.calm == Found(exploration.states, exploration.depth, exploration.exhausted, lengths)
    assert row.noticed == noticed_bug(row.combination, set(row.calm.broken))


def shallow(config, most, until):
    """An exploration that is cheap."""
    return explored_fittingly(config, min(most, 200), until)


def test_a_row_is_what_both_explorations_found():
    combination = SMALLEST[0].combination

    row = covered(combination, Limits(calm_states=200, states=50), by=shallow)

    assert (row.calm.states, row.faulty.states) == tuple(
        explore(config_of(combination, faults=faults), max_states=most).states
        for faults, most in ((False, 200), (True, 50))
    )
    assert row.noticed is None or row.noticed.length > 0


def test_rows_are_the_same_after_they_were_in_a_file(tmp_path):
    write_rows(ROWS, tmp_path / "rows")

    assert read_rows(tmp_path / "rows") == ROWS


@pytest.mark.parametrize("line", ["no JSON", "{}", "[]", json.dumps({"combination": ["COPY_ON_WRITE"]})])
def test_a_file_of_something_else_is_refused(line, tmp_path):
    (tmp_path / "rows").write_text(line + "\n", encoding="utf-8")

    with pytest.raises(NoRowsError, match="line 1"):
        read_rows(tmp_path / "rows")


def test_the_command_makes_only_the_rows_that_the_file_lacks_or_has_too_small(monkeypatch, tmp_path):
    made = []

    def remade(combination, limits):
        made.append(combination)
        return next(row for row in ROWS if row.combination == combination)

    monkeypatch.setattr(coverage_command, "covered", remade)
    small = Row(ROWS[1].combination, ROWS[1].calm, Found(10, 1, exhausted=False, broken={}), ROWS[1].noticed)
    write_rows([small, *ROWS[2:]], tmp_path / "rows")

    result = CliRunner().invoke(app, ["coverage", "--rows", str(tmp_path / "rows")])

    assert made == [ROWS[0].combination, ROWS[1].combination]
    assert read_rows(tmp_path / "rows") == ROWS
    assert result.stdout == coverage_page.rendered_page(ROWS)
