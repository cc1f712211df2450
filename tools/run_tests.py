"""Run what `make test` promises, and say plainly what was skipped and why.

Two runs at the same time: all tests that need no Java, spread over the cores, and the tests on Spark with one session
for all, which leave a core idle for some of their time. What the second says is shown when the first is done. Tests
against Java Hudi are not among them: they are `make interop`; nor are explorations that take minutes: they are part of
`make tla`. JUnit reports go to ``artifacts/``. Arguments are handed on to both pytest runs: ``tools/run_tests.py -k
lock``.

The exit code is 0 only if every test that ran passed, some did run, and each run found tests and wrote its report
(with arguments, a run may find none).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
ARTIFACTS = REPOSITORY / "artifacts"
NO_TESTS_COLLECTED = 5
MOST_FAILURES_SHOWN = 40


@dataclass(frozen=True)
class Part:
    """One pytest run.

    Attributes:
        name: short, for the report's file name.
        title: in words.
        arguments: what selects its tests and how they are spread.

    """

    name: str
    title: str
    arguments: tuple[str, ...]


@dataclass
class Outcome:
    """What a run came to."""

    part: Part
    exit_code: int
    duration_s: float
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    reported: bool = False

    @property
    def is_good(self) -> bool:
        """Whether nothing failed. A run without a report is not good: nobody knows what it did."""
        return self.exit_code == 0 and self.reported and not self.failed


def parts(processes: int) -> tuple[Part, ...]:
    """The runs, in order."""
    spread = ("-n", str(processes), "--dist", "worksteal")
    return (
        Part("plain", "everything that needs no Java", ("-m", "not spark and not interop and not large", *spread)),
        Part("spark", "on Spark", ("-m", "spark and not interop")),
    )


def run(part: Part, extra: Sequence[str], output: Path | None) -> Outcome:
    """Run one part and read its report; what it says is passed through, or goes to a file."""
    report = ARTIFACTS / f"junit-{part.name}.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", f"--junit-xml={report}", *part.arguments, *extra]
    # Spark's workers run the Python that its driver runs, whatever `python3` is on the PATH.
    environment = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"} | os.environ
    started = time.monotonic()
    with nullcontext() if output is None else output.open("wb") as stream:
        finished = subprocess.run(
            command, cwd=REPOSITORY, env=environment, stdout=stream, stderr=stream and subprocess.STDOUT, check=False
        )
    exit_code = 0 if extra and finished.returncode == NO_TESTS_COLLECTED else finished.returncode
    outcome = Outcome(part, exit_code, time.monotonic() - started)
    read_report(report, outcome)
    return outcome


def read_report(report: Path, outcome: Outcome) -> None:
    """Count a JUnit report's cases into `outcome`; a missing or broken report leaves `reported` false."""
    try:
        root = ET.parse(report).getroot()
    except (OSError, ET.ParseError):
        return
    for case in root.iter("testcase"):
        name = f"{case.get('classname', '')}::{case.get('name', '')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed.append(name)
        elif skip is not None:
            outcome.skipped[case.get("classname", ""), _one_line(skip.get("message", ""))] += 1
        else:
            outcome.passed += 1
    outcome.reported = True


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def summarise(outcomes: Sequence[Outcome]) -> str:
    """Tell the outcomes as a person wants to read them."""
    lines = ["", "== summary"]
    for outcome in outcomes:
        count = f"{outcome.passed} passed, {len(outcome.failed)} failed, {outcome.skipped.total()} skipped"
        broken = "" if outcome.is_good or outcome.failed else f"; pytest ended with exit code {outcome.exit_code}"
        lines.append(f"{outcome.part.title}: {count}, {outcome.duration_s:.0f} s{broken}")
    failed = [name for outcome in outcomes for name in outcome.failed]
    lines += [f"  FAILED {name}" for name in failed[:MOST_FAILURES_SHOWN]]
    if len(failed) > MOST_FAILURES_SHOWN:
        lines.append(f"  and {len(failed) - MOST_FAILURES_SHOWN} more, in artifacts/")
    skipped: Counter[tuple[str, str]] = sum((outcome.skipped for outcome in outcomes), Counter())
    by_reason: dict[str, list[str]] = {}
    for (module, reason), times in sorted(skipped.items()):
        by_reason.setdefault(reason or "no reason given", []).append(f"{module} ({times})")
    for reason, modules in by_reason.items():
        lines.append(f"  skipped, {reason}: {', '.join(modules)}")
    lines.append("  not run here: tests against Java Hudi (make interop)")
    lines.append("all is well" if is_good(outcomes) else "NOT WELL")
    return "\n".join(lines)


def is_good(outcomes: Sequence[Outcome]) -> bool:
    """Whether every run is good and at least one test passed."""
    return all(outcome.is_good for outcome in outcomes) and any(outcome.passed for outcome in outcomes)


def main(extra: Sequence[str]) -> int:
    """Run the parts, all of them even if one fails; only the first is watched while it runs."""
    ARTIFACTS.mkdir(exist_ok=True)
    first, *others = parts(max(2, min(os.cpu_count() or 2, 8)))
    outputs = {part: ARTIFACTS / f"output-{part.name}.txt" for part in others}
    with ThreadPoolExecutor(len(others) + 1) as pool:
        print(f"\n== {first.title}", flush=True)
        begun = {part: pool.submit(run, part, extra, outputs.get(part)) for part in (first, *others)}
        outcomes = [begun[first].result()]
        for part in others:
            print(f"\n== {part.title}", flush=True)
            outcomes.append(begun[part].result())
            print(outputs[part].read_text(encoding="utf-8", errors="replace"), flush=True)
    print(summarise(outcomes), flush=True)
    return 0 if is_good(outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
