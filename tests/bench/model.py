"""The explorer beside TLC on the same models: each in a process of its own, one worker, all states counted.

Both count the same distinct states, so the ratio of their times is the ratio of their speeds, turned over. And the
compact explorer, which forgets all but digests, beside the plain one.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.unit.model.tlc import ALL_MODELS, Model, TlcMissingError, jar, promised, run_tlc

from .measure import Contender, Measurement, alternate

LARGE_ENOUGH = ("optimistic", "mor_compaction", "optimistic_faults")
"""Models in which the search takes longer than Java and Python take to start."""
COMPACTED = "optimistic_faults"
"""The model on which the two explorers are compared."""
MOST_FOR_LESS = 1.5
"""The compact explorer should take at most so many times the plain one's time."""
MOST = 2.0
"""The explorer should take at most so many times TLC's time: half its states a second, or more."""


def why_not() -> str | None:
    """Why nothing can be measured; None where it can."""
    try:
        jar()
    except TlcMissingError as missing:
        return str(missing)
    return None


def measure(repeats: int) -> Iterator[Measurement]:
    """Let both count the states of each model in turn."""
    for name in LARGE_ENOUGH:
        model = ALL_MODELS[name]
        states = model["distinct_states"]
        title = f"{name}, {states:,} states"
        measurement = Measurement("Model", title, ours="explorer", baseline="TLC, one worker", target=MOST)
        yield alternate(measurement, contenders(name, model), repeats=repeats, warm_ups=0)
    states = ALL_MODELS[COMPACTED]["distinct_states"]
    title = f"{COMPACTED}, {states:,} states, in digests"
    measurement = Measurement("Model", title, ours="compact explorer", baseline="explorer", target=MOST_FOR_LESS)
    yield alternate(measurement, of_both_explorers(COMPACTED), repeats=repeats, warm_ups=0)


def of_both_explorers(name: str) -> tuple[Contender, ...]:
    """The compact explorer and the plain one on one model."""

    def compactly(_: object) -> None:
        _same(ALL_MODELS[name]["distinct_states"], _explored(name, "--compact"))

    def plainly(_: object) -> None:
        _same(ALL_MODELS[name]["distinct_states"], _explored(name))

    return Contender("compact explorer", compactly), Contender("explorer", plainly)


def contenders(name: str, model: Model) -> tuple[Contender, ...]:
    """Both sides, each of which checks the same promises."""
    states = model["distinct_states"]

    def by_explorer(_: object) -> None:
        _same(states, _explored(name))

    def by_tlc(folder: tempfile.TemporaryDirectory[str]) -> tempfile.TemporaryDirectory[str]:
        _same(states, run_tlc(Path(folder.name), model, promised(model)).states)
        return folder

    return (
        Contender("explorer", by_explorer),
        Contender("TLC, one worker", by_tlc, prepare=tempfile.TemporaryDirectory, clean_up=_removed),
    )


def _explored(name: str, *options: str) -> int:
    """The states that an explorer counts, in a process of its own."""
    command = [sys.executable, "-m", "tests.unit.model.tlc_table", "--explore", name, *options]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _removed(folder: object) -> None:
    if isinstance(folder, tempfile.TemporaryDirectory):
        folder.cleanup()


def _same(expected: int, found: int) -> None:
    """A run that did other work is not to be compared."""
    if expected != found:
        raise RuntimeError(f"counted {found:,} states where there are {expected:,}")
