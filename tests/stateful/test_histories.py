"""Seeded histories of production code under the simulator, judged by the model, by raw bytes and by readers."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from drawstring_sim.histories import ALONE_IN_ROUGH_WEATHER, CALM, ROUGH, run_history

SHARDS = 4
SEEDS = int(os.environ.get("DRAWSTRING_SIM_SEEDS", "40"))
"""How many rough histories are run; ``DRAWSTRING_SIM_SEEDS=5000`` explores."""


def _outcomes(seeds, weather):
    told = Counter()
    for seed in seeds:
        history = run_history(seed, weather)
        for attempt in history.attempts:
            told["success" if attempt.succeeded else type(attempt.error).__name__ if attempt.error else "death"] += 1
    return told


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(SHARDS))
def test_rough_histories_are_behaviours_of_the_model_and_serializable(shard):
    told = _outcomes(range(shard, SEEDS, SHARDS), ROUGH)
    assert told["success"] > SEEDS // SHARDS
    assert told["death"] > 0
    assert told["StorageError"] > 0


@pytest.mark.slow
def test_four_writers_in_rough_weather_are_no_different():
    told = _outcomes(range(SEEDS // 5), dataclasses.replace(ROUGH, writers=4, operations=3, pause_per_thousand=12))
    assert told["success"] > SEEDS // 5
    assert told["death"] > 0


@pytest.mark.slow
def test_a_writer_that_is_alone_and_keeps_dying_loses_nothing_and_leaves_nothing():
    told = _outcomes(range(SEEDS // 2), ALONE_IN_ROUGH_WEATHER)
    assert told["success"] > SEEDS
    assert told["death"] > SEEDS // 4


def test_calm_histories_end_in_success_or_conflict_and_in_nothing_else():
    told = _outcomes(range(8), CALM)
    assert told["ConflictError"] + told["KeyConflictError"] > 0
    assert set(told) <= {"success", "ConflictError", "KeyConflictError", "DuplicateKeyError"}


def _digest(seed):
    history = run_history(seed, ROUGH)
    return hashlib.sha256("\n".join(map(repr, history.recorder.entries)).encode()).hexdigest()


def test_a_seed_gives_the_same_history_whatever_pythons_hash_seed_is():
    here = str(Path(__file__).parent)
    script = f"import sys; sys.path.insert(0, {here!r}); import test_histories as t; print(t._digest(7))"
    digests = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hash_seed in ("0", "12345")
    }
    assert len(digests) == 1
