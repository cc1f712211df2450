"""`--json`: what each command prints is JSON, and has the fields that the documents name, and no others."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import drawstring as ds
from drawstring.commands.as_json import to_json
from drawstring_conformance.vectors import load_case
from drawstring_spec.cli import application
from meta.documents import run_blocks

CASE = "cdc_mor"
ROW = re.compile(r"^\| (?P<command>.*?) \| (?P<form>object|list|lines) \| (?P<fields>.*?) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return load_case(CASE).extract(tmp_path_factory.mktemp("json") / CASE)


@pytest.fixture(scope="module")
def documented(repository):
    text = (repository / "docs" / "reference" / "command-line.md").read_text()
    return {row["command"]: (row["form"], set(re.findall(r"`([a-z_]+)`", row["fields"]))) for row in ROW.finditer(text)}


def printed(*arguments):
    result = CliRunner().invoke(application, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def strictly(text):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def log_file(table):
    return next(p for p in sorted(table.rglob(".*.log.*")) if ".hoodie" not in p.parts and p.suffix != ".crc")


def hfile(table):
    return next(iter(sorted((table / ".hoodie/metadata/files").glob("*.hfile"))))


COMMANDS = {
    "`show`": lambda table: ("show", table),
    "`timeline`": lambda table: ("timeline", table),
    "`slices`": lambda table: ("slices", table),
    "`metadata -p`": lambda table: ("metadata", table, "-p", "files"),
    "`doctor`": lambda table: ("doctor", table),
    "`doctor --checks`": lambda table: ("doctor", "--checks"),
    "`log`": lambda table: ("log", log_file(table), "--rows", "1"),
    "`hfile`": lambda table: ("hfile", hfile(table)),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_the_fields_that_are_documented(name, table, documented):
    form, fields = documented[name]
    text = printed(*COMMANDS[name](table), "--json")
    values = [strictly(line) for line in text.splitlines()] if form == "lines" else strictly(text)
    assert values
    for value in [values] if form == "object" else values:
        assert set(value) == fields


def test_the_metadata_tables_partitions_have_the_fields_that_are_documented(table, documented):
    (files,) = strictly(printed("metadata", table, "--json"))["partitions"]
    assert {"partitions", *files} == documented["`metadata`"][1]
    verified = strictly(printed("metadata", table, "--verify", "--json"))
    assert set(verified) == {"partitions", "verify"}
    assert set(verified["verify"]) == documented["`doctor`"][1]


def test_a_finding_has_the_fields_that_are_documented(tmp_path, documented):
    table = load_case("inflight_only_cow").extract(tmp_path / "t")
    (finding,) = strictly(printed("doctor", table, "--json"))["findings"]
    assert set(finding) == documented["a finding"][1]


def test_verdicts_have_the_fields_that_are_documented(tmp_path, documented):
    file = tmp_path / "verdicts.json"
    printed("conform", "--case", "inflight_only_cow", "--json", file)
    report = strictly(file.read_text())
    assert set(report) == documented["`conform --json FILE`"][1]
    assert set(report["verdicts"][0]) == documented["a verdict"][1]


def test_the_simulators_histories_have_the_fields_that_are_documented(documented):
    assert set(strictly(printed("sim", "run", "--seeds", "1", "--json"))) == documented["`sim run`"][1]
    assert set(strictly(printed("sim", "tell", "1", "--calm", "--json"))) == documented["`sim tell`"][1]


def test_rows_are_lines_of_json(table):
    rows = [strictly(line) for line in printed("read", table, "--json", "--limit", "3").splitlines()]
    assert len(rows) == 3
    changes = [strictly(line) for line in printed("changes", table, "--cdc", "--json", "--limit", "2").splitlines()]
    assert {frozenset(change) for change in changes} == {frozenset({"op", "ts_ms", "before", "after"})}


def test_values_that_json_has_no_form_for_are_texts(table_uri):
    schema = pa.schema([("id", pa.string()), ("x", pa.float64()), ("d", pa.decimal128(5, 2)), ("b", pa.binary())])
    ds.Table.create(table_uri, schema, record_key="id").insert(
        pa.Table.from_pylist([{"id": "a", "x": math.nan, "d": Decimal("1.50"), "b": b"\x00\xff"}], schema=schema)
    )
    assert strictly(printed("read", table_uri, "--json")) == {"id": "a", "x": "NaN", "d": "1.50", "b": "AP8="}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        ({"a": [math.nan, 1.5]}, '{"a": ["NaN", 1.5]}'),
        (dt.datetime(2024, 1, 31, 12, tzinfo=dt.UTC), '"2024-01-31T12:00:00+00:00"'),
        (dt.date(2024, 1, 31), '"2024-01-31"'),
        ([("k", 1)], '[["k", 1]]'),
    ],
)
def test_a_value_has_one_form(value, text):
    assert to_json(value) == text


def test_the_how_to_on_examining_a_table_runs_as_it_stands(repository, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_blocks(repository / "docs" / "how-to" / "examine-a-table.md", spark=False) == 1


def test_each_command_that_is_installed_is_documented(repository):
    text = (repository / "docs" / "reference" / "command-line.md").read_text()
    listed = set(re.findall(r"^\| `drawstring (\w+)", text, re.MULTILINE))
    shown = set(re.findall(r"^\W+(\w+)\s{2,}\w", printed("--help").partition("Commands")[2], re.MULTILINE))
    assert listed == shown
