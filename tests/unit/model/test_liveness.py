"""Every writer finishes some time: TLC checks it under fairness, without symmetry, and notices two planted bugs."""

from __future__ import annotations

import pytest

from unit.model.tlc import ALL_MODELS, TlcMissingError, run_tlc

CALM = ALL_MODELS["optimistic_faults"] | {
    "module": "Liveness",
    "workload": [[[1, True]], [[2, True]]],
    "groups": 2,
    "heartbeat_expiries": 0,
    "lock_expiries": 0,
    "renewals": 0,
    "crashes": 0,
    "faults": 0,
}
WITH_A_CRASH = CALM | {"workload": [[[1, True]]], "groups": 1, "crashes": 1, "faults": 1}

pytestmark = pytest.mark.slow


def checked(folder, model, specification):
    try:
        return run_tlc(folder, model, properties=["EveryWriterFinishes"], specification=specification)
    except TlcMissingError as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("model", [CALM, WITH_A_CRASH], ids=["two writers", "a crash"])
def test_every_writer_finishes_some_time(tmp_path, model):
    found = checked(tmp_path, model, "LiveSpec")

    assert found.is_clean, found.output[-3000:]
    assert "Implied-temporal checking" in found.output or "Checking temporal properties" in found.output


def test_writers_that_give_way_to_each_other_for_ever_are_noticed(tmp_path):
    found = checked(tmp_path, CALM, "PoliteSpec")

    assert found.breaks_liveness, found.output[-3000:]
    assert "Back to state" in found.output


def test_a_lock_that_a_dead_holder_keeps_is_noticed(tmp_path):
    found = checked(tmp_path, WITH_A_CRASH, "NoLeaseSpec")

    assert found.breaks_liveness, found.output[-3000:]
    assert "Stuttering" in found.output
