"""Operations that are tried again with a new instant: applied once, if the first attempt is over and was not complete.

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

import pytest

from drawstring_model.config import COPY_ON_WRITE, Bounds, Config, PlantedBug, upsert
from drawstring_model.core.module import part
from drawstring_model.core.protocol import NotEnabledError, apply, enabled, start
from drawstring_model.core.state import Move
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.lost_answers import LostAnswers
from drawstring_model.modules.retries import Attempts, Retries
from drawstring_model.narrate import narrate
from drawstring_spec.steps import Step

CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
RETRIED = Config(modules=(*COPY_ON_WRITE, Retries()), bounds=CALM)
UNHEARD = Config(modules=(*COPY_ON_WRITE, LostAnswers(), Retries()), bounds=CALM)


def both_are_applied(world):
    return len(world.commits) == 2 and part(world, Attempts).retries == 1


def test_who_gave_way_tries_again_and_both_operations_are_applied():
    exploration = explore(RETRIED, witnesses={"both": both_are_applied})

    assert exploration.exhausted
    assert not exploration.counterexamples
    assert exploration.witnesses["both"] > 0


def test_without_trying_again_who_gave_way_is_not_applied():
    def all_but_given_up(world):
        return bool(part(world, Attempts).waiting) and len(world.commits) == 2

    exploration = explore(
        Config(modules=(*COPY_ON_WRITE, Retries(retries=0)), bounds=CALM), witnesses={"applied": all_but_given_up}
    )

    assert exploration.exhausted
    assert not exploration.witnesses


def test_an_operation_that_is_tried_again_while_it_is_under_way_is_applied_twice():
    config = Config(modules=RETRIED.modules, bounds=CALM, planted=PlantedBug.RETRY_WHILE_ALIVE)

    example = explore(config, until=Promise.APPLIED_ONCE).counterexamples[Promise.APPLIED_ONCE]

    assert len(example.moves) == 25
    assert any("for operation 1, again" in sentence for sentence in narrate(example, config))


def test_whoever_denies_a_complete_write_has_it_applied_twice():
    config = Config(modules=UNHEARD.modules, bounds=CALM, planted=PlantedBug.REFUSED_BY_ITSELF)

    example = explore(config, until=Promise.APPLIED_ONCE).counterexamples[Promise.APPLIED_ONCE]

    assert len(example.moves) == 26
    assert example.finding == "operation 1 was applied by 1 and by 3"


def test_whoever_looks_whose_file_it_is_applies_each_operation_once_however_often_it_tries():
    exploration = explore(UNHEARD)

    assert exploration.exhausted
    assert not exploration.counterexamples


def test_an_operation_that_nobody_gave_up_is_not_tried_again():
    state = start(RETRIED)
    for step in (Step.ACQUIRE_LOCK, Step.GENERATE_REQUESTED_TIME, Step.START_HEARTBEAT):
        state = apply(state, next(move for move in enabled(state, RETRIED) if move.step is step), RETRIED)

    with pytest.raises(NotEnabledError, match="operation 1 was not given up"):
        apply(state, Move(Step.RETRY_WRITE, 1, time=9, target=1), RETRIED)
