"""Which tool catches which planted bug: ``PYTHONPATH=tests python -m quality.measure`` measures it.

The results go to ``planted_bugs.json`` beside; `tools/generate_docs.py` makes ``docs/reference/planted-bugs.md`` of
them. Every tick is an observation within the budgets below, which are small on purpose: what is not caught here may
well be caught by a longer search. ``--tools explorer,tlc`` measures these again and keeps the rest.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test

from drawstring_model import planted as planted_bugs
from drawstring_model.config import COPY_ON_WRITE, ClockKind, Config, PlantedBug
from drawstring_model.core.protocol import apply, enabled, protocol_of, start
from drawstring_model.explorer import explore
from drawstring_model.invariants import STEP_PROPERTIES, Promise
from drawstring_sim.histories import run_history
from drawstring_sim.judge import VerdictError, check_history
from drawstring_sim.recorder import Recorder
from drawstring_sim.refinement import DisagreementError
from drawstring_sim.tla_trace import UntranslatableError, tla_trace
from quality.mutants import BUGS, Bug, founded_stage
from stateful.test_two_writers import TwoWriters
from unit.model.test_planted_bugs import CASES
from unit.model.tlc import OF_COPY_ON_WRITE, PROMISES, TWINS, run_tlc
from unit.sim.tlc_trace import judge_by_tlc, refinement_of

Found = Mapping[str, Any]
"""What a tool says of a bug: ``caught``, and ``how``; or why it was ``not_asked``."""

DATA = Path(__file__).with_name("planted_bugs.json")
TESTS = Path(__file__).resolve().parents[1]
WALKS = 100
EXAMPLES = 10
SEEDS = 10
UNIT_TESTS = ("unit/impl/protocol", "unit/impl/locks")
PLANTED_VARIABLE = "DRAWSTRING_PLANTED_BUG"

MODEL_CASES: Mapping[PlantedBug, tuple[Promise, Config]] = {
    bug: (promise, config)
    for bug, promise, config in cast("list[tuple[PlantedBug, Promise, Config]]", [case.values for case in CASES])
}
IN_TLA = frozenset(
    re.findall(r'"([A-Z_]+)"', (TESTS.parent / "tla" / "PlantedBugs.tla").read_text(encoding="utf-8"))
) & {bug.value for bug in PlantedBug} | {bug.value for bug in TWINS}
"""Bugs of the model that ``tla/PlantedBugs.tla`` has, too, or the twin of their module."""


def meanings() -> dict[str, str]:
    """What each bug of the model breaks, from its docstring."""
    tree = ast.parse(inspect.getsource(planted_bugs))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "PlantedBug")
    told = {}
    for member, text in pairwise(body):
        if isinstance(member, ast.Assign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            told[ast.unparse(member.targets[0])] = " ".join(str(text.value.value).split())
    return told


def _caught(how: str) -> Found:
    return {"caught": True, "how": how}


def _missed(how: str) -> Found:
    return {"caught": False, "how": how}


def _not_asked(why: str) -> Found:
    return {"not_asked": why}


# The model's bugs.


def explorer_finds(bug: PlantedBug) -> Found:
    """The shortest history within the bounds of the bug's test."""
    promise, config = MODEL_CASES[bug]
    exploration = explore(replace(config, planted=bug), until=promise)
    if exploration.holds(promise):
        return _missed(f"{exploration.states} states")
    return _caught(f"{promise.value}, {len(exploration.counterexamples[promise].moves)} steps")


def tlc_finds(bug: PlantedBug) -> Found:
    """The shortest history by TLC, within the same bounds, from the rule broken in TLA+."""
    if bug.value not in IN_TLA:
        return _not_asked("not in TLA+")
    promise, config = MODEL_CASES[bug]
    bounds = config.bounds
    module, constants = TWINS.get(bug, ("PlantedBugs", {"Bug": f'"{bug.value}"'}))
    name = next(name for name, each in PROMISES.get(module, OF_COPY_ON_WRITE).items() if each is promise)
    model = {
        "module": module,
        "concurrency": config.concurrency.value,
        "key_check": config.key_check,
        "workload": bounds.workload,
        "groups": bounds.groups,
        "crashes": bounds.crashes,
        "heartbeat_expiries": bounds.heartbeat_expiries,
        "lock_expiries": bounds.lock_expiries,
        "faults": bounds.faults,
        "renewals": bounds.renewals,
        "constants": {**constants, "Writers": bounds.writers, "FaultsUntil": bounds.faults_until},
    }
    with tempfile.TemporaryDirectory() as folder:
        checked = run_tlc(Path(folder), model, [name])
    if checked.violated == name:
        return _caught(f"{promise.value}, {checked.length - 1} steps")
    if not checked.is_clean:
        raise ValueError(f"TLC came to no end: {checked.output[-2000:]}")
    return _missed(f"{checked.states} states")


