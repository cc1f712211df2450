"""The model's storage view, kept up to date from raw bytes, one changed file at a time.

Whose duty: the left column of the refinement table. Each field of `drawstring_model.core.state.StorageView` comes from
bytes on storage, by the specification's grammars:

| field of the model | bytes |
|---|---|
| ``timeline`` | names of the files in ``.hoodie/timeline`` |
| ``data_files`` | names, folders and rows of the Parquet files outside of ``.hoodie`` |
| ``lock_held`` | ``.hoodie/lock`` is there, and its owner has not let it lapse |
| ``heartbeats`` | names of the files in ``.hoodie/.heartbeat`` |

The model's identifiers are numbers: an instant's 17 digits are one already; file groups, write tokens and keys are
numbered as they appear (`Names`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from drawstring_model.storage_view import TimelineFile
from drawstring_sim.operations import Key
from drawstring_sim.raw_state import parse_data_file, read_payload
from drawstring_sim.recorder import Change
from drawstring_spec.instants import Action, State
from drawstring_spec.layout import HEARTBEAT_FOLDER, HOODIE_FOLDER, LOCK_FILE, TIMELINE_FOLDER
from drawstring_spec.names import TimelineFileName

FileName = tuple[int, int, int]
"""A data file as the model knows it: file group, requested time, write token."""


@dataclass(slots=True)
class Names:
    """Numbers for things that have texts, in the order in which they appear, from 1."""

    _numbers: dict[tuple[str, object], int] = field(default_factory=dict)

    def group(self, partition_path: str, file_id: str) -> int:
        """Number of a file group."""
        return self._number("group", (partition_path, file_id))

    def token(self, write_token: str) -> int:
        """Number of a write token."""
        return self._number("token", write_token)

    def key(self, key: Key) -> int:
        """Number of a key."""
        return self._number("key", key)

    def texts(self, kind: str) -> dict[int, object]:
        """Texts of the numbers of ``"group"``, ``"token"`` or ``"key"``."""
        return {number: thing for (of_kind, thing), number in self._numbers.items() if of_kind == kind}

    def _number(self, kind: str, thing: object) -> int:
        return self._numbers.setdefault((kind, thing), len(self._numbers) + 1)


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock file: who wrote it, and when it was last written, by the true time."""

    owner: str
    written_at_ms: int


@dataclass(slots=True)
class RawView:
    """What the bytes say, in the model's terms.

    Attributes:
        names: numbers of things.
        timeline: all files of the timeline.
        data_files: values by key number, by file.
        lock: the lock file; None where there is none.
        heartbeats: true time of the last write of each heartbeat file, by requested time.

    """

    names: Names = field(default_factory=Names)
    timeline: set[TimelineFile] = field(default_factory=set)
    data_files: dict[FileName, dict[int, int]] = field(default_factory=dict)
    lock: Lock | None = None
    heartbeats: dict[int, int] = field(default_factory=dict)

    def take(self, change: Change) -> None:
        """Follow one change of the disk."""
        folder, _, name = change.path.rpartition("/")
        if folder == TIMELINE_FOLDER:
            self._take_timeline_file(name, gone=change.after is None)
        elif change.path == LOCK_FILE:
            self.lock = None if change.after is None else Lock(lock_owner(change.after), change.at_ms)
        elif folder == HEARTBEAT_FOLDER:
            if change.after is None:
                self.heartbeats.pop(int(name), None)
            else:
                self.heartbeats[int(name)] = change.at_ms
        elif is_data_file(change.path):
            self._take_data_file(change)

    def _take_timeline_file(self, name: str, *, gone: bool) -> None:
        file = timeline_file(name)
        if gone:
            self.timeline.discard(file)
        else:
            self.timeline.add(file)

    def _take_data_file(self, change: Change) -> None:
        name = self.file_name(change.path)
        if change.after is None:
            self.data_files.pop(name, None)
        else:
            self.data_files[name] = self.values(change.path, change.after)

    def file_name(self, path: str) -> FileName:
        """A data file's name in the model's terms."""
        file, _ = parse_data_file(path, None)
        group = self.names.group(file.partition_path, file.file_id)
        return group, int(file.requested_time), self.names.token(file.write_token)

    def values(self, path: str, content: bytes) -> dict[int, int]:
        """Value of each key in a data file."""
        _, rows = parse_data_file(path, content)
        return {self.names.key(key): int(str(dict(row)["value"])) for key, row in rows.items()}


def timeline_file(name: str) -> TimelineFile:
    """A timeline file's name in the model's terms."""
    instant = TimelineFileName.parse(name).instant
    completion = int(instant.completion_time) if instant.completion_time is not None else None
    return TimelineFile(int(instant.requested_time), instant.action, State(instant.state), completion)


def rollback_target(change: Change) -> int | None:
    """Requested time of the instant that a change plans to roll back; None where it plans no rollback."""
    folder, _, name = change.path.rpartition("/")
    if folder != TIMELINE_FOLDER or change.after is None:
        return None
    file = timeline_file(name)
    if file.action is not Action.ROLLBACK or file.state is not State.REQUESTED:
        return None
    return int(read_payload(change.path, change.after)["instantToRollback"]["commitTime"])


def is_data_file(path: str) -> bool:
    """Whether a path is a base file's."""
    return path.endswith(".parquet") and not path.startswith(f"{HOODIE_FOLDER}/")


def lock_owner(content: bytes) -> str:
    """Owner that a lock file names."""
    return str(json.loads(content)["owner"])
