"""Commands on a bootstrap table: what needs no source file works without the option, what needs one with it."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from drawstring.commands.display import short_file_id
from drawstring.errors import UnsupportedTableError
from drawstring_spec.bootstrap import INDEX_FILE, SKELETON_TIME
from drawstring_spec.cli import application
from unit.impl.read.bootstrapped import OLD_PLACE, BootstrapTable


@pytest.fixture
def places(tmp_path):
    """Where a table is, and its source files."""
    made = BootstrapTable()
    for partition, first in (("x", 0), ("y", 2)):
        numbers = pa.array([first, first + 1], pa.int32())
        made.skeleton(partition, f"f-{partition}", pa.table({"id": [f"{partition}0", f"{partition}1"], "n": numbers}))
    made.complete()
    return made.on_disk(tmp_path)


def run(*arguments, status=0):
    result = CliRunner().invoke(application, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status
    return result.output


def test_rows_are_printed_where_the_source_files_are_said_to_be(places):
    table, source = places
    lines = run("read", table, "--source-files", source, "-w", "n > 0", "--json").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["x1", "y0", "y1"]
    changed = run("changes", table, "--source-files", source, "-c", "n", "--json").splitlines()
    assert [json.loads(line) for line in changed if line.startswith("{")] == [{"n": n} for n in range(4)]


def test_rows_are_refused_where_nobody_says_it(places):
    with pytest.raises(UnsupportedTableError, match=OLD_PLACE):
        run("read", places[0])


def test_a_table_is_shown_without_its_source_files(places):
    shown = run("show", places[0])
    assert all(text in shown for text in (OLD_PLACE, SKELETON_TIME, "bootstrap", "File groups"))


def test_slices_name_their_source_files(places):
    slices = json.loads(run("slices", places[0], "--json"))
    assert [one["base_file"]["source"]["path"] for one in slices] == ["x/f-x.parquet", "y/f-y.parquet"]
    assert " + " in run("slices", places[0])


def test_a_file_group_without_a_number_is_shown_by_its_beginning():
    assert short_file_id("7efca88c-930f-4267-9678-286ab0c6a231") == "7efca88c…"
    assert short_file_id("7efca88c-930f-4267-9678-286ab0c6a231-12") == "7efca88c…-12"


def found_in_the_index(table, *options):
    """Partitions whose skeleton files the doctor finds amiss; a table made by hand has other findings."""
    report = json.loads(run("doctor", table, "--json", *options, status=1))
    return {one["path"].partition("/")[0] for one in report["findings"] if one["check"] == "bootstrap-index"}


def test_the_doctor_looks_into_source_files_where_it_may(places):
    table, source = places
    assert found_in_the_index(table) == set()
    assert found_in_the_index(table, "--source-files", source) == set()
    assert found_in_the_index(table, "--source-files", table) == {"x", "y"}


def test_the_doctor_finds_a_damaged_index(places, tmp_path):
    (tmp_path / "table" / INDEX_FILE).write_bytes(b"no index")
    assert found_in_the_index(places[0]) == {"x", "y"}
