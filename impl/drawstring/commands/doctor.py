"""``drawstring doctor``: examines a table against the specification, and changes nothing."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from drawstring.commands.as_json import to_json
from drawstring.commands.look import SourceFilesOption
from drawstring.doctor import Report, Severity, all_checks, examine
from drawstring.options import Options
from drawstring.runtime import production_ports
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}

DeepOption = Annotated[bool, typer.Option("--deep", help="Read rows, too: keys, meta columns, filters, statistics.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
ChecksOption = Annotated[bool, typer.Option("--checks", help="List the checks, each with its requirements, and end.")]


def doctor(
    path: Annotated[str, typer.Argument(help="The table: a folder, or a URI such as s3://bucket/table.")] = "",
    *,
    deep: DeepOption = False,
    checks: ChecksOption = False,
    source_files: SourceFilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Examine a table against the specification, and name the requirement that each finding breaks.

    Nothing is changed, and no lock is taken: a writer that is at work shows as pending. Without --deep no rows are
    read, only names, sizes, the timeline, footers, log blocks and the metadata table.

    The exit status is 1 if there is a finding. What a rule says: drawstring spec show WR-030.

    For instance:

    - `drawstring doctor /data/trips`
    - `drawstring doctor s3://bucket/trips --deep --json`
    - `drawstring doctor --checks`
    """
    if checks:
        _list_checks(as_json=as_json)
        return
    if not path:
        raise typer.BadParameter("give a table, or --checks", param_hint="PATH")
    with Console(stderr=True).status("examining") as status:
        report = examine(
            production_ports(path, Options.parse({BASE_PATH_PROPERTY: source_files} if source_files else {})),
            deep=deep,
            step=lambda what: status.update(f"[dim]Is it so: {escape(what)}?[/]"),
        )
    if as_json:
        typer.echo(to_json(report_as_json(report), indent=1))
    else:
        show_report(report)
    if not report.is_healthy:
        raise typer.Exit(1)


def report_as_json(report: Report) -> dict[str, Any]:
    """Return a report as values for JSON.

    Returns:
        ``healthy``, ``findings`` (check, rules, severity, path, message), ``passed`` (names of checks), ``not_run``
        (reasons by check).

    """
    return {
        "healthy": report.is_healthy,
        "findings": [
            {
                "check": finding.check,
                "rules": list(finding.rules),
                "severity": finding.severity.value,
                "path": finding.path,
                "message": finding.message,
            }
            for finding in report.findings
        ],
        "passed": list(report.passed),
        "not_run": dict(report.not_run),
    }


def show_report(report: Report) -> None:
    """Print the findings of a report, each with the requirements that it breaks, and how many checks passed."""
    console = Console()
    for finding in report.findings:
        style = _STYLES[finding.severity]
        rules = " ".join(finding.rules)
        console.print(
            f"[{style}]{finding.severity.value}[/] [cyan]{rules}[/] [bold]{escape(finding.path or '(the table)')}[/]",
            soft_wrap=True,
            highlight=False,
        )
        console.print(f"  {escape(finding.message)} [dim]({finding.check})[/]", soft_wrap=True, highlight=False)
    for name, reason in report.not_run.items():
        console.print(f"[yellow]not run[/] {name}: {escape(reason)}", soft_wrap=True, highlight=False)
    errors, warnings = report.count(Severity.ERROR), report.count(Severity.WARNING)
    verdict = "[green]Nothing was found[/]" if report.is_healthy else f"{errors} errors, {warnings} warnings"
    console.print(f"{verdict}; {len(report.passed)} checks passed, {len(report.not_run)} could not run.")


def _list_checks(*, as_json: bool) -> None:
    every = all_checks(deep=True)
    if as_json:
        fields = [
            {"check": c.name, "rules": list(c.rules), "severity": c.severity.value, "says": c.says, "deep": c.deep}
            for c in every
        ]
        typer.echo(to_json(fields, indent=1))
        return
    grid = Grid(title=f"{len(every)} checks", title_justify="left", header_style="dim", box=None, pad_edge=False)
    for heading in ("check", "says", "rules", "severity", "deep"):
        grid.add_column(heading, overflow="fold")
    for one in every:
        severity = f"[{_STYLES[one.severity]}]{one.severity.value}[/]"
        grid.add_row(one.name, escape(one.says), " ".join(one.rules), severity, "deep" if one.deep else "")
    Console().print(grid)
