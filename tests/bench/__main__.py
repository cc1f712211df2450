"""``make bench``: measure, print, and write ``artifacts/bench.json``. ``--help`` lists what can be chosen."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from . import report
from .measure import Measurement
from .places import Places
from .rows import Workload, make_workload

SECTIONS = ("embedded", "spark", "java", "model")
_ON_ROWS = frozenset(SECTIONS) - {"model"}
_LEAST_REPEATS = 3


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--section", choices=SECTIONS, action="append", help="only this one; may be given again")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the table (default: %(default)s)")
    parser.add_argument("--few", type=int, default=1_000, help="keys of the small upsert (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=_LEAST_REPEATS, help="runs that count (default: %(default)s)")
    parser.add_argument(
        "--lookup-rows", type=int, action="append", default=[], metavar="N", help="look-ups in a table of N rows, too"
    )
    parser.add_argument("--out", type=Path, default=Path("artifacts/bench.json"), help="(default: %(default)s)")
    return parser.parse_args(arguments)


def _measure(section: str, workload: Workload, places: Places, repeats: int, console: Console) -> Iterator[Measurement]:
    """Run one section, or say why it is left out. Optional libraries are imported only here."""
    if section == "embedded":
        from . import embedded

        yield from embedded.measure(workload, places, repeats)
        return
    from drawstring.commands.stage import why_no_spark

    reason = why_no_spark()
    if reason is not None:
        console.print(f"[yellow]Left out: {section}. {reason}[/]")
        return
    if section == "spark":
        from . import spark

        yield from spark.measure(workload, places, repeats)
        return
    from . import java

    if not java.is_available():
        console.print("[yellow]Left out: Java Hudi; `make interop` sets its environment up[/]")
        return
    yield from java.measure(workload, places, repeats)


def _measured(
    section: str, workload: Workload | None, places: Places, repeats: int, console: Console
) -> Iterator[Measurement]:
    """Run one section, on rows or on models."""
    if workload is not None and section in _ON_ROWS:
        yield from _measure(section, workload, places, repeats, console)
        return
    from . import model

    reason = model.why_not()
    if reason is not None:
        console.print(f"[yellow]Left out: {section}. {reason}[/]")
        return
    yield from model.measure(repeats)


def _large_look_ups(num_rows: int, places: Places, repeats: int) -> list[Measurement]:
    from . import embedded, reading

    return list(reading.large_look_ups(num_rows, places, repeats, embedded.bulk_insert))


def main(arguments: list[str]) -> int:
    """Measure the sections one after the other."""
    chosen = _parse(arguments)
    console = Console()
    root = Path(tempfile.mkdtemp(prefix="drawstring-bench-"))
    places = Places(root)
    measurements: list[Measurement] = []
    try:
        sections = chosen.section or SECTIONS
        # Rows are made only where somebody reads them.
        workload = make_workload(chosen.rows, chosen.few) if _ON_ROWS.intersection(sections) else None
        if workload is not None:
            shape = f"{workload.rows.num_rows:,} rows of {workload.rows.num_columns} columns in 4 partitions"
            console.print(f"{shape}, {chosen.repeats} runs each after a warm-up, sides taking turns")
        for section in sections:
            with console.status(f"Measuring: {section}"):
                for measured in _measured(section, workload, places, chosen.repeats, console):
                    measurements.append(measured)
                    console.print(f"[dim]{measured.section}: {measured.title}: done[/]")
        for num_rows in chosen.lookup_rows:
            with console.status(f"Measuring: look-ups in {num_rows:,} rows"):
                measurements += _large_look_ups(num_rows, places, chosen.repeats)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    report.join_java(measurements)
    console.print(report.render(measurements))
    console.print(report.look_ups(measurements))
    names = {"rows": chosen.rows, "lookup_rows": chosen.lookup_rows, "few": chosen.few, "repeats": chosen.repeats}
    report.save(chosen.out, measurements, names)
    console.print(f"Written to {chosen.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
