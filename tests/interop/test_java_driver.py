"""The driver itself: Java Hudi, asked through it, gives the answers that the golden tables record."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from interop.conftest import VECTORS, golden_case
from interop.java.client import JavaHudiError
from interop.rows import data_columns, difference

pytestmark = pytest.mark.interop
CASES = ["cow_nonpartitioned", "all_types_cow", "occ_out_of_order_cow"]


def snapshot_and_time_travel_queries():
    for name in CASES:
        for query in golden_case(name)["queries"]:
            if query["type"] in {"snapshot", "time_travel"}:
                yield pytest.param(name, query, id=f"{name}-{query['id']}")


@pytest.mark.parametrize(("name", "query"), list(snapshot_and_time_travel_queries()))
def test_java_gives_the_recorded_rows_through_the_driver(java, golden, name, query):
    expected = pq.read_table(VECTORS / name / "expected" / f"{query['id']}.parquet")
    actual = java.read(golden(name), as_of=query.get("as_of"))
    assert not difference(actual, expected)


def test_java_parses_the_timeline_that_the_case_records(java, golden):
    recorded = [(i["begin"], i["completion"], i["action"]) for i in golden_case("cow_nonpartitioned")["timeline"]]
    timeline = java.timeline(golden("cow_nonpartitioned"))
    assert [(i["requested_time"], i["completion_time"], i["action"]) for i in timeline] == recorded


def test_an_upsert_through_the_driver_changes_the_row_that_java_reads(java, golden):
    path = golden("cow_nonpartitioned")
    row = data_columns(java.read(path)).slice(0, 1)
    changed = row.set_column(row.column_names.index("name"), "name", [["changed by a test"]])
    changed = changed.set_column(row.column_names.index("ts"), "ts", [[9_999_999_999]])
    java.write(path, "upsert", changed)
    assert java.read(path)["name"].to_pylist().count("changed by a test") == 1


def test_validation_finds_a_file_that_the_metadata_table_does_not_know(java, golden):
    path = golden("cow_nonpartitioned")
    base_file = max(path.glob("*.parquet"))
    stranger = base_file.with_name("00000000-0000-4000-8000-000000000000-0_0-1-1_" + base_file.name.split("_")[2])
    stranger.write_bytes(base_file.read_bytes())
    assert java.validate(path)["problems"]


def test_what_java_refuses_is_an_error_with_its_root_cause(java, tmp_path: Path):
    with pytest.raises(JavaHudiError, match="FileNotFoundException"):
        java.read(tmp_path / "nothing")


def test_the_process_answers_on_after_an_error(java, golden, tmp_path: Path):
    with pytest.raises(JavaHudiError):
        java.read(tmp_path / "nothing")
    assert java.read(golden("cow_nonpartitioned")).num_rows > 0
