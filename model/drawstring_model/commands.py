"""``drawstring model``: check a protocol, tell what breaks it, make the tables, replay a history."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from drawstring_model.catalogue import UnknownSwitchError, assembled
from drawstring_model.compact.checkpoint import NotACheckpointError, read_checkpoint
from drawstring_model.compact.symmetry import Alike, Symmetry
from drawstring_model.config import Bounds, Config, RollbackPolicy, SnapshotTime
from drawstring_model.core.promises import Promise
from drawstring_model.coverage_command import coverage_command
from drawstring_model.diagram_command import diagram_command
from drawstring_model.environment import Clock, Storage, clock_of, control_of
from drawstring_model.explorer import Exploration
from drawstring_model.options import (
    CheckpointOption,
    ClockOption,
    ControlOption,
    CrashesOption,
    FaultsOption,
    FaultsUntilOption,
    GroupsOption,
    HangsOption,
    JsonOption,
    KeyCheckOption,
    LockOption,
    MaxStatesOption,
    ModuleOption,
    OperationOption,
    PlantOption,
    ResumeOption,
    ReturnsOption,
    RollbackOption,
    SaltOption,
    SaveOption,
    SetOption,
    SkewOption,
    SnapshotTimeOption,
    StorageOption,
    SymmetryOption,
    UntilOption,
    WithoutOption,
    WorkersOption,
    WritersOption,
)
from drawstring_model.printed import (
    Large,
    exploration_as_json,
    explored_with_progress,
    print_exploration,
    print_modules,
    shortest,
    spinner,
)
from drawstring_model.saved import NotAHistoryError, config_as_json, history_as_json, replayed
from drawstring_model.table import Row, explored, rendered_page, shards
from drawstring_model.verdicts import CASES, Verdict, judged
from drawstring_model.verdicts import rendered_page as rendered_verdicts
from drawstring_model.workloads import parsed_workload
from drawstring_spec.errors import DrawstringError

app = typer.Typer(
    name="model",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
)

BROKEN = 1
"""Exit status: a promise is broken."""
NOT_EXHAUSTED = 3
"""Exit status: no promise is broken in what was looked at, and that was not all."""


@app.callback()
def model() -> None:
    """Check the model of concurrent writers and table services on one table.

    Start with `drawstring model check`: it visits every state of the protocol as drawstring follows it, and finds
    every promise kept but stable time travel. Then take something away, say `--lock none`, `--no-key-check` or
    `--storage replaces --clock skewed`; or add a service, `--module compaction`; and read what happens.
    """


@app.command("check")
def check_command(
    clock: ClockOption = Clock.MONOTONIC,
    skew: SkewOption = 2,
    lock: LockOption = None,
    storage: StorageOption = Storage.PUT_IF_ABSENT,
    control: ControlOption = None,
    rollback: RollbackOption = RollbackPolicy.LAZY,
    snapshot_time: SnapshotTimeOption = SnapshotTime.REQUESTED,
    *,
    key_check: KeyCheckOption = True,
    salt: SaltOption = True,
    plant: PlantOption = None,
    module: ModuleOption = None,
    without: WithoutOption = None,
    switch: SetOption = None,
    operation: OperationOption = None,
    writers: WritersOption = 2,
    groups: GroupsOption = 2,
    crashes: CrashesOption = 1,
    hangs: HangsOption = 1,
    returns: ReturnsOption = 0,
    faults: FaultsOption = 1,
    faults_until: FaultsUntilOption = 3,
    until: UntilOption = None,
    max_states: MaxStatesOption = 2_000_000,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = None,
    symmetry: SymmetryOption = None,
    workers: WorkersOption = 1,
    save: SaveOption = None,
    as_json: JsonOption = False,
) -> None:
    """Visit every state of a protocol within bounds, and tell the shortest history that breaks each promise.

    Exits with 0 where every state was looked at and no promise is broken (but stable time travel, which Java Hudi's
    snapshot times do not give), with 1 where one is, and with 3 where none is, but not every state was looked at.
    """
    try:
        modules = assembled([*(module or ()), *storage.modules], without or (), _settings(switch or []))
        kind, ticks = clock_of(clock, skew)
        concurrency, lock_expiries = control_of(control, lock, modules)
        workload = parsed_workload(operation or [])
    except DrawstringError as error:
        raise typer.BadParameter(str(error)) from error
    calm = Bounds(writers=writers, groups=groups, workload=workload, faults=faults, faults_until=faults_until)
    bounds = replace(calm, crashes=crashes, heartbeat_expiries=hangs, lock_expiries=lock_expiries, renewals=returns)
    bounds = replace(bounds, clock_skew=ticks)
    config = Config(
        clock=kind,
        concurrency=concurrency,
        key_check=key_check,
        put_if_absent=storage is not Storage.REPLACES,
        salt=salt,
        rollback=rollback,
        snapshot_time=snapshot_time,
        planted=plant,
        modules=modules,
        bounds=bounds,
    )
    large = Large(_symmetry(symmetry), workers, checkpoint or resume)
    _conclude(_explored(config, until, max_states, large, resume), save, as_json=as_json)


def _symmetry(alike: list[Alike] | None) -> Symmetry:
    return Symmetry(writers=Alike.WRITERS in (alike or ()), keys=Alike.KEYS in (alike or ()))


def _explored(config: Config, until: Promise | None, max_states: int, large: Large, resume: Path | None) -> Exploration:
    """Explore, or go on; what is refused is told with the options that ask for it."""
    try:
        large = large if resume is None else _resumed(config, large, resume)
        explored = config if large.resumed is None else large.resumed.config
        return explored_with_progress(explored, max_states=max_states, until=until, large=large)
    except DrawstringError as error:
        raise typer.BadParameter(str(error)) from error


def _resumed(config: Config, large: Large, resume: Path) -> Large:
    """A search that is gone on with keeps its protocol, its bounds and its symmetry."""
    saved = read_checkpoint(resume)
    allowed = [config_as_json(each) for each in (Config(), saved.config)]
    if config_as_json(config) not in allowed or large.symmetry not in (Symmetry(), saved.symmetry):
        raise NotACheckpointError(
            f"{resume} is the search of another protocol, other bounds or another symmetry.",
            way_out="Leave all of these options out; the search goes on with its own.",
        )
    return large._replace(symmetry=saved.symmetry, resumed=saved)


def _conclude(exploration: Exploration, save: Path | None, *, as_json: bool) -> None:
    """Print, save, and exit with the status."""
    config = exploration.config
    if as_json:
        typer.echo(json.dumps(exploration_as_json(exploration), indent=2))
    else:
        print_exploration(Console(), exploration)
    example = shortest(exploration)
    if save is not None:
        if example is None:
            raise typer.BadParameter("no promise is broken, so there is no history to save")
        save.write_text(json.dumps(history_as_json(example, config), indent=2) + "\n", encoding="utf-8")
    if set(exploration.counterexamples) - {Promise.TIME_TRAVEL_STABILITY}:
        raise typer.Exit(BROKEN)
    if not exploration.exhausted:
        raise typer.Exit(NOT_EXHAUSTED)


def _settings(texts: list[str]) -> dict[str, dict[str, str]]:
    """``module.switch=value``, by module."""
    settings: dict[str, dict[str, str]] = defaultdict(dict)
    for text in texts:
        path, _, value = text.partition("=")
        name, _, switch = path.partition(".")
        if not (name and switch and value):
            raise UnknownSwitchError(f"{text!r} sets no switch.", way_out="Write module.switch=value.")
        settings[name][switch] = value
    return settings


@app.command("modules")
def modules_command() -> None:
    """List the modules of the model, their switches and what they promise."""
    print_modules(Console())


@app.command("table")
def table_command(
    output: Annotated[
        Path | None, typer.Option(help="Write the page here; without it the table is printed.", dir_okay=False)
    ] = None,
) -> None:
    """Explore all 48 combinations of the first five switches and those beside the default, in some minutes."""
    rows: list[Row] = []
    with spinner() as progress:
        task = progress.add_task("exploring", total=None)
        for shard in shards():
            for row in explored(shard):
                rows.append(row)
                progress.update(task, description=f"{len(rows)} configurations")
    _put_out(rendered_page(rows), output)


@app.command("verdicts")
def verdicts_command(
    output: Annotated[
        Path | None, typer.Option(help="Write the page here; without it the table is printed.", dir_okay=False)
    ] = None,
) -> None:
    """Make the table of which guarantee holds under which switches, within small bounds."""
    cases = [case for group in CASES.values() for case in group.values()]
    verdicts: list[Verdict] = []
    with spinner() as progress:
        task = progress.add_task("exploring", total=None)
        for case in cases:
            progress.update(task, description=f"{len(verdicts) + 1} of {len(cases)}: {case.question}")
            verdicts.append(judged(case))
    _put_out(rendered_verdicts(verdicts), output)


def _put_out(page: str, output: Path | None) -> None:
    if output is None:
        typer.echo(page, nl=False)
    else:
        output.write_text(page, encoding="utf-8")


@app.command("replay")
def replay_command(
    history: Annotated[Path, typer.Argument(help="A history that `check --save` wrote.", exists=True, dir_okay=False)],
) -> None:
    """Take a saved history step by step, and show what every step leaves on the timeline."""
    console = Console()
    try:
        saved = json.loads(history.read_text(encoding="utf-8"))
        steps = replayed(saved)
    except (NotAHistoryError, ValueError) as error:
        raise typer.BadParameter(f"{history} is not a history that `check --save` wrote: {error}") from error
    for number, (sentence, _, state) in enumerate(steps, start=1):
        world = state.world
        commits = ", ".join(f"{commit.requested}_{commit.completion}" for commit in world.commits) or "none"
        pending = [str(time) for time in world.requested if time not in {c.requested for c in world.commits}]
        console.print(f"{number:>3}. {sentence}", markup=False, highlight=False)
        console.print(f"     completed: {commits}; pending: {', '.join(pending) or 'none'}", style="dim")
    for sentence in [*map(str, saved.get("orders", ())), str(saved.get("finding", ""))]:
        console.print(sentence, markup=False, highlight=False)


app.command("diagram")(diagram_command)
app.command("coverage")(coverage_command)
