"""``make tla``: TLC and the explorer on the models of ``tla/manifest.toml``, and a table of what each found.

Fails where the two differ, or where a verdict or a number of states is not the manifest's. Without TLC it fails, too.
``--record`` writes TLC's run times to the manifest, and nothing else.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from drawstring_model.compact.search import Search
from drawstring_model.explorer import Exploration, explore

from .tlc import (
    ALL_MODELS,
    NAMES,
    TLA,
    Checked,
    Model,
    TlcMissingError,
    config_of,
    models_of,
    module_of,
    promised,
    run_tlc,
)


@dataclass(frozen=True)
class Line:
    """What TLC and the explorer found in one model; `states` and `length` are (TLC's, the explorer's)."""

    name: str
    model: Model
    tlc: Checked
    states: tuple[int, int]
    length: tuple[int, int] | None

    @property
    def complaints(self) -> list[str]:
        """What is not as it should be."""
        found = []
        if self.states != (self.model["distinct_states"],) * 2:
            found.append(f"the manifest has {self.model['distinct_states']:,} states")
        if self.length is not None and self.length[0] != self.length[1]:
            found.append("the shortest histories differ in length")
        if not self.tlc.is_clean:
            found.append(self.tlc.output.strip().splitlines()[-1])
        return found


def line_of(name: str, timeout_s: float) -> Line:
    """Run both on one model: its states without the promises that are not kept, and the shortest broken one."""
    model = ALL_MODELS[name]
    expected = model["expected"]
    passes = expected == "pass"
    config = config_of(model)
    exploration = Search(config).run() if model.get("size") == "large" else explore(config)
    with tempfile.TemporaryDirectory() as folder:
        tlc = run_tlc(Path(folder), model, promised(model) if passes else (), timeout_s=timeout_s)
    length = None
    if not passes:
        with tempfile.TemporaryDirectory() as folder:
            broken = run_tlc(Path(folder), model, [expected], timeout_s=timeout_s)
        length = broken.length - 1, _length(exploration, expected)
    states = tlc.states if tlc.is_clean else 0
    return Line(name, model, tlc, (states, exploration.states), length)


def _length(exploration: Exploration, expected: str) -> int:
    example = exploration.counterexamples.get(NAMES[expected])
    return len(example.moves) if example else 0


def table_of(lines: Sequence[Line]) -> Table:
    """The summary."""
    table = Table("model", "module", "promises", "states", "TLC's seconds", "verdict", "", header_style="dim", box=None)
    for line in lines:
        expected = line.model["expected"]
        verdict = f"{expected} broken after {line.length[0]} steps" if line.length else "kept, by TLC and the explorer"
        wrong = "; ".join(line.complaints)
        table.add_row(
            line.name,
            module_of(line.model),
            str(len(promised(line.model))),
            f"{line.states[0]:,}" if line.states[0] == line.states[1] else f"{line.states[0]:,} / {line.states[1]:,}",
            f"{line.tlc.seconds:.1f}",
            verdict,
            f"[red]{wrong}[/]" if wrong else "[green]as expected[/]",
        )
    return table


def record(lines: Sequence[Line]) -> None:
    """Write TLC's run times to the manifest, each below its model's number of states."""
    manifest = TLA / "manifest.toml"
    text = manifest.read_text(encoding="utf-8")
    for line in lines:
        head, section, rest = text.partition(f"[models.{line.name}]\n")
        count = r"^(distinct_states = \d+)(?:\nrun_time_s = [\d.]+)?$"
        rest = re.sub(count, rf"\1\nrun_time_s = {line.tlc.seconds:.1f}", rest, count=1, flags=re.MULTILINE)
        text = head + section + rest
    manifest.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Check the chosen models."""
    parser = argparse.ArgumentParser(prog="python -m tests.unit.model.tlc_table", description=__doc__)
    parser.add_argument("--large", action="store_true", help="the large ones, instead of the others")
    parser.add_argument("--record", action="store_true", help="write TLC's run times to tla/manifest.toml")
    parser.add_argument("--model", choices=list(ALL_MODELS), action="append", help="only this one; again for more")
    parser.add_argument("--explore", choices=list(ALL_MODELS), help="only explore this one, and print its states")
    parser.add_argument("--compact", action="store_true", help="with --explore: by the compact explorer")
    parser.add_argument("--timeout-s", type=float, default=7_200, help="of each run of TLC (default: %(default)s)")
    chosen = parser.parse_args(arguments)
    console = Console()
    if chosen.explore:
        config = config_of(ALL_MODELS[chosen.explore])
        console.print((Search(config).run() if chosen.compact else explore(config)).states)
        return 0
    names = chosen.model or list(models_of("large") if chosen.large else models_of("small", "medium"))
    lines = []
    try:
        for number, name in enumerate(names, start=1):
            with console.status(f"{number} of {len(names)}: {name}"):
                lines.append(line_of(name, chosen.timeout_s))
    except TlcMissingError as missing:
        console.print(f"[red]{missing}[/]")
        return 1
    console.print(table_of(lines))
    if chosen.record:
        record(lines)
    total = sum(line.states[0] for line in lines)
    wrong = sum(bool(line.complaints) for line in lines)
    console.print(f"{len(lines)} models, {total:,} distinct states; {wrong or 'none'} other than expected.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
