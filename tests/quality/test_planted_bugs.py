"""Each guarantee of the protocol is broken on purpose, and a directed history must notice.

A test of ours that nothing can fail would be found out here: the same histories pass without the bug, as
``tests/stateful/test_scenarios.py`` and the control below show.
"""

from __future__ import annotations

import pytest

from drawstring_sim.judge import VerdictError
from drawstring_sim.refinement import DisagreementError
from quality.mutants import BUGS, founded_stage


@pytest.fixture
def stage():
    made = founded_stage()
    yield made
    made.close()


def _play_and_judge(bug, stage):
    bug.play(stage)
    stage.content()
    stage.judge(by_model=bug.by_model)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_is_noticed(bug, stage, monkeypatch):
    bug.plant(monkeypatch)
    with pytest.raises((DisagreementError, VerdictError)):
        _play_and_judge(bug, stage)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_without_the_bug_the_same_history_is_in_order(bug, stage):
    _play_and_judge(bug, stage)
