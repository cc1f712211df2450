"""Checks that read rows: meta columns, keys, and what footers promise of keys. Only with ``deep``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.base_file_reader import BaseFileReader
from drawstring.doctor.examination import DataFile, Examination, blocked
from drawstring.doctor.findings import Problem, check
from drawstring.errors import CorruptFileError
from drawstring.read.arrow_reader import read_snapshot
from drawstring_spec.meta_fields import COMMIT_TIME, FILE_NAME, META_FIELDS, PARTITION_PATH, RECORD_KEY

_LATE_CHARACTERS: Final = "[\\x{E000}-\\x{10FFFF}]"
"""From here on Java's order of texts, by UTF-16 units, is not that of bytes."""
_SHOWN: Final = 3


def snapshot_rows(table: Examination) -> pa.Table | None:
    """Return the meta columns of the newest snapshot; None where rows have none. Raises `BlockedError`."""
    if not table.config.populate_meta_fields:
        return None
    with blocked("the newest snapshot"):
        if not table.snapshot.slices:
            return pa.table({name: pa.array([], pa.string()) for name in META_FIELDS})
        return read_snapshot(table.context, table.snapshot, columns=list(META_FIELDS))


def _readers(table: Examination) -> Iterator[tuple[DataFile, BaseFileReader]]:
    """The base files of the newest snapshot whose rows have meta columns."""
    if not table.config.populate_meta_fields:
        return
    for base in table.snapshot.base_files():
        file = table.data_files[base.path]
        reader = table.footer(file)
        if reader is not None:
            yield file, reader


def _columns(reader: BaseFileReader, *names: str) -> pa.Table:
    """Return some columns of a file; none of its rows where they cannot be read, which `rows_readable` tells."""
    try:
        return reader.read(names)
    except CorruptFileError:
        return pa.table({name: pa.array([], pa.string()) for name in names})


@check("rows-readable", "DF-011", says="the rows of every base file can be read", deep=True)
def rows_readable(table: Examination) -> Iterator[Problem]:
    """All columns can be decoded, and are as long as the footer says."""
    for file in table.base_files():
        reader = table.footer(file)
        if reader is None:
            continue
        try:
            rows = reader.read().num_rows
        except CorruptFileError as error:
            yield Problem(file.status.path, error.message)
            continue
        if rows != reader.num_rows:
            yield Problem(file.status.path, f"It has {rows} rows; its footer says {reader.num_rows}.")


@check("meta-columns", "DF-002", "DF-005", "DF-006", says="meta columns say where their rows are", deep=True)
def meta_columns(table: Examination) -> Iterator[Problem]:
    """File name and partition are the file's own, and the commit time is that of a completed write."""
    times = pa.array(sorted(table.completed_times), pa.string())
    start = table.timeline.start or ""
    for file, reader in _readers(table):
        path = file.status.path
        rows = _columns(reader, COMMIT_TIME, PARTITION_PATH, FILE_NAME)
        wanted = {FILE_NAME: (file.name.format(), "DF-006"), PARTITION_PATH: (file.group.partition_path, "DF-005")}
        for name, (value, rule) in wanted.items():
            for other in pc.unique(rows.column(name)).to_pylist():
                if other != value:
                    yield Problem(path, f"{name} is {other!r} in some rows.", rules=(rule,))
        written = pc.unique(rows.column(COMMIT_TIME))
        known = pc.or_(pc.is_in(written, value_set=times), pc.less(written, start))
        for other in written.filter(pc.invert(pc.fill_null(known, False))).to_pylist():
            message = f"{COMMIT_TIME} is {other!r} in some rows, which is no completed write."
            yield Problem(path, message, rules=("DF-002",))


@check("unique-keys", "SL-005", says="each record key is in its partition once", deep=True)
def unique_keys(table: Examination) -> Iterator[Problem]:
    """A key that stands in two file groups, or twice in one, is returned twice."""
    rows = snapshot_rows(table)
    if rows is None:
        return
    counts = rows.group_by([PARTITION_PATH, RECORD_KEY]).aggregate([([], "count_all")])
    repeated = counts.filter(pc.greater(counts.column("count_all"), 1))
    by_partition = repeated.group_by(PARTITION_PATH).aggregate([(RECORD_KEY, "count"), (RECORD_KEY, "min")])
    for row in by_partition.sort_by(PARTITION_PATH).to_pylist():
        number, example = row[f"{RECORD_KEY}_count"], row[f"{RECORD_KEY}_min"]
        yield Problem(row[PARTITION_PATH], f"{number} keys are there more than once, such as {example!r}.")


@check("key-ranges", "DF-007", says="footers give the range of the keys", deep=True)
def key_ranges(table: Examination) -> Iterator[Problem]:
    """Writers look for a key only in files whose range it is in."""
    for file, reader in _readers(table):
        promised = reader.key_range()
        keys = _columns(reader, RECORD_KEY).column(0)
        if promised is None or len(keys) == keys.null_count:
            continue
        if pc.any(pc.match_substring_regex(keys, _LATE_CHARACTERS)).as_py():
            continue
        extremes = pc.min_max(keys)
        found = extremes["min"].as_py(), extremes["max"].as_py()
        if found[0] < promised[0] or found[1] > promised[1]:
            yield Problem(file.status.path, f"Its keys are {found[0]!r} to {found[1]!r}; the footer says {promised}.")


@check("bloom-filters", "DF-007", says="bloom filters know every key of their files", deep=True)
def bloom_filters(table: Examination) -> Iterator[Problem]:
    """A filter that denies a key makes a writer insert it a second time."""
    for file, reader in _readers(table):
        try:
            bloom = reader.bloom_filter()
        except CorruptFileError as error:
            yield Problem(file.status.path, error.message)
            continue
        if bloom is None:
            continue
        keys = _columns(reader, RECORD_KEY).column(0).combine_chunks()
        denied = keys.filter(pa.array(~bloom.might_contain(keys)))
        if len(denied):
            shown = denied.slice(0, _SHOWN).to_pylist()
            yield Problem(file.status.path, f"Its filter denies {len(denied)} keys, such as {shown}.")
