"""The process that tries inputs, so that a crash, a hang or an allocation of terabytes is an outcome like others.

``python -m fuzz.worker`` with the arguments of `Assignment`. It tells the number of the input that it is at through a
file that is mapped into memory, so that the process that watches it knows it after any death. Findings and counts go
to standard output, a JSON value to a line.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import sys
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from drawstring.errors import DrawstringError

from . import corpus
from .limits import Meter, limit_address_space
from .planted import PLANTED
from .target import Answer, Damaged, Target
from .targets import TARGETS
from .verdict import Verdict, try_input

REPORT_EVERY_S = 1.0
MOST_OF_A_SIGNATURE = 3


@dataclass(frozen=True)
class Assignment:
    """What a worker is to do.

    Attributes:
        target: name of the format.
        seed: of all damage.
        first: number of the first input; numbers below 0 are the corpus.
        count: how many inputs from there on; 0 for no end.
        until_s: wall clock, epoch seconds, at which to stop; 0 for no end.
        place: file that the number of the current input is told through.

    """

    target: str
    seed: int
    first: int
    count: int
    until_s: float
    place: str


def input_of(target: Target, seed: int, number: int) -> tuple[Damaged, bool]:
    """The input of a number, and whether the judge may look at its answer; the same in every process."""
    if number < 0:
        found = corpus.load(target.name)[-number - 1]
        return Damaged(found.whole or b"", found.content), found.whole is not None
    wholes = target.wholes()
    damaged, crafted = target.damaged(Random(f"{seed} {target.name} {number}"), wholes)
    return damaged, not crafted


def main(argument: str) -> int:
    """Try inputs until the assignment is done."""
    faulthandler.enable()
    work = Assignment(**json.loads(argument))
    target = (TARGETS | PLANTED)[work.target]
    meter = Meter()
    answers: dict[bytes, Answer | None] = {}
    for whole in target.wholes()[:1]:
        _before(target, answers, Damaged(whole, whole))  # warms up what is loaded once
    limit_address_space()
    counts: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    reported_s = time.monotonic()
    with Path(work.place).open("r+b") as file, mmap.mmap(file.fileno(), 8) as place:
        for number in _numbers(work):
            place[:8] = (number + 1_000_000).to_bytes(8, "little")
            damaged, judged = input_of(target, work.seed, number)
            verdict = try_input(target, damaged, _before(target, answers, damaged), meter, judged=judged)
            counts[verdict.outcome] += 1
            if verdict.finding is not None and seen[verdict.signature] < MOST_OF_A_SIGNATURE:
                seen[verdict.signature] += 1
                _tell_finding(number, damaged, judged, verdict)
            if time.monotonic() - reported_s > REPORT_EVERY_S:
                _tell({"counts": counts})
                counts.clear()
                reported_s = time.monotonic()
    _tell({"counts": counts, "done": True})
    return 0


def _before(target: Target, answers: dict[bytes, Answer | None], damaged: Damaged) -> Answer | None:
    """The whole file's answer; None where it has none."""
    if damaged.whole not in answers:
        try:
            answers[damaged.whole] = target.read(damaged.whole)
        except DrawstringError:
            answers[damaged.whole] = None
    return answers[damaged.whole]


def _numbers(work: Assignment) -> Iterator[int]:
    number = work.first
    while (not work.count or number < work.first + work.count) and (not work.until_s or time.time() < work.until_s):
        yield number
        number += 1


def _tell_finding(number: int, damaged: Damaged, judged: bool, verdict: Verdict) -> None:  # noqa: FBT001 -- one caller
    whole = b64encode(damaged.whole).decode() if judged and damaged.whole else None
    _tell({"number": number, "content": b64encode(damaged.content).decode(), "whole": whole, **asdict(verdict)})


def _tell(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1]))
