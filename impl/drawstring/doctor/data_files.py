"""Checks of data files: what commits say of them, what lies on storage, and what the footers say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from drawstring.doctor.examination import DataFile, Examination, file_name
from drawstring.doctor.findings import Problem, Severity, check
from drawstring.errors import CorruptFileError, FormatError
from drawstring_spec.footers import AVRO_SCHEMA
from drawstring_spec.layout import HOODIE_FOLDER, PARTITION_METADATA_FILE, PARTITION_METADATA_NAMES
from drawstring_spec.meta_fields import META_FIELDS
from drawstring_spec.names import BaseFileName
from drawstring_spec.partition_metadata import PartitionMetadata

_SPARK_SCHEMA: Final = "org.apache.spark.sql.parquet.row.metadata"
"""Footer entry with Spark's schema as JSON."""


def _named(table: Examination) -> Iterator[tuple[str, str, int | None, Mapping[str, Any]]]:
    """Path, commit, size and statistic of each file that a completed commit names; those of change data, too."""
    for file, stats in table.commits:
        for stat in stats:
            path = stat.get("path")
            if isinstance(path, str):
                yield path, file.instant.requested_time, stat.get("fileSizeInBytes"), stat
            change_files = stat.get("cdcStats")
            for change_path, size in change_files.items() if isinstance(change_files, dict) else ():
                yield change_path, file.instant.requested_time, size, {}


@check("committed-files", "RD-002", "WR-030", says="every file that a commit names is there, or was cleaned")
def committed_files(table: Examination) -> Iterator[Problem]:
    """A file that is gone was deleted by a clean, a rollback or a restore."""
    for path, time, _, _ in _named(table):
        if path not in table.files and file_name(path) not in table.removed:
            yield Problem(path, f"Commit {time} wrote it, it is gone, and nothing on the timeline says why.")


@check("file-sizes", "WR-030", says="files are as large as their commits say")
def file_sizes(table: Examination) -> Iterator[Problem]:
    """Statistics give the size of each file."""
    for path, time, size, _ in _named(table):
        status = table.files.get(path)
        if status is not None and size is not None and size != status.size:
            yield Problem(path, f"It has {status.size} bytes; commit {time} says {size}.")


@check("row-counts", "WR-030", says="base files have as many rows as their commits say")
def row_counts(table: Examination) -> Iterator[Problem]:
    """The number of rows in the footer is that of the statistic."""
    for path, time, _, stat in _named(table):
        file = table.data_files.get(path)
        if file is None or not isinstance(file.name, BaseFileName) or file.name.extension != "parquet":
            continue
        reader, rows = table.footer(file), stat.get("numWrites")
        if reader is not None and rows is not None and rows != reader.num_rows:
            yield Problem(path, f"It has {reader.num_rows} rows; commit {time} says {rows}.")


@check("orphans", "RB-001", "WR-010", "RB-006", says="every data file belongs to an instant", severity=Severity.WARNING)
def orphans(table: Examination) -> Iterator[Problem]:
    """A data file is named by the completed commit of its time, or its commit is archived or pending."""
    named = {path for path, _, _, _ in _named(table)}
    active = {file.instant.requested_time for file, _ in table.commits if file.status.path not in table.unreadable}
    for path, file in table.data_files.items():
        time = file.requested_time
        if path in named or time in table.pending_times:
            continue
        if time in active:
            message = f"Commit {time} is completed and does not name it: it is of an attempt that did not win."
            yield Problem(path, message, rules=("WR-010",), severity=Severity.ERROR)
        elif time in table.completed_times:
            continue
        elif table.timeline.is_completed(time):
            message = f"No instant {time} is known, active or archived; being so old, it counts as completed."
            yield Problem(path, message, rules=("TL-015", "RB-001"), severity=Severity.ERROR)
        else:
            yield Problem(path, f"There is no instant {time}: a failed write left it, and no reader sees it.")


