"""`make test` ends well only if it is well, and names what was skipped and why."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_REPORT = """<testsuites><testsuite>
<testcase classname="tests.a" name="test_good"/>
<testcase classname="tests.a" name="test_bad"><failure message="no"/></testcase>
<testcase classname="tests.b" name="test_left_out"><skipped message="no Java"/></testcase>
<testcase classname="tests.b" name="test_broken"><error message="no"/></testcase>
</testsuite></testsuites>"""
_GOOD_REPORT = '<testsuites><testsuite><testcase classname="tests.a" name="test_good"/></testsuite></testsuites>'


@pytest.fixture
def tool(repository: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_tests", repository / "tools" / "run_tests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "run_tests", module)  # Its dataclasses look themselves up there.
    spec.loader.exec_module(module)
    return module


def _outcome(tool: ModuleType, tmp_path: Path, report: str | None, exit_code: int = 0) -> Any:
    path = tmp_path / "junit.xml"
    if report is not None:
        path.write_text(report)
    outcome = tool.Outcome(tool.parts(2)[0], exit_code, 1.0)
    tool.read_report(path, outcome)
    return outcome


def test_a_report_is_counted(tool: ModuleType, tmp_path: Path) -> None:
    outcome = _outcome(tool, tmp_path, _REPORT, exit_code=1)

    assert (outcome.passed, outcome.failed) == (1, ["tests.a::test_bad", "tests.b::test_broken"])
    assert dict(outcome.skipped) == {("tests.b", "no Java"): 1}


def test_the_summary_says_what_was_skipped_and_why(tool: ModuleType, tmp_path: Path) -> None:
    summary = tool.summarise([_outcome(tool, tmp_path, _REPORT, exit_code=1)])

    assert "skipped, no Java: tests.b (1)" in summary
    assert "FAILED tests.a::test_bad" in summary
    assert summary.endswith("NOT WELL")


def test_all_is_well_where_every_test_passed(tool: ModuleType, tmp_path: Path) -> None:
    outcome = _outcome(tool, tmp_path, _GOOD_REPORT)

    assert tool.is_good([outcome])
    assert tool.summarise([outcome]).endswith("all is well")


@pytest.mark.parametrize(
    ("report", "exit_code"),
    [(_REPORT, 0), (_GOOD_REPORT, 1), (_GOOD_REPORT, 5), (None, 0), ("<broken", 0), ("<testsuites/>", 0)],
    ids=["a failure", "an exit code", "nothing collected", "no report", "a broken report", "nothing passed"],
)
def test_all_is_not_well_after(tool: ModuleType, tmp_path: Path, report: str | None, exit_code: int) -> None:
    assert not tool.is_good([_outcome(tool, tmp_path, report, exit_code)])


def test_every_test_belongs_to_one_part_to_interop_or_to_the_large_ones(tool: ModuleType) -> None:
    selections = [part.arguments[1] for part in tool.parts(2)]

    assert selections == ["not spark and not interop and not large", "spark and not interop"]


_WAITS_FOR_THE_OTHER = """
import pathlib, time
def test_{mine}():
    here = pathlib.Path(__file__).parent
    (here / "{mine}.there").touch()
    for _ in range(600):
        if (here / "{other}.there").exists():
            return
        time.sleep(0.1)
    raise AssertionError("{other} has not begun")
"""


def _two_parts(tool: ModuleType, monkeypatch: pytest.MonkeyPatch, root: Path, tests: dict[str, str]) -> None:
    """Make the tool run one file of tests per part."""
    for name, text in tests.items():
        (root / f"test_{name}.py").write_text(text)
    parts = tuple(tool.Part(name, f"tests of {name}", (f"test_{name}.py",)) for name in tests)
    monkeypatch.setattr(tool, "parts", lambda _: parts)
    monkeypatch.setattr(tool, "REPOSITORY", root)
    monkeypatch.setattr(tool, "ARTIFACTS", root / "artifacts")


def test_the_parts_run_at_the_same_time(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tests = {
        mine: _WAITS_FOR_THE_OTHER.format(mine=mine, other=other) for mine, other in [("one", "two"), ("two", "one")]
    }
    _two_parts(tool, monkeypatch, tmp_path, tests)

    assert tool.main([]) == 0
    said = capfd.readouterr().out
    assert said.count("1 passed in") == 2
    assert "tests of two: 1 passed, 0 failed, 0 skipped" in said


def test_a_failure_in_the_part_that_is_not_watched_is_shown_and_counts(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    good, bad = "def test_good(): pass", "def test_bad(): assert False, 'as it must'"
    _two_parts(tool, monkeypatch, tmp_path, {"one": good, "two": bad})

    assert tool.main([]) == 1
    said = capfd.readouterr().out
    assert "AssertionError: as it must" in said
    assert said.rstrip().endswith("NOT WELL")
