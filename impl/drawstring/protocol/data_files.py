"""Publishes data files, each with its marker first, and removes those that no write answers for.

Source: Java ``DirectWriteMarkers``, ``HoodieTable.reconcileAgainstMarkers``, ``HoodiePartitionMetadata``. Whose duty:
every engine writes its data files through `publish_data_file`, so that a crash at any point leaves a marker for
every file that a rollback has to delete.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from drawstring.errors import (
    AlreadyExistsError,
    CorruptFileError,
    FormatError,
    NotFoundError,
    RecordKeyError,
    StorageError,
)
from drawstring.events import Event
from drawstring.ports import FileStatus, Storage, TaskContext
from drawstring.timeline import transitions
from drawstring.write_stats import FilePlan
from drawstring_spec.layout import PARTITION_METADATA_FILE, TEMP_FOLDER
from drawstring_spec.names import BaseFileName, LogFileName, MarkerName, MarkerType
from drawstring_spec.properties import format_properties
from drawstring_spec.steps import Step

ATTEMPTS = 3
MAX_MARKER_FILE_BYTES = 64 * 1024 * 1024
TIMELINE_SERVER_MARKERS = "MARKERS"


def marker_folder(requested_time: str) -> str:
    """Folder of an operation's markers."""
    return f"{TEMP_FOLDER}/{requested_time}"


def publish_data_file(
    context: TaskContext, requested_time: str, plan: FilePlan, content: bytes | memoryview
) -> FileStatus:
    """Write one data file of a pending operation: partition metadata where it is new, marker, file.

    Args:
        context: of the task that made the file.
        requested_time: of the operation.
        plan: where the file goes; its name carries the operation's time and the attempt's token.
        content: the whole file.

    Returns:
        The file as it stands on storage.

    Raises:
        AlreadyExistsError: the name is taken, which a fresh token rules out.
        StorageError: the storage kept failing.

    """
    folder, _, name = plan.path.rpartition("/")
    _ensure_partition_metadata(context.storage, folder, requested_time)
    marker = MarkerName(name, MarkerType.MERGE if plan.replaces else MarkerType.CREATE).format()
    prefix = f"{marker_folder(requested_time)}/{folder}/" if folder else f"{marker_folder(requested_time)}/"
    _put_marker(context.storage, prefix + marker)
    status = _put_new(context.storage, plan.path, content)
    file_id = BaseFileName.parse(name).file_id
    context.emit(
        Event(
            Step.WRITE_FILE,
            requested_time,
            {"path": plan.path, "partition_path": folder, "file_id": file_id},
        )
    )
    return status


def _ensure_partition_metadata(storage: Storage, partition_path: str, requested_time: str) -> None:
    path = f"{partition_path}/{PARTITION_METADATA_FILE}" if partition_path else PARTITION_METADATA_FILE
    try:
        storage.head(path)
    except NotFoundError:
        _refuse_nested(storage, partition_path)
        depth = len(partition_path.split("/")) if partition_path else 0
        values = {"commitTime": requested_time, "partitionDepth": str(depth)}
        # A task beside this one may be faster; the file says the same.
        with contextlib.suppress(AlreadyExistsError):
            transitions.create_exactly_once(storage, path, format_properties(values, comments=("partition metadata",)))
            try:
                _refuse_nested(storage, partition_path)  # Another writer may have made the other one meanwhile.
            except RecordKeyError:
                storage.delete([path])
                raise


def _refuse_nested(storage: Storage, partition_path: str) -> None:
    """A partition inside another one is never listed, by Java's readers as by ours: its rows would be lost."""
    if not partition_path:
        return
    segments = partition_path.split("/")
    outer = ["/".join(segments[:depth]) for depth in range(1, len(segments))]
    inner = storage.list(partition_path, recursive=True)
    found = [folder for folder in outer if _is_partition(storage, folder)]
    found += [
        s.path.rpartition("/")[0]
        for s in inner
        if s.path.endswith(f"/{PARTITION_METADATA_FILE}") and s.path.count("/") > len(segments)
    ]
    if found:
        raise RecordKeyError(
            f"The partition {partition_path!r} and the partition {found[0]!r} lie inside one another: readers would "
            "see the rows of only one of them.",
            rule="SL-011",
            way_out="Give all partition values the same depth, or create the table with "
            "hoodie.datasource.write.partitionpath.urlencode.",
        )


