"""Looking ahead in a record: which listing each decision of a writer was made by; and telling a record in lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drawstring.events import Event
from drawstring_model.core.state import Move
from drawstring_model.storage_view import TimelineFile
from drawstring_sim.raw_view import is_data_file, rollback_target
from drawstring_sim.recorder import Answered, Began, Change, Died, Ended, Entry, Look, Said
from drawstring_spec.layout import TEMP_FOLDER, TIMELINE_FOLDER
from drawstring_spec.steps import Step

SHOWN = 12
"""Entries that a finding tells."""

_DECIDED_BY_LOOK = frozenset({Step.LOOKUP_KEYS, Step.CHECK_CONFLICTS})


def decisions(entries: Sequence[Entry]) -> Mapping[int, Event | Change]:
    """What was decided by the listing at each position of a record.

    A writer's snapshot and its conflict check go by the last listing of the timeline before their event, a rollback's
    plan by the last listing of the target's markers before the plan is on the timeline.
    """
    looks: dict[tuple[str, str], int] = {}
    decided: dict[int, Event | Change] = {}
    for at, entry in enumerate(entries):
        if isinstance(entry, Look):
            looks[entry.writer, entry.prefix] = at
        elif isinstance(entry, Said) and entry.event.step in _DECIDED_BY_LOOK:
            decided[looks[entry.writer, TIMELINE_FOLDER]] = entry.event
        elif isinstance(entry, Change) and (target := rollback_target(entry)) is not None:
            decided[looks.get((entry.writer, f"{TEMP_FOLDER}/{target:017}"), at)] = entry
    return decided


def files_written_later(entries: Sequence[Entry], at: int, writer: str) -> Iterator[Change]:
    """Data files that a writer creates from position `at` on, to the end of its operation."""
    for entry in entries[at:]:
        if isinstance(entry, Ended | Died | Began) and entry.writer == writer:
            return
        if isinstance(entry, Change) and entry.writer == writer and entry.after and is_data_file(entry.path):
            yield entry


def narrate(entries: Sequence[Entry], shown: int = SHOWN) -> str:
    """The last entries of a record, a line each."""
    told = [entry for entry in entries if not isinstance(entry, Look)][-shown:]
    return "\n".join(f"  {entry.at_ms:>8} ms  {_line(entry)}" for entry in told)


def _line(entry: Entry) -> str:
    if isinstance(entry, Change):
        verb = "deletes" if entry.after is None else "creates" if entry.before is None else "replaces"
        return f"{entry.writer} {verb} {entry.path}"
    if isinstance(entry, Said):
        return f"{entry.writer} says {entry.event.step} {dict(entry.event.detail)}"
    if isinstance(entry, Began):
        return f"{entry.writer} begins {entry.operation}"
    if isinstance(entry, Answered):
        return f"{entry.reader} reads as of {entry.as_of or 'now'}"
    return f"{entry.writer} {'dies' if isinstance(entry, Died) else 'ends'}"


def told(move: Move) -> str:
    """A move with what it is given."""
    given = {name: value for name, value in move._asdict().items() if value is not None and name != "step"}
    return f"{move.step}({', '.join(f'{name}={value}' for name, value in given.items())})"


def difference(what: str, storage: set[TimelineFile] | set[int], model: frozenset[TimelineFile] | set[int]) -> str:
    """What is on one side only."""
    only_storage, only_model = sorted(storage - model), sorted(model - storage)
    return f"The {what}: on storage only {only_storage}; in the model only {only_model}."
