"""Checks of the archived timeline."""

from __future__ import annotations

import json
from collections.abc import Iterator

from drawstring.doctor.examination import Examination, file_name
from drawstring.doctor.findings import BlockedError, Problem, Severity, check
from drawstring.errors import FormatError
from drawstring.timeline.archived import MAX_MANIFEST_BYTES, ArchivedInstant, history_folder
from drawstring_spec.layout import HISTORY_VERSION_FILE
from drawstring_spec.names import ArchivedTimelineFileName, ManifestFileName


def _names(table: Examination) -> list[str]:
    prefix = f"{history_folder(table.config)}/"
    return [path.removeprefix(prefix) for path in table.files if path.startswith(prefix)]


def _entries(table: Examination) -> tuple[ArchivedInstant, ...]:
    """All that files hold, in whichever of them it counts."""
    return (*table.archived.entries, *table.archived.superseded)


def _versions(names: list[str]) -> set[int]:
    found = set()
    for name in names:
        try:
            found.add(ManifestFileName.parse(name).version)
        except FormatError:
            continue
    return found


@check("archive-readable", "TL-041", says="the archived timeline can be read", nested=True)
def archive_readable(table: Examination) -> Iterator[Problem]:
    """The manifest and every file that it names can be read."""
    folder = history_folder(table.config)
    try:
        _ = table.archived
    except BlockedError as error:
        yield Problem(folder, error.message)


@check("archive-version", "TL-041", "TL-042", says="the archive says which manifest counts", severity=Severity.WARNING)
def archive_version(table: Examination) -> Iterator[Problem]:
    """The version file is there and names a manifest that is there."""
    names = _names(table)
    versions = _versions(names)
    path = f"{history_folder(table.config)}/{HISTORY_VERSION_FILE}"
    if HISTORY_VERSION_FILE not in names:
        if versions:
            yield Problem(
                path, f"It is missing; readers take manifest_{max(versions)}, the greatest.", rules=("TL-042",)
            )
        return
    text = bytes(table.storage.read(path, 0, 32)).decode("ascii", "replace").strip()
    if not text.isdigit() or (int(text) not in versions and versions):
        yield Problem(path, f"It says {text!r}, and there is no such manifest; readers take the greatest.")
    elif versions and int(text) != max(versions):
        message = f"It says {text}, and there is manifest_{max(versions)}: an archival was cut off."
        yield Problem(path, message, rules=("TL-041",))


@check("archive-files", "TL-041", says="a manifest names every file of the archive", severity=Severity.WARNING)
def archive_files(table: Examination) -> Iterator[Problem]:
    """A file that no manifest names, not even an older one that readers may be at, is left from a crash."""
    names = _names(table)
    known = {file_name(entry.file.path) for entry in _entries(table)}
    for version in _versions(names):
        known.update(_files_of(table, ManifestFileName(version).format()))
    for name in names:
        try:
            ArchivedTimelineFileName.parse(name)
        except FormatError:
            continue
        if name not in known:
            yield Problem(f"{history_folder(table.config)}/{name}", "No manifest names it; nobody reads it.")


def _files_of(table: Examination, manifest: str) -> Iterator[str]:
    """Names in a manifest; none where it cannot be read: an old one may be cut off without harm."""
    status = table.files[f"{history_folder(table.config)}/{manifest}"]
    if status.size > MAX_MANIFEST_BYTES:
        return
    try:
        entries = json.loads(bytes(table.storage.read(status.path)))["files"]
        yield from [str(entry["fileName"]) for entry in entries]
    except (ValueError, KeyError, TypeError, RecursionError):
        return


@check("archive-names", "TL-040", says="files of the archive are named after the times that they hold", nested=True)
def archive_names(table: Examination) -> Iterator[Problem]:
    """Least and greatest requested time are those of the file's name: readers skip files by them."""
    times: dict[str, list[str]] = {}
    for entry in _entries(table):
        times.setdefault(entry.file.path, []).append(entry.instant.requested_time)
    for path, requested in times.items():
        name = ArchivedTimelineFileName.parse(file_name(path))
        if (name.min_requested_time, name.max_requested_time) != (min(requested), max(requested)):
            yield Problem(path, f"It holds instants from {min(requested)} to {max(requested)}.")
