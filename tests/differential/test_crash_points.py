"""Every port call of every operation is a point at which the writer dies, fails or loses its answer.

Readers see before or after, never between; the next writer recovers; nothing of the failure is left.
"""

from __future__ import annotations

import sys

import pytest

from drawstring_sim.client import ALONE, TOGETHER
from drawstring_sim.crash_points import prepare, strike_everywhere
from drawstring_sim.creation_points import strike_creation_everywhere
from drawstring_sim.operations import Kind, Operation

HISTORY = (
    Operation.of(Kind.BULK_INSERT, {("d1", "a"): 1, ("d1", "b"): 2, ("d2", "c"): 3}),
    Operation.of(Kind.UPSERT, {("d1", "b"): 4}),
)
FRESH = {("d1", "n"): 10, ("d3", "m"): 11}
OPERATIONS = {
    "bulk_insert": Operation.of(Kind.BULK_INSERT, FRESH),
    "insert": Operation.of(Kind.INSERT, FRESH),
    "upsert": Operation.of(Kind.UPSERT, {("d1", "a"): 10, ("d2", "n"): 11}),
    "delete": Operation.of(Kind.DELETE, {("d1", "a"): 0, ("d2", "c"): 0}),
}
FAILED = Operation.of(Kind.UPSERT, {("d1", "b"): 77, ("d2", "new"): 78})


def _report(capsys, name, tally):
    with capsys.disabled():
        told = ", ".join(f"{count} {answer}" for answer, count in sorted(tally.told.items()))
        sys.stdout.write(f"\n{name}: {tally.calls} port calls, {tally.runs} faults; writers got {told}\n")


def _prepared(name, mode, *, failed=None):
    options = ALONE if mode == "alone" else TOGETHER
    return prepare(f"{name} {mode}", HISTORY, OPERATIONS[name], options, failed=failed)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["alone", "together"])
@pytest.mark.parametrize("name", list(OPERATIONS))
def test_readers_see_before_or_after_and_the_next_writer_recovers(name, mode, capsys):
    tally = strike_everywhere(_prepared(name, mode))
    _report(capsys, f"{name} {mode}", tally)
    assert tally.broken == []
    assert tally.calls >= 50
    assert tally.told["death"] > 0
    assert tally.told["success"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["alone", "together"])
def test_a_rollback_that_is_interrupted_anywhere_is_taken_up_by_the_next_writer(mode, capsys):
    scenario = _prepared("insert", mode, failed=FAILED)
    assert len(scenario.raw().pending) == 1
    tally = strike_everywhere(scenario)
    _report(capsys, f"rollback of a failed upsert, then insert, {mode}", tally)
    assert tally.broken == []
    assert tally.calls >= 70


def test_a_creation_that_is_interrupted_anywhere_leaves_no_table_or_an_empty_one(capsys):
    tally = strike_creation_everywhere()
    _report(capsys, "create", tally)
    assert tally.broken == []
    assert tally.told["death"] > 0
    assert tally.told["success"] > 0
