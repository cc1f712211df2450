"""The demo, on a sample of the flights and the embedded engine, from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("pandas", reason="the demo's extra is not installed")

import drawstring as ds
from drawstring.commands import demo as demo_module
from drawstring.commands.judge import Expected
from drawstring.errors import EngineError, InputError, TableNotFoundError
from drawstring_spec.cli import application

_SAMPLE = "--every=40"


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(application, ["demo", _SAMPLE, *arguments], env={"COLUMNS": "160"})


def test_the_demo_tells_its_story_and_every_check_holds() -> None:
    result = _run("--engine", "embedded")

    assert result.exit_code == 0, result.output
    assert "All 7 checks hold" in result.output
    assert "was told: The commit" in result.output


@pytest.mark.spark
def test_the_demo_runs_on_spark_and_says_little_else() -> None:
    # In a process of its own: it starts and stops a session.
    command = [str(Path(sys.executable).with_name("drawstring")), "demo", _SAMPLE, "--engine", "spark"]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stdout + result.stderr
    assert "All 7 checks hold" in result.stdout
    assert "WARN" not in result.stderr


def test_a_wrong_answer_fails_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Expected, "difference", lambda self, answer: "planted")

    result = _run("--engine", "embedded")

    assert result.exit_code == 1
    assert "not what pandas has" in result.output
    assert "do not hold" in result.output


def test_without_java_the_demo_says_so_and_runs_on_the_embedded_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "why_no_spark", lambda: EngineError("There is no Java."))

    result = _run()

    assert result.exit_code == 0
    assert "Not on Spark. There is no Java. The embedded engine does the work instead." in result.output


def test_a_table_that_is_kept_can_be_opened(tmp_path: Path) -> None:
    _run("--engine", "embedded", "--keep", str(tmp_path / "kept"))

    assert ds.Table.open(str(tmp_path / "kept")).read().num_rows > 0


def test_a_folder_that_exists_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    result = _run("--engine", "embedded", "--keep", str(tmp_path))

    assert isinstance(result.exception, InputError)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(TableNotFoundError):
        ds.Table.open(str(tmp_path))


def test_when_spark_fails_the_end_of_its_log_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(engine: str, log: Path) -> None:
        log.write_text("the last words of a JVM\n")
        raise EngineError("Spark does not start.")

    monkeypatch.setattr(demo_module, "open_stage", fail)

    result = _run("--engine", "spark")

    assert isinstance(result.exception, EngineError)
    assert "the last words of a JVM" in result.output


def test_help_tells_the_story_without_running_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "open_stage", lambda *_: pytest.fail("help must not start anything"))

    result = _run("--help")

    assert result.exit_code == 0
    assert all(word in result.output for word in ("--keep", "--engine", "upsert", "two writers"))
