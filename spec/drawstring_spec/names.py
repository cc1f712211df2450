"""Grammars of file names. Each kind of name is a value with `parse` and `format`, inverse to each other.

Source: technical specification, "Timeline", "Log file format"; Java ``InstantFileNameGeneratorV2``,
``FSUtils``, ``HoodieLogFile``, ``WriteMarkers``, ``LSMTimeline``; corrections in the requirements. Names come
from storages that anybody may have written to: a parser takes exactly the names that its formatter makes and
refuses the rest with a `FormatError`, and a value that has no name cannot be made, so no name holds a path
separator. Skipping the names that are of another kind is the duty of whoever lists a folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn, Self

from drawstring_spec.errors import FormatError
from drawstring_spec.instants import Action, Instant, State

BASE_FILE_EXTENSIONS = frozenset({"parquet", "orc", "hfile"})
"""Extensions of base files, one per base file format, without the dot."""

_DIGITS = re.compile(r"[0-9]+")
_FILE_ID = re.compile(r"[A-Za-z0-9-]+")
# Numbers have no leading zeros, so that a value has one spelling; ten digits hold Java's ints.
_NUMBER = r"(?:0|[1-9][0-9]{0,9})"
_TOKEN = re.compile(rf"({_NUMBER})-({_NUMBER})-({_NUMBER})")

_PENDING_NAME = re.compile(r"([0-9]+)(?:\.([a-z]+))?\.(requested|inflight)")
_COMPLETED_NAME = re.compile(r"([0-9]+)(?:_([0-9]+))?\.([a-z]+)")
_BASE_FILE_NAME = re.compile(r"([A-Za-z0-9-]+)_([A-Za-z0-9-]+)_([0-9]+)\.([a-z]+)")
_LOG_FILE_NAME = re.compile(
    rf"\.([A-Za-z0-9-]+)_([0-9]+)\.log\.({_NUMBER})(?:_({_NUMBER}-{_NUMBER}-{_NUMBER})(\.cdc)?)?"
)
_MARKER_NAME = re.compile(r"([^/\n]+)\.marker\.([A-Z]+)")
_ARCHIVED_NAME = re.compile(r"([0-9]+)_([0-9]+)_([0-9])\.parquet")
_MANIFEST_NAME = re.compile(r"manifest_([1-9][0-9]{0,9})")

_MAX_NUMBER = 9_999_999_999
_SHOWN_CHARACTERS = 120


def _refuse(kind: str, text: str, rule: str) -> NoReturn:
    raise FormatError(f"{text[:_SHOWN_CHARACTERS]!r} is no {kind}.", rule=rule)


def _require(pattern: re.Pattern[str], text: str, kind: str, rule: str) -> None:
    if not pattern.fullmatch(text):
        _refuse(kind, text, rule)


def _require_number(number: int, kind: str, rule: str, least: int = 0) -> None:
    if not least <= number <= _MAX_NUMBER:
        _refuse(kind, str(number), rule)


@dataclass(frozen=True)
class TimelineFileName:
    """Name of one file on the timeline: one instant in one state.

    ``R.commit.requested``, ``R.inflight`` (a commit's inflight file does not name its action),
    ``R_C.commit``; other actions stand in all three. ``R.commit`` is a completed instant of a table version
    before 8.

    Attributes:
        requested_time: digits.
        action: as the name has it; the one of the completed file for completed instants.
        state: of the instant that this file brings about.
        completion_time: digits; None for pending states and for old tables.

    """

    requested_time: str
    action: Action
    state: State
    completion_time: str | None = None

    def __post_init__(self) -> None:
        _require(_DIGITS, self.requested_time, "requested time", "TL-001")
        if self.completion_time is not None:
            _require(_DIGITS, self.completion_time, "completion time", "TL-001")
        _ = self.instant  # Refuses what does not go together.

    @classmethod
    def of(cls, instant: Instant) -> Self:
        """Return the name of an instant's file."""
        return cls(instant.requested_time, instant.action, instant.state, instant.completion_time)

    @property
    def instant(self) -> Instant:
        """The instant that this file brings about."""
        return Instant(self.requested_time, self.action, self.state, self.completion_time)

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name. Raises `FormatError` for everything that is no timeline file."""
        if pending := _PENDING_NAME.fullmatch(name):
            requested_time, word, state_word = pending.groups()
            state = State[state_word.upper()]
            if state is State.INFLIGHT and (word is None or word == Action.COMMIT):
                if word is not None:
                    _refuse("timeline file", name, "TL-006")
                word = Action.COMMIT
            return cls(requested_time, cls._parse_action(name, word), state)
        if completed := _COMPLETED_NAME.fullmatch(name):
            requested_time, completion_time, word = completed.groups()
            return cls(requested_time, cls._parse_action(name, word), State.COMPLETED, completion_time)
        _refuse("timeline file", name, "TL-003")

    @staticmethod
    def _parse_action(name: str, word: str | None) -> Action:
        if word not in list(Action):
            _refuse("timeline file", name, "TL-003")
        return Action(word)

    def format(self) -> str:
        """Write the name."""
        if self.state is State.COMPLETED:
            completion = "" if self.completion_time is None else f"_{self.completion_time}"
            return f"{self.requested_time}{completion}.{self.action}"
        if self.action is Action.COMMIT and self.state is State.INFLIGHT:
            return f"{self.requested_time}.{self.state.label}"
        return f"{self.requested_time}.{self.action}.{self.state.label}"


@dataclass(frozen=True)
class WriteToken:
    """Tells apart the files that several attempts of one task write: ``0-12-31``.

    Attributes:
        task_partition_id: number of the task's partition.
        stage_id: number of the job's stage.
        attempt_id: number of the attempt.

    """

    task_partition_id: int
    stage_id: int
    attempt_id: int

    def __post_init__(self) -> None:
        for number in (self.task_partition_id, self.stage_id, self.attempt_id):
            _require_number(number, "number of a write token", "SL-008")

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a token. Raises `FormatError`."""
        if matched := _TOKEN.fullmatch(name):
            return cls(*map(int, matched.groups()))
        _refuse("write token", name, "SL-008")

    def format(self) -> str:
        """Write the token."""
        return f"{self.task_partition_id}-{self.stage_id}-{self.attempt_id}"


@dataclass(frozen=True)
class BaseFileName:
    """Name of a base file: ``<file id>_<write token>_<requested time>.<extension>``.

    Attributes:
        file_id: of the file group: letters, digits and hyphens, never an underscore.
        write_token: as text, since other writers' tokens need not be a `WriteToken`.
        requested_time: of the operation that wrote it.
        extension: one of `BASE_FILE_EXTENSIONS`, without the dot.

    """

    file_id: str
    write_token: str
    requested_time: str
    extension: str = "parquet"

    def __post_init__(self) -> None:
        _require(_FILE_ID, self.file_id, "file id", "SL-006")
        _require(_FILE_ID, self.write_token, "write token", "SL-008")
        _require(_DIGITS, self.requested_time, "requested time", "TL-001")
        if self.extension not in BASE_FILE_EXTENSIONS:
            _refuse("extension of a base file", self.extension, "SL-007")

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name. Raises `FormatError`."""
        if matched := _BASE_FILE_NAME.fullmatch(name):
            return cls(*matched.groups())
        _refuse("base file", name, "SL-007")

    def format(self) -> str:
        """Write the name."""
        return f"{self.file_id}_{self.write_token}_{self.requested_time}.{self.extension}"


@dataclass(frozen=True)
class LogFileName:
    """Name of a log file: ``.<file id>_<time>.log.<version>_<write token>``, and ``.cdc`` if it holds changes.

    Attributes:
        file_id: of the file group.
        requested_time: of the operation that wrote it (version 8), not of the slice's base file.
        version: 1 for the first file of an operation in a file group; grows as files roll over.
        write_token: as text; None in names of old writers.
        cdc: whether the file holds change data, not rows.

    """

    file_id: str
    requested_time: str
    version: int
    write_token: str | None = None
    cdc: bool = False

    def __post_init__(self) -> None:
        _require(_FILE_ID, self.file_id, "file id", "SL-006")
        _require(_DIGITS, self.requested_time, "requested time", "TL-001")
        _require_number(self.version, "version of a log file", "SL-009")
        if self.write_token is not None:
            _require(_TOKEN, self.write_token, "write token", "SL-008")
        elif self.cdc:
            _refuse("log file name: a CDC file has a write token", self.file_id, "SL-009")

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name. Raises `FormatError`."""
        if matched := _LOG_FILE_NAME.fullmatch(name):
            file_id, requested_time, version, write_token, cdc = matched.groups()
            return cls(file_id, requested_time, int(version), write_token, cdc is not None)
        _refuse("log file", name, "SL-009")

    def format(self) -> str:
        """Write the name."""
        token = "" if self.write_token is None else f"_{self.write_token}"
        cdc = ".cdc" if self.cdc else ""
        return f".{self.file_id}_{self.requested_time}.log.{self.version}{token}{cdc}"

    @property
    def sort_key(self) -> tuple[str, int, str, bool]:
        """Order of log files inside a slice: time, version, token (none first), CDC last."""
        return self.requested_time, self.version, self.write_token or "", self.cdc


def parse_data_file_name(name: str) -> BaseFileName | LogFileName:
    """Read the name of a data file of either kind. Raises `FormatError`."""
    return LogFileName.parse(name) if name.startswith(".") else BaseFileName.parse(name)


class MarkerType(StrEnum):
    """Why a data file is written. The value is the word in the marker's name."""

    CREATE = "CREATE"
    """A file of a new file group, or (version 8) a new log file."""
    MERGE = "MERGE"
    """A base file that replaces the one before in its file group."""
    APPEND = "APPEND"
    """More blocks for an existing log file: not written by version 8."""


@dataclass(frozen=True)
class MarkerName:
    """Name of a marker: ``<data file name>.marker.<type>``.

    Attributes:
        data_file_name: name (no folder) of the base or log file that is about to be written.
        marker_type: why.

    """

    data_file_name: str
    marker_type: MarkerType

    def __post_init__(self) -> None:
        _ = self.data_file  # Refuses a marker for anything but a data file.

    @property
    def data_file(self) -> BaseFileName | LogFileName:
        """The data file that the marker announces."""
        return parse_data_file_name(self.data_file_name)

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name. Raises `FormatError`."""
        matched = _MARKER_NAME.fullmatch(name)
        if not matched or matched[2] not in list(MarkerType):
            _refuse("marker", name, "SL-012")
        return cls(matched[1], MarkerType(matched[2]))

    def format(self) -> str:
        """Write the name."""
        return f"{self.data_file_name}.marker.{self.marker_type}"


@dataclass(frozen=True)
class ArchivedTimelineFileName:
    """Name of a file of the archived timeline: ``<min>_<max>_<level>.parquet``.

    Attributes:
        min_requested_time: smallest requested time in the file.
        max_requested_time: greatest *requested* time in the file (the specification's text says completion
            time).
        level: of the merge tree, one digit.

    """

    min_requested_time: str
    max_requested_time: str
    level: int

    def __post_init__(self) -> None:
        _require(_DIGITS, self.min_requested_time, "requested time", "TL-001")
        _require(_DIGITS, self.max_requested_time, "requested time", "TL-001")
        if not 0 <= self.level <= 9:
            _refuse("level of an archived file", str(self.level), "TL-040")

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name. Raises `FormatError`."""
        if matched := _ARCHIVED_NAME.fullmatch(name):
            return cls(matched[1], matched[2], int(matched[3]))
        _refuse("file of the archived timeline", name, "TL-040")

    def format(self) -> str:
        """Write the name."""
        return f"{self.min_requested_time}_{self.max_requested_time}_{self.level}.parquet"


@dataclass(frozen=True)
class ManifestFileName:
    """Name of a manifest of the archived timeline: ``manifest_<version>``.

    Attributes:
        version: from 1; the newest is named in the history's version file.

    """

    version: int

    def __post_init__(self) -> None:
        _require_number(self.version, "version of a manifest", "TL-041", least=1)

    @classmethod
    def parse(cls, name: str) -> Self:
        """Read a name. Raises `FormatError`."""
        if matched := _MANIFEST_NAME.fullmatch(name):
            return cls(int(matched[1]))
        _refuse("manifest", name, "TL-041")

    def format(self) -> str:
        """Write the name."""
        return f"manifest_{self.version}"
