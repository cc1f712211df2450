"""``drawstring model`` on a terminal."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from drawstring_model.commands import app

SMALL = ["--faults", "0", "--groups", "1"]


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200"})


def test_exploring_the_default_finds_every_invariant_kept(run):
    result = run("explore", *SMALL)

    assert result.exit_code == 0
    assert "every state within the bounds" in result.output


def test_exploring_a_broken_protocol_tells_the_shortest_history_and_exits_with_1(run):
    result = run("explore", *SMALL, "--concurrency", "NONE")

    assert result.exit_code == 1
    assert "broken after" in result.output
    assert "a contradiction." in result.output


def test_a_saved_history_can_be_replayed(run, tmp_path):
    saved = tmp_path / "history.json"
    run("explore", *SMALL, "--concurrency", "NONE", "--save", str(saved))

    result = run("replay", str(saved))

    assert result.exit_code == 0, result.output
    assert "CompleteInstant" in result.output


def test_a_file_that_is_no_history_is_refused(run, tmp_path):
    other = tmp_path / "other.json"
    other.write_text("{}")

    result = run("replay", str(other))

    assert result.exit_code == 2
    assert "is not a history" in result.output
