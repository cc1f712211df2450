"""TLC as a judge of recorded histories: is this one a behaviour of ``tla/CopyOnWrite.tla``?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from drawstring_sim.client import HEARTBEAT_INTERVAL_MS, LOCK_TTL_MS, TOLERABLE_MISSES
from drawstring_sim.recorder import Recorder
from drawstring_sim.refinement import Refinement
from drawstring_sim.tla_trace import TlaTrace
from unit.model.tlc import OF_COPY_ON_WRITE, run_tlc

_ANY_NUMBER = 1_000
"""Of faults: a history had those that it had."""


@dataclass(frozen=True)
class Verdict:
    """What TLC says of a history.

    Attributes:
        taken: how many events could be taken, one after the other.
        is_behaviour: whether these are all.
        broken: the promise that is broken on the way.
        output: all that TLC said.

    """

    taken: int
    is_behaviour: bool
    broken: str | None
    output: str


def refinement_of(recorder: Recorder) -> Refinement:
    """The replay of a record into the model, not checked yet."""
    return Refinement(recorder, LOCK_TTL_MS, HEARTBEAT_INTERVAL_MS * TOLERABLE_MISSES)


def judge_by_tlc(folder: Path, trace: TlaTrace) -> Verdict:
    """Run TLC on a history in an empty folder; raises `TlcMissingError` where it is not there."""
    (folder / "Recorded.tla").write_text(trace.module(), encoding="utf-8")
    model = {
        "module": "Trace",
        "concurrency": "OPTIMISTIC",
        "key_check": True,
        "workload": trace.workload,
        "groups": trace.groups,
        "constants": {"Writers": trace.writers, "FaultsUntil": _ANY_NUMBER},
        **dict.fromkeys(("crashes", "heartbeat_expiries", "lock_expiries", "faults", "renewals"), _ANY_NUMBER),
    }
    checked = run_tlc(folder, model, ["Untold", *OF_COPY_ON_WRITE])
    if checked.violated is None and not checked.is_clean:
        raise ValueError(f"TLC came to no end: {checked.output[-3000:]}")
    is_behaviour = checked.violated == "Untold"
    broken = None if is_behaviour else checked.violated
    return Verdict(checked.states - 1, is_behaviour, broken, checked.output)
