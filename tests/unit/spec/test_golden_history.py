"""The archived timeline as Java writes it: names, columns and order, read off the golden tables that have one."""

from __future__ import annotations

import io
import itertools
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drawstring_conformance.vectors import load_cases
from drawstring_spec.names import ArchivedTimelineFileName

HISTORY = ".hoodie/timeline/history/"
CASES = [case for case in load_cases() if any(path.startswith(f"{HISTORY}manifest_") for path in case.file_names)]
COLUMNS = ["instantTime", "completionTime", "action", "metadata", "plan", "version"]
with_history = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def files(case) -> dict[str, bytes]:
    return {path.removeprefix(HISTORY): raw for path, raw in case.read_files() if path.startswith(HISTORY)}


def archived(case) -> dict[ArchivedTimelineFileName, pa.Table]:
    found = {name: raw for name, raw in files(case).items() if name.endswith(".parquet")}
    assert found
    return {ArchivedTimelineFileName.parse(name): pq.read_table(io.BytesIO(raw)) for name, raw in found.items()}


def test_some_golden_tables_have_an_archive():
    assert "archival_lsm" in {case.name for case in CASES}


@with_history
def test_the_name_of_an_archived_file_has_the_least_and_the_greatest_requested_time(case):
    for name, rows in archived(case).items():
        times = rows["instantTime"].to_pylist()
        assert (times[0], times[-1]) == (min(times), max(times))
        assert f"{times[0]}_{times[-1]}_" in name.format()


def test_the_greatest_completion_time_is_another_one():
    """The reading of the text, which no file of Java's has."""
    (case,) = [case for case in CASES if case.name == "archival_lsm"]
    for name, rows in archived(case).items():
        assert max(rows["completionTime"].to_pylist()) not in name.format()


@with_history
def test_an_archived_file_has_six_columns_the_last_of_them_a_version(case):
    for rows in archived(case).values():
        assert rows.column_names == COLUMNS
        assert [field.nullable for field in rows.schema] == [True] * 5 + [False]
        assert set(rows["version"].to_pylist()) == {1}


@with_history
def test_an_archived_instant_holds_the_bytes_of_its_files_on_the_timeline(case):
    for rows in archived(case).values():
        for name in ("metadata", "plan"):
            contents = [content for content in rows[name].to_pylist() if content is not None]
            assert all(content.startswith(b"Obj\x01") for content in contents)
        assert rows["metadata"].null_count == 0


@with_history
def test_instants_of_an_archived_file_are_in_the_order_of_their_requested_times(case):
    for rows in archived(case).values():
        times = rows["instantTime"].to_pylist()
        assert times == sorted(times)


@with_history
def test_the_version_file_names_the_greatest_manifest_in_plain_digits(case):
    found = files(case)
    manifests = sorted(int(name.removeprefix("manifest_")) for name in found if name.startswith("manifest_"))
    assert found["_version_"] == str(manifests[-1]).encode()


@with_history
def test_a_manifest_lists_each_file_with_its_length(case):
    found = files(case)
    newest = found[f"manifest_{found['_version_'].decode()}"]
    listed = {entry["fileName"]: entry["fileLen"] for entry in json.loads(newest)["files"]}
    assert listed
    assert listed == {name: len(found[name]) for name in listed}


def test_files_of_several_levels_are_merged_ones_of_the_level_below():
    levels = {name.level for case in CASES for name in archived(case)}
    assert {0, 1} <= levels


def test_a_level_that_was_merged_is_not_in_the_newest_manifest():
    (case,) = [case for case in CASES if case.name == "archival_lsm"]
    found = files(case)
    listed = json.loads(found[f"manifest_{found['_version_'].decode()}"])["files"]
    ranges = [ArchivedTimelineFileName.parse(entry["fileName"]) for entry in listed]
    ordered = sorted(ranges, key=lambda name: name.format())
    ends = [name.format().split("_")[:2] for name in ordered]
    assert all(before[1] < after[0] for before, after in itertools.pairwise(ends)), "no instant twice"


@with_history
def test_what_is_archived_is_older_than_the_first_write_that_is_left(case):
    active = [entry for entry in case.details["timeline"] if entry["action"] in ("commit", "deltacommit")]
    oldest = min(entry["begin"] for entry in active)
    writes = [
        time
        for rows in archived(case).values()
        for time, action in zip(rows["instantTime"].to_pylist(), rows["action"].to_pylist(), strict=True)
        if action in ("commit", "deltacommit")
    ]
    assert writes
    assert max(writes) < oldest


@with_history
def test_a_plan_is_archived_of_the_actions_that_have_one(case):
    for rows in archived(case).values():
        pairs = zip(rows["action"].to_pylist(), rows["plan"].to_pylist(), strict=True)
        planned = {action: plan is not None for action, plan in pairs}
        assert planned
        assert all(has_plan is (action == "clean") for action, has_plan in planned.items()), planned
