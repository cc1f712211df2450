"""The command ``drawstring``: finds the subcommands that packages contribute, and tells errors in plain words.

Subcommands come from the entry points of the group ``drawstring.commands``: a `typer.Typer`, or a function. The root
imports none of them before it is asked for it, so that a subcommand whose extra is not installed costs the others
nothing. Whose duty: a command raises a `DrawstringError`; this module prints it and exits with status 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from drawstring_spec.errors import DrawstringError

DISTRIBUTION = "drawstring"
COMMANDS_GROUP = "drawstring.commands"
"""Entry points of this group are subcommands, under their own names."""


class CommandNotInstalledError(DrawstringError):
    """A subcommand could not be loaded."""


def _entry_points() -> Mapping[str, metadata.EntryPoint]:
    return {entry.name: entry for entry in sorted(metadata.entry_points(group=COMMANDS_GROUP), key=lambda e: e.name)}


def extra_of(module: str) -> str | None:
    """Return the extra of the distribution that brings a module; None where none does."""
    top_level = module.partition(".")[0]
    try:
        requirements = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return None
    for requirement in requirements:
        found = re.match(r"""([\w-]+).*\bextra\s*==\s*["']([\w-]+)["']""", requirement)
        if found and found[1].replace("-", "_").lower() == top_level.lower():
            return found[2]
    return None


def _explain(name: str, error: Exception) -> CommandNotInstalledError:
    module = error.name if isinstance(error, ModuleNotFoundError) else None
    if module is None or module.startswith(DISTRIBUTION):
        return CommandNotInstalledError(f"'{DISTRIBUTION} {name}' could not be loaded: {error!r}.")
    extra = extra_of(module)
    return CommandNotInstalledError(
        f"'{DISTRIBUTION} {name}' needs the module {module}, which is not installed.",
        way_out=f"Run: pip install '{DISTRIBUTION}[{extra}]'" if extra else f"Install {module}.",
    )


def load_command(name: str, entry: metadata.EntryPoint) -> typer.Typer:
    """Load a subcommand, as a typer application of that name.

    Where it cannot be loaded, the application's only command says why and fails.
    """
    try:
        loaded = entry.load()
    except Exception as error:  # noqa: BLE001 - a broken subcommand must not take the others with it
        return _broken(_explain(name, error))
    if isinstance(loaded, typer.Typer):
        return loaded
    application = typer.Typer(add_completion=False, rich_markup_mode="markdown")
    application.command(name)(loaded)
    return application


def _broken(error: CommandNotInstalledError) -> typer.Typer:
    application = typer.Typer(add_completion=False)

    def fail() -> None:
        raise error

    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    application.command(help=f"Not available: {error}", context_settings=settings, add_help_option=False)(fail)
    return application


class LazyGroup(TyperGroup):
    """A group of commands that come from entry points, each loaded when it is first asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all subcommands, sorted."""
        del ctx
        return list(_entry_points())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a subcommand; None where there is none of that name."""
        del ctx
        entry = _entry_points().get(cmd_name)
        if entry is None:
            return None
        command = typer.main.get_command(load_command(cmd_name, entry))
        command.name = cmd_name
        return command


application = typer.Typer(
    cls=LazyGroup,
    name=DISTRIBUTION,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Apache Hudi tables (version 8) from Python: a reference implementation that can be checked.",
)


def _print_version(wanted: bool) -> None:  # noqa: FBT001 - typer hands over the flag
    if wanted:
        typer.echo(f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}")
        raise typer.Exit


@application.callback()
def root(
    version: Annotated[  # noqa: FBT002 - a flag of the command line
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Hold the options that stand before a subcommand."""
    del version


def print_error(error: DrawstringError) -> None:
    """Print an error to standard error: what is wrong, by which rule, and the way out."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"[bold red]Error:[/] {escape(error.message)}")
    if error.rule:
        console.print(f"[dim]Rule {error.rule}: see '{DISTRIBUTION} spec show {error.rule}'[/]")
    if error.way_out:
        console.print(escape(error.way_out))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit.

    Args:
        arguments: without the program's name; None for those of the process.

    """
    run: Callable[..., object] = typer.main.get_command(application)
    try:
        run(arguments, prog_name=DISTRIBUTION)
    except DrawstringError as error:
        print_error(error)
        sys.exit(1)
