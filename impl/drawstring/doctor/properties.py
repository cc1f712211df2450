"""Checks of ``hoodie.properties``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from drawstring.doctor.examination import Examination
from drawstring.doctor.findings import Problem, Severity, check
from drawstring.errors import FormatError
from drawstring.table_properties import CHECKSUM, checksum
from drawstring_spec.layout import METADATA_TABLE_FOLDER, PROPERTIES_BACKUP_FILE, PROPERTIES_FILE
from drawstring_spec.merge_modes import PAYLOAD_CLASSES, STRATEGY_IDS, MergeMode
from drawstring_spec.properties import parse_properties
from drawstring_spec.table_properties import TABLE_PROPERTIES, TABLE_VERSION, TIMELINE_LAYOUT_VERSION, PropertyKind

_MAX_BYTES: Final = 16 * 1024 * 1024
_METADATA_MODE: Final = "org.apache.hudi.metadata.HoodieMetadataPayload"
"""Payload class of metadata tables, which merge in a way of their own."""


def _values(table: Examination) -> dict[str, str]:
    """Properties as they stand in the file, whether or not a table can be opened with them; none if unreadable."""
    status = table.files.get(PROPERTIES_FILE)
    if status is None or status.size > _MAX_BYTES:
        return {}
    try:
        return parse_properties(bytes(table.storage.read(PROPERTIES_FILE)))
    except FormatError:
        return {}


@check("properties-readable", "PR-001", "SL-003", says="hoodie.properties can be read", nested=True)
def properties_readable(table: Examination) -> Iterator[Problem]:
    """The file is there and is Java Properties text."""
    status = table.files.get(PROPERTIES_FILE)
    if status is None:
        yield Problem(PROPERTIES_FILE, "The file is missing; only its backup is there.", rules=("SL-003", "PR-010"))
    elif status.size > _MAX_BYTES:
        yield Problem(PROPERTIES_FILE, f"It has {status.size} bytes.", rules=("PR-001",))
    else:
        try:
            parse_properties(bytes(table.storage.read(PROPERTIES_FILE)))
        except FormatError as error:
            yield Problem(PROPERTIES_FILE, error.message, rules=("PR-001",))


@check("properties-checksum", "PR-002", says="the checksum is that of the table's names", nested=True)
def properties_checksum(table: Examination) -> Iterator[Problem]:
    """The checksum is that of database and table name."""
    values = _values(table)
    if values and values.get(CHECKSUM) != checksum(values):
        yield Problem(PROPERTIES_FILE, f"{CHECKSUM} is {values.get(CHECKSUM)!r} instead of {checksum(values)!r}.")


@check("properties-complete", "PR-003", says="every property that a table must have is there", nested=True)
def properties_complete(table: Examination) -> Iterator[Problem]:
    """Required properties are there."""
    values = _values(table)
    for entry in TABLE_PROPERTIES.values() if values else ():
        if entry.required and not values.get(entry.key):
            yield Problem(PROPERTIES_FILE, f"{entry.key} is missing. {entry.doc}")


@check("properties-version", "PR-004", "PR-005", says="table version is 8, timeline layout 2", nested=True)
def properties_version(table: Examination) -> Iterator[Problem]:
    """Version and layout are those that the specification describes."""
    values = _values(table)
    wanted = {
        "hoodie.table.version": (TABLE_VERSION, "PR-004"),
        "hoodie.timeline.layout.version": (TIMELINE_LAYOUT_VERSION, "PR-005"),
    }
    for key, (number, rule) in wanted.items():
        if key in values and values[key] != str(number):
            yield Problem(PROPERTIES_FILE, f"{key} is {values[key]!r} instead of {number}.", rules=(rule,))


@check("properties-values", "PR-006", "PR-003", says="properties have values that the format knows", nested=True)
def properties_values(table: Examination) -> Iterator[Problem]:
    """A property with a choice has one of it; a flag is a flag."""
    for key, value in _values(table).items():
        entry = TABLE_PROPERTIES.get(key)
        if entry is None or not value:
            continue
        flags = ("true", "false")
        choices = flags if entry.kind is PropertyKind.BOOLEAN else entry.choices
        if choices and value.upper() not in {choice.upper() for choice in choices}:
            rule = "PR-006" if key == "hoodie.table.type" else "PR-003"
            yield Problem(PROPERTIES_FILE, f"{key} is {value[:80]!r}, which is none of {list(choices)}.", rules=(rule,))


@check("properties-merge", "PR-008", says="merge mode, strategy id and payload class agree", nested=True)
def properties_merge(table: Examination) -> Iterator[Problem]:
    """The three properties that say how rows are merged say the same."""
    values = _values(table)
    mode = values.get("hoodie.record.merge.mode")
    if mode not in list(MergeMode) or values.get("hoodie.compaction.payload.class") == _METADATA_MODE:
        return
    wanted = {"hoodie.compaction.payload.class": PAYLOAD_CLASSES.get(MergeMode(mode))}
    if MergeMode(mode) is not MergeMode.CUSTOM:
        wanted["hoodie.record.merge.strategy.id"] = STRATEGY_IDS[MergeMode(mode)]
    for key, value in wanted.items():
        if value is not None and values.get(key, value) != value:
            yield Problem(PROPERTIES_FILE, f"{key} is {values[key][:80]!r}, but {mode} goes with {value!r}.")


@check(
    "properties-backup",
    "PR-010",
    says="no change of the properties stopped half-way",
    severity=Severity.WARNING,
    nested=True,
)
def properties_backup(table: Examination) -> Iterator[Problem]:
    """There is no backup beside the file."""
    if PROPERTIES_BACKUP_FILE in table.files:
        yield Problem(PROPERTIES_BACKUP_FILE, "A change of the properties was not finished; the next one finishes it.")


@check("properties-index", "PR-012", "SL-001", says="the file of index definitions is where the properties say")
def properties_index(table: Examination) -> Iterator[Problem]:
    """The index definitions lie below the base path."""
    path = _values(table).get("hoodie.table.index.defs.path")
    if not path:
        return
    if path.startswith("/") or ":" in path or ".." in path.split("/"):
        yield Problem(PROPERTIES_FILE, f"The index definitions at {path[:200]!r} are outside of the table.")
    elif path not in table.files:
        yield Problem(path, "There is no file of index definitions.", rules=("PR-012",))


@check("metadata-partitions", "MT-002", says="each partition of the metadata table that the properties name is there")
def metadata_partitions(table: Examination) -> Iterator[Problem]:
    """What the properties say of the metadata table is there."""
    for name in table.config.metadata_partitions:
        folder = f"{METADATA_TABLE_FOLDER}/{name}"
        if not any(path.startswith(f"{folder}/") for path in table.files):
            yield Problem(folder, "The properties name it as complete, and it holds nothing.")
