"""Bootstrap tables that Java Hudi wrote (``data_unseen``): what it loses of them, and wrong answers that are noticed.

That all other answers are Java's say `interop.test_unseen_tables` and, on Spark, `spark.test_unseen_tables`.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.data import stitched_file
from drawstring.doctor import examine
from drawstring.errors import UnsupportedTableError
from drawstring.options import Options
from drawstring.read import data_skipping
from drawstring.runtime import production_ports
from drawstring_conformance.vectors import load_case
from interop.test_unseen_tables import DATA
from interop.unseen_filters import wrong_filtered
from interop.unseen_recording import unpack, wrong_answers

MIXED, HIVE, STATISTICS, CHANGES = (
    "bootstrap_mixed_mor",
    "bootstrap_hive_mor",
    "bootstrap_statistics_cow",
    "bootstrap_changes_mor",
)


def opened(name, tmp_path):
    path, options = unpack(load_case(name, DATA), tmp_path)
    return ds.Table.open(str(path), options=options)


def after_inserts(changes):
    return [json.loads(row["after"]) for row in changes.to_pylist() if row["op"] == "i"]


def test_change_data_of_rows_in_source_files_has_their_columns(tmp_path):
    """Java reads skeleton files alone for it: every column of the table is null there."""
    table = opened(CHANGES, tmp_path)
    changes = table.changes("000", cdc=True)
    by_java = pq.read_table(DATA / CHANGES / "expected" / "cdc_19.parquet")
    assert sorted(changes["op"].to_pylist()) == sorted(by_java["op"].to_pylist())
    inserted = after_inserts(changes)
    assert {(row["id"], row["v"], row["part"]) for row in inserted} == {(f"k{i:03}", 100 + i, "a") for i in range(5)}
    first = table.read(as_of="00000000000001", columns=["id", "v", "part"]).to_pylist()
    assert [tuple(row.values()) for row in first] == [(row["id"], row["v"], row["part"]) for row in inserted]
    assert all(row.get("v") is None for row in after_inserts(by_java))
    updates = [json.loads(text) for text in changes["before"].to_pylist() if text]
    assert {(row["id"], row["v"]) for row in updates} == {("k001", 101), ("k002", 102), ("k003", 103)}


def test_rows_of_source_files_are_found_whatever_statistics_of_partitions_say(tmp_path):
    """Java's are made of the files that have the column, and it skips the partition's skeleton files by them."""
    table = opened(STATISTICS, tmp_path)
    rows = table.read(filter=[("v", ">", 900)], columns=["id", "v"]).to_pylist()
    assert [row["v"] for row in rows] == [904, 905, 906, 907]
    assert pq.read_table(DATA / STATISTICS / "expected" / "filtered_1.parquet").num_rows == 0


def test_statistics_that_were_believed_of_source_files_would_be_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(data_skipping, "_goes_on_elsewhere", lambda _: False)
    wrong = wrong_filtered(load_case(STATISTICS, DATA), tmp_path)
    assert "filtered_1" not in wrong  # as Java answers it


@pytest.mark.parametrize("name", [MIXED, HIVE])
def test_rows_of_another_place_in_the_source_file_would_be_noticed(name, tmp_path, monkeypatch):
    def reversed_rows(parts, names):
        return inner([parts[0], *(part.take(pa.array(np.arange(part.num_rows)[::-1])) for part in parts[1:])], names)

    inner = stitched_file._side_by_side
    monkeypatch.setattr(stitched_file, "_side_by_side", reversed_rows)
    assert len(wrong_answers(load_case(name, DATA), tmp_path)) > 5


@pytest.mark.parametrize("name", [MIXED, HIVE, STATISTICS, CHANGES])
def test_the_doctor_finds_nothing(name, tmp_path):
    path, options = unpack(load_case(name, DATA), tmp_path)
    assert examine(production_ports(str(path), Options.parse({}))).is_healthy
    report = examine(production_ports(str(path), Options.parse(options)), deep=True)
    assert report.is_healthy, report


def test_files_outside_of_the_table_are_not_opened_on_its_word(tmp_path):
    path, _ = unpack(load_case(MIXED, DATA), tmp_path)
    table = ds.Table.open(str(path))
    assert table.read().num_rows == 9, "a compaction has replaced all skeleton files"
    with pytest.raises(UnsupportedTableError, match="are not opened on its word alone"):
        table.read(as_of="00000000000001")
