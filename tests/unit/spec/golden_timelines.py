"""Every instant of the golden tables with its payload, data tables and metadata tables apart."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import fastavro

from drawstring_conformance.vectors import Case, load_cases
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.names import TimelineFileName

DATA_TIMELINE = ".hoodie/timeline"
METADATA_TIMELINE = ".hoodie/metadata/.hoodie/timeline"


@dataclass(frozen=True)
class TimelineFile:
    """One file of an active timeline: of which table, which instant in which state, and the record that it holds."""

    case: Case
    folder: str
    instant: Instant
    record: dict[str, Any] | None

    @property
    def is_of_metadata_table(self) -> bool:
        return self.folder != DATA_TIMELINE


@cache
def timeline_files() -> tuple[TimelineFile, ...]:
    return tuple(file for case in load_cases() for file in _files_of(case))


def _files_of(case: Case) -> Iterator[TimelineFile]:
    for path, content in case.read_files():
        folder, _, name = path.rpartition("/")
        if folder in (DATA_TIMELINE, METADATA_TIMELINE):
            record = next(iter(fastavro.reader(io.BytesIO(content)))) if content else None
            yield TimelineFile(case, folder, TimelineFileName.parse(name).instant, record)


def files_of(action: Action, state: State, *, in_metadata_table: bool = False) -> list[TimelineFile]:
    """All files of one action in one state; there are some, or the caller's test would assert nothing."""
    found = [
        file
        for file in timeline_files()
        if file.instant.action is action
        and file.instant.state is state
        and file.is_of_metadata_table is in_metadata_table
    ]
    assert found, (action, state)
    return found


def completions(case: Case, *, folder: str = DATA_TIMELINE) -> dict[str, str]:
    """Completion time of each completed instant of one timeline, by requested time; savepoints left out."""
    return {
        file.instant.requested_time: file.instant.completion_time or ""
        for file in timeline_files()
        if file.case is case
        and file.folder == folder
        and file.instant.state is State.COMPLETED
        and file.instant.action is not Action.SAVEPOINT
    }