@check("footers", "DF-011", says="every base file has a footer that can be read")
def footers(table: Examination) -> Iterator[Problem]:
    """The file ends as a Parquet file does."""
    for file in table.base_files():
        if table.footer(file) is None:
            yield Problem(file.status.path, table.unreadable[file.status.path].message)


@check("meta-fields", "DF-001", says="every base file begins with the five meta fields")
def meta_fields(table: Examination) -> Iterator[Problem]:
    """Unless the table does without."""
    if not table.config.populate_meta_fields:
        return
    for file in table.base_files():
        names = _column_names(table, file)
        if names is not None and tuple(names[: len(META_FIELDS)]) != META_FIELDS:
            yield Problem(file.status.path, f"It begins with the columns {names[:5]}.")


@check("footer-schemas", "DF-008", says="base files carry the schema of their rows", severity=Severity.WARNING)
def footer_schemas(table: Examination) -> Iterator[Problem]:
    """The footer has the Avro schema; Java's row writer leaves Spark's there instead, and its readers do with it."""
    for file in table.base_files():
        reader = table.footer(file)
        if reader is not None and not {AVRO_SCHEMA, _SPARK_SCHEMA} & set(reader.footer):
            yield Problem(file.status.path, f"Its footer has no {AVRO_SCHEMA}.")


def _column_names(table: Examination, file: DataFile) -> list[str] | None:
    reader = table.footer(file)
    try:
        return None if reader is None else list(reader.schema().names)
    except CorruptFileError:
        return None


@check("partition-metafiles", "SL-011", says="every folder with data has a partition metafile that fits")
def partition_metafiles(table: Examination) -> Iterator[Problem]:
    """Listings without a metadata table find partitions by it."""
    metafiles = {path for path in table.files if file_name(path) in PARTITION_METADATA_NAMES}
    folders = {path.rpartition("/")[0] for path in metafiles}
    for folder in sorted({file.group.partition_path for file in table.data_files.values()}):
        if folder not in folders:
            yield Problem(folder, "It holds data files and no partition metafile: listings do not find it.")
    for path in sorted(metafiles):
        if path.startswith(f"{HOODIE_FOLDER}/") or file_name(path) != PARTITION_METADATA_FILE:
            continue
        folder = path.rpartition("/")[0]
        depth = len(folder.split("/")) if folder else 0
        try:
            content = PartitionMetadata.parse(bytes(table.storage.read(path)))
        except FormatError as error:
            yield Problem(path, error.message)
            continue
        if content.partition_depth != depth:
            yield Problem(path, f"It gives the depth {content.partition_depth}; the folder's is {depth}.")


@check("nested-partitions", "SL-011", says="no partition lies inside of another one")
def nested_partitions(table: Examination) -> Iterator[Problem]:
    """Listings do not look for partitions inside of a partition."""
    folders = {
        path.rpartition("/")[0]
        for path in table.files
        if file_name(path) in PARTITION_METADATA_NAMES and not path.startswith(f"{HOODIE_FOLDER}/")
    }
    for folder in sorted(folders):
        parts = folder.split("/")
        outer = ["/".join(parts[:n]) for n in range(len(parts))] if folder else []
        for ancestor in outer:
            if ancestor in folders:
                yield Problem(folder, f"It lies inside of the partition {ancestor!r}; no reader lists it.")
                break


@check("strangers", "SL-017", "SL-007", "SL-009", says="partitions hold data files only", severity=Severity.WARNING)
def strangers(table: Examination) -> Iterator[Problem]:
    """Readers pass other files over; a data file with a misspelt name is among them."""
    for path in table.files:
        name = file_name(path)
        if path.startswith(f"{HOODIE_FOLDER}/") or path in table.data_files or name in PARTITION_METADATA_NAMES:
            continue
        if not name.endswith(".crc"):
            yield Problem(path, "It is named like no data file; readers pass it over.")
