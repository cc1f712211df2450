"""TLC and the Python explorer agree on every model of ``tla/manifest.toml``: verdicts and numbers of states.

What a model of the manifest is in Python stands in ``tlc.py`` beside.
"""

from __future__ import annotations

import re

import pytest

from drawstring_model.config import Config
from drawstring_model.core.protocol import protocol_of
from drawstring_model.explorer import explore
from unit.model.tlc import MODELS, MODULES, NAMES, TLA, TlcMissingError, config_of, promised, run_tlc


def tlc_on(folder, model, invariants):
    """What TLC says of a model; a skip that says what is missing where it cannot be run."""
    try:
        return run_tlc(folder, model, invariants)
    except TlcMissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_tlc_counts_the_states_that_the_explorer_counts(name, tmp_path):
    model = MODELS[name]
    passes = model["expected"] == "pass"

    checked = tlc_on(tmp_path, model, promised(model) if passes else ())

    assert checked.is_clean, checked.output[-3000:]
    assert checked.states == model["distinct_states"] == explore(config_of(model)).states


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if model["expected"] != "pass"])
def test_tlc_finds_the_violation_that_the_explorer_finds_at_the_same_depth(name, tmp_path):
    model = MODELS[name]
    expected = model["expected"]

    checked = tlc_on(tmp_path, model, [expected])

    assert checked.violated == expected, checked.output[-3000:]
    example = explore(config_of(model)).counterexamples[NAMES[expected]]
    assert checked.length == len(example.moves) + 1


@pytest.mark.parametrize("name", MODELS)
def test_the_explorer_gives_each_model_its_expected_verdict(name):
    expected = MODELS[name]["expected"]

    broken = set(explore(config_of(MODELS[name])).counterexamples)

    kept = {NAMES[promise] for promise in promised(MODELS[name])}
    assert (NAMES[expected] in broken) if expected != "pass" else not broken & kept


@pytest.mark.parametrize("module", MODULES)
def test_the_module_has_every_step_under_its_name_and_in_its_order(module):
    text = (TLA / f"{module}.tla").read_text(encoding="utf-8")
    defined = re.findall(r"^([A-Z]\w+)(?:\(w\))? ==", text, re.MULTILINE)
    all_steps = [step.value for step in protocol_of(Config(modules=MODULES[module])).rules]
    extended = re.findall(r"^EXTENDS (\w+)$", text, re.MULTILINE)
    inherited = [step.value for each in extended for step in protocol_of(Config(modules=MODULES[each])).rules]
    steps = [step for step in all_steps if step not in inherited]

    assert [name for name in defined if name in steps] == steps
