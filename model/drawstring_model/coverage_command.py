"""``drawstring model coverage``: explore a set of configurations in which every possible pair of choices occurs."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from drawstring_model.combinations import Combination, chosen_combinations
from drawstring_model.coverage import CALM_STATES, FAULTY_STATES, Limits, Row, covered
from drawstring_model.coverage_page import NoRowsError, read_rows, rendered_page, write_rows
from drawstring_model.printed import spinner


def coverage_command(
    output: Annotated[
        Path | None, typer.Option(help="Write the page here; without it the table is printed.", dir_okay=False)
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(help="Keep what was found here, a row a line; rows that are there are not made again."),
    ] = None,
    calm_states: Annotated[
        int, typer.Option(min=1, help="Without a fault, a search stops after about so many states.")
    ] = CALM_STATES,
    states: Annotated[
        int, typer.Option(min=1, help="With a fault, a search stops after about so many states.")
    ] = FAULTY_STATES,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes, each with a configuration at a time.")] = 1,
) -> None:
    """Check every pair of table type, control, clock, lock and service, and that a planted bug would be noticed.

    It takes some minutes of one processor, and goes on where it was stopped if `--rows` names a file. Larger
    limits make the rows of the file anew that looked at fewer states.
    """
    combinations, limits = chosen_combinations(), Limits(calm_states, states)
    try:
        kept = [row for row in (read_rows(rows) if rows else []) if row.is_enough(limits)]
    except NoRowsError as error:
        raise typer.BadParameter(str(error)) from error
    found = {row.combination: row for row in kept}
    missing = [combination for combination in combinations if combination not in found]
    with spinner() as progress:
        task = progress.add_task("exploring", total=None)
        for number, row in enumerate(_explored(missing, limits, workers), start=1):
            found[row.combination] = row
            progress.update(task, description=f"{number} of {len(missing)} configurations")
            if rows:
                write_rows((found[each] for each in combinations if each in found), rows)
    page = rendered_page([found[combination] for combination in combinations])
    if output is None:
        typer.echo(page, nl=False)
    else:
        output.write_text(page, encoding="utf-8")


def _explored(combinations: Sequence[Combination], limits: Limits, workers: int) -> Iterator[Row]:
    """The rows of `combinations`, in their order."""
    row = partial(covered, limits=limits)
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=spawn) if workers > 1 else nullcontext() as pool:
        yield from map(row, combinations) if pool is None else pool.map(row, combinations)
