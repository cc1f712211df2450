"""``python -m tests.fuzz``: damaged files of every format, for as long as one likes.

What does not end in a named error or in rows is made smaller and kept in ``tests/fuzz/corpus/<format>/``, which
``make test`` replays. The same seed gives the same inputs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from rich.console import Console
from rich.table import Table

from . import corpus
from .campaign import Finding, Tally, run
from .limits import Meter
from .minimise import minimise
from .target import Damaged
from .targets import TARGETS
from .verdict import try_input

_TURN_S = 20.0
"""Formats take turns of this length, so that each is tried however short the run is."""


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--minutes", type=float, default=5.0, help="in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of all damage (default: %(default)s)")
    parser.add_argument("--no-corpus", action="store_true", help="keep nothing of what is found")
    found = parser.parse_args(arguments)
    strangers = sorted(set(found.formats) - set(TARGETS))
    if strangers:
        parser.error(f"there is no format {', '.join(strangers)}; there are {', '.join(TARGETS)}")
    return found


def main(arguments: list[str]) -> int:
    """Let formats take turns until the time is over; the exit code is 1 where something was found."""
    os.environ.setdefault("RUST_BACKTRACE", "0")
    chosen = _parse(arguments)
    names = chosen.formats or list(TARGETS)
    end_s = time.time() + chosen.minutes * 60
    turn_s = min(_TURN_S, chosen.minutes * 60 / len(names))
    tallies = {name: Tally() for name in names}
    next_input = dict.fromkeys(names, 0)
    console = Console()
    turn = 0
    with console.status("starting") as status:
        while time.time() < end_s:
            name = names[turn % len(names)]
            turn += 1
            known = tallies[name]
            left_s = end_s - time.time()

            def tell(new: Tally, name: str = name, known: Tally = known, left_s: float = left_s) -> None:
                found = len(known.findings) + len(new.findings)
                status.update(f"{name}: {known.total + new.total:,} inputs, {found} findings, {left_s / 60:.1f} min")

            new = run(
                TARGETS[name],
                seed=chosen.seed,
                first=next_input[name],
                until_s=min(end_s, time.time() + turn_s),
                heard=tell,
            )
            next_input[name] += new.total
            known.counts += new.counts
            for finding in new.findings.values():
                if finding.verdict.signature not in known.findings:
                    known.add(finding)
                    _show(console, finding, keep=not chosen.no_corpus)
    console.print(_summary(tallies))
    return 1 if any(tally.findings for tally in tallies.values()) else 0


def _show(console: Console, finding: Finding, *, keep: bool) -> None:
    content = _smaller(finding)
    where = corpus.save(finding.target, content, finding.whole) if keep else None
    console.rule(f"{finding.target}, input {finding.number}")
    console.print(finding.verdict.finding, markup=False, highlight=False)
    console.print(f"{len(content)} bytes{f', kept as {where}' if where else ''}", style="bold")


def _smaller(finding: Finding) -> bytes:
    """Only what fails without harm to the process is tried again and again."""
    target, signature = TARGETS[finding.target], finding.verdict.signature
    if finding.whole is not None or signature.startswith(("hang", "the process died", "too much", "memory")):
        return finding.content
    meter = Meter()
    return minimise(
        finding.content, lambda c: try_input(target, Damaged(b"", c), None, meter).signature == signature, tries=300
    )


def _summary(tallies: dict[str, Tally]) -> Table:
    table = Table("format", "inputs", "same answer", "other answer", "named errors", "findings")
    for name, tally in tallies.items():
        counts = tally.counts
        named = tally.total - counts["same answer"] - counts["other answer"] - counts["finding"]
        cells = (tally.total, counts["same answer"], counts["other answer"], named, len(tally.findings))
        table.add_row(name, *(f"{cell:,}" for cell in cells))
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
