"""``drawstring sim``: makes seeded histories, and tells the first that breaks a promise.

Whose duty: to show on a terminal what `drawstring_sim.histories` finds; nothing is decided here.
"""

from __future__ import annotations

import dataclasses
import json
import logging
from collections import Counter
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from drawstring_sim.decisions import narrate
from drawstring_sim.histories import CALM, ROUGH, History, Weather, run_history
from drawstring_sim.judge import VerdictError
from drawstring_sim.refinement import DisagreementError

app = typer.Typer(
    help="Run production code against simulated storage, clocks and crashes, and judge what comes of it.",
    no_args_is_help=True,
)

SHOWN = 60

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
CalmOption = Annotated[bool, typer.Option("--calm", help="No crash, error, pause or wrong clock.")]


@app.callback()
def sim() -> None:
    """Run production code against simulated storage, clocks and crashes, and judge what comes of it."""


@app.command()
def run(
    seeds: Annotated[int, typer.Option(help="How many histories; each is repeatable by its seed.", min=1)] = 50,
    first: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    writers: Annotated[int, typer.Option(help="Writers at work at a time.", min=1, max=8)] = ROUGH.writers,
    operations: Annotated[int, typer.Option(help="Operations of each writer.", min=1, max=100)] = ROUGH.operations,
    calm: CalmOption = False,  # noqa: FBT002 -- a flag of the command line
    as_json: JsonOption = False,  # noqa: FBT002 -- a flag of the command line
) -> None:
    """Run seeded histories of several writers until one breaks a promise, and tell that one.

    Writers of production code insert, upsert and delete at random; they are suspended at every port call, paused past
    their leases, killed, their clocks set wrong, their requests lost or sent twice. Each history must be a behaviour of
    the model, serializable by requested time, and read rightly by production readers.
    """
    weather = dataclasses.replace(CALM if calm else ROUGH, writers=writers, operations=operations)
    logging.getLogger("drawstring").setLevel(logging.ERROR)
    console = Console(stderr=as_json)
    told: Counter[str] = Counter()
    steps = moves = 0
    with Progress(console=console, transient=True) as progress:
        for seed in progress.track(range(first, first + seeds), description="Histories"):
            history = _run_or_tell(seed, weather, console)
            told.update(_outcomes(history))
            steps += history.steps
            moves += history.moves
    if as_json:
        outcomes = dict(told.most_common())
        typer.echo(json.dumps({"histories": seeds, "outcomes": outcomes, "port_calls": steps, "moves": moves}))
        return
    table = Table("what writers were told", "times", title=f"{seeds} histories, no promise broken")
    for outcome, count in told.most_common():
        table.add_row(outcome, str(count))
    console.print(table)
    console.print(f"{steps:,} port calls; each history is a behaviour of the model ({moves:,} moves).")


@app.command()
def tell(
    seed: Annotated[int, typer.Argument(help="The history's seed.")],
    shown: Annotated[int, typer.Option(help="How many of the last lines.", min=1)] = SHOWN,
    calm: CalmOption = False,  # noqa: FBT002 -- a flag of the command line
    as_json: JsonOption = False,  # noqa: FBT002 -- a flag of the command line
) -> None:
    """Tell one history, line by line: who changed which file, who said what, who died."""
    logging.getLogger("drawstring").setLevel(logging.ERROR)
    console = Console(stderr=as_json)
    history = _run_or_tell(seed, CALM if calm else ROUGH, console)
    if as_json:
        attempts = [str(attempt) for attempt in history.attempts]
        lines = narrate(history.recorder.entries, shown).splitlines()
        typer.echo(json.dumps({"seed": seed, "lines": lines, "attempts": attempts}, indent=1))
        return
    console.print(narrate(history.recorder.entries, shown), markup=False, highlight=False)
    for attempt in history.attempts:
        console.print(str(attempt), markup=False, highlight=False)


def _run_or_tell(seed: int, weather: Weather, console: Console) -> History:
    try:
        return run_history(seed, weather)
    except (DisagreementError, VerdictError) as error:
        console.print(f"Seed {seed} breaks a promise:", style="bold red")
        console.print(str(error), markup=False, highlight=False)
        raise typer.Exit(1) from error


def _outcomes(history: History) -> list[str]:
    return [
        "success" if attempt.succeeded else type(attempt.error).__name__ if attempt.error else "death"
        for attempt in history.attempts
    ]
