"""Loads the active timeline from storage. Source: Java ``ActiveTimelineV2``, ``CommitMetadataSerDeV2``."""

from __future__ import annotations

from typing import Any

from drawstring.codec import avro_container
from drawstring.errors import FormatError
from drawstring.ports import FileStatus, Storage
from drawstring.table_config import TableConfig
from drawstring.timeline.timeline import Timeline
from drawstring_spec.instants import Instant, State
from drawstring_spec.names import TimelineFileName
from drawstring_spec.times import format_instant_time


def timeline_folder(config: TableConfig) -> str:
    """Path of the active timeline below the table's base path."""
    return f".hoodie/{config.timeline_path}"


def load_timeline(storage: Storage, config: TableConfig) -> Timeline:
    """Return the active timeline as it is now, by one listing.

    Files whose names are no timeline file's are ignored, as Java ignores them.
    """
    highest: dict[tuple[str, str], Instant] = {}
    for status in storage.list(timeline_folder(config)):
        instant = _instant(status)
        if instant is None:
            continue
        key = (instant.requested_time, instant.action.comparable.value)
        if key not in highest or highest[key].state < instant.state:
            highest[key] = instant
    return Timeline(tuple(highest[key] for key in sorted(highest)))


def _instant(status: FileStatus) -> Instant | None:
    try:
        instant = TimelineFileName.parse(status.path.rpartition("/")[2]).instant
    except FormatError:
        return None
    if instant.state is State.COMPLETED and instant.completion_time is None:
        # Written before version 8: the file's own time is the completion time.
        return Instant(instant.requested_time, instant.action, instant.state, format_instant_time(status.mtime_ms))
    return instant


def instant_path(config: TableConfig, instant: Instant) -> str:
    """Path of an instant's file in its state."""
    name = TimelineFileName(instant.requested_time, instant.action, instant.state, instant.completion_time).format()
    return f"{timeline_folder(config)}/{name}"


def read_payload(storage: Storage, config: TableConfig, instant: Instant) -> dict[str, Any] | None:
    """Return what an instant's file holds; None where the file is empty.

    Raises:
        NotFoundError: the instant has left this state, or the active timeline.
        CorruptFileError: the file is no Avro container with one record.

    """
    path = instant_path(config, instant)
    content = storage.read(path)
    return avro_container.decode(content, path=path) if len(content) else None
