"""The archived timeline: a merge tree of Parquet files beside the active one, and the manifest that names them.

Source: Java ``LSMTimeline``, ``ArchivedTimelineV2``, ``ArchivedTimelineLoaderV2``; requirements TL-040 to TL-043. Whose
duty: say which instants were archived, and what their files held. What is in the folder but not in the manifest is
left over from a crash or superseded, and is not read. Names, sizes and bytes are untrusted: a manifest names files of
its own folder only, and what cannot be read ends in an error with the file's path, never in fewer instants.
"""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from drawstring.codec import avro_container
from drawstring.codec.parquet_bytes import checked, open_parquet, parsing
from drawstring.errors import CorruptFileError, FormatError, NotFoundError
from drawstring.ports import FileStatus, Storage
from drawstring.table_config import TableConfig
from drawstring.timeline.load import timeline_folder
from drawstring.timeline.timeline import WRITE_ACTIONS, Timeline
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.layout import HISTORY_VERSION_FILE
from drawstring_spec.names import ArchivedTimelineFileName, ManifestFileName

MAX_MANIFEST_BYTES: Final = 16 * 1024 * 1024
"""An entry takes some hundred bytes, and ten files of one level are merged into one: no manifest comes near."""

MAX_FILE_BYTES: Final = 2 * 1024 * 1024 * 1024
"""Java merges files up to 1000 MiB; a file beyond twice that is refused, not read."""

_WHOLE_BYTES: Final = 4 * 1024 * 1024
"""A smaller file is fetched in one read, whatever is wanted of it."""

_FOOTER_END: Final = 8  # length of the footer, then the magic
_TIMES: Final = ("instantTime", "completionTime", "action")
_RETRIES: Final = 3
"""A file may be merged into another one, and go, between the manifest and the file being read."""


@dataclass(frozen=True, slots=True)
class ArchivedInstant:
    """A completed instant of the archived timeline, and the file that holds its payload."""

    instant: Instant
    file: FileStatus


@dataclass(frozen=True, slots=True)
class ArchivedTimeline:
    """What was archived, as far as it was asked for.

    Attributes:
        entries: sorted by requested time, then action.
        superseded: those of which a later file has the requested time and action again. Java's metadata table takes
            its first times anew, once they are archived, for an index that is made later.

    """

    entries: tuple[ArchivedInstant, ...] = ()
    superseded: tuple[ArchivedInstant, ...] = ()

    @property
    def instants(self) -> tuple[Instant, ...]:
        """The instants, all completed."""
        return tuple(entry.instant for entry in self.entries)

    @property
    def completed_writes(self) -> tuple[Instant, ...]:
        """Commits, delta commits and replace commits, by requested time."""
        return tuple(i for i in self.instants if i.action in WRITE_ACTIONS)

    def before(self, active: Timeline) -> Timeline:
        """Return a timeline with the archived instants in front of the active ones.

        An archival that was cut off leaves an instant in both; then the active one counts.
        """
        known = {(i.requested_time, i.action.comparable) for i in active.instants}
        extra = [i for i in self.instants if (i.requested_time, i.action.comparable) not in known]
        return Timeline(
            tuple(sorted((*extra, *active.instants), key=lambda i: (i.requested_time, i.action.comparable)))
        )


def history_folder(config: TableConfig) -> str:
    """Path of the archived timeline below the table's base path."""
    return f"{timeline_folder(config)}/{config.history_path}"


def load_archived(storage: Storage, config: TableConfig, *, since: str | None = None) -> ArchivedTimeline:
    """Load times and actions of the archived instants; their payloads are not read.

    Args:
        storage: of the table.
        config: of the table.
        since: files whose instants were all requested earlier are passed over; None for everything.

    Returns:
        The instants, among them those requested before `since` that share a file with later ones.

    Raises:
        CorruptFileError: the manifest or a file that it names cannot be read, or is not there.

    """
    tables = _tables(storage, config, lambda file: since is None or _last_time(file) >= since)
    found: dict[tuple[str, Action], ArchivedInstant] = {}
    superseded = []
    for entry in (entry for file, table in tables for entry in _entries(file, table)):
        key = entry.instant.requested_time, entry.instant.action
        if key in found:
            superseded.append(found[key])
        found[key] = entry
    return ArchivedTimeline(tuple(found[key] for key in sorted(found)), tuple(superseded))


