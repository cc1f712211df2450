"""Meta fields of base files: where a row says it is, there it is; of Java's files and of ours."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring_conformance.vectors import load_cases
from drawstring_spec.names import BaseFileName

CASES = [case for case in load_cases() if case.table_properties.get("hoodie.populate.meta.fields", "true") == "true"]
META = ["_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_file_name"]


def base_files(case) -> list[tuple[str, str, pa.Table]]:
    paths = [p for p in case.file_names if p.endswith(".parquet") and not p.startswith(".hoodie/")]
    split = [(path.rpartition("/"), case.read_file(path)) for path in paths]
    return [(folder, name, pq.read_table(io.BytesIO(raw), columns=META)) for (folder, _, name), raw in split]


def values(rows: pa.Table, name: str) -> set[str]:
    return set(pc.unique(rows[name].cast(pa.string())).to_pylist())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_row_of_a_base_file_names_its_folder_and_its_file(case):
    for folder, name, rows in base_files(case):
        assert values(rows, "_hoodie_partition_path") <= {folder}, name
        assert values(rows, "_hoodie_file_name") <= {name}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_row_is_newer_than_its_file(case):
    for _, name, rows in base_files(case):
        assert max(values(rows, "_hoodie_commit_time"), default="") <= BaseFileName.parse(name).requested_time


def test_most_golden_tables_have_rows_to_be_judged():
    assert sum(bool(base_files(case)) for case in CASES) > 50


def test_every_row_of_a_file_of_ours_names_its_folder_and_its_file(tmp_path):
    schema = pa.schema([("id", pa.int64()), ("day", pa.string())])
    table = ds.Table.create(str(tmp_path / "t"), schema, record_key="id", partition_by=["day"])
    table.upsert(pa.table({"id": [1, 2, 3], "day": ["a", "a", "b"]}, schema))
    table.upsert(pa.table({"id": [2, 4], "day": ["a", "a"]}, schema))
    files = sorted((tmp_path / "t").rglob("*.parquet"))

    assert len(files) == 3
    for file in files:
        rows = pq.ParquetFile(file).read(columns=META)
        assert values(rows, "_hoodie_partition_path") == {file.parent.name}
        assert values(rows, "_hoodie_file_name") == {file.name}
