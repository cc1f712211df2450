"""Makes a table's history, and two writers' steps, readable on a terminal. Values in, rich renderables out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from drawstring.commands.history import FileGroupFacts, History, OperationFacts
from drawstring.commands.two_writers import WriterStory
from drawstring_spec.bootstrap import BOOTSTRAP_TIMES
from drawstring_spec.instants import Instant, State
from drawstring_spec.steps import Step
from drawstring_spec.times import SECONDS_LENGTH, is_instant_time, parse_instant_time

_STEP_STYLE: Final = {Step.COMPLETE_INSTANT: "bold green", Step.ABORT_WRITE: "bold red", Step.CHECK_CONFLICTS: "cyan"}
_MOST_GROUPS: Final = 40
_BAR_CHARACTERS: Final = 40
_KIBI: Final = 1024
_UUID_END_LENGTH: Final = 12
_MOST_OF_A_UNIT: Final = 999.5


def render_history(history: History) -> RenderableType:
    """The timeline and, below it, the file groups."""
    return Group(render_timeline(history.operations), Text(), render_file_groups(history.file_groups))


def render_timeline(operations: Sequence[OperationFacts]) -> Table:
    """One line per instant, in the order of requested time. A day is named where it begins."""
    table = Table(
        title="Timeline", title_justify="left", title_style="bold", header_style="dim", box=None, pad_edge=False
    )
    table.add_column("#", justify="right", style="cyan", no_wrap=True)
    table.add_column("requested", justify="right", no_wrap=True)
    for heading in ("took", "operation"):
        table.add_column(heading, justify="right" if heading == "took" else "left", no_wrap=True)
    for heading in ("inserts", "updates", "deletes", "files", "size"):
        table.add_column(heading, justify="right", no_wrap=True)
    day = None
    for facts in operations:
        requested_day, _, requested = format_time(facts.instant.requested_time).rpartition(" ")
        if requested_day != day:
            table.add_row("", Text(requested_day, style="dim"))
            day = requested_day
        table.add_row(
            str(facts.number),
            requested,
            _took(facts.instant),
            escape(facts.operation.lower().replace("_", " ")),
            *(_count(c) for c in (facts.num_inserts, facts.num_updates, facts.num_deletes, facts.num_files)),
            "" if facts.written_bytes is None else format_size(facts.written_bytes),
        )
    return table


def render_file_groups(groups: Sequence[FileGroupFacts]) -> RenderableType:
    """One line per file group: which operations wrote a version of it, and what the newest holds."""
    table = Table(
        title="File groups", title_justify="left", title_style="bold", header_style="dim", box=None, pad_edge=False
    )
    table.add_column("partition", no_wrap=True)
    table.add_column("file group", no_wrap=True, style="dim")
    table.add_column("versions, by operation", no_wrap=True)
    table.add_column("rows now", justify="right")
    table.add_column("size now", justify="right")
    partition = None
    for facts in groups[:_MOST_GROUPS]:
        newest = facts.versions[-1]
        numbers = ["?" if v.operation is None else str(v.operation) for v in facts.versions]
        versions = Text(" → ".join(numbers[:-1]) + (" → " if len(numbers) > 1 else ""), style="dim")
        versions.append(numbers[-1], style="bold cyan")
        shown = facts.group.partition_path
        table.add_row(
            "" if shown == partition else escape(shown or "(not partitioned)"),
            short_file_id(facts.group.file_id),
            versions,
            _count(newest.num_rows),
            format_size(newest.size),
        )
        partition = shown
    if len(groups) > _MOST_GROUPS:
        return Group(table, Text(f"… and {len(groups) - _MOST_GROUPS:,} more", style="dim"))
    return table


def render_delays(delays: Mapping[str, float], *, most: int) -> Table:
    """The carriers with the greatest mean delays, each with a bar."""
    table = Table(
        title="Mean arrival delay, in minutes", title_justify="left", title_style="bold", show_header=False, box=None
    )
    worst = sorted(delays.items(), key=lambda item: (-item[1], item[0]))[:most]
    for carrier, minutes in worst:
        bar = "█" * round(_BAR_CHARACTERS * max(minutes, 0) / max(worst[0][1], 1e-9))
        table.add_row(escape(carrier), f"{minutes:.1f}", Text(bar, style="cyan"))
    return table


def render_race(stories: Sequence[WriterStory]) -> Table:
    """What writers did at the same time, one column each, in the order in which it happened."""
    table = Table(header_style="bold", box=None, pad_edge=False)
    table.add_column("ms", justify="right", style="dim")
    for story in stories:
        table.add_column(story.name, no_wrap=True)
    seen = sorted(
        (step.elapsed_ms, index, position, step.step)
        for index, story in enumerate(stories)
        for position, step in enumerate(story.steps)
    )
    for elapsed_ms, index, _, step in seen:
        cells = [Text() for _ in stories]
        cells[index] = Text(step, style=_STEP_STYLE.get(step, ""))
        table.add_row(f"{elapsed_ms:,}", *cells)
    return table


def format_time(instant_time: str) -> str:
    """``20130101051700000`` as ``2013-01-01 05:17:00.000``; what is no instant time stays as it is."""
    if not is_instant_time(instant_time):
        return instant_time
    t = instant_time
    milliseconds = f".{t[14:17]}" if len(t) > SECONDS_LENGTH else ""
    return f"{t[:4]}-{t[4:6]}-{t[6:8]} {t[8:10]}:{t[10:12]}:{t[12:14]}{milliseconds}"


def _took(instant: Instant) -> Text:
    """Time from request to completion, or the state of what is pending."""
    if instant.completion_time is None:
        return Text(instant.state.label, style="yellow" if instant.state is not State.COMPLETED else "")
    if instant.requested_time in BOOTSTRAP_TIMES:
        return Text()  # It does not say when it was requested.
    elapsed_ms = parse_instant_time(instant.completion_time) - parse_instant_time(instant.requested_time)
    return Text(f"{elapsed_ms / 1000:.2f} s")


def format_size(num_bytes: int) -> str:
    """Bytes with a binary unit, three digits: ``1.46 MiB``."""
    size, units = float(num_bytes), iter(("B", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    # What would be rounded to 1,000 or more stands better in the next unit.
    while size >= _MOST_OF_A_UNIT and unit != "TiB":
        size, unit = size / _KIBI, next(units)
    if unit == "B":
        return f"{num_bytes} B"
    digits = max(0, 2 - len(f"{size:.0f}") + 1) if size >= 1 else 2
    return f"{size:,.{digits}f} {unit}"


def short_file_id(file_id: str) -> str:
    """The first eight digits and the number behind the UUID: one task numbers its files in several partitions."""
    uuid, dash, number = file_id.rpartition("-")
    if not uuid:
        return file_id[:12]
    # Skeleton files of a bootstrap have no number there.
    return f"{uuid[:8]}…{dash}{number}" if len(number) < _UUID_END_LENGTH else f"{file_id[:8]}…"


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"
