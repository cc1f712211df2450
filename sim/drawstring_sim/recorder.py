"""The record of a history: every change of the disk, every look at the timeline, every event, every crash, in order.

Whose duty: what `refinement` checks is decided from this record alone, after the history, so that what a writer did
(which file group it gave a new key, say) is known when its decision is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drawstring.events import Event
from drawstring_sim.operations import Content, Operation
from drawstring_spec.layout import TEMP_FOLDER, TIMELINE_FOLDER


@dataclass(frozen=True, slots=True)
class Change:
    """A file of the disk came, changed or went.

    Attributes:
        writer: name of the incarnation that made the call.
        path: of the file.
        before: its bytes before; None where it was not there.
        after: its bytes after; None where it is gone.
        at_ms: simulated time.

    """

    writer: str
    path: str
    before: bytes | None
    after: bytes | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Look:
    """A writer listed the timeline, or an operation's markers: what it decides next, it decides by this.

    Attributes:
        writer: name of the incarnation.
        prefix: the folder that was listed.
        at_ms: simulated time.

    """

    writer: str
    prefix: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Said:
    """A writer emitted an event."""

    writer: str
    event: Event
    at_ms: int


@dataclass(frozen=True, slots=True)
class Died:
    """An incarnation crashed."""

    writer: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Began:
    """A writer began an operation."""

    writer: str
    operation: Operation
    at_ms: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A writer's operation ended, well or badly, but not by a crash."""

    writer: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A reader got an answer.

    Attributes:
        reader: its name.
        as_of: requested time that it asked for; None for the newest.
        content: what it was told.
        at_ms: simulated time.

    """

    reader: str
    as_of: str | None
    content: Content
    at_ms: int


Entry = Change | Look | Said | Died | Began | Ended | Answered


@dataclass(slots=True)
class Recorder:
    """Writes the record.

    Attributes:
        start: contents of the disk when the record began.
        entries: what happened since, in order.

    """

    start: Mapping[str, bytes] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def change(self, writer: str, path: str, before: bytes | None, after: bytes | None, at_ms: int) -> None:
        """Record a change of the disk."""
        self.entries.append(Change(writer, path, before, after, at_ms))

    def look(self, writer: str, prefix: str, at_ms: int) -> None:
        """Record a listing, if it is one of the timeline or of markers."""
        if prefix == TIMELINE_FOLDER or prefix.startswith(f"{TEMP_FOLDER}/"):
            self.entries.append(Look(writer, prefix, at_ms))

    def said(self, writer: str, event: Event, at_ms: int) -> None:
        """Record an event."""
        self.entries.append(Said(writer, event, at_ms))

    def began(self, writer: str, operation: Operation, at_ms: int) -> None:
        """Record the beginning of an operation."""
        self.entries.append(Began(writer, operation, at_ms))

    def ended(self, writer: str, at_ms: int) -> None:
        """Record the end of an operation."""
        self.entries.append(Ended(writer, at_ms))

    def answered(self, reader: str, as_of: str | None, content: Content, at_ms: int) -> None:
        """Record a reader's answer, which is as of its last look at the timeline."""
        self.entries.append(Answered(reader, as_of, content, at_ms))

    def died(self, writer: str, at_ms: int) -> None:
        """Record a crash."""
        self.entries.append(Died(writer, at_ms))
