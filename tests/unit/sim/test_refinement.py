"""The judges themselves: what did not happen, or happened otherwise, is noticed."""

from __future__ import annotations

import dataclasses

import pytest
from typer.testing import CliRunner

from drawstring_sim import commands, histories
from drawstring_sim.client import HEARTBEAT_INTERVAL_MS, LOCK_TTL_MS, TOLERABLE_MISSES
from drawstring_sim.histories import CALM, run_history
from drawstring_sim.judge import VerdictError, check_history
from drawstring_sim.recorder import Answered, Change, Died, Recorder, Said
from drawstring_sim.refinement import DisagreementError, Refinement
from drawstring_spec.steps import Step


@pytest.fixture(scope="module")
def history():
    """A calm history of two writers."""
    return run_history(3, CALM)


def _check(entries):
    Refinement(Recorder(entries=list(entries)), LOCK_TTL_MS, HEARTBEAT_INTERVAL_MS * TOLERABLE_MISSES).check()


def _first(entries, condition):
    return next(at for at, entry in enumerate(entries) if condition(entry))


def _is_change(end):
    return lambda entry: isinstance(entry, Change) and entry.path.endswith(end) and entry.after is not None


def test_a_history_as_it_happened_is_a_behaviour_of_the_model(history):
    _check(history.recorder.entries)
    assert history.moves > 100


@pytest.mark.parametrize(
    "condition",
    [
        _is_change("commit.requested"),
        _is_change(".inflight"),
        _is_change(".commit"),
        _is_change(".parquet"),
        _is_change(".hoodie/lock"),
        lambda entry: isinstance(entry, Said) and entry.event.step is Step.LOOKUP_KEYS,
        lambda entry: isinstance(entry, Said) and entry.event.step is Step.CHECK_CONFLICTS,
        lambda entry: isinstance(entry, Said) and entry.event.step is Step.UPDATE_METADATA,
    ],
    ids=["request", "inflight", "completion", "data", "lock", "lookup", "check", "metadata"],
)
def test_a_step_that_is_left_out_is_noticed(history, condition):
    entries = history.recorder.entries
    at = _first(entries, condition)
    with pytest.raises(DisagreementError):
        _check(entries[:at] + entries[at + 1 :])


def test_a_completion_before_the_data_files_is_noticed(history):
    entries = list(history.recorder.entries)
    completion = _first(entries, lambda e: isinstance(e, Change) and e.path.endswith(".commit"))
    data = _first(entries, _is_change(".parquet"))
    entries.insert(data, entries.pop(completion))
    with pytest.raises(DisagreementError):
        _check(entries)


def test_a_data_file_with_other_rows_is_noticed(history):
    entries = list(history.recorder.entries)
    files = [at for at, entry in enumerate(entries) if _is_change(".parquet")(entry)]
    for other in files[1:]:
        if entries[other].after != entries[files[0]].after:
            entries[files[0]] = dataclasses.replace(entries[files[0]], after=entries[other].after)
            break
    with pytest.raises((DisagreementError, VerdictError)):
        _check(entries)


def test_a_readers_wrong_answer_is_noticed(history):
    entries = list(history.recorder.entries)
    at = _first(entries, lambda e: isinstance(e, Answered) and e.content)
    key = min(entries[at].content)
    entries[at] = dataclasses.replace(entries[at], content={**entries[at].content, key: -1})
    with pytest.raises(DisagreementError, match="reads"):
        _check(entries)


def test_a_writer_that_goes_on_after_its_death_is_noticed(history):
    entries = list(history.recorder.entries)
    at = _first(entries, _is_change(".inflight"))
    entries.insert(at, Died(entries[at].writer, entries[at].at_ms))
    with pytest.raises(DisagreementError):
        _check(entries)


def test_a_success_that_is_not_on_the_timeline_is_noticed(history):
    lost = dataclasses.replace(history.attempts[0], requested_times=("20990101000000000",), succeeded=True)
    with pytest.raises(VerdictError, match="contradiction"):
        check_history(history.raw, [lost, *history.attempts])


def test_the_command_runs_histories_and_counts_what_writers_were_told():
    result = CliRunner().invoke(commands.app, ["run", "--seeds", "2", "--calm"])
    assert result.exit_code == 0, result.output
    assert "no promise broken" in result.output


def test_the_command_tells_a_history_line_by_line():
    result = CliRunner().invoke(commands.app, ["tell", "1", "--calm", "--shown", "5"])
    assert result.exit_code == 0, result.output
    assert " ms  " in result.output


def test_the_command_tells_the_seed_that_broke_a_promise(monkeypatch):
    def broken(world, history, weather):
        raise VerdictError("a promise")

    monkeypatch.setattr(histories, "_judge", broken)
    result = CliRunner().invoke(commands.app, ["run", "--seeds", "2", "--calm"])
    assert result.exit_code == 1
    assert "Seed 0" in result.output
