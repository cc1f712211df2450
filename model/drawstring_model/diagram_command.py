"""``drawstring model diagram``: a state diagram of the protocol, drawn from the rules."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from drawstring_model.diagrams import DIAGRAMS, rendered

Name = StrEnum("Name", {name.upper(): name for name in DIAGRAMS})  # type: ignore[misc]  # typer lists the members
"""The names of the diagrams, as choices of the command."""


def diagram_command(
    name: Annotated[Name | None, typer.Argument(help="Which one; without it they are listed.")] = None,
) -> None:
    """Draw a state diagram from the model's rules, as Mermaid.

    Every state within small bounds is visited, and each arrow is a step that was seen to be taken. Paste the result
    between ```` ```mermaid ```` fences, or into mermaid.live.
    """
    console = Console()
    if name is None:
        for diagram in DIAGRAMS.values():
            console.print(f"{diagram.name:<12} {diagram.about}", markup=False, highlight=False)
        return
    console.print(rendered(name.value), end="", soft_wrap=True, markup=False, highlight=False)
