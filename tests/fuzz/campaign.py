"""Watches a worker: starts it, listens, kills it where it hangs, and starts the next one behind that input."""

from __future__ import annotations

import base64
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .target import Target
from .verdict import Verdict
from .worker import Assignment, input_of

HANG_S = 60.0
"""An input that takes longer is a hang, on a machine however busy: others take milliseconds."""

START_S = 300.0
"""What a worker may take until its first input, on a machine however busy."""

_NOWHERE = -1_000_001
_LAST_WORDS = 4_000


@dataclass(frozen=True)
class Finding:
    """An input that did not end as it should."""

    target: str
    number: int
    content: bytes
    whole: bytes | None
    verdict: Verdict


@dataclass
class Tally:
    """What became of the inputs of one format.

    Attributes:
        counts: inputs by outcome.
        findings: one for each signature.
        repeats: findings by signature.

    """

    counts: Counter[str] = field(default_factory=Counter)
    findings: dict[str, Finding] = field(default_factory=dict)
    repeats: Counter[str] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        self.findings.setdefault(finding.verdict.signature, finding)
        self.repeats[finding.verdict.signature] += 1

    @property
    def total(self) -> int:
        return sum(self.counts.values())


def run(
    target: Target,
    *,
    seed: int,
    first: int,
    count: int = 0,
    until_s: float = 0.0,
    hang_s: float = HANG_S,
    heard: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Try inputs of a format in processes of their own.

    Args:
        target: the format.
        seed: of all damage.
        first: number of the first input; below 0 are those of the corpus.
        count: how many; 0 for no end.
        until_s: wall clock, epoch seconds, at which to stop; 0 for no end.
        hang_s: how long a worker may be at one input.
        heard: is called whenever there is news.

    Returns:
        What became of them.

    """
    tally = Tally()
    last = first + count
    with tempfile.NamedTemporaryFile() as place:
        while (not count or first < last) and (not until_s or time.time() < until_s):
            Path(place.name).write_bytes(_encoded(_NOWHERE))
            left = last - first if count else 0
            work = Assignment(target.name, seed, first, left, until_s, place.name)
            died = _listen(work, tally, hang_s, heard)
            at = int.from_bytes(Path(place.name).read_bytes(), "little", signed=True) - 1_000_000
            if died is None:
                break
            if at == _NOWHERE:
                raise RuntimeError(f"The worker died before its first input: {died}")
            damaged, _ = input_of(target, seed, at)
            verdict = Verdict("finding", died, died.splitlines()[0])
            tally.counts["finding"] += 1
            tally.add(Finding(target.name, at, damaged.content, None, verdict))
            heard(tally)
            first = at + 1
    return tally


def _encoded(number: int) -> bytes:
    return (number + 1_000_000).to_bytes(8, "little", signed=True)


def _listen(work: Assignment, tally: Tally, hang_s: float, heard: Callable[[Tally], None]) -> str | None:
    """Run one worker until it ends; return None where it was done, or how it died."""
    root = Path(__file__).resolve().parents[1]
    environment = os.environ | {"PYTHONPATH": str(root), "RUST_BACKTRACE": "0", "POLARS_MAX_THREADS": "1"}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"}
    command = [sys.executable, "-m", "fuzz.worker", json.dumps(asdict(work))]
    with tempfile.TemporaryFile() as errors:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=environment) as worker:
            try:
                hung = not _hear_out(worker, work, tally, hang_s, heard)
            finally:
                worker.kill()
            code = worker.wait()
        if hung:
            return "hang"
        if code == 0:
            return None
        size = errors.seek(0, os.SEEK_END)
        errors.seek(max(0, size - _LAST_WORDS))
        return f"the process died with {code}\n{errors.read().decode('utf-8', 'replace')}"


def _hear_out(
    worker: subprocess.Popen[bytes], work: Assignment, tally: Tally, hang_s: float, heard: Callable[[Tally], None]
) -> bool:
    """Take in what a worker says until it says no more; False where it stays at one input for too long."""
    assert worker.stdout is not None
    pending, at, since = b"", b"", time.monotonic()
    while True:
        if select.select([worker.stdout], [], [], 1.0)[0]:
            piece = os.read(worker.stdout.fileno(), 1 << 20)
            if not piece:
                worker.wait()
                return True
            *lines, pending = (pending + piece).split(b"\n")
            for line in lines:
                _take(json.loads(line), work, tally)
            heard(tally)
        now = Path(work.place).read_bytes()
        if now != at:
            at, since = now, time.monotonic()
        elif time.monotonic() - since > (START_S if now == _encoded(_NOWHERE) else hang_s):
            return False


def _take(said: dict[str, Any], work: Assignment, tally: Tally) -> None:
    if "counts" in said:
        tally.counts.update(said["counts"])
        return
    content = base64.b64decode(said["content"])
    whole = base64.b64decode(said["whole"]) if said["whole"] else None
    verdict = Verdict(said["outcome"], said["finding"], said["signature"])
    tally.add(Finding(work.target, said["number"], content, whole, verdict))
