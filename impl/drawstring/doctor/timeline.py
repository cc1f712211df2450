"""Checks of the active timeline: names, states, times and payloads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from drawstring.doctor.examination import Examination, TimelineFile, file_name
from drawstring.doctor.findings import Problem, Severity, check
from drawstring.timeline.load import timeline_folder
from drawstring_spec.bootstrap import BOOTSTRAP_TIMES
from drawstring_spec.errors import FormatError
from drawstring_spec.instants import Action, State, initial_state
from drawstring_spec.names import LogFileName, parse_data_file_name
from drawstring_spec.payloads import payload_schema_name
from drawstring_spec.times import is_instant_time

_SAME_SHAPE = {frozenset({"HoodieCommitMetadata", "HoodieReplaceCommitMetadata"})}


def _by_instant(table: Examination) -> dict[tuple[str, str], list[TimelineFile]]:
    found: dict[tuple[str, str], list[TimelineFile]] = defaultdict(list)
    for file in table.timeline_files:
        found[file.instant.requested_time, file.instant.action.comparable.value].append(file)
    return found


@check(
    "timeline-names",
    "TL-003",
    "SL-017",
    says="every file on the timeline is named after an instant",
    severity=Severity.WARNING,
    nested=True,
)
def timeline_names(table: Examination) -> Iterator[Problem]:
    """Readers pass other names over."""
    for status in table.timeline_strangers:
        yield Problem(status.path, "It is named like no instant; readers pass it over.")


@check("timeline-times", "TL-001", says="instant times are times")
def timeline_times(table: Examination) -> Iterator[Problem]:
    """Digits that are no date compare all the same, but no clock made them."""
    for file in table.timeline_files:
        for time in (file.instant.requested_time, file.instant.completion_time):
            if time is not None and not is_instant_time(time) and time not in BOOTSTRAP_TIMES:
                yield Problem(file.status.path, f"{time!r} is no yyyyMMddHHmmssSSS.")


@check("timeline-states", "TL-012", "TL-013", says="no instant skipped a state", nested=True)
def timeline_states(table: Examination) -> Iterator[Problem]:
    """Files of lower states stay while an instant is on the active timeline."""
    for files in _by_instant(table).values():
        states = {file.instant.state for file in files}
        action = files[0].instant.action
        missing = [s for s in State if initial_state(action) <= s < max(states) and s not in states]
        for state in missing:
            yield Problem(files[-1].status.path, f"The instant has no {state.label} file.")


@check("timeline-unique", "TL-016", "TL-020", says="no two instants have one requested time", nested=True)
def timeline_unique(table: Examination) -> Iterator[Problem]:
    """One completed file for each instant, and one instant for each time (a savepoint bears its commit's)."""
    times: dict[str, set[str]] = defaultdict(set)
    for (time, action), files in _by_instant(table).items():
        completed = [file for file in files if file.instant.state is State.COMPLETED]
        if len(completed) > 1:
            names = ", ".join(file_name(file.status.path) for file in completed)
            yield Problem(completed[-1].status.path, f"The instant is completed {len(completed)} times: {names}.")
        if action != Action.SAVEPOINT:
            times[time].add(action)
    for time, actions in times.items():
        if len(actions) > 1 and is_instant_time(time):
            path = f"{timeline_folder(table.config)}/{time}"
            yield Problem(path, f"Several actions were requested at this time: {sorted(actions)}.")


@check("timeline-completion", "TL-021", says="each instant completed after it was requested", nested=True)
def timeline_completion(table: Examination) -> Iterator[Problem]:
    """Completion times are greater than requested ones, and no two are equal."""
    seen: dict[str, str] = {}
    for file in table.timeline_files:
        instant = file.instant
        if instant.state is not State.COMPLETED or instant.completion_time is None:
            continue
        if instant.action is not Action.SAVEPOINT and instant.completion_time <= instant.requested_time:
            yield Problem(file.status.path, "It was completed before it was requested.")
        if instant.completion_time in seen:
            other = seen[instant.completion_time]
            yield Problem(file.status.path, f"It has the completion time of {file_name(other)}.")
        seen[instant.completion_time] = file.status.path


@check("timeline-old-names", "TL-007", says="completed instants carry their completion time", severity=Severity.WARNING)
def timeline_old_names(table: Examination) -> Iterator[Problem]:
    """A completed file without completion time is of an older table version."""
    for file in table.timeline_files:
        if file.instant.state is State.COMPLETED and file.instant.completion_time is None:
            yield Problem(file.status.path, "Its name has no completion time; readers take the file's own.")


@check("timeline-payloads", "TL-033", "TL-030", says="every timeline file can be decoded", nested=True)
def timeline_payloads(table: Examination) -> Iterator[Problem]:
    """What is not empty is an Avro container with one record."""
    for file in table.timeline_files:
        table.payload(file.status)
        if file.status.path in table.unreadable:
            yield Problem(file.status.path, table.unreadable[file.status.path].message)


@check("timeline-records", "TL-032", says="every timeline file holds the record of its action and state", nested=True)
def timeline_records(table: Examination) -> Iterator[Problem]:
    """The record's name is the one that action and state call for."""
    for file in table.timeline_files:
        found = table.payload_schema(file.status)
        wanted = payload_schema_name(file.instant.action, file.instant.state)
        if found is None or found == wanted or frozenset({found, wanted}) in _SAME_SHAPE:
            continue
        yield Problem(file.status.path, f"It holds a {found} instead of {wanted or 'nothing'}.")


@check("commit-paths", "SL-001", "WR-030", says="commits name files of the table, each in its partition")
def commit_paths(table: Examination) -> Iterator[Problem]:
    """Paths in write statistics stay below the base path and agree with partition, file id and time."""
    for file, stats in table.commits:
        for stat in stats:
            path = stat.get("path")
            if not isinstance(path, str):
                yield Problem(file.status.path, "A write statistic has no path.", rules=("WR-030",))
                continue
            if path.startswith("/") or ":" in path.split("/")[0] or ".." in path.split("/"):
                yield Problem(file.status.path, f"It names {path[:200]!r}, outside of the table.", rules=("SL-001",))
                continue
            folder, _, name = path.rpartition("/")
            try:
                parsed = parse_data_file_name(name)
            except FormatError:
                yield Problem(file.status.path, f"It names {path[:200]!r}, which is no data file.", rules=("WR-030",))
                continue
            told = (stat.get("partitionPath") or "", stat.get("fileId"), file.instant.requested_time)
            fits = told[:2] == (folder, parsed.file_id) and (
                parsed.requested_time == told[2]
                or (isinstance(parsed, LogFileName) and table.is_of_both(parsed.requested_time, told[2]))
            )
            if not fits:
                message = f"Its statistic of {path[:200]!r} gives partition, file id and time as {told}."
                yield Problem(file.status.path, message, rules=("WR-030",))


@check("savepoints", "TL-008", says="what savepoints protect is there")
def savepoints(table: Examination) -> Iterator[Problem]:
    """The commit of a savepoint is completed, and its files are on storage."""
    for file in table.timeline_files:
        if file.instant.action is not Action.SAVEPOINT or file.instant.state is not State.COMPLETED:
            continue
        if file.instant.requested_time not in table.completed_times:
            yield Problem(file.status.path, "It protects a commit that is not on the timeline.")
        partitions = table.payload(file.status).get("partitionMetadata")
        for partition, entry in partitions.items() if isinstance(partitions, dict) else ():
            for name in entry.get("savepointDataFile") or ():
                path = f"{partition}/{name}" if partition else str(name)
                if path not in table.files:
                    yield Problem(path, f"The savepoint {file.instant.requested_time} protects it, and it is gone.")
