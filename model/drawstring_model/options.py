"""The options of ``drawstring model check``: what each switches, and how it is spelled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from drawstring_model.compact.symmetry import Alike
from drawstring_model.config import ConcurrencyControl, PlantedBug, RollbackPolicy, SnapshotTime
from drawstring_model.core.promises import Promise
from drawstring_model.environment import Clock, Lock, Storage

_SURROUNDINGS = "Surroundings"
_PROTOCOL = "Protocol"
_BOUNDS = "Bounds"
_SEARCH = "Large searches"

ClockOption: TypeAlias = Annotated[
    Clock, typer.Option(case_sensitive=False, help="What requested times are like.", rich_help_panel=_SURROUNDINGS)
]
SkewOption: TypeAlias = Annotated[
    int, typer.Option(min=1, help="Ticks that a skewed clock may be behind.", rich_help_panel=_SURROUNDINGS)
]
LockOption: TypeAlias = Annotated[
    Lock | None,
    typer.Option(
        case_sensitive=False,
        help="What the table lock is worth.",
        show_default="expires",
        rich_help_panel=_SURROUNDINGS,
    ),
]
StorageOption: TypeAlias = Annotated[
    Storage,
    typer.Option(case_sensitive=False, help="What a put does where a file is.", rich_help_panel=_SURROUNDINGS),
]
ControlOption: TypeAlias = Annotated[
    ConcurrencyControl | None,
    typer.Option(
        case_sensitive=False, help="What keeps writers apart.", show_default="optimistic", rich_help_panel=_PROTOCOL
    ),
]
RollbackOption: TypeAlias = Annotated[
    RollbackPolicy,
    typer.Option(
        case_sensitive=False,
        help="Roll pending writes back at once, or when their heartbeat expired.",
        rich_help_panel=_PROTOCOL,
    ),
]
SnapshotTimeOption: TypeAlias = Annotated[
    SnapshotTime,
    typer.Option(
        case_sensitive=False,
        help="What a snapshot time is compared with; Java Hudi takes requested times.",
        rich_help_panel=_PROTOCOL,
    ),
]
KeyCheckOption: TypeAlias = Annotated[
    bool, typer.Option(help="Compare the new keys of concurrent writers, too.", rich_help_panel=_PROTOCOL)
]
SaltOption: TypeAlias = Annotated[
    bool, typer.Option(help="Each attempt to write a file has a token of its own.", rich_help_panel=_PROTOCOL)
]
PlantOption: TypeAlias = Annotated[
    PlantedBug | None,
    typer.Option(
        case_sensitive=False, help="Break one rule, and see which promise notices.", rich_help_panel=_PROTOCOL
    ),
]
ModuleOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="A concern that is on, with all it requires; see `drawstring model modules`.", rich_help_panel=_PROTOCOL
    ),
]
WithoutOption: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="A base module that is left out.", rich_help_panel=_PROTOCOL)
]
SetOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", help="A module's switch: clustering.hides_the_past=true.", rich_help_panel=_PROTOCOL),
]
OperationOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="An operation of the workload, in order: upsert:1,2 or delete:1.",
        show_default="upsert:1, upsert:1,2, delete:1",
        rich_help_panel=_BOUNDS,
    ),
]
WritersOption: TypeAlias = Annotated[
    int, typer.Option(min=1, max=4, help="Concurrent writers.", rich_help_panel=_BOUNDS)
]
GroupsOption: TypeAlias = Annotated[
    int, typer.Option(min=1, max=4, help="File groups that new keys may go to.", rich_help_panel=_BOUNDS)
]
CrashesOption: TypeAlias = Annotated[
    int, typer.Option(min=0, help="How many processes may crash.", rich_help_panel=_BOUNDS)
]
HangsOption: TypeAlias = Annotated[
    int, typer.Option(min=0, help="Living writers that sleep until their heartbeat expired.", rich_help_panel=_BOUNDS)
]
ReturnsOption: TypeAlias = Annotated[
    int, typer.Option(min=0, help="Of those, how many come back and renew it.", rich_help_panel=_BOUNDS)
]
FaultsOption: TypeAlias = Annotated[
    int, typer.Option(min=0, help="Crashes, hangs and lost leases in one history, in all.", rich_help_panel=_BOUNDS)
]
FaultsUntilOption: TypeAlias = Annotated[
    int,
    typer.Option(min=0, help="They strike while at most so many operations were started.", rich_help_panel=_BOUNDS),
]
UntilOption: TypeAlias = Annotated[
    Promise | None, typer.Option(case_sensitive=False, help="Stop as soon as this promise is broken.")
]
MaxStatesOption: TypeAlias = Annotated[int, typer.Option(min=1, help="Stop after about this many states.")]
SaveOption: TypeAlias = Annotated[
    Path | None, typer.Option(help="Write the shortest counterexample here, for `replay`.", dir_okay=False)
]
JsonOption: TypeAlias = Annotated[bool, typer.Option("--json", help="Print what was found as JSON, and nothing else.")]
CheckpointOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Put the search aside in this file, every half million states and at the end.",
        dir_okay=False,
        rich_help_panel=_SEARCH,
    ),
]
ResumeOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Go on with a search that was put aside, with its protocol and its bounds.",
        exists=True,
        dir_okay=False,
        rich_help_panel=_SEARCH,
    ),
]
SymmetryOption: TypeAlias = Annotated[
    list[Alike] | None,
    typer.Option(
        case_sensitive=False,
        help="Look at one of all states that differ in the names of these.",
        rich_help_panel=_SEARCH,
    ),
]
WorkersOption: TypeAlias = Annotated[
    int, typer.Option(min=1, max=64, help="Processes that expand states.", rich_help_panel=_SEARCH)
]
