"""What the commands show: a table of promises, histories in sentences, the modules and their switches."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from drawstring_model.catalogue import BASE, known_modules, switches_of
from drawstring_model.compact.checkpoint import Checkpoint
from drawstring_model.compact.search import Effort, Search
from drawstring_model.compact.symmetry import Symmetry
from drawstring_model.core.config import Config
from drawstring_model.core.promises import Promise
from drawstring_model.explorer import Counterexample, Exploration, explore
from drawstring_model.narrate import PROMISES, narrate
from drawstring_model.orders import told_orders
from drawstring_model.saved import config_as_json, history_as_json
from drawstring_model.verdicts import promises_of


def shortest(exploration: Exploration) -> Counterexample | None:
    """The shortest counterexample of all; one of stable time travel only where there is no other."""
    examples = exploration.counterexamples.values()
    return min(
        examples,
        key=lambda example: (example.promise is Promise.TIME_TRAVEL_STABILITY, len(example.moves)),
        default=None,
    )


def spinner() -> Progress:
    """Progress on the error stream, so that what is printed can be read by machines; gone once the work is done."""
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    return Progress(*columns, console=Console(file=sys.stderr), transient=True)


class Large(NamedTuple):
    """What a large search is asked beside its bounds; with these defaults, and few states, it is a plain one.

    Attributes:
        symmetry: what is alike.
        workers: processes that expand states.
        checkpoint: where the search is put aside.
        resumed: the search that is gone on with.

    """

    symmetry: Symmetry = Symmetry()
    workers: int = 1
    checkpoint: Path | None = None
    resumed: Checkpoint | None = None


PLAIN_STATES = 2_000_000
"""The plain explorer keeps whole states, about a kilobyte each; searches that may have more states go without."""


def explored_with_progress(
    config: Config, *, max_states: int, until: Promise | None, large: Large | None = None
) -> Exploration:
    """Explore, telling how far it is: plainly, or compactly where there may be many states or more is asked."""
    large = large or Large()
    with spinner() as shown:
        task = shown.add_task("exploring", total=None)

        def progress(depth: int, states: int) -> None:
            shown.update(task, description=f"exploring: {states:,} states, {depth} steps deep")

        if large == Large() and max_states <= PLAIN_STATES:
            return explore(config, max_states=max_states, until=until, progress=progress)
        effort = Effort(workers=large.workers, checkpoint=large.checkpoint, progress=progress)
        search = Search(config, symmetry=large.symmetry, max_states=max_states, until=until, effort=effort)
        return search.run() if large.resumed is None else search.go_on(large.resumed)


def exploration_as_json(exploration: Exploration) -> dict[str, Any]:
    """What an exploration found, with the shortest history for each broken promise."""
    config = exploration.config
    unbroken = "holds" if exploration.exhausted else "none found"
    examples = exploration.counterexamples
    best = shortest(exploration)
    return {
        "config": config_as_json(config),
        "states": exploration.states,
        "transitions": exploration.transitions,
        "depth": exploration.depth,
        "exhausted": exploration.exhausted,
        "verdicts": {promise.value: "broken" if promise in examples else unbroken for promise in promises_of(config)},
        "shortest": None if best is None else best.promise.value,
        "counterexamples": [
            {name: value for name, value in history_as_json(example, config).items() if name != "config"}
            for example in sorted(examples.values(), key=lambda example: len(example.moves))
        ],
    }


def print_exploration(console: Console, exploration: Exploration) -> None:
    """The verdicts as a table, then the shortest history for each broken promise."""
    whole = "every state within the bounds" if exploration.exhausted else "not every state: stopped at the limit"
    console.print(
        f"{exploration.states:,} states, {exploration.transitions:,} steps between them, "
        f"{exploration.depth} steps deep; {whole}."
    )
    unbroken = "[green]holds[/]" if exploration.exhausted else "[yellow]not broken so far[/]"
    table = Table("promise", "in words", "verdict")
    for promise in promises_of(exploration.config):
        example = exploration.counterexamples.get(promise)
        verdict = f"[red]broken after {len(example.moves)} steps[/]" if example else unbroken
        table.add_row(promise.value, PROMISES[promise], verdict)
    console.print(table)
    for example in sorted(exploration.counterexamples.values(), key=lambda example: len(example.moves)):
        console.print(f"\n[bold]{example.promise.value}[/]")
        *steps, contradiction = narrate(example, exploration.config)
        orders = [f"     {sentence}." for sentence in told_orders(example.moves, exploration.config)]
        for sentence in (*steps, *orders, contradiction):
            console.print(sentence, markup=False, highlight=False)


def print_modules(console: Console) -> None:
    """Every module with what it is about, its switches and their values, and its promises."""
    table = Table("module", "about", "requires", "switches", "promises", show_lines=True)
    for name, kind in known_modules().items():
        about = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
        switches = [f"{each.name}={each.default} ({each.choices})" for each in switches_of(kind)]
        promises = [promise.value for promise in kind.invariants]
        title = f"{name}\n(base)" if name in BASE else name
        cells = about, ", ".join(sorted(kind.requires)), "\n".join(switches), "\n".join(promises)
        table.add_row(title, *cells)
    console.print(table)