def archived_completion_times(
    storage: Storage, config: TableConfig, requested_times: Collection[str]
) -> dict[str, str]:
    """Return when writes completed that are archived, by requested time; those that the archive lacks are left out.

    Only files of the archive that may hold one of them are read, and no instant but those wanted is looked at.

    Args:
        storage: of the table.
        config: of the table.
        requested_times: of the writes.

    Raises:
        CorruptFileError: the manifest or a file that it names cannot be read, or is not there.

    """
    if not requested_times:
        return {}
    wanted = sorted(requested_times)

    def may_hold(file: FileStatus) -> bool:
        name = ArchivedTimelineFileName.parse(file.path.rpartition("/")[2])
        first = bisect.bisect_left(wanted, name.min_requested_time)
        return first < len(wanted) and wanted[first] <= name.max_requested_time

    times: dict[str, str] = {}
    for file, table in _tables(storage, config, may_hold):
        with _parsing(file.path):
            rows = table.filter(pc.is_in(table["instantTime"].cast(pa.string()), value_set=pa.array(wanted)))
        for entry in _entries(file, rows):
            if entry.instant.action in WRITE_ACTIONS:
                times[entry.instant.requested_time] = entry.instant.completion_time or ""
    return times


def _tables(
    storage: Storage, config: TableConfig, is_wanted: Callable[[FileStatus], bool]
) -> list[tuple[FileStatus, pa.Table]]:
    """Times and actions in those files of the archive that are wanted."""
    for attempt in range(_RETRIES):
        files = _files(storage, config)
        try:
            return [(file, _read(storage, file, _TIMES)) for file in files if is_wanted(file)]
        except NotFoundError as error:
            if attempt + 1 < _RETRIES:
                continue
            raise _corrupt(
                history_folder(config), f"a file that its manifest names is gone ({error.message})"
            ) from error
    raise AssertionError("the last attempt returns or raises")


def has_archive(storage: Storage, config: TableConfig) -> bool:
    """Whether anything was ever archived, by one listing."""
    return any(_is_manifest(status) for status in storage.list(history_folder(config)))


def read_archived_payloads(
    storage: Storage, archived: ArchivedTimeline, instants: Iterable[Instant]
) -> dict[Instant, dict[str, Any] | None]:
    """Return what the files of archived instants held; None where a file was empty.

    Each file of the archive is read once. Raises `CorruptFileError` and `NotFoundError`.
    """
    wanted = set(instants)
    by_path: dict[str, list[ArchivedInstant]] = {}
    for entry in archived.entries:
        if entry.instant in wanted:
            by_path.setdefault(entry.file.path, []).append(entry)
    payloads: dict[Instant, dict[str, Any] | None] = {}
    for path, entries in by_path.items():
        contents = _contents(storage, entries[0].file)
        for entry in entries:
            instant = entry.instant
            content = contents.get((instant.requested_time, instant.action.value))
            where = f"{path} (instant {instant.requested_time})"
            payloads[instant] = avro_container.decode(content, path=where) if content else None
    return payloads


def _contents(storage: Storage, file: FileStatus) -> dict[tuple[str, str], bytes | None]:
    table = _read(storage, file, ("instantTime", "action", "metadata"))
    times, actions = table["instantTime"].to_pylist(), table["action"].to_pylist()
    return dict(zip(zip(times, actions, strict=True), table["metadata"].to_pylist(), strict=True))


def _files(storage: Storage, config: TableConfig) -> tuple[FileStatus, ...]:
    """Return the files that the newest manifest names, in its order."""
    folder = history_folder(config)
    by_name = {status.path.rpartition("/")[2]: status for status in storage.list(folder)}
    manifest = _manifest(storage, by_name)
    if manifest is None:
        return ()
    files = []
    for name in _file_names(storage, manifest):
        if name not in by_name:
            raise _corrupt(manifest.path, f"it names {name!r}, which is not there")
        if by_name[name].size > MAX_FILE_BYTES:
            raise _corrupt(by_name[name].path, f"it has {by_name[name].size} bytes")
        files.append(by_name[name])
    return tuple(files)


def _manifest(storage: Storage, by_name: Mapping[str, FileStatus]) -> FileStatus | None:
    """Return the newest manifest: the one that the version file says.

    That file is deleted and made again by writers, so it may be missing or cut off; then the manifest with the
    greatest number counts, as in Java.
    """
    versions = {ManifestFileName.parse(name).version: s for name, s in by_name.items() if _is_manifest(s)}
    if not versions:
        return None
    if HISTORY_VERSION_FILE in by_name:
        try:
            text = bytes(storage.read(by_name[HISTORY_VERSION_FILE].path, 0, 32)).decode("ascii").strip()
            return versions[int(text)] if text.isdigit() else versions[max(versions)]
        except (NotFoundError, UnicodeDecodeError, KeyError):
            pass
    return versions[max(versions)]


