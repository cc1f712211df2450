"""Checks of what writers leave while they work: pending instants, heartbeats, markers and the lock."""

from __future__ import annotations

from collections.abc import Iterator

from drawstring.doctor.examination import Examination
from drawstring.doctor.findings import Problem, Severity, check
from drawstring.errors import FormatError
from drawstring.protocol.heartbeat import heartbeat_path, tolerance_ms
from drawstring.timeline.load import instant_path
from drawstring.timeline.timeline import WRITE_ACTIONS
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.layout import HEARTBEAT_FOLDER, LOCK_FILE, MARKERS_FILE_PREFIX, TEMP_FOLDER
from drawstring_spec.names import MarkerName

_SERVICES = frozenset({Action.ROLLBACK, Action.RESTORE, Action.CLEAN, Action.INDEXING, Action.SAVEPOINT})


@check(
    "pending-writes",
    "RB-005",
    "CC-032",
    says="no write was left pending by a writer that died",
    severity=Severity.WARNING,
)
def pending_writes(table: Examination) -> Iterator[Problem]:
    """A pending write has a heartbeat that is renewed. Java's single writers keep none."""
    now_ms = table.ports.clock.wall_ms()
    for instant in table.timeline:
        if instant.state is State.COMPLETED or instant.action not in WRITE_ACTIONS:
            continue
        path = instant_path(table.config, instant)
        beat = table.files.get(heartbeat_path(instant.requested_time))
        if beat is None:
            yield Problem(path, f"The {instant.action} is {instant.state.label} and has no heartbeat: {_ROLLED_BACK}")
        elif now_ms - beat.mtime_ms > tolerance_ms(table.context):
            age = (now_ms - beat.mtime_ms) // 1000
            yield Problem(path, f"Its heartbeat is {age} seconds old: {_ROLLED_BACK}")


_ROLLED_BACK = "if no writer is at work on it, the next one rolls it back."


@check(
    "pending-services",
    "RB-008",
    "CC-013",
    says="no rollback, restore, clean or indexing is unfinished",
    severity=Severity.WARNING,
)
def pending_services(table: Examination) -> Iterator[Problem]:
    """The next writer finishes them; a pending restore stops all. Compactions and clusterings may be planned ahead."""
    for instant in table.timeline:
        if instant.state is not State.COMPLETED and instant.action in _SERVICES:
            rules = ("CC-013",) if instant.action is Action.RESTORE else ("RB-008",)
            yield Problem(instant_path(table.config, instant), _unfinished(instant), rules=rules)


def _unfinished(instant: Instant) -> str:
    return f"The {instant.action} is {instant.state.label}: it is under way, or was not finished."


@check("markers", "WR-011", "SL-012", says="only pending writes have markers", severity=Severity.WARNING)
def markers(table: Examination) -> Iterator[Problem]:
    """A completed write removes its markers; a rollback those of the failed one."""
    folders: set[str] = set()
    for path in table.files:
        if not path.startswith(f"{TEMP_FOLDER}/"):
            continue
        time, _, rest = path.removeprefix(f"{TEMP_FOLDER}/").partition("/")
        name = rest.rpartition("/")[2]
        if time not in table.pending_times:
            folders.add(time)
        elif not name.startswith(MARKERS_FILE_PREFIX):
            try:
                MarkerName.parse(name)
            except FormatError as error:
                yield Problem(path, error.message, rules=("SL-012",), severity=Severity.ERROR)
    for time in sorted(folders):
        yield Problem(f"{TEMP_FOLDER}/{time}", "Markers of an instant that is not pending.", rules=("WR-011",))


@check("heartbeats", "WR-011", "CC-033", says="only pending instants have heartbeats", severity=Severity.WARNING)
def heartbeats(table: Examination) -> Iterator[Problem]:
    """A writer removes its heartbeat when it is done."""
    for path in table.files:
        if path.startswith(f"{HEARTBEAT_FOLDER}/") and path.rpartition("/")[2] not in table.pending_times:
            yield Problem(path, "A heartbeat of an instant that is not pending.")


@check("lock", "CC-023", "CC-024", says="nobody holds the table lock", severity=Severity.WARNING)
def lock(table: Examination) -> Iterator[Problem]:
    """A lock file of a writer that died keeps others out until it expires; one of Java's never does by itself."""
    status = table.files.get(LOCK_FILE)
    if status is not None:
        age = max(0, table.ports.clock.wall_ms() - status.mtime_ms) // 1000
        yield Problem(LOCK_FILE, f"A writer holds the lock since {age} seconds, or died with it.")
