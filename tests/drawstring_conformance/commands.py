"""``drawstring conform``: judges a reader of Hudi tables by the golden tables."""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from drawstring_conformance.report import as_json, as_junit, details_table, summary_table
from drawstring_conformance.runner import Outcome, Verdict, judge, refusals
from drawstring_conformance.targets import Target, TargetError, load_target, target_names
from drawstring_conformance.vectors import VECTORS, Case, load_cases
from drawstring_spec.errors import FormatError

_STDOUT: Final = "-"

TargetOption = Annotated[
    str,
    typer.Option(
        "--target", "-t", help="Who is judged: an installed name, module:attribute, or 'exec:program arguments'."
    ),
]
VectorsOption = Annotated[
    Path | None, typer.Option(help="Folder of golden tables. Without it: those that come with drawstring.")
]
CaseOption = Annotated[
    list[str] | None,
    typer.Option("--case", "-c", help="Only cases whose name fits, such as 'mor_*'; repeat it for more."),
]
TargetsOption = Annotated[bool, typer.Option("--targets", help="List the targets that are installed, and end.")]


def conform(
    *,
    target: TargetOption = "embedded",
    vectors: VectorsOption = None,
    case: CaseOption = None,
    junit: Annotated[Path | None, typer.Option(help="Write the verdicts as JUnit XML into this file.")] = None,
    as_json_to: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="Write the verdicts as JSON into this file; - prints.")
    ] = None,
    targets: TargetsOption = False,
) -> None:
    """Judge a reader of Hudi tables: does it return the rows that Java Hudi returned?

    Each golden table was written by Java Hudi, and each query has Java's answer. All columns, types and values are
    compared, meta columns too; the order of rows is not. Queries that Java refused have to be refused. A few answers
    of Java's are known to be wrong: they are shown as vector defects and judge nobody.

    The exit status is 1 if a query failed. What the target does not support is counted, not failed.

    For instance:

    - `drawstring conform`
    - `drawstring conform --target hudi-rs --case 'cow_*' --json verdicts.json`
    - `drawstring conform --target 'exec:./my-reader --conform' --junit report.xml`
    """
    if targets:
        for name, where in target_names().items():
            typer.echo(f"{name}\t{where}")
        return
    cases = _chosen(vectors, case)
    judged = load_target(target)
    try:
        verdicts = _run(cases, judged)
        identity = {"name": judged.name, "version": judged.version}
    finally:
        close = getattr(judged, "close", None)
        if close is not None:
            close()
    if junit is not None:
        _write(junit, as_junit(verdicts, identity))
    if as_json_to is not None:
        content = json.dumps(as_json(verdicts, identity), indent=1)
        if as_json_to == _STDOUT:
            typer.echo(content)
        else:
            _write(Path(as_json_to), content.encode())
    if as_json_to != _STDOUT:
        _show(verdicts, f"{judged.name} {judged.version}".strip(), len(cases))
    if any(verdict.outcome is Outcome.FAILED for verdict in verdicts):
        raise typer.Exit(1)


def _chosen(vectors: Path | None, patterns: list[str] | None) -> tuple[Case, ...]:
    folder = vectors or VECTORS
    cases = load_cases(folder)
    if not cases:
        raise FormatError(f"There is no golden table in {folder}.", way_out="Each is a folder with a case.json.")
    if patterns:
        cases = tuple(one for one in cases if any(fnmatch.fnmatchcase(one.name, pattern) for pattern in patterns))
        if not cases:
            raise FormatError(f"No case is called like {', '.join(patterns)}.", way_out=f"See the folders of {folder}.")
    return cases


def _run(cases: tuple[Case, ...], target: Target) -> list[Verdict]:
    verdicts: list[Verdict] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        total = sum(len(one.queries) + len(refusals(one)) for one in cases)
        task = progress.add_task(f"Asking {target.name}", total=total)
        for one, found in judge(cases, target):
            verdicts += found
            progress.update(task, advance=len(found), description=f"Asking {target.name}: {one.name}")
    return verdicts


def _show(verdicts: list[Verdict], title: str, num_cases: int) -> None:
    console = Console()
    console.print(summary_table(verdicts, f"{title}: {num_cases} golden tables"))
    details = details_table(verdicts)
    if details is not None:
        console.print()
        console.print(details)


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise TargetError(f"{path} cannot be written: {error.strerror}.", way_out="Check the path.") from error