def walks_find(bug: PlantedBug) -> Found:
    """Hypothesis walks through the model at random."""
    _, config = MODEL_CASES[bug]
    config = replace(config, planted=bug)
    checks = protocol_of(config).invariants()

    @settings(max_examples=WALKS, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(choices=st.lists(st.integers(0, 2**16), min_size=40, max_size=120))
    def walk(choices: list[int]) -> None:
        state = start(config)
        for choice in choices:
            moves = enabled(state, config)
            if not moves:
                return
            before, state = state, apply(state, moves[choice % len(moves)], config)
            for promise, check in checks.items():
                if check(state.world, config) is not None:
                    raise _BrokenError(promise.value)
            for promise, step_check in STEP_PROPERTIES.items():
                if step_check(before.world, state.world, config) is not None and promise is MODEL_CASES[bug][0]:
                    raise _BrokenError(promise.value)

    try:
        walk()
    except _BrokenError as broken:
        return _caught(str(broken))
    return _missed(f"{WALKS} walks")


class _BrokenError(Exception):
    """A promise is broken; the message names it."""


def refinement_finds(bug: PlantedBug) -> Found:
    """The implementation, which does not have the bug, does what a model with it does not allow, or breaks its rule."""
    _, config = MODEL_CASES[bug]
    if config.modules != COPY_ON_WRITE or config.clock is not ClockKind.MONOTONIC:
        return _not_asked("beyond the histories")
    for seed in range(SEEDS):
        refinement = refinement_of(_recorded(seed))
        refinement.config = Config(planted=bug, snapshot_time=config.snapshot_time)
        try:
            refinement.check()
        except DisagreementError:
            return _caught(f"seed {seed}")
    return _missed(f"{SEEDS} seeds")


@cache
def _recorded(seed: int) -> Recorder:
    return run_history(seed).recorder


# The implementation's bugs.


def play_shows(bug: Bug) -> Found:
    """The directed history, judged by the model, by raw bytes, and by a reader."""
    with pytest.MonkeyPatch.context() as patch:
        bug.plant(patch)
        stage = founded_stage()
        judges = []
        try:
            bug.play(stage)
            try:
                stage.content()
            except (DisagreementError, VerdictError):
                judges.append("readers")
            try:
                check_history(stage.raw(), stage.attempts)
            except (DisagreementError, VerdictError):
                judges.append("bytes")
            if bug.by_model:
                try:
                    refinement_of(stage.recorder).check()
                except DisagreementError:
                    judges.append("model")
        finally:
            stage.close()
    return _caught(", ".join(judges)) if judges else _missed("the directed history")


def trace_shows(bug: Bug) -> Found:
    """The same history, as a trace: TLC cannot take the event that Python's model refused, or sees a promise broken."""
    if not bug.by_model:
        return _not_asked("not a history of the model")
    with pytest.MonkeyPatch.context() as patch:
        bug.plant(patch)
        stage = founded_stage()
        try:
            bug.play(stage)
        finally:
            stage.close()
    refinement = refinement_of(stage.recorder)
    try:
        refinement.check()
    except DisagreementError:
        if refinement.refused is None:
            return _not_asked("what differs is no event")
    try:
        trace = tla_trace(refinement.moves, refused=refinement.refused)
    except UntranslatableError as error:
        return _not_asked(str(error))
    with tempfile.TemporaryDirectory() as folder:
        verdict = judge_by_tlc(Path(folder), trace)
    if verdict.is_behaviour:
        return _missed(f"{verdict.taken} events")
    refused = trace.events[verdict.taken]["step"] if verdict.taken < len(trace.events) else "the end"
    return _caught(verdict.broken or f"{refused} refused")


def seeds_find(bug: Bug) -> Found:
    """Seeded histories of two writers in rough weather."""
    with pytest.MonkeyPatch.context() as patch:
        bug.plant(patch)
        for seed in range(SEEDS):
            try:
                run_history(seed)
            except (DisagreementError, VerdictError):
                return _caught(f"seed {seed}")
            except Exception as error:  # noqa: BLE001 -- the simulation stops in its own way on a broken implementation
                return _caught(f"seed {seed}: {type(error).__name__}")
    return _missed(f"{SEEDS} seeds")


def machine_finds(bug: Bug) -> Found:
    """Hypothesis decides who goes on at every port call."""
    budget = settings(
        max_examples=EXAMPLES,
        stateful_step_count=40,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(settings.get_profile("default").suppress_health_check),
        print_blob=False,
    )
    with pytest.MonkeyPatch.context() as patch:
        bug.plant(patch)
        try:
            run_state_machine_as_test(TwoWriters, settings=budget)
        except BaseExceptionGroup:
            return _caught("several")
        except Exception as error:  # noqa: BLE001 -- whatever the machine says is a finding
            return _caught(type(error).__name__)
    return _missed(f"{EXAMPLES} examples")


def unit_tests_notice(bug: Bug) -> Found:
    """The unit tests of the protocol, with the bug planted in all of them. Without it they have to pass."""
    passes, failed, output = _unit_tests(None)
    if not passes:
        raise ValueError(f"{failed} fail without any bug: {output[-2000:]}")
    passes, failed, output = _unit_tests(bug.name)
    if failed:
        return _caught(failed[0])
    if not passes:
        raise ValueError(f"The unit tests could not be run: {output[-2000:]}")
    return _missed(f"{re.findall(r'([0-9]+) passed', output)[-1]} tests")


@cache
def _unit_tests(planted: str | None) -> tuple[bool, tuple[str, ...], str]:
    """Whether the tests pass, the first that fails, and what pytest says."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-p", "quality.planted"]
    done = subprocess.run(
        [*command, *(str(TESTS / folder) for folder in UNIT_TESTS)],
        cwd=TESTS.parent,
        env={**os.environ, PLANTED_VARIABLE: planted or "", "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
    )
    failed = re.findall(r"^(?:FAILED|ERROR) \S*::(\w+)", done.stdout, re.MULTILINE)
    return done.returncode == 0, tuple(dict.fromkeys(failed)), done.stdout


OF_MODEL: Mapping[str, Callable[[PlantedBug], Found]] = {
    "explorer": explorer_finds,
    "tlc": tlc_finds,
    "hypothesis": walks_find,
    "histories": refinement_finds,
}
OF_IMPLEMENTATION: Mapping[str, Callable[[Bug], Found]] = {
    "play": play_shows,
    "tlc": trace_shows,
    "hypothesis": machine_finds,
    "histories": seeds_find,
    "unit": unit_tests_notice,
}


def load() -> dict[str, dict[str, dict[str, Any]]]:
    """What was measured so far."""
    if not DATA.is_file():
        return {"model": {}, "implementation": {}}
    measured: dict[str, dict[str, dict[str, Any]]] = json.loads(DATA.read_text(encoding="utf-8"))
    return measured


def _measure(tools: set[str] | None, *, missing_only: bool) -> None:
    bugs: list[tuple[str, str, Any, Mapping[str, Callable[[Any], Found]]]] = [
        *(("model", bug.value, bug, OF_MODEL) for bug in MODEL_CASES),
        *(("implementation", mutant.name, mutant, OF_IMPLEMENTATION) for mutant in BUGS),
    ]
    for tool in dict.fromkeys([*OF_MODEL, *OF_IMPLEMENTATION]):
        for where, name, bug, methods in bugs:
            known = tool in load()[where].get(name, {})
            if tool in methods and (not tools or tool in tools) and not (missing_only and known):
                _keep(where, name, tool, methods[tool](bug))


def _keep(where: str, name: str, tool: str, found: Found) -> None:
    """Write one result down at once; runs for different tools may go side by side."""
    sys.stdout.write(f"{tool}: {name}: {found}\n")
    sys.stdout.flush()
    measured = load()
    row = measured[where].setdefault(name, {})
    if where == "model":
        row["about"] = meanings()[name]
    row[tool] = dict(found)
    _write(measured)


def _write(measured: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Write all results, in the order of the bugs and tools; those of bugs that are no more go."""
    names = {"model": [bug.value for bug in MODEL_CASES], "implementation": [bug.name for bug in BUGS]}
    cells = ("about", *dict.fromkeys([*OF_IMPLEMENTATION, *OF_MODEL]))
    measured = {
        where: {
            name: {cell: measured[where][name][cell] for cell in cells if cell in measured[where][name]}
            for name in names[where]
            if name in measured[where]
        }
        for where in names
    }
    temporary = DATA.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    temporary.replace(DATA)


def main(arguments: list[str]) -> None:
    """Measure, tool by tool, and write each result at once."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", help="only these, separated by commas")
    parser.add_argument("--missing", action="store_true", help="only what was not measured yet")
    chosen = parser.parse_args(arguments)
    logging.getLogger("drawstring").setLevel(logging.CRITICAL)
    _measure(set(chosen.tools.split(",")) if chosen.tools else None, missing_only=chosen.missing)
    _write(load())


if __name__ == "__main__":
    main(sys.argv[1:])
