"""`drawstring doctor` tells findings with their requirements, and its exit status says whether there are any."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from drawstring_conformance.vectors import load_case
from drawstring_spec.cli import application

CASE = "index_record"


@pytest.fixture
def table(tmp_path):
    return load_case(CASE).extract(tmp_path / "t")


@pytest.fixture
def run():
    def invoke(*arguments):
        return CliRunner().invoke(application, ["doctor", *map(str, arguments)])

    return invoke


def test_a_healthy_table_has_status_0(table, run):
    result = run(table)
    assert result.exit_code == 0
    assert "Nothing was found" in result.stdout


def test_a_finding_is_told_with_its_requirement_and_status_1(table, run):
    (table / "a" / ".hoodie_partition_metadata").unlink()
    result = run(table)
    assert result.exit_code == 1
    assert "SL-011" in result.stdout
    assert "error" in result.stdout


def test_findings_as_json_have_stable_names(table, run):
    (table / ".hoodie" / "lock").touch()
    report = json.loads(run(table, "--json").stdout)
    (finding,) = report["findings"]
    assert set(report) == {"healthy", "findings", "passed", "not_run"}
    assert set(finding) == {"check", "rules", "severity", "path", "message"}
    assert (finding["check"], finding["severity"], finding["path"]) == ("lock", "warning", ".hoodie/lock")


def test_what_could_not_run_is_told_and_has_status_1(table, run):
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("hoodie.table.version=8", "hoodie.table.version=9"))
    result = run(table)
    assert result.exit_code == 1
    assert "not run timeline-payloads" in result.stdout


def test_the_checks_are_listed_with_their_requirements(run):
    checks = json.loads(run("--checks", "--json").stdout)
    assert {"check", "rules", "severity", "says", "deep"} == set(checks[0])
    assert "record-index" in {check["check"] for check in checks}
    assert "record-index" in run("--checks").stdout


def test_without_a_table_the_usage_is_told(run):
    result = run()
    assert result.exit_code == 2