def _is_partition(storage: Storage, folder: str) -> bool:
    try:
        storage.head(f"{folder}/{PARTITION_METADATA_FILE}")
    except NotFoundError:
        return False
    return True


def _put_marker(storage: Storage, path: str) -> None:
    for attempt in range(ATTEMPTS):
        try:
            storage.put(path, b"")
        except StorageError:
            if attempt == ATTEMPTS - 1:
                raise
        else:
            return


def _put_new(storage: Storage, path: str, content: bytes | memoryview) -> FileStatus:
    """Create a file; what stands under the attempt's own name is ours if it is the same: an answer was lost."""
    unknown: StorageError | None = None
    for _ in range(ATTEMPTS):
        try:
            return storage.put_if_absent(path, content)
        except AlreadyExistsError:
            status = storage.head(path)
            if status.size != len(content) or bytes(storage.read(path)) != bytes(content):
                raise
            return status
        except StorageError as error:
            unknown = error
    raise unknown if unknown is not None else StorageError(f"{path!r} could not be written.")


def marked_files(storage: Storage, requested_time: str) -> tuple[str, ...] | None:
    """Table-relative paths of the data files that an operation's markers name; None where it left no markers.

    Both kinds of markers are understood: a file per data file, and the lists of Java's timeline server.

    Raises:
        CorruptFileError: a marker names no data file of the operation.

    """
    folder = marker_folder(requested_time)
    statuses = storage.list(folder, recursive=True)
    if not statuses:
        return None
    relative: set[str] = set()
    for status in statuses:
        name = status.path[len(folder) + 1 :]
        if name == f"{TIMELINE_SERVER_MARKERS}.type":
            continue
        if name.startswith(TIMELINE_SERVER_MARKERS) and name[len(TIMELINE_SERVER_MARKERS) :].isdigit():
            relative.update(_listed_markers(storage, status))
        else:
            relative.add(name)
    return tuple(sorted(_data_file(marker, requested_time) for marker in relative))


def _listed_markers(storage: Storage, status: FileStatus) -> Iterable[str]:
    if status.size > MAX_MARKER_FILE_BYTES:
        raise CorruptFileError(
            f"The marker file {status.path} has {status.size} bytes.",
            rule="RB-010",
            way_out="Roll the write back with Java Hudi, or remove the file by hand; nothing was deleted.",
        )
    text = bytes(storage.read(status.path)).decode("utf-8", errors="replace")
    return [line for line in text.splitlines() if line]


def _data_file(marker: str, requested_time: str) -> str:
    """Path of the data file that a marker stands for; a marker that leads elsewhere is refused."""
    folder, _, name = marker.rpartition("/")
    try:
        data_file = MarkerName.parse(name).data_file_name
        if folder and not {"", ".", ".."}.isdisjoint(folder.split("/")):
            raise FormatError("it leads out of the table")
        if data_file_time(data_file) != requested_time:
            raise FormatError(f"it is not a file of {requested_time}")
    except FormatError as error:
        raise CorruptFileError(
            f"The marker {marker!r} below {marker_folder(requested_time)} names no data file of it: {error}",
            rule="RB-010",
            way_out="Remove the marker by hand if it does not belong there; nothing was deleted.",
        ) from error
    return f"{folder}/{data_file}" if folder else data_file


def data_file_time(name: str) -> str:
    """Requested time in a base or log file's name. Raises `FormatError`."""
    if name.startswith("."):
        return LogFileName.parse(name).requested_time
    return BaseFileName.parse(name).requested_time


def remove_unclaimed(storage: Storage, requested_time: str, claimed: Iterable[str]) -> tuple[str, ...]:
    """Delete marked files that no write stat names: what lost attempts of tasks left. Returns their paths."""
    unclaimed = sorted(set(marked_files(storage, requested_time) or ()) - set(claimed))
    storage.delete(unclaimed)
    return tuple(unclaimed)


def remove_markers(storage: Storage, requested_time: str) -> None:
    """Delete an operation's markers; it is over."""
    storage.delete([s.path for s in storage.list(marker_folder(requested_time), recursive=True)])
