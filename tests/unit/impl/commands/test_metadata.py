"""`drawstring metadata` shows what the metadata table holds, looks keys up, and compares it with the table."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from drawstring.errors import InputError, UnsupportedTableError
from drawstring_conformance.vectors import load_case
from drawstring_spec.cli import application

INDEXED, STATS = "index_secondary", "index_col_stats_cow"


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metadata")
    return {name: load_case(name).extract(folder / name) for name in (INDEXED, STATS)}


@pytest.fixture
def run():
    def invoke(*arguments):
        result = CliRunner().invoke(application, ["metadata", *map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


def as_json(result):
    return json.loads(result.stdout)


def test_partitions_are_listed_with_their_sizes(tables, run):
    found = as_json(run(tables[INDEXED], "--count", "--json"))["partitions"]
    assert [one["partition"] for one in found] == ["files", "record_index", "secondary_index_idx_city"]
    on_storage = [p for p in (tables[INDEXED] / ".hoodie/metadata/files").iterdir() if "files-" in p.name]
    sizes = {"base_bytes": 0, "log_bytes": 0}
    for path in on_storage:
        if not path.name.endswith(".crc"):
            sizes["log_bytes" if ".log." in path.name else "base_bytes"] += path.stat().st_size
    assert {key: found[0][key] for key in sizes} == sizes
    assert found[0]["records"] == 8


def test_records_are_counted_only_where_that_is_asked_for(tables, run):
    assert {one["records"] for one in as_json(run(tables[INDEXED], "--json"))["partitions"]} == {None}


def test_records_of_a_partition_are_shown_up_to_a_number(tables, run):
    shown = as_json(run(tables[INDEXED], "-p", "record_index", "-n", "5", "--json"))
    assert (len(shown["rows"]), shown["records"]) == (5, 102)
    assert set(shown["rows"][0]) == {"key", "partition_path", "file_id", "instant_time_ms"}
    assert (tables[INDEXED] / shown["rows"][0]["partition_path"]).is_dir()


@pytest.mark.parametrize(
    ("case", "partition", "key", "column", "value"),
    [
        (INDEXED, "files", "a", "partition_path", "a"),
        (INDEXED, "record_index", "k00913", "record_key", "k00913"),
        (INDEXED, "secondary_index_idx_city", "a b", "value", "a b"),
        (STATS, "column_stats", "ts", "columnName", "ts"),
        (STATS, "partition_stats", "ts", "columnName", "ts"),
    ],
)
def test_keys_are_looked_up(case, partition, key, column, value, tables, run):
    shown = as_json(run(tables[case], "-p", partition, "-k", key, "-n", "0", "--json"))
    assert shown["rows"]
    assert {row[column] for row in shown["rows"]} == {value}


def test_a_bound_is_shown_as_its_value(tables, run):
    row = as_json(run(tables[STATS], "-p", "column_stats", "-k", "ts", "--json"))["rows"][0]
    assert isinstance(row["minValue"], int)
    assert row["minValue"] <= row["maxValue"]


def test_what_agrees_is_verified(tables, run):
    result = run(tables[STATS], "--verify", "--json")
    assert result.exit_code == 0
    assert "metadata-files" in as_json(result)["verify"]["passed"]


def test_what_does_not_agree_is_told_with_status_1(tmp_path, run):
    table = load_case(INDEXED).extract(tmp_path / "t")
    next((table / "a").glob("*.parquet")).unlink()
    result = run(table, "--verify")
    assert result.exit_code == 1
    assert "it is not on storage" in result.stdout


def test_a_table_without_a_metadata_table_has_no_partitions(tmp_path, run):
    table = load_case(INDEXED).extract(tmp_path / "t")
    properties = table / ".hoodie/hoodie.properties"
    properties.write_text(properties.read_text().replace("metadata.partitions=files,record_index", "x="))
    lines = [line for line in properties.read_text().splitlines() if "table.metadata.partitions=" not in line]
    properties.write_text("\n".join(lines))
    assert as_json(run(table, "--json")) == {"partitions": []}
    with pytest.raises(InputError, match="has no metadata table"):
        run(table, "-p", "files")


def test_a_partition_that_is_not_there_is_refused_by_name(tables, run):
    with pytest.raises(UnsupportedTableError, match="no partition 'bloom_filters'"):
        run(tables[INDEXED], "-p", "bloom_filters")


def test_a_key_without_a_partition_is_refused(tables, run):
    with pytest.raises(InputError, match="in a partition"):
        run(tables[INDEXED], "-k", "x")


def test_on_a_terminal_records_are_a_table(tables, run):
    shown = run(tables[INDEXED], "-p", "files").stdout
    assert "__all_partitions__" in shown
    assert "8 of 8 records of files" in shown
