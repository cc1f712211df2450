"""The table of configurations in the docs is what the explorer finds now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from drawstring_model.config import RollbackPolicy, upsert
from drawstring_model.invariants import INVARIANTS, Promise
from drawstring_model.table import combinations, explored, rendered_head, rendered_page, rendered_row, shards

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "model-configurations.md"
SHARDS = shards()
MOST_STATES = 135_000  # of an exploration that is made in every test run


def rows_of_the_page():
    text = PAGE.read_text(encoding="utf-8")
    assert rendered_head() in text
    return text.partition(rendered_head() + "\n")[2].splitlines()


def first_row(number):
    return sum(len(shard) for shard in SHARDS[:number])


def states_of(row):
    return int(row.rsplit("|", 2)[1].split()[0].replace(",", ""))


def numbered_shards():
    """The numbers of the shards, those with more states marked as large."""
    rows = rows_of_the_page()
    for number, shard in enumerate(SHARDS):
        most = max(states_of(row) for row in rows[first_row(number) :][: len(shard)])
        yield pytest.param(number, marks=pytest.mark.large if most > MOST_STATES else pytest.mark.slow)


@pytest.mark.parametrize("number", list(numbered_shards()))
def test_the_rows_of_the_page_are_current(number):
    start = first_row(number)
    published = rows_of_the_page()[start : start + len(SHARDS[number])]

    found = list(explored(SHARDS[number]))

    assert published == [rendered_row(row) for row in found]
    assert all(row.exhausted or row.config.rollback is RollbackPolicy.EAGER for row in found)


def test_configurations_that_differ_only_in_what_decided_nothing_share_an_exploration():
    small = replace(combinations()[0].bounds, workload=(upsert(1),), faults=0)
    configs = tuple(replace(config, bounds=small) for config in combinations()[:4])

    rows = list(explored(configs))

    assert [rendered_row(row).rsplit("|", 2)[1] for row in rows] == [f" {rows[0].states} "] * 4
    assert rendered_page(rows).endswith(rendered_row(rows[-1]) + "\n")


def test_the_page_has_all_combinations_and_the_three_rows_beside_the_default():
    assert len(combinations()) == len(set(combinations())) == 48
    assert len(rows_of_the_page()) == 51


def test_every_row_has_two_writers_two_keys_two_file_groups_and_three_operations():
    for config in (config for shard in SHARDS for config in shard):
        bounds = config.bounds
        keys = {key for operation in bounds.workload for key, _ in operation}
        assert (bounds.writers, len(keys), bounds.groups, len(bounds.workload)) == (2, 2, 2, 3)


def test_the_default_keeps_every_invariant_in_more_than_a_hundred_thousand_states():
    row = rows_of_the_page()[48]
    cells = [cell.strip() for cell in row.strip("|").split("|")]

    assert cells[7 : 7 + len(INVARIANTS)] == ["holds"] * len(INVARIANTS)
    assert int(cells[-1].replace(",", "")) >= 100_000
    assert Promise.TIME_TRAVEL_STABILITY not in INVARIANTS


def test_eager_rollback_beside_another_writer_breaks_a_promise():
    cells = [cell.strip() for cell in rows_of_the_page()[50].strip("|").split("|")]

    assert cells[5] == "EAGER"
    assert cells[11].isdigit()


def test_snapshots_by_completion_time_are_stable():
    cells = [cell.strip() for cell in rows_of_the_page()[49].strip("|").split("|")]

    assert cells[6] == "COMPLETION"
    assert cells[7:14] == ["holds"] * 7