def _is_manifest(status: FileStatus) -> bool:
    try:
        ManifestFileName.parse(status.path.rpartition("/")[2])
    except FormatError:
        return False
    return True


def _file_names(storage: Storage, manifest: FileStatus) -> list[str]:
    if manifest.size > MAX_MANIFEST_BYTES:
        raise _corrupt(manifest.path, f"it has {manifest.size} bytes")
    try:
        entries = json.loads(bytes(storage.read(manifest.path)))["files"]
        names = [str(entry["fileName"]) for entry in entries]
        for name in names:
            ArchivedTimelineFileName.parse(name)  # nothing that leads out of the folder has this form
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _corrupt(manifest.path, f"it is no manifest ({error!r})") from error
    except FormatError as error:
        raise _corrupt(manifest.path, error.message) from error
    return list(dict.fromkeys(names))


def _last_time(file: FileStatus) -> str:
    return ArchivedTimelineFileName.parse(file.path.rpartition("/")[2]).max_requested_time


def _entries(file: FileStatus, table: pa.Table) -> Iterator[ArchivedInstant]:
    for requested_time, completion_time, action in zip(*(table[name].to_pylist() for name in _TIMES), strict=True):
        if not isinstance(requested_time, str) or not requested_time.isdigit() or action not in _ACTIONS:
            raise _corrupt(file.path, f"it has an instant {requested_time!r} of the action {action!r}")
        # Instants that older releases archived have no completion time; Java takes the requested one.
        yield ArchivedInstant(
            Instant(requested_time, Action(action), State.COMPLETED, completion_time or requested_time), file
        )


_ACTIONS: Final = frozenset(action.value for action in Action)


def _read(storage: Storage, file: FileStatus, columns: Sequence[str]) -> pa.Table:
    """Read columns of one file of the archive. Bytes are fetched first: no port is called from native code."""
    if file.size <= _WHOLE_BYTES:
        content = pa.py_buffer(storage.read(file.path))
    else:
        content = _sparse(storage, file, frozenset(columns))
    with _parsing(file.path):
        parquet = open_parquet(content)
        if parquet.metadata.num_rows > file.size:
            raise _corrupt(file.path, f"its {file.size} bytes claim {parquet.metadata.num_rows} instants")
        table = parquet.read(columns=list(columns), use_threads=False)
        return checked(table.select(list(columns)))


def _sparse(storage: Storage, file: FileStatus, columns: frozenset[str]) -> pa.Buffer:
    """Return a buffer as long as the file with its footer and the chunks of some columns filled in.

    Payloads are nearly all of a file. Memory that is never touched is never taken from the system.
    """
    content = np.empty(file.size, np.uint8)

    def fetch(start: int, end: int) -> None:
        content[start:end] = np.frombuffer(storage.read(file.path, start, end - start), np.uint8)

    fetch(file.size - _FOOTER_END, file.size)
    footer_bytes = int.from_bytes(content[-_FOOTER_END:-4].tobytes(), "little") + _FOOTER_END
    if footer_bytes > file.size:
        raise _corrupt(file.path, f"its footer claims {footer_bytes} of its {file.size} bytes")
    fetch(file.size - footer_bytes, file.size)
    with _parsing(file.path):
        metadata = pq.read_metadata(pa.BufferReader(pa.py_buffer(content[file.size - footer_bytes :])))
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    for chunk in chunks:
        if chunk.path_in_schema in columns:
            start = min(chunk.dictionary_page_offset or chunk.data_page_offset, chunk.data_page_offset)
            end = start + chunk.total_compressed_size
            if not 0 <= start <= end <= file.size:
                raise _corrupt(file.path, f"column {chunk.path_in_schema} claims the bytes {start} to {end}")
            fetch(start, end)
    return pa.py_buffer(content)


def _parsing(path: str) -> AbstractContextManager[None]:
    return parsing(partial(_corrupt, path))


def _corrupt(path: str, why: str) -> CorruptFileError:
    return CorruptFileError(
        f"The archived timeline at {path} cannot be read: {why}.",
        rule="TL-041",
        way_out="Restore the folder from a copy; queries that do not reach back to archived instants still answer.",
    )
