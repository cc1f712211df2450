"""``drawstring model``: explore a configuration, make the table of all, replay a history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from drawstring_model.config import (
    Bounds,
    ClockKind,
    ConcurrencyControl,
    Config,
    PlantedBug,
    RollbackPolicy,
    SnapshotTime,
)
from drawstring_model.core.protocol import apply, enabled, start
from drawstring_model.explorer import Exploration, explore
from drawstring_model.invariants import Promise
from drawstring_model.narrate import PROMISES, narrate, told
from drawstring_model.table import HEADINGS, Row, explored, rendered_page, shards

app = typer.Typer(
    name="model",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)


@app.callback()
def model() -> None:
    """Explore the model of concurrent writers on a copy-on-write table.

    Start with `drawstring model explore`: it visits every state of the protocol as drawstring follows it, and finds
    every promise kept but stable time travel. Then take a rule away, say `--no-key-check` or `--concurrency NONE`,
    and read what happens.
    """


@app.command("explore")
def explore_command(
    clock: Annotated[
        ClockKind, typer.Option(help="Whether requested times only grow, or may repeat or go back.")
    ] = ClockKind.MONOTONIC,
    concurrency: Annotated[
        ConcurrencyControl, typer.Option(help="What keeps writers apart.")
    ] = ConcurrencyControl.OPTIMISTIC,
    rollback: Annotated[
        RollbackPolicy, typer.Option(help="Roll pending writes back at once, or when their heartbeat expired.")
    ] = RollbackPolicy.LAZY,
    snapshot_time: Annotated[
        SnapshotTime, typer.Option(help="What a snapshot time is compared with; Java Hudi takes requested times.")
    ] = SnapshotTime.REQUESTED,
    *,
    key_check: Annotated[bool, typer.Option(help="Compare the new keys of concurrent writers, too.")] = True,
    put_if_absent: Annotated[bool, typer.Option(help="The storage can refuse to replace a file.")] = True,
    salt: Annotated[bool, typer.Option(help="Each attempt to write a file has a token of its own.")] = True,
    plant: Annotated[
        PlantedBug | None, typer.Option(help="Break one rule on purpose, and see which promise notices.")
    ] = None,
    writers: Annotated[int, typer.Option(min=1, max=4, help="Concurrent writers.")] = 2,
    groups: Annotated[int, typer.Option(min=1, max=4, help="File groups that new keys may go to.")] = 2,
    crashes: Annotated[int, typer.Option(min=0, help="How many writers may crash.")] = 1,
    heartbeat_expiries: Annotated[int, typer.Option(min=0, help="Heartbeats of the living that expire.")] = 1,
    lock_expiries: Annotated[int, typer.Option(min=0, help="Leases of the living that run out.")] = 1,
    renewals: Annotated[int, typer.Option(min=0, help="Expired heartbeats that are renewed.")] = 0,
    faults: Annotated[int, typer.Option(min=0, help="How many of all these in one history.")] = 1,
    max_states: Annotated[int, typer.Option(min=1, help="Stop after about this many states.")] = 2_000_000,
    save: Annotated[
        Path | None, typer.Option(help="Write the shortest counterexample here, for `replay`.", dir_okay=False)
    ] = None,
) -> None:
    """Visit every state of a protocol within bounds, and tell the shortest history that breaks each promise.

    Exits with 1 where a promise other than stable time travel is broken.
    """
    bounds = Bounds(
        writers=writers,
        groups=groups,
        crashes=crashes,
        heartbeat_expiries=heartbeat_expiries,
        lock_expiries=lock_expiries,
        renewals=renewals,
        faults=faults,
    )
    config = Config(
        clock=clock,
        concurrency=concurrency,
        key_check=key_check,
        put_if_absent=put_if_absent,
        salt=salt,
        rollback=rollback,
        snapshot_time=snapshot_time,
        planted=plant,
        bounds=bounds,
    )
    console = Console()
    exploration = _explored_with_progress(console, config, max_states)
    _print_exploration(console, exploration)
    if save is not None:
        _save(save, exploration)
    if set(exploration.counterexamples) - {Promise.TIME_TRAVEL_STABILITY}:
        raise typer.Exit(1)


@app.command("table")
def table_command(
    output: Annotated[
        Path | None, typer.Option(help="Write the page here; without it the table is printed.", dir_okay=False)
    ] = None,
) -> None:
    """Explore all 48 combinations of the first five switches and those beside the default, in some minutes."""
    console = Console()
    rows: list[Row] = []
    with _progress(console) as progress:
        task = progress.add_task("exploring", total=None)
        for shard in shards():
            for row in explored(shard):
                rows.append(row)
                progress.update(task, description=f"{len(rows)} configurations")
    page = rendered_page(rows)
    if output is None:
        console.print(page, soft_wrap=True, markup=False, highlight=False)
    else:
        output.write_text(page, encoding="utf-8")


@app.command("replay")
def replay_command(
    history: Annotated[
        Path, typer.Argument(help="A history that `explore --save` wrote.", exists=True, dir_okay=False)
    ],
) -> None:
    """Take a saved history step by step, and show what every step leaves on the timeline."""
    console = Console()
    try:
        saved = json.loads(history.read_text(encoding="utf-8"))
        writers, sentences = int(saved["writers"]), [str(sentence) for sentence in saved["steps"]]
        config = _config_from(saved["switches"], writers)
    except (KeyError, TypeError, ValueError) as error:
        raise typer.BadParameter(f"{history} is not a history that `explore --save` wrote: {error}") from error
    state = start(config)
    for number, sentence in enumerate(sentences, start=1):
        # The sentences are as good as the moves: in one state each enabled move has its own.
        move = next((move for move in enabled(state, config) if told(state, move) == sentence), None)
        if move is None:
            raise typer.BadParameter(f"Step {number} of {history} is not enabled: {sentence}")
        state = apply(state, move, config)
        world = state.world
        commits = ", ".join(f"{commit.requested}_{commit.completion}" for commit in world.commits) or "none"
        pending = [str(time) for time in world.requested if time not in {c.requested for c in world.commits}]
        console.print(f"{number:>3}. {sentence}", markup=False, highlight=False)
        console.print(f"     completed: {commits}; pending: {', '.join(pending) or 'none'}", style="dim")
    console.print(str(saved.get("finding", "")), markup=False)


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True
    )


def _explored_with_progress(console: Console, config: Config, max_states: int) -> Exploration:
    with _progress(console) as progress:
        task = progress.add_task("exploring", total=None)
        return explore(
            config,
            max_states=max_states,
            progress=lambda depth, states: progress.update(
                task, description=f"exploring: {states:,} states, {depth} steps deep"
            ),
        )


def _print_exploration(console: Console, exploration: Exploration) -> None:
    whole = "every state within the bounds" if exploration.exhausted else "not every state: stopped at the limit"
    console.print(
        f"{exploration.states:,} states, {exploration.transitions:,} steps between them, "
        f"{exploration.depth} steps deep; {whole}."
    )
    table = Table("promise", "in words", "verdict")
    for promise in HEADINGS:
        example = exploration.counterexamples.get(promise)
        verdict = f"[red]broken after {len(example.moves)} steps[/]" if example else "[green]holds[/]"
        table.add_row(promise.value, PROMISES[promise], verdict)
    console.print(table)
    for example in exploration.counterexamples.values():
        console.print(f"\n[bold]{example.promise.value}[/]")
        for sentence in narrate(example, exploration.config):
            console.print(sentence, markup=False, highlight=False)


def _save(path: Path, exploration: Exploration) -> None:
    """Write the shortest counterexample of all as sentences."""
    config = exploration.config
    examples = sorted(exploration.counterexamples.values(), key=lambda example: len(example.moves))
    if not examples:
        raise typer.BadParameter("no promise is broken, so there is no history to save")
    state, steps = start(config), []
    for move in examples[0].moves:
        steps.append(told(state, move))
        state = apply(state, move, config)
    switches = {
        "clock": config.clock,
        "concurrency": config.concurrency,
        "key_check": config.key_check,
        "put_if_absent": config.put_if_absent,
        "salt": config.salt,
        "rollback": config.rollback,
        "snapshot_time": config.snapshot_time,
        "planted": config.planted,
        "groups": config.bounds.groups,
    }
    saved = {
        "writers": config.bounds.writers,
        "switches": switches,
        "steps": steps,
        "finding": examples[0].finding,
    }
    path.write_text(json.dumps(saved, indent=2) + "\n", encoding="utf-8")


def _config_from(switches: dict[str, object], writers: int) -> Config:
    """The configuration of a saved history, with bounds that stop no step of it."""
    many = 1_000
    planted = switches["planted"]
    return Config(
        clock=ClockKind(str(switches["clock"])),
        concurrency=ConcurrencyControl(str(switches["concurrency"])),
        key_check=switches["key_check"] is True,
        put_if_absent=switches["put_if_absent"] is True,
        salt=switches["salt"] is True,
        rollback=RollbackPolicy(str(switches["rollback"])),
        snapshot_time=SnapshotTime(str(switches["snapshot_time"])),
        planted=None if planted is None else PlantedBug(str(planted)),
        bounds=Bounds(
            writers=writers,
            groups=int(str(switches["groups"])),
            crashes=many,
            heartbeat_expiries=many,
            lock_expiries=many,
            renewals=many,
            faults=many,
        ),
    )
