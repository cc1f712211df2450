"""`drawstring conform`: finds who is judged, reports in three forms, and its exit status tells the outcome."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter

import pytest
from typer.testing import CliRunner

from drawstring_conformance.report import as_junit
from drawstring_conformance.runner import Outcome, Verdict
from drawstring_conformance.targets import TargetError, load_target, target_names
from drawstring_conformance.vectors import QueryType
from drawstring_spec.cli import application
from drawstring_spec.errors import FormatError


@pytest.fixture
def conform(few_vectors):
    def run(*arguments, vectors=few_vectors):
        result = CliRunner().invoke(application, ["conform", "--vectors", str(vectors), *map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def module_of_targets(tmp_path, monkeypatch):
    (tmp_path / "their_targets.py").write_text(
        "import pyarrow as pa\n"
        "class Wrong:\n"
        "    name, version = 'wrong', '7'\n"
        "    def answer(self, base_path, query): return pa.table({'a': [1]})\n"
        "class Less:\n    name = 'less'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))


def test_the_embedded_engine_passes_and_the_status_is_0(conform):
    result = conform("--case", "mor_clustering", "--target", "embedded")
    assert result.exit_code == 0
    assert "drawstring embedded" in result.stdout
    assert "all answers" in result.stdout


def test_the_targets_that_come_along_are_listed(conform):
    assert {"embedded", "spark", "hudi-rs"} <= set(target_names())
    listed = conform("--targets").stdout
    assert all(name in listed for name in ("embedded", "spark", "hudi-rs"))


def test_a_wrong_reader_fails_with_status_1_and_is_shown_why(conform, tmp_path, monkeypatch):
    module_of_targets(tmp_path, monkeypatch)
    result = conform("--target", "their_targets:Wrong", "--case", "mor_*")
    assert result.exit_code == 1
    assert "columns: ['a']" in " ".join(result.stdout.split())


def test_json_holds_every_verdict_and_the_counts_add_up(conform, tmp_path):
    file = tmp_path / "verdicts.json"
    conform("--json", file, "--case", "cdc_*")
    report = json.loads(file.read_text())
    assert set(report) == {"target", "counts", "verdicts"}
    assert set(report["verdicts"][0]) == {"case", "query", "type", "refusal", "outcome", "detail", "duration_ms"}
    counted = Counter(verdict["outcome"] for verdict in report["verdicts"])
    assert counted["vector_defect"] == report["counts"]["cdc"]["vector_defect"] == 5
    assert sum(sum(kind.values()) for kind in report["counts"].values()) == counted.total()


def test_json_can_be_printed(conform):
    assert json.loads(conform("--json", "-", "--case", "inflight_*").stdout)["counts"] == {
        "refusals": {"passed": 1, "failed": 0, "unsupported": 0, "vector_defect": 0}
    }


def test_junit_skips_what_is_not_judged_and_fails_what_is_wrong(conform, tmp_path, monkeypatch):
    module_of_targets(tmp_path, monkeypatch)
    file = tmp_path / "report.xml"
    conform("--target", "their_targets:Wrong", "--junit", file)
    suites = {suite.get("name"): suite for suite in ET.parse(file).getroot()}
    overwritten = suites["cdc_insert_overwrite"]
    assert overwritten.get("skipped") == "5"
    assert len(overwritten.findall("testcase/skipped")) == 5
    failed = overwritten.findall("testcase/failure")
    assert len(failed) == int(overwritten.get("failures")) == int(overwritten.get("tests")) - 5


def test_junit_has_no_characters_that_xml_lacks():
    verdict = Verdict("c", "q\x00", QueryType.CDC, False, Outcome.FAILED, "bytes \x01 \ud800 <&>", 1)
    (suite,) = ET.fromstring(as_junit([verdict], {"name": "n", "version": ""}))
    assert suite.find("testcase/failure").text == "bytes \ufffd \ufffd <&>"


def test_a_case_that_does_not_exist_is_refused(conform):
    with pytest.raises(FormatError, match="No case is called like nothing"):
        conform("--case", "nothing")


def test_a_folder_without_golden_tables_is_refused(conform, tmp_path):
    with pytest.raises(FormatError, match="no golden table"):
        conform(vectors=tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nobody", "no target 'nobody'"),
        ("no_such_module:X", "cannot be loaded"),
        ("json:no_such_thing", "cannot be loaded"),
        ("their_targets:Less", "is no target"),
    ],
)
def test_a_target_that_is_none_is_refused_by_name(name, message, tmp_path, monkeypatch):
    module_of_targets(tmp_path, monkeypatch)
    with pytest.raises(TargetError, match=message):
        load_target(name)
