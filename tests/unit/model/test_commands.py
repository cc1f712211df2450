"""``drawstring model`` on a terminal."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from drawstring_model.catalogue import known_modules, switches_of
from drawstring_model.commands import app
from drawstring_model.core.promises import Promise
from drawstring_model.narrate import PROMISES

SMALL = ["--faults", "0", "--groups", "1"]
SAME_KEY = ["--operation", "upsert:1"]
OTHER_KEY = ["--operation", "upsert:2"]
TWO = [*SMALL, *SAME_KEY, *SAME_KEY]


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200"})


def found(result):
    return json.loads(result.stdout)


def test_checking_the_default_finds_every_invariant_kept(run):
    result = run("check", *SMALL)

    assert result.exit_code == 0
    assert "every state within the bounds" in result.output


def test_checking_a_broken_protocol_tells_the_shortest_history_and_exits_with_1(run):
    result = run("check", *TWO, "--lock", "none")

    assert result.exit_code == 1
    assert "broken after" in result.output
    assert "a contradiction." in result.output


def test_a_broken_order_of_two_writers_is_told_with_its_reason(run):
    result = run("check", *TWO, "--lock", "none")

    assert "w1's 1 < w2's 2, because the requested time 1 is before 2; however, w2's 2 looked at the table" in (
        result.output
    )


def test_storage_that_loses_answers_is_survived_by_writers_that_look_and_by_no_others(run):
    unheard = run("check", *TWO, "--storage", "loses_answers", "--json")
    refused = run("check", *TWO, "--storage", "loses_answers", "--plant", "refused_by_itself", "--json")

    assert found(unheard)["verdicts"]["outcomes are true"] == "holds"
    assert found(refused)["verdicts"]["outcomes are true"] == "broken"


def test_a_limit_that_was_reached_unbroken_exits_with_3(run):
    result = run("check", *SMALL, "--max-states", "50")

    assert result.exit_code == 3
    assert "not broken so far" in result.output


def test_the_promises_of_a_module_are_among_the_verdicts(run):
    core, compacted = (
        found(run("check", *SMALL, "--operation", "upsert:1", "--json", *more))["verdicts"]
        for more in ([], ["--module", "compaction"])
    )

    assert {"latest snapshot", "deletes stay", "planned files stay"} == set(compacted) - set(core)
    assert set(compacted.values()) == {"holds"}


def test_every_promise_has_its_sentence():
    assert set(PROMISES) == set(Promise)


def test_json_holds_the_configuration_and_the_shortest_counterexample(run):
    result = run("check", *TWO, "--control", "none", "--json")

    content = found(result)
    assert result.exit_code == 1
    assert content["config"]["concurrency"] == "NONE"
    assert content["verdicts"]["no lost update"] == "broken"
    example = content["counterexamples"][0]
    assert example["promise"] == content["shortest"]
    assert len(example["steps"]) == example["length"]


@pytest.mark.parametrize(
    ("arguments", "promise"),
    [
        ([*OTHER_KEY, "--groups", "2", "--clock", "skewed", "--storage", "replaces"], "completed writes stay"),
        ([*OTHER_KEY, "--clock", "free", "--storage", "replaces", "--no-salt"], "completed writes stay"),
        ([*OTHER_KEY, "--plant", "skip_conflict_check"], "no lost update"),
        ([*SAME_KEY, "--module", "clustering", "--set", "clustering.hides_the_past=true"], "consistent read"),
    ],
)
def test_a_switch_breaks_its_promise(run, arguments, promise):
    result = run("check", *SMALL, "--operation", "upsert:1", *arguments, "--until", promise, "--json")

    assert found(result)["verdicts"][promise] == "broken"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--module", "nothing"], "nothing"),
        (["--set", "clustering.update=ALLOW"], "clustering"),
        (["--module", "clustering", "--set", "clustering.size=1"], "size"),
        (["--module", "clustering", "--set", "clustering.update=SOMETIMES"], "SOMETIMES"),
        (["--set", "clustering"], "clustering"),
        (["--without", "heartbeats"], "heartbeats"),
        (["--lock", "none", "--control", "optimistic"], "lock"),
        (["--lock", "correct", "--control", "none"], "lock"),
        (["--lock", "expires", "--without", "locks"], "locks"),
        (["--operation", "merge:1"], "merge:1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(run, arguments, named):
    result = run("check", *SMALL, *arguments)

    assert result.exit_code == 2
    assert named in result.output


def test_all_modules_are_listed_with_their_switches(run):
    output = run("modules").output

    for name, kind in known_modules().items():
        assert name in output
        for switch in switches_of(kind):
            assert f"{switch.name}=" in output


def test_a_saved_history_can_be_replayed(run, tmp_path):
    saved = tmp_path / "history.json"
    run("check", *TWO, "--module", "clustering", "--lock", "none", "--until", "no lost update", "--save", str(saved))

    result = run("replay", str(saved))

    assert result.exit_code == 0, result.output
    assert "CompleteInstant" in result.output
    assert "however" in result.output


def changed(saved, change):
    content = json.loads(saved.read_text(encoding="utf-8"))
    change(content)
    saved.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.clear(),
        lambda content: content["config"]["bounds"].update(writers=10**9),
        lambda content: content["config"]["bounds"].update(crashes=-1),
        lambda content: content["config"]["modules"].update(nothing={}),
        lambda content: content["config"].update(modules=[]),
        lambda content: content["config"].update(clock="SUNDIAL"),
        lambda content: content["steps"].insert(0, "CompleteInstant: w1 completes 1 at 2."),
    ],
)
def test_a_file_that_is_no_history_is_refused(run, tmp_path, change):
    saved = tmp_path / "history.json"
    run("check", *TWO, "--lock", "none", "--until", "no lost update", "--save", str(saved))
    changed(saved, change)

    result = run("replay", str(saved))

    assert result.exit_code == 2
    assert "is not a history" in result.output


def test_no_history_is_saved_where_nothing_is_broken(run, tmp_path):
    saved = tmp_path / "history.json"

    result = run("check", *SMALL, "--operation", "upsert:1", "--save", str(saved))

    assert result.exit_code == 2
    assert not saved.exists()


# Large searches.


def counted(result):
    content = found(result)
    return content["states"], content["transitions"], content["depth"], content["exhausted"], content["verdicts"]


def test_a_search_that_was_put_aside_is_gone_on_with(run, tmp_path):
    file = str(tmp_path / "search")
    run("check", *TWO, "--lock", "none", "--max-states", "100", "--checkpoint", file)

    result = run("check", "--resume", file, "--json")

    assert counted(result) == counted(run("check", *TWO, "--lock", "none", "--json"))


def test_a_search_goes_on_within_its_own_bounds_only(run, tmp_path):
    file = str(tmp_path / "search")
    run("check", *TWO, "--max-states", "100", "--checkpoint", file)

    result = run("check", "--resume", file, "--writers", "3")

    assert result.exit_code == 2
    assert "other bounds" in result.output


def test_a_file_that_is_no_search_is_refused(run, tmp_path):
    (tmp_path / "search").write_text("something else", encoding="utf-8")

    result = run("check", "--resume", str(tmp_path / "search"))

    assert result.exit_code == 2
    assert "not a checkpoint" in result.output


def test_symmetry_leaves_the_verdicts_as_they_are(run):
    whole, alike = (
        found(run("check", *TWO, "--lock", "none", "--json", *more)) for more in ([], ["--symmetry", "writers"])
    )

    assert alike["verdicts"] == whole["verdicts"]
    assert alike["states"] < whole["states"]


def test_symmetry_of_keys_that_are_not_alike_is_refused(run):
    result = run("check", *SMALL, "--symmetry", "keys")

    assert result.exit_code == 2
    assert "each key is in other operations" in result.output
