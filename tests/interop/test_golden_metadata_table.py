"""Metadata tables that Java wrote: every record is the one that Java read from them, and the files are on storage."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.context import TableContext
from drawstring.errors import FormatError
from drawstring.metadata import MetadataTable
from drawstring.metadata.merging import FILE_COLUMNS, merge_payloads
from drawstring.metadata.records import FILES, Payload
from drawstring.options import Options
from drawstring.read.listing import list_partitions
from drawstring.runtime import production_ports
from drawstring.table_config import load_table_config
from drawstring.timeline.load import load_timeline
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case, load_cases
from drawstring_spec.names import parse_data_file_name

NUM_DUMPS, NUM_RECORDS = 61, 2172


def dump_of(case: Case) -> Path | None:
    return next(iter((case.folder / "expected").glob("metadata_table*.parquet")), None)


CASES = [case for case in load_cases() if dump_of(case)]


def context_of(folder: Path) -> TableContext:
    options = Options.parse({})
    ports = production_ports(str(folder), options)
    return TableContext(ports, load_table_config(ports.storage), options)


@pytest.fixture(scope="module")
def contexts(tmp_path_factory):
    made: dict[str, TableContext] = {}

    def context(case: Case) -> TableContext:
        if case.name not in made:
            made[case.name] = context_of(case.extract(tmp_path_factory.mktemp("metadata") / case.name))
        return made[case.name]

    return context


def open_with_all_folders(context: TableContext) -> MetadataTable:
    """As Java's dump: with the partitions that are on storage, in use or not."""
    metadata = MetadataTable.open(context)
    assert metadata is not None
    folders = [path.rpartition("/")[2] for path in context.ports.storage.list_folders(".hoodie/metadata")]
    metadata.partitions = tuple(sorted(f for f in folders if f != ".hoodie"))
    return metadata


def flat_files(dump: pa.Table) -> pa.Table:
    rows = dump.filter(pc.less_equal(dump["type"], 2))
    maps = zip(rows["key"].to_pylist(), rows["filesystemMetadata"].to_pylist(), strict=True)
    files = [(key, name, info["size"], info["isDeleted"]) for key, entries in maps for name, info in entries or ()]
    columns = list(zip(*files, strict=True)) or [(), (), (), ()]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, FILE_COLUMNS, strict=True)], schema=FILE_COLUMNS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_record_is_the_one_that_java_read(case, contexts):
    metadata = open_with_all_folders(contexts(case))
    dump = pq.read_table(dump_of(case))
    found = {name: metadata.records(name) for name in metadata.partitions}
    assert difference(found.pop(FILES), flat_files(dump)) == ""
    for payload in [p for p in Payload if p is not Payload.FILES]:
        empty = merge_payloads([], payload)
        of_kind = [table for table in found.values() if table.column_names == empty.column_names]
        stated = dump.filter(pc.is_valid(dump[payload.value]))
        members = stated[payload.value].combine_chunks().flatten() if stated.num_rows else empty.columns[1:]
        expected = pa.table([stated["key"], *members], names=empty.column_names)
        assert difference(pa.concat_tables([empty, *of_kind]), expected) == "", payload


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_listing_is_what_is_on_storage(case, contexts):
    context = contexts(case)
    timeline = load_timeline(context.ports.storage, context.config)
    metadata = MetadataTable.open(context, timeline)
    assert metadata is not None
    listed = {
        (f"{row['partition_path']}/{row['name']}".lstrip("/"), row["size"]) for row in metadata.all_files().to_pylist()
    }
    stored = set()
    for partition in list_partitions(context.ports.storage):
        for status in context.ports.storage.list(partition):
            try:
                name = parse_data_file_name(status.path.rpartition("/")[2])
            except FormatError:
                continue
            if timeline.is_completed(name.requested_time):
                stored.add((status.path, status.size))
    assert listed == stored


def test_no_dump_is_left_out():
    assert len(CASES) == NUM_DUMPS
    assert sum(pq.read_metadata(dump_of(case)).num_rows for case in CASES) == NUM_RECORDS


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if "record_index" in c.table_properties.get("hoodie.table.metadata.partitions", "")],
    ids=lambda case: case.name,
)
def test_the_record_index_knows_where_every_row_is(case, contexts):
    context = contexts(case)
    metadata = MetadataTable.open(context)
    rows = ds.Table.open(context.ports.storage.uri).read(
        columns=["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    )
    index = metadata.record_index(pa.concat_arrays([*rows["_hoodie_record_key"].chunks, pa.array(["no such key"])]))
    ids = pc.utf8_slice_codeunits(rows["_hoodie_file_name"], 0, 38)
    expected = zip(*(c.to_pylist() for c in (rows[0], rows[1], ids)), strict=True)
    found = zip(*(index[n].to_pylist() for n in ("record_key", "partition_path", "file_id")), strict=True)
    assert sorted(found) == sorted(expected)


def test_the_secondary_index_knows_the_rows_of_every_value(contexts):
    case = next(case for case in CASES if case.name == "index_secondary")
    context = contexts(case)
    metadata = MetadataTable.open(context)
    rows = ds.Table.open(context.ports.storage.uri).read(columns=["_hoodie_record_key", "city"])
    values = pc.unique(rows["city"].drop_null()).to_pylist()
    found = metadata.secondary_index("idx_city", [*values, "no such value"])
    pairs = zip(rows["city"].to_pylist(), rows[0].to_pylist(), strict=True)
    assert sorted(zip(*(c.to_pylist() for c in found.columns), strict=True)) == sorted(p for p in pairs if p[0])
