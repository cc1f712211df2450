"""Checks of the metadata table: what it says of the table against what lies on storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.doctor.contents import snapshot_rows
from drawstring.doctor.examination import DataFile, Examination
from drawstring.doctor.findings import Problem, Severity, check
from drawstring.errors import DrawstringError
from drawstring.metadata import MetadataTable
from drawstring.metadata.records import COLUMN_STATS, FILES, RECORD_INDEX
from drawstring.read.listing import list_partitions
from drawstring.read.statistics import bounds_of_slices
from drawstring_spec.layout import METADATA_TABLE_FOLDER
from drawstring_spec.meta_fields import FILE_NAME, PARTITION_PATH, RECORD_KEY

_SHOWN: Final = 3


def _opened(table: Examination, partition: str) -> MetadataTable | None:
    metadata = table.metadata_table
    return metadata if metadata is not None and partition in metadata else None


@check("metadata-readable", "MT-001", "MT-002", says="the metadata table can be read")
def metadata_readable(table: Examination) -> Iterator[Problem]:
    """Every partition that the properties name can be decoded."""
    metadata = table.metadata_table
    if metadata is None:
        return
    for name in metadata.partitions:
        try:
            metadata.records(name)
        except DrawstringError as error:
            path = f"{METADATA_TABLE_FOLDER}/{name}"
            yield Problem(path, error.message, rules=(error.rule,) if error.rule else ())


@check(
    "metadata-forgotten",
    "MT-002",
    says="the properties name the metadata table there is",
    severity=Severity.WARNING,
)
def metadata_forgotten(table: Examination) -> Iterator[Problem]:
    """A metadata table that is not named is not kept up to date, and nobody reads it."""
    building = table.config.properties.get("hoodie.table.metadata.partitions.inflight")
    if table.config.metadata_partitions or building:
        return
    if any(path.startswith(f"{METADATA_TABLE_FOLDER}/") for path in table.files):
        yield Problem(METADATA_TABLE_FOLDER, "The properties name no partition of it; nobody reads it.")


@check("metadata-partition-list", "MT-004", "WR-042", says="the metadata table knows the partitions that there are")
def metadata_partition_list(table: Examination) -> Iterator[Problem]:
    """Partitions with files of completed writes are in the list of all partitions."""
    metadata = _opened(table, FILES)
    if metadata is None:
        return
    told, found = set(metadata.all_partitions()), set(list_partitions(table.storage))
    used = {file.group.partition_path for file in _completed_files(table)}
    for partition in sorted((found & used) - told):
        yield Problem(partition, "The metadata table does not list the partition: its rows are not read.")
    for partition in sorted(told - found):
        if metadata.files([partition]).num_rows:
            yield Problem(partition, "The metadata table lists the partition, and it is not on storage.")


@check("metadata-files", "WR-042", "MT-004", says="the metadata table lists the files that there are, with their sizes")
def metadata_files(table: Examination) -> Iterator[Problem]:
    """The partition ``files`` has every file of a completed write, and no other one."""
    metadata = _opened(table, FILES)
    if metadata is None:
        return
    listed = metadata.files(metadata.all_partitions())
    columns = (listed.column(name).to_pylist() for name in ("partition_path", "name", "size"))
    told = {f"{folder}/{name}" if folder else name: size for folder, name, size in zip(*columns, strict=True)}
    for path, size in told.items():
        status = table.files.get(path)
        if status is None:
            yield Problem(path, "The metadata table lists it, and it is not on storage.", rules=("MT-004",))
        elif status.size != size:
            yield Problem(path, f"The metadata table says {size} bytes; it has {status.size}.", rules=("MT-004",))
    for file in _completed_files(table):
        if file.status.path not in told:
            yield Problem(file.status.path, "The metadata table does not list it: it is not read.", rules=("WR-042",))


def _completed_files(table: Examination) -> Iterator[DataFile]:
    times = table.completed_times
    return (file for file in table.data_files.values() if file.requested_time in times)


@check("column-stats", "MT-005", says="statistics of columns hold for the rows of their files", deep=True)
def column_stats(table: Examination) -> Iterator[Problem]:
    """No value of a base file lies outside of its bounds, and the nulls are counted: queries skip files by them."""
    metadata = _opened(table, COLUMN_STATS)
    if metadata is None:
        return
    records = metadata.records(COLUMN_STATS)
    by_name = {file.name.format(): file for file in table.base_files()}
    for name in pc.unique(records.column("columnName")).to_pylist():
        stats = metadata.column_stats([name])
        for position, base_name in enumerate(stats.column("fileName").to_pylist()):
            file = by_name.get(base_name)
            reader = None if file is None else table.footer(file)
            if file is None or reader is None or name not in reader.schema().names:
                continue
            values = reader.read([name]).column(0)
            for message in _contradictions(stats, position, values):
                yield Problem(file.status.path, f"The statistics of {name!r} {message}.")


def _contradictions(stats: pa.Table, position: int, values: pa.ChunkedArray) -> Iterator[str]:
    """Say what of the statistics does not hold for a column of a file."""
    told = stats.column("nullCount")[position].as_py()
    if told is not None and told != values.null_count:
        yield f"say {told} nulls; there are {values.null_count}"
    kind = values.type
    one = np.zeros(1, np.int64)
    bounds = bounds_of_slices(stats, one + position, one, 1, kind)
    if values.null_count == len(values) or not (bounds.least[0].is_valid or bounds.greatest[0].is_valid):
        return
    extremes = pc.min_max(values)
    least, greatest = bounds.least[0], bounds.greatest[0]
    if least.is_valid and _is_less(extremes["min"], least):
        yield f"begin at {least.as_py()!r}; there is {extremes['min'].as_py()!r}"
    if greatest.is_valid and _is_less(greatest, extremes["max"]):
        yield f"end at {greatest.as_py()!r}; there is {extremes['max'].as_py()!r}"


def _is_less(left: Any, right: Any) -> bool:
    return bool(pc.less(left, right).as_py())


@check(
    "record-index", "MT-006", "WR-042", says="the record index has the keys of the table, and where they are", deep=True
)
def record_index(table: Examination) -> Iterator[Problem]:
    """Looked up as writers do it: a key that is not found would be inserted a second time."""
    metadata = _opened(table, RECORD_INDEX)
    rows = snapshot_rows(table)
    if metadata is None or rows is None:
        return
    groups = pc.replace_substring_regex(rows.column(FILE_NAME), "_.*", "")
    names = ("record_key", "partition_path", "file_id")
    held = pa.table([rows.column(RECORD_KEY), rows.column(PARTITION_PATH), groups], names=list(names))
    found = metadata.record_index(held.column("record_key").combine_chunks()).select(names)
    path = f"{METADATA_TABLE_FOLDER}/{RECORD_INDEX}"
    missing = _without(held, found, ["record_key"])
    if missing.num_rows:
        yield Problem(path, f"{missing.num_rows} of {held.num_rows} keys are missing, such as {_keys(missing)}.")
    elsewhere = _without(_without(held, missing, ["record_key"]), found, list(names))
    if elsewhere.num_rows:
        yield Problem(path, f"{elsewhere.num_rows} keys are not where the index says, such as {_keys(elsewhere)}.")
    every = metadata.records(RECORD_INDEX)
    surplus = _without(every.select(["key"]).rename_columns(["record_key"]), held, ["record_key"])
    if surplus.num_rows:
        yield Problem(path, f"{surplus.num_rows} keys are not in the table, such as {_keys(surplus)}.")


def _without(rows: pa.Table, others: pa.Table, columns: Sequence[str]) -> pa.Table:
    """Return the rows whose values in some columns no other row has."""
    left, right = (
        pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
        for table in (rows, others.select(list(columns)))
    )
    return left.join(right, keys=list(columns), join_type="left anti")


def _keys(rows: pa.Table) -> list[str]:
    return sorted(rows.column("record_key").slice(0, _SHOWN).to_pylist())
