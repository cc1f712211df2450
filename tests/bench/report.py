"""Tells what was measured: a table for people, JSON for later comparison."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from rich.table import Table

from .measure import Measurement

JAVA_FACTOR = 5.0
"""On Spark, an upsert of few keys ought to be at least so many times as fast as Java Hudi's."""

LOOK_UP_TITLE = "look-up of "
"""How titles begin of what `look_ups` tells."""

_LIBRARIES = ("drawstring", "pyarrow", "pyspark", "deltalake", "hudi")


def join_java(measurements: Sequence[Measurement]) -> None:
    """Put Java Hudi's times beside ours on Spark; where a comparison had no baseline, Java's becomes it."""
    ours = {m.title: m for m in measurements if m.section == "Spark"}
    for java in (m for m in measurements if m.section == "Java Hudi"):
        spark = ours.get(java.title)
        if spark is None:
            continue
        spark.seconds["Java Hudi"] = java.seconds["Java Hudi"]
        if spark.baseline is None:
            spark.baseline, spark.target = "Java Hudi", spark.target or 1 / JAVA_FACTOR


def render(measurements: Sequence[Measurement]) -> Table:
    """A line per comparison, and below it one per side."""
    table = Table(
        title="Medians, in seconds where nothing else is said",
        title_justify="left",
        header_style="dim",
        box=None,
        pad_edge=False,
    )
    table.add_column("")
    for heading in ("median", "from", "to", "ours / it", "target"):
        table.add_column(heading, justify="right", no_wrap=True)
    for measured in measurements:
        unit = "" if measured.unit == "s" else f" ({measured.unit})"
        table.add_row(f"[bold cyan]{measured.section}: {measured.title}{unit}[/]")
        for name, runs in measured.seconds.items():
            is_ours = name == measured.ours
            table.add_row(
                f"  [bold]{name}[/]" if is_ours else f"  {name}",
                f"{measured.median(name):.3f}",
                f"{min(runs):.3f}",
                f"{max(runs):.3f}",
                _ratio(None if is_ours else measured.ratio_to(name)),
                _target(measured) if name == (measured.baseline if measured.limit is None else measured.ours) else "",
            )
    return table


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _target(measured: Measurement) -> str:
    if measured.is_reached is None:
        return ""
    colour, word = ("green", "reached") if measured.is_reached else ("yellow", "missed")
    if measured.limit is not None:
        return f"[{colour}]≤ {measured.limit:.2f} {measured.unit} {word}[/]"
    return f"[{colour}]≤ {measured.target:.2f} {word}[/]"


def look_ups(measurements: Sequence[Measurement]) -> Table:
    """How many times as fast as a full scan look-ups are, by elapsed and by processor time, with the target beside."""
    found = [m for m in measurements if m.title.startswith(LOOK_UP_TITLE) and m.target]
    title = "Look-ups: times as fast as a full scan"
    table = Table(title=title, title_justify="left", header_style="dim", box=None, pad_edge=False)
    table.add_column("")
    for heading in ("elapsed", "processor", "target"):
        table.add_column(heading, justify="right", no_wrap=True)
    for measured in found:
        ratios = [measured.times_as_fast(by_cpu=by_cpu) for by_cpu in (False, True)]
        texts = ["" if ratio is None else f"{ratio:.1f}" for ratio in ratios]
        table.add_row(measured.title, *texts, f"≥ {1 / (measured.target or 1):.0f}")
    return table


def save(path: Path, measurements: Sequence[Measurement], arguments: dict[str, object]) -> None:
    """Write everything as JSON, with the versions and the machine that it was measured on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "arguments": arguments,
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "system": platform.platform()},
        "versions": {name: metadata.version(name) for name in _LIBRARIES if _is_installed(name)},
        "measurements": [measured.as_json() for measured in measurements],
    }
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
