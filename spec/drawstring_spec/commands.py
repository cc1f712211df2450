"""``drawstring spec``: the catalogue of requirements on a terminal, or as data for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from drawstring_spec.requirements import (
    Level,
    Requirement,
    find_requirement,
    load_requirements,
    render_markdown,
    select_requirements,
)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="The requirements of the table format: what they say, where they come from, what checks them.",
)

_LEVEL_STYLES = {Level.MUST: "bold red", Level.SHOULD: "yellow", Level.MAY: "green"}

ChapterOption = Annotated[
    str | None, typer.Option("--chapter", "-c", help="Letters of the chapter (TL), or a part of its title.")
]
LevelOption = Annotated[Level | None, typer.Option("--level", "-l", case_sensitive=False, help="Only this level.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _print_json(plain: object) -> None:
    typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))


def _level(level: Level) -> str:
    return f"[{_LEVEL_STYLES[level]}]{level}[/]"


@app.command("list")
def list_requirements(
    chapter: ChapterOption = None,
    level: LevelOption = None,
    differs: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--differs", help="Only where real tables differ from the specification's text.")
    ] = False,
    unchecked: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--unchecked", help="Only those that nothing covers.")
    ] = False,
    unmet: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--unmet", help="Only those that drawstring does not meet, or not in full.")
    ] = False,
    as_json: JsonOption = False,  # noqa: FBT002 - a flag of the command line
    as_markdown: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--markdown", help="Print the page of the reference.")
    ] = False,
) -> None:
    """List requirements, all or some."""
    chosen = select_requirements(chapter=chapter, level=level, differs=differs, unchecked=unchecked, unmet=unmet)
    if as_json:
        _print_json([requirement.as_dict() for requirement in chosen])
    elif as_markdown:
        typer.echo(render_markdown(chosen), nl=False)
    else:
        _print_table(chosen)


def _print_table(chosen: Iterable[Requirement]) -> None:
    table = Table("id", "level", "requirement", "checks", title="Requirements of the table format, version 8")
    table.columns[3].justify = "right"
    previous = None
    for requirement in chosen:
        if requirement.chapter != previous:
            table.add_section()
            table.add_row("", "", f"[bold]{escape(requirement.chapter)}[/]", "")
            previous = requirement.chapter
        mark = " [cyan](differs from the text)[/]" if requirement.differs else ""
        mark += " [red](not met in full)[/]" if requirement.unmet else ""
        table.add_row(
            requirement.id,
            _level(requirement.level),
            escape(requirement.text) + mark,
            str(len(requirement.checks)) if requirement.checks else "[red]none[/]",
        )
    console = Console()
    console.print(table)
    console.print("Show one with: drawstring spec show TL-001", style="dim", highlight=False)


@app.command("show")
def show_requirement(
    requirement_id: Annotated[str, typer.Argument(metavar="ID", help="Such as TL-004.")],
    as_json: JsonOption = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Show one requirement: text, source, both readings, checks."""
    requirement = find_requirement(requirement_id)
    if as_json:
        _print_json(requirement.as_dict())
        return
    lines = [escape(requirement.text), ""]
    for label, text in requirement.remarks():
        style = "red" if label in ("Not met", "Unchecked") else "dim"
        lines.append(f"[{style}]{escape(label)}:[/] {escape(text)}")
    title = f"{requirement.id}  {_level(requirement.level)}  {escape(requirement.chapter)}"
    console = Console(highlight=False)
    console.print(Panel("\n".join(lines), title=title, title_align="left"))
    for check in requirement.checks:
        # Whole lines, however narrow the terminal: they are there to be copied.
        console.print(f"[dim]check:[/] {escape(check)}", soft_wrap=True)


@app.command("coverage")
def show_coverage(
    as_json: JsonOption = False,  # noqa: FBT002 - a flag of the command line
) -> None:
    """Count, chapter by chapter, which requirements are covered by checks; name those that are not, or not met."""
    rows = [_count(chapter) for chapter in dict.fromkeys(r.chapter for r in load_requirements())]
    if as_json:
        _print_json(rows)
        return
    columns = ("MUST", "SHOULD", "MAY", "differ from the text", "not met in full", "checks")
    table = Table("chapter", *columns, title="Covered / all")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows:
        levels = [f"{row[level.value]['covered']}/{row[level.value]['all']}" for level in Level]
        table.add_row(str(row["chapter"]), *levels, *(str(row[key]) for key in ("differs", "unmet", "checks")))
    console = Console()
    console.print(table)
    for title, remark in (("Covered by no check", "unchecked"), ("Not met, or not in full", "unmet")):
        chosen = select_requirements(unchecked=remark == "unchecked", unmet=remark == "unmet")
        reasons = Table("id", "level", "why", title=title)
        for requirement in chosen:
            why = requirement.unmet if remark == "unmet" else requirement.unchecked or requirement.unmet
            reasons.add_row(requirement.id, _level(requirement.level), escape(why or ""))
        console.print(reasons)


def _count(chapter: str) -> dict[str, Any]:
    chosen = [requirement for requirement in load_requirements() if requirement.chapter == chapter]
    levels = {level: [r for r in chosen if r.level is level] for level in Level}
    return {
        "chapter": chapter,
        **{
            level.value: {"all": len(of_level), "covered": sum(bool(r.checks) for r in of_level)}
            for level, of_level in levels.items()
        },
        "differs": sum(requirement.differs for requirement in chosen),
        "unmet": sum(requirement.unmet is not None for requirement in chosen),
        "unchecked": sum(not requirement.checks for requirement in chosen),
        "checks": len({check for requirement in chosen for check in requirement.checks}),
    }
