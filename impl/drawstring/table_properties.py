"""Reading and changing ``hoodie.properties``, with its backup. Source: Java ``HoodieTableConfig``.

Whose duty: the only code that touches the properties file and its backup. A reader that meets a change
half-way finds either the file or its backup; a writer that crashed half-way is recovered from by the next
change. Changes are made under the table lock, which the caller holds.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import Final

from drawstring.errors import CorruptFileError, FormatError, NotFoundError, TableNotFoundError
from drawstring.ports import Storage
from drawstring_spec.layout import HOODIE_FOLDER, PROPERTIES_BACKUP_FILE, PROPERTIES_FILE
from drawstring_spec.properties import format_properties, parse_properties, table_checksum

CHECKSUM: Final = "hoodie.table.checksum"
_SUPPORTED: Final = "8"
_READ_ATTEMPTS: Final = 3
"""A reader that looks for the file while it is replaced, and for the backup when it is gone, looks again."""
_MAX_BYTES: Final = 16 * 1024 * 1024
"""No table has properties of that size; a file that claims to is not read."""


def read_properties(storage: Storage) -> dict[str, str]:
    """Return the table's properties, from the backup where the file is missing or broken.

    Raises:
        TableNotFoundError: neither file exists.
        CorruptFileError: files exist, but none can be parsed and has the right checksum.

    """
    broken: FormatError | None = None
    for _ in range(_READ_ATTEMPTS):
        broken = None
        for path in (PROPERTIES_FILE, PROPERTIES_BACKUP_FILE):
            try:
                return _read_valid(storage, path)
            except NotFoundError:
                continue
            except FormatError as error:
                broken = broken or error
    if broken is not None:
        raise broken
    raise TableNotFoundError(
        f"There is no Hudi table at {storage.uri}: it has no {PROPERTIES_FILE}.",
        rule="SL-003",
        way_out="Check the location, or make the table with Table.create.",
    )


def table_exists(storage: Storage) -> bool:
    """Whether the location has table properties, valid or not."""
    names = {status.path for status in storage.list(HOODIE_FOLDER)}
    return PROPERTIES_FILE in names or PROPERTIES_BACKUP_FILE in names


def _read_valid(storage: Storage, path: str) -> dict[str, str]:
    if storage.head(path).size > _MAX_BYTES:
        raise CorruptFileError(
            f"{path!r} is larger than {_MAX_BYTES} bytes.", rule="PR-001", way_out=_restore_hint(path)
        )
    content = bytes(storage.read(path))
    try:
        values = parse_properties(content)
    except FormatError as error:
        raise CorruptFileError(
            f"{path!r} is no properties file: {error.message}", rule=error.rule, way_out=_restore_hint(path)
        ) from error
    expected = checksum(values)
    if CHECKSUM not in values and values.get("hoodie.table.version", _SUPPORTED) == _SUPPORTED:
        # Only tables of old versions have none: this file was cut off.
        raise CorruptFileError(f"{path!r} has no {CHECKSUM!r}.", rule="PR-002", way_out=_restore_hint(path))
    if values.get(CHECKSUM, expected) != expected:
        raise CorruptFileError(
            f"{path!r} has the checksum {values[CHECKSUM]!r}, but its database and table name give {expected}.",
            rule="PR-002",
            way_out=_restore_hint(path),
        )
    return values


def _restore_hint(path: str) -> str:
    return f"Restore {path!r} from a copy, for example from {PROPERTIES_BACKUP_FILE!r}; nothing was changed."


def checksum(values: Mapping[str, str]) -> str:
    """Return the checksum that properties with this database and table name have."""
    return str(table_checksum(values.get("hoodie.database.name", ""), values.get("hoodie.table.name", "")))


def recover_properties(storage: Storage) -> None:
    """Finish or undo a change that was left half-way: afterwards the file is valid and there is no backup.

    Raises as `read_properties`; the caller holds the table lock.
    """
    names = {status.path for status in storage.list(HOODIE_FOLDER)}
    if PROPERTIES_BACKUP_FILE not in names:
        return
    try:
        _read_valid(storage, PROPERTIES_FILE)
    except (NotFoundError, FormatError):
        backup = _read_valid(storage, PROPERTIES_BACKUP_FILE)
        storage.put(PROPERTIES_FILE, format_properties(backup))
    storage.delete([PROPERTIES_BACKUP_FILE])


def modify_properties(
    storage: Storage, *, now_ms: int, updates: Mapping[str, str] | None = None, remove: Iterable[str] = ()
) -> dict[str, str]:
    """Change properties; the caller holds the table lock.

    As Java does it: recover, write a backup, write the file, read it again, remove the backup. Java deletes
    the file before it writes it anew; here the file is replaced in one step, so a reader always finds it.

    Args:
        storage: of the table.
        now_ms: wall clock, epoch milliseconds, for the comment in the file.
        updates: new values by key.
        remove: keys to drop.

    Returns:
        The new properties.

    Raises:
        CorruptFileError: there was nothing valid to change, or what was written does not read back.
        TableNotFoundError: there is no table.

    """
    recover_properties(storage)
    before = read_properties(storage)
    after = {**before, **(updates or {})}
    for key in remove:
        after.pop(key, None)
    after[CHECKSUM] = checksum(after)
    if after == before:
        return before
    storage.put(PROPERTIES_BACKUP_FILE, bytes(storage.read(PROPERTIES_FILE)))
    storage.put(PROPERTIES_FILE, format_properties(after, comments=comments("Updated at", now_ms)))
    if _read_valid(storage, PROPERTIES_FILE) != after:
        raise CorruptFileError(
            f"{PROPERTIES_FILE!r} does not read back as it was written.",
            rule="PR-010",
            way_out=_restore_hint(PROPERTIES_FILE),
        )
    storage.delete([PROPERTIES_BACKUP_FILE])
    return after


def comments(verb: str, now_ms: int) -> tuple[str, str]:
    """Return the two comment lines that head a properties file, as Java writes them."""
    now = dt.datetime.fromtimestamp(now_ms // 1000, tz=dt.UTC)
    instant = now.strftime("%Y-%m-%dT%H:%M:%S") + f".{now_ms % 1000:03d}Z"
    # English names whatever the locale: strftime's %a and %b would follow it.
    day = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[now.weekday()]
    month = "JanFebMarAprMayJunJulAugSepOctNovDec"[3 * now.month - 3 : 3 * now.month]
    return f"{verb} {instant}", f"{day} {month} {now.day:02d} {now:%H:%M:%S} UTC {now.year:04d}"
