"""TLC and the Python explorer agree on every model of ``tla/manifest.toml``: verdicts and numbers of states.

What a model of the manifest is in Python stands in ``tlc.py`` beside.
"""

from __future__ import annotations

import re

import pytest

from drawstring_model.config import Config
from drawstring_model.core.protocol import protocol_of
from drawstring_model.explorer import explore
from unit.model.tlc import ALL_MODELS, MODULES, NAMES, TLA, TlcMissingError, config_of, models_of, promised, run_tlc


def tlc_on(folder, model, invariants):
    """What TLC says of a model; a skip that says what is missing where it cannot be run."""
    try:
        return run_tlc(folder, model, invariants)
    except TlcMissingError as missing:
        pytest.skip(str(missing))


SMALL = list(models_of("small"))
BROKEN = [name for name in SMALL if ALL_MODELS[name]["expected"] != "pass"]
of_each = pytest.mark.parametrize("explored_model", SMALL, indirect=True, scope="module")
of_each_broken = pytest.mark.parametrize("explored_model", BROKEN, indirect=True, scope="module")


@pytest.fixture(scope="module")
def explored_model(request):
    """A model and what the explorer finds in it; explored once for all tests of the model."""
    model = ALL_MODELS[request.param]
    return model, explore(config_of(model))


@pytest.mark.slow
@of_each
def test_tlc_counts_the_states_that_the_explorer_counts(explored_model, tmp_path):
    model, exploration = explored_model
    passes = model["expected"] == "pass"

    checked = tlc_on(tmp_path, model, promised(model) if passes else ())

    assert checked.is_clean, checked.output[-3000:]
    assert checked.states == model["distinct_states"] == exploration.states


@pytest.mark.slow
@of_each_broken
def test_tlc_finds_the_violation_that_the_explorer_finds_at_the_same_depth(explored_model, tmp_path):
    model, exploration = explored_model
    expected = model["expected"]

    checked = tlc_on(tmp_path, model, [expected])

    assert checked.violated == expected, checked.output[-3000:]
    assert checked.length == len(exploration.counterexamples[NAMES[expected]].moves) + 1


@of_each
def test_the_explorer_gives_each_model_its_expected_verdict(explored_model):
    model, exploration = explored_model
    expected = model["expected"]
    broken = set(exploration.counterexamples)

    kept = {NAMES[promise] for promise in promised(model)}
    assert (NAMES[expected] in broken) if expected != "pass" else not broken & kept


def texts_of(module):
    """The texts of a module and of the parts that it is put together from: what it extends and is no module itself."""
    text = (TLA / f"{module}.tla").read_text(encoding="utf-8")
    parts = [name for name in extended_by(text) if (TLA / f"{name}.tla").is_file() and name not in MODULES]
    return [text, *(other for name in parts for other in texts_of(name))]


def extended_by(text):
    return [name for names in re.findall(r"^EXTENDS ([\w, ]+)$", text, re.MULTILINE) for name in names.split(", ")]


@pytest.mark.parametrize("module", MODULES)
def test_the_module_has_every_step_under_its_name_and_in_its_order(module):
    texts = list(dict.fromkeys(texts_of(module)))
    all_steps = [step.value for step in protocol_of(Config(modules=MODULES[module])).rules]
    extended = {name for text in texts for name in extended_by(text) if name in MODULES}
    inherited = {step.value for each in extended for step in protocol_of(Config(modules=MODULES[each])).rules}
    steps = [step for step in all_steps if step not in inherited]

    defined = [re.findall(r"^([A-Z]\w+)(?:\(w\))? ==", text, re.MULTILINE) for text in texts]
    found = [[name for name in names if name in steps] for names in defined]

    assert sorted(name for names in found for name in names) == sorted(steps)
    assert found == [[step for step in steps if step in names] for names in defined]
