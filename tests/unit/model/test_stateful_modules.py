"""Random walks through combinations of modules, within bounds that nobody could exhaust, keep every promise.

`walked.COMBINATIONS` has the combinations, and what is known to break in them. A few dozen walks of each are no proof:
they look where no exhaustive search comes, at three or more concerns that meet. ``HYPOTHESIS_PROFILE=explore`` looks
longer.
"""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import Phase, Verbosity, settings
from hypothesis.stateful import run_state_machine_as_test

from drawstring_model.catalogue import BASE, known_modules
from drawstring_model.config import COPY_ON_WRITE, Bounds, Config, PlantedBug, upsert
from drawstring_model.core.module import modules_of
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import protocol_of
from drawstring_model.explorer import Counterexample, explore
from drawstring_model.modules.retries import Retries
from unit.model.walked import COMBINATIONS
from unit.model.walks import TURNS, replayed, shortened, walk_of

BUDGET = settings(
    max_examples=max(settings().max_examples * 2 // 3, 1),
    stateful_step_count=TURNS,
    phases=(Phase.explicit, Phase.generate),
    verbosity=Verbosity.quiet,
)
"""Without Hypothesis's shrinking: `walks.shortened` is there for that."""
EXEMPTIONS = tuple(dict.fromkeys(exempt for each in COMBINATIONS for exempt in each.exempt))


def named(each):
    return each.name


@pytest.mark.parametrize("combination", COMBINATIONS, ids=named)
def test_no_walk_breaks_a_promise_and_every_module_takes_part(combination):
    walk = walk_of(combination)

    run_state_machine_as_test(walk, settings=BUDGET)

    own = [module for module in modules_of(combination.config()) if module.name in combination.modules]
    idle = [module.name for module in own if module.rules and not {rule.step for rule in module.rules} & {*walk.taken}]
    assert not idle


def test_every_module_is_in_a_combination_with_two_others_at_least():
    walked = {name for each in COMBINATIONS if len(each.modules) > 2 for name in each.modules}
    walked |= {module.name for each in COMBINATIONS for module in modules_of(each.config())}

    assert walked == set(known_modules())
    assert all(len(set(each.modules) - set(BASE)) > 2 for each in COMBINATIONS)


def test_the_combinations_are_walked_without_exemptions_but_for_those_that_say_why():
    assert all(each.why.endswith(".") and each.promises for each in EXEMPTIONS)
    assert not any(one.why == other.why for one, other in combinations(EXEMPTIONS, 2))


@pytest.mark.parametrize("exempt", EXEMPTIONS, ids=lambda each: each.where.__name__)
def test_what_is_exempt_is_reached_and_breaks_the_promise(exempt):
    world, config = exempt.shown()

    broken = {promise for promise, check in protocol_of(config).invariants().items() if check(world, config)}
    assert broken & exempt.promises
    assert exempt.where(world, config)


class TestWhatBreaksIsTold:
    """A walk that breaks a promise is made as short as a history that one reads."""

    RETRIED = Config(
        modules=(*COPY_ON_WRITE, Retries()),
        bounds=Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0),
        planted=PlantedBug.RETRY_WHILE_ALIVE,
    )

    def test_a_planted_bug_is_found_in_a_combination_and_told_in_sentences(self):
        combination = next(each for each in COMBINATIONS if "retries" in each.modules)

        with pytest.raises(AssertionError) as raised:
            run_state_machine_as_test(walk_of(combination, PlantedBug.RETRY_WHILE_ALIVE), settings=BUDGET)

        first, *sentences = str(raised.value).splitlines()
        assert first.startswith(f"{combination.name} breaks: ")
        assert sentences[-1].endswith("a contradiction.")
        assert len(sentences) < 40

    def test_no_single_move_can_be_left_out_of_a_shortened_history(self):
        promise = Promise.APPLIED_ONCE
        shortest = explore(self.RETRIED, until=promise).counterexamples[promise]
        detour = (*shortest.moves[:1], shortest.moves[0]._replace(step=shortest.moves[4].step), *shortest.moves)

        found = shortened(Counterexample(promise, "", detour), self.RETRIED)

        assert len(found.moves) == len(shortest.moves)
        for left_out in range(len(found.moves)):
            rest = found.moves[:left_out] + found.moves[left_out + 1 :]
            assert replayed(rest, promise, self.RETRIED) is None
