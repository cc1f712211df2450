"""What the raw bytes of a table say, read with the specification's nouns and general libraries only.

Whose duty: the judge's eyes. Nothing here uses the implementation's classes, so a mistake of theirs cannot hide from
the comparison. The reader at the end slices file groups the way the format tells (``09-merge-semantics``: of each file
group the base file with the greatest requested time not after the snapshot time, among those whose commit is
completed) and is our second opinion on every answer.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from drawstring_spec.errors import FormatError
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.layout import HEARTBEAT_FOLDER, HOODIE_FOLDER, LOCK_FILE, TEMP_FOLDER, TIMELINE_FOLDER
from drawstring_spec.meta_fields import META_FIELDS, PARTITION_PATH, RECORD_KEY
from drawstring_spec.names import BaseFileName, MarkerName, TimelineFileName

Row = tuple[tuple[str, object], ...]
"""One row without meta fields: (column, value) in the order of the columns."""

Rows = Mapping[tuple[str, str], Row]
"""Rows by partition path and record key."""


class RawStateError(Exception):
    """The bytes break a rule of the format that no writer may break, not even for a moment."""


@dataclass(frozen=True, slots=True, order=True)
class DataFile:
    """A base file on storage.

    Attributes:
        partition_path: its folder.
        file_id: its file group.
        requested_time: of the operation that wrote it, by its name.
        write_token: of the attempt that wrote it.
        path: where it stands.

    """

    partition_path: str
    file_id: str
    requested_time: str
    write_token: str
    path: str


@dataclass(frozen=True, slots=True)
class RawState:
    """A storage, parsed.

    Attributes:
        instants: one for each file of the timeline (an instant that is completed has three).
        data_files: base files, visible or not, sorted.
        rows: of each data file, by its path.
        metadata: payload of each completed commit, by requested time.
        locked: whether the lock file is there.
        heartbeats: requested times that have a heartbeat file.
        markers: data files that markers name, by requested time.

    """

    instants: frozenset[Instant]
    data_files: tuple[DataFile, ...]
    rows: Mapping[str, Rows]
    metadata: Mapping[str, Mapping[str, Any]]
    locked: bool
    heartbeats: frozenset[str]
    markers: Mapping[str, frozenset[str]]

    @property
    def completed_commits(self) -> Mapping[str, Instant]:
        """Completed commits by requested time."""
        return {
            i.requested_time: i
            for i in sorted(self.instants, key=lambda i: i.sort_key)
            if i.state is State.COMPLETED and i.action is Action.COMMIT
        }

    @property
    def pending(self) -> tuple[Instant, ...]:
        """Instants that are not completed, in their highest state, by requested time."""
        highest: dict[tuple[str, Action], Instant] = {}
        for instant in sorted(self.instants, key=lambda i: i.sort_key):
            highest[instant.requested_time, instant.action.comparable] = instant
        return tuple(i for i in highest.values() if i.state is not State.COMPLETED)

    def slices(self, as_of: str | None = None) -> tuple[DataFile, ...]:
        """Base files that a reader as of a requested time sees (the newest where None)."""
        completed = self.completed_commits
        chosen: dict[tuple[str, str], DataFile] = {}
        for file in self.data_files:
            commit = completed.get(file.requested_time)
            if commit is None or (as_of is not None and file.requested_time > as_of):
                continue
            group = (file.partition_path, file.file_id)
            other = chosen.get(group)
            if other is None or other.requested_time < file.requested_time or not self._is_claimed(other):
                chosen[group] = file
            elif other.requested_time == file.requested_time and self._is_claimed(file):
                raise RawStateError(f"Two files of one slice are visible: {other.path} and {file.path}.")
        return tuple(chosen[group] for group in sorted(chosen))

    def _is_claimed(self, file: DataFile) -> bool:
        """Whether a commit names the file: of several files of one slice (a task ran twice) that one counts."""
        stats = (self.metadata[file.requested_time].get("partitionToWriteStats") or {}).values()
        return any(stat["path"] == file.path for of_partition in stats for stat in of_partition)

    def snapshot(self, as_of: str | None = None) -> Rows:
        """Rows that a reader sees as of a requested time. Raises `RawStateError` where a key is there twice."""
        found: dict[tuple[str, str], Row] = {}
        for file in self.slices(as_of):
            for key, row in self.rows[file.path].items():
                if key in found:
                    raise RawStateError(f"The key {key[1]!r} of partition {key[0]!r} is visible twice.")
                found[key] = row
        return found


def read_raw_state(contents: Mapping[str, bytes]) -> RawState:
    """Parse a storage.

    Args:
        contents: bytes by table-relative path.

    Returns:
        What they say.

    Raises:
        RawStateError: a file is not what its name says.

    """
    instants: set[Instant] = set()
    metadata: dict[str, Mapping[str, Any]] = {}
    files: list[DataFile] = []
    rows: dict[str, Rows] = {}
    markers: dict[str, set[str]] = {}
    heartbeats: set[str] = set()
    for path, content in contents.items():
        folder, _, name = path.rpartition("/")
        if folder == TIMELINE_FOLDER:
            instant = TimelineFileName.parse(name).instant
            instants.add(instant)
            if instant.state is State.COMPLETED and instant.action is Action.COMMIT:
                metadata[instant.requested_time] = _payload(path, content)
        elif folder == HEARTBEAT_FOLDER:
            heartbeats.add(name)
        elif path.startswith(f"{TEMP_FOLDER}/"):
            requested_time, _, marker = path[len(TEMP_FOLDER) + 1 :].partition("/")
            markers.setdefault(requested_time, set()).add(_marked(marker))
        elif not path.startswith(f"{HOODIE_FOLDER}/") and name.endswith(".parquet"):
            file, rows[path] = parse_data_file(path, content)
            files.append(file)
    return RawState(
        instants=frozenset(instants),
        data_files=tuple(sorted(files)),
        rows=rows,
        metadata=metadata,
        locked=LOCK_FILE in contents,
        heartbeats=frozenset(heartbeats),
        markers={time: frozenset(names) for time, names in sorted(markers.items())},
    )


def parse_data_file(path: str, content: bytes | None) -> tuple[DataFile, Rows]:
    """Parse a data file's path, and its rows where its bytes are given.

    Raises:
        RawStateError: the bytes are no Parquet file, or hold a key twice.

    """
    folder, _, name = path.rpartition("/")
    parsed = BaseFileName.parse(name)
    file = DataFile(folder, parsed.file_id, parsed.requested_time, parsed.write_token, path)
    return file, _rows(path, content) if content is not None else {}


def read_payload(path: str, content: bytes) -> Mapping[str, Any]:
    """Record of a timeline file. Raises `RawStateError`."""
    return _payload(path, content)


def _marked(marker: str) -> str:
    folder, _, name = marker.rpartition("/")
    try:
        data_file = MarkerName.parse(name).data_file_name
    except FormatError as error:
        raise RawStateError(f"{marker!r} stands among the markers.") from error
    return f"{folder}/{data_file}" if folder else data_file


# The state is parsed after every event, and nearly all files are the same as before.
@lru_cache(maxsize=2_000)
def _payload(path: str, content: bytes) -> Mapping[str, Any]:
    try:
        (record,) = fastavro.reader(io.BytesIO(content))
    except Exception as error:
        raise RawStateError(f"{path} is no Avro container with one record: {error}") from error
    if not isinstance(record, dict):
        raise RawStateError(f"{path} holds no record.")
    return record


@lru_cache(maxsize=5_000)
def _rows(path: str, content: bytes) -> Rows:
    try:
        table = pq.read_table(pa.BufferReader(content), use_threads=False)
    except Exception as error:
        raise RawStateError(f"{path} is no Parquet file: {error}") from error
    columns = [name for name in table.column_names if name not in META_FIELDS]
    found: dict[tuple[str, str], Row] = {}
    for record in table.to_pylist():
        key = (record[PARTITION_PATH], record[RECORD_KEY])
        if key in found:
            raise RawStateError(f"{path} holds the key {key[1]!r} twice.")
        found[key] = tuple((column, record[column]) for column in columns)
    return found
