"""The benchmark's archived timeline is laid out as one that Java wrote, and is read as one."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from bench.archive import archive_before
from drawstring.table_config import load_table_config
from drawstring.timeline.archived import load_archived, read_archived_payloads
from drawstring_conformance.vectors import load_case

HISTORY = ".hoodie/timeline/history/"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "t"
    made = ds.Table.create(str(path), pa.schema([("id", pa.string())]), record_key="id")
    made.insert(pa.table({"id": ["a"]}))
    archive_before(str(path), 1_234)
    return path


def of_java(ending: str) -> bytes:
    case = load_case("archival_lsm")
    return case.read_file(max(p for p in case.file_names if p.startswith(HISTORY) and ending in p))


def columns(content: bytes) -> list[tuple[str, str, str, str]]:
    schema = pq.ParquetFile(io.BytesIO(content))
    leaves = [schema.schema.column(i) for i in range(len(schema.schema))]
    group = schema.metadata.row_group(0)
    return [
        (leaf.name, leaf.physical_type, str(leaf.logical_type), leaf.max_definition_level, group.column(i).compression)
        for i, leaf in enumerate(leaves)
    ]


def test_the_files_have_the_columns_of_java(table):
    for file in (table / HISTORY).glob("*.parquet"):
        assert columns(file.read_bytes()) == columns(of_java(".parquet"))


def test_the_manifest_has_the_entries_of_java(table):
    ours = json.loads((table / HISTORY / "manifest_1").read_text())
    java = json.loads(of_java("manifest_"))
    assert [list(ours), list(ours["files"][0])] == [list(java), list(java["files"][0])]
    sizes = {f.name: f.stat().st_size for f in (table / HISTORY).glob("*.parquet")}
    assert {one["fileName"]: one["fileLen"] for one in ours["files"]} == sizes


def test_all_of_it_is_read_and_lies_before_the_active_timeline(table):
    opened = ds.Table.open(str(table))
    storage = opened._context.ports.storage
    archived = load_archived(storage, load_table_config(storage))
    assert len(archived.instants) == 1_234
    assert max(i.requested_time for i in archived.instants) < opened.timeline().instants[0].requested_time
    (payload,) = read_archived_payloads(storage, archived, archived.instants[-1:]).values()
    assert payload["operationType"] == "UPSERT"
    assert opened.read().num_rows == 1


def test_ten_files_of_a_level_would_have_been_merged(table):
    levels = [one.name[-9] for one in (table / HISTORY).glob("*.parquet")]
    assert {level: levels.count(level) for level in set(levels)} == {"2": 1, "1": 2, "0": 4}
