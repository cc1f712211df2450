"""The commands that look at a table tell what is there, for people and as JSON, and change nothing."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from drawstring.errors import CorruptFileError, InputError
from drawstring_conformance.vectors import load_case
from drawstring_spec.cli import application


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return load_case("mor_basic").extract(tmp_path_factory.mktemp("look") / "mor_basic")


@pytest.fixture
def run():
    def invoke(*arguments):
        result = CliRunner().invoke(application, [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.output

    return invoke


def log_file(table):
    return next(p for p in sorted(table.rglob(".*.log.*")) if ".hoodie" not in p.parts)


def test_show_tells_what_the_table_is(table, run):
    shown = run("show", table)
    assert all(text in shown for text in ("MERGE_ON_READ", "EVENT_TIME_ORDERING", "compact", "File groups"))


def test_show_as_json_has_every_property_and_slice(table, run):
    shown = json.loads(run("show", table, "--json"))
    assert shown["properties"]["hoodie.table.version"] == "8"
    assert len(shown["slices"]) == 5


def test_the_timeline_as_json_names_both_times_of_each_instant(table, run):
    instants = json.loads(run("timeline", table, "--json"))
    pending = [i for i in instants if i["completion_time"] is None]
    assert [(i["action"], i["state"]) for i in pending] == [("compaction", "requested")]
    assert all(i["requested_time"] < i["completion_time"] for i in instants if i not in pending)


def test_slices_name_base_and_log_files(table, run):
    slices = json.loads(run("slices", table, "--json"))
    assert sorted(len(s["log_files"]) for s in slices) == [0, 1, 4, 5, 5]


def test_slices_can_be_asked_for_as_of_an_earlier_time(table, run):
    first = json.loads(run("timeline", table, "--json"))[0]["requested_time"]
    slices = json.loads(run("slices", table, "--as-of", first, "--json"))
    assert [s["log_files"] for s in slices] == [[], []]


def test_log_lists_the_blocks_of_a_file_with_their_headers(table, run):
    blocks = [json.loads(line) for line in run("log", log_file(table), "--rows", "1", "--json").splitlines()]
    assert blocks[0]["offset"] == 0
    assert blocks[0]["records"] > 0
    assert len(blocks[0]["rows"]) == 1
    assert "INSTANT_TIME" in blocks[0]["headers"]


@pytest.mark.parametrize("partition", ["files", "column_stats"])
def test_log_shows_the_records_of_the_metadata_table_with_their_keys(table, run, partition):
    paths = sorted((table / ".hoodie" / "metadata" / partition).glob(".*.log.*"))
    blocks = [json.loads(line) for p in paths for line in run("log", p, "--rows", "2", "--json").splitlines()]
    data = [block for block in blocks if block["type"] == "HFILE_DATA"]
    assert all(len(block["rows"]) == min(2, block["records"]) > 0 for block in data)
    known = {row["key"] for row in json.loads(run("metadata", table, "-p", partition, "-n", "0", "--json"))["rows"]}
    assert {row["key"] for block in data for row in block["rows"]} <= known
    assert data


def test_log_refuses_what_is_no_log_file(table, run):
    with pytest.raises(CorruptFileError, match="byte 0"):
        run("log", table / ".hoodie" / "hoodie.properties")


def test_hfile_tells_its_entries_and_keys(table, run):
    path = next(iter(sorted(table.rglob("files-*.hfile"))))
    shown = json.loads(run("hfile", path, "--json"))
    assert shown["entries"] == 3
    assert shown["keys"] == ["__all_partitions__", "a", "b"]


def test_read_prints_the_rows_that_a_condition_keeps(table, run):
    lines = run("read", table, "-c", "id", "-c", "part", "-w", "part == a", "--limit", "0", "--json").splitlines()
    rows = [json.loads(line) for line in lines]
    assert {row["part"] for row in rows} == {"a"}
    assert list(rows[0]) == ["id", "part"]


def test_read_says_how_many_rows_there_are_besides_those_shown(table, run):
    assert "3 of " in run("read", table, "--limit", "3")


def test_changes_between_two_times_are_those_of_the_commits_between_them(table, run):
    first, second = json.loads(run("timeline", table, "--json"))[:2]
    written = ("changes", table, second["completion_time"], second["completion_time"], "--limit", "0", "--json")
    rows = [json.loads(line) for line in run(*written, "-c", "_hoodie_commit_time").splitlines() if line[0] == "{"]
    assert {row["_hoodie_commit_time"] for row in rows} == {second["requested_time"]}
    assert len(rows) == 60
    assert first["completion_time"] < second["completion_time"]


@pytest.fixture(scope="module")
def all_types(tmp_path_factory):
    return load_case("all_types_mor").extract(tmp_path_factory.mktemp("types") / "all_types_mor")


@pytest.mark.parametrize(
    ("column", "greatest"),
    [("c_date", "2028-06-28"), ("c_ts", "2026-01-01 00:00:00"), ("c_ts", "2026-01-01T00:00:00Z")],
)
def test_a_condition_on_a_date_or_a_time_is_one_of_its_type(all_types, run, column, greatest):
    kept = run("read", all_types, "-c", column, "-w", f"{column} <= {greatest}", "--limit", "0", "--json").splitlines()
    every = run("read", all_types, "-c", column, "--limit", "0", "--json").splitlines()
    values = [json.loads(line)[column] for line in every]
    below = [value for value in values if value is not None and value[:10] <= greatest[:10]]
    assert sorted(json.loads(line)[column] for line in kept) == sorted(below)
    assert 0 < len(below) < len(values)


def test_a_condition_on_a_date_with_a_text_that_is_none_is_refused(all_types, run):
    with pytest.raises(InputError, match=r"'soon' is none of column 'c_date'"):
        run("read", all_types, "-w", "c_date > soon")


def test_csv_has_nested_columns_as_json_and_bytes_as_base64(all_types, run):
    columns = ("-c", "c_struct", "-c", "c_arr", "-c", "c_map", "-c", "c_bin")
    lines = list(csv.reader(io.StringIO(run("read", all_types, *columns, "-f", "csv", "--limit", "1"))))
    row = json.loads(run("read", all_types, *columns, "--json", "--limit", "1"))
    assert [json.loads(text) for text in lines[1][:3]] + lines[1][3:] == list(row.values())


def test_a_condition_without_an_operator_is_refused(table, run):
    with pytest.raises(InputError, match="no operator"):
        run("read", table, "-w", "part")


@pytest.mark.parametrize("command", ["show", "timeline", "slices", "log", "hfile", "read", "changes"])
def test_every_command_teaches_by_an_example(command, run):
    assert "Example: drawstring" in " ".join(run(command, "--help").split())


def test_looking_changes_nothing(table, run):
    before = {p: p.stat().st_mtime_ns for p in sorted(table.rglob("*"))}
    for command in ("show", "timeline", "slices", "read"):
        run(command, table)
    assert {p: p.stat().st_mtime_ns for p in sorted(table.rglob("*"))} == before
