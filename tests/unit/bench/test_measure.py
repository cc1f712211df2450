"""The benchmark measures fairly and tells what it measured: turns, warm-ups, medians, ratios, targets."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from bench.measure import Contender, Measurement, alternate
from bench.report import join_java, look_ups, render, save
from bench.rows import make_workload


def _measured(
    section: str, title: str, baseline: str | None, target: float | None, **seconds: list[float]
) -> Measurement:
    found = Measurement(section, title, "ours", baseline, target)
    found.seconds.update(seconds)
    return found


def test_contenders_take_turns_and_the_warm_up_does_not_count() -> None:
    turns: list[str] = []
    contenders = [Contender(name, lambda _, name=name: turns.append(name)) for name in ("ours", "theirs")]

    found = alternate(Measurement("s", "t", "ours", "theirs"), contenders, repeats=2)

    assert turns == ["ours", "theirs"] * 3
    assert {name: len(runs) for name, runs in found.seconds.items()} == {"ours": 2, "theirs": 2}


def test_each_run_gets_its_own_input_which_is_taken_away_afterwards() -> None:
    seen: list[str] = []
    inputs = iter("abc")
    contender = Contender(
        "ours",
        run=lambda i: seen.append(f"run {i}"),
        prepare=lambda: next(inputs),
        clean_up=lambda i: seen.append(f"clean {i}"),
    )

    alternate(Measurement("s", "t", "ours"), [contender], repeats=2)

    assert seen == ["run a", "clean a", "run b", "clean b", "run c", "clean c"]


def test_the_ratio_is_that_of_the_medians() -> None:
    found = _measured("s", "t", "theirs", 1.0, ours=[1.0, 9.0, 2.0], theirs=[4.0, 4.0, 1.0])

    assert found.ratio == 0.5
    assert found.is_reached


@pytest.mark.parametrize(("target", "is_reached"), [(1.2, True), (1.0, True), (0.9, False), (None, None)])
def test_a_target_is_reached_up_to_its_value(target: float | None, is_reached: bool | None) -> None:  # noqa: FBT001 -- a column of the table
    found = _measured("s", "t", "theirs", target, ours=[1.0], theirs=[1.0])

    assert found.is_reached is is_reached


def test_a_side_that_took_no_measurable_time_has_no_ratio() -> None:
    found = _measured("s", "t", "theirs", 1.0, ours=[1.0], theirs=[0.0])

    assert found.ratio is None
    assert found.is_reached is None


def test_java_becomes_the_baseline_of_what_had_none() -> None:
    spark = _measured("Spark", "upsert 1,000 keys", None, None, ours=[1.0])
    java = Measurement("Java Hudi", "upsert 1,000 keys", "Java Hudi", seconds={"Java Hudi": [8.0]})

    join_java([spark, java])

    assert spark.baseline == "Java Hudi"
    assert spark.ratio == 0.125
    assert spark.is_reached


def test_java_stands_beside_another_baseline_without_replacing_it() -> None:
    spark = _measured("Spark", "bulk_insert", "Parquet write", 1.2, ours=[1.0], **{"Parquet write": [1.0]})
    java = Measurement("Java Hudi", "bulk_insert", "Java Hudi", seconds={"Java Hudi": [8.0]})

    join_java([spark, java])

    assert spark.baseline == "Parquet write"
    assert spark.seconds["Java Hudi"] == [8.0]


def test_a_missed_target_is_shown_as_missed() -> None:
    console = Console(width=120, color_system=None)

    with console.capture() as capture:
        console.print(render([_measured("s", "t", "theirs", 1.0, ours=[3.0], theirs=[2.0])]))

    assert "1.50" in capture.get()
    assert "missed" in capture.get()


def test_everything_is_saved_as_json(tmp_path: Path) -> None:
    save(tmp_path / "bench.json", [_measured("s", "t", "theirs", 1.0, ours=[3.0], theirs=[2.0])], {"rows": 1})

    content = json.loads((tmp_path / "bench.json").read_text())
    assert content["measurements"][0]["ratio"] == 1.5
    assert content["measurements"][0]["is_reached"] is False
    assert content["arguments"] == {"rows": 1}


def test_the_rows_are_the_same_in_every_run_and_17_columns_wide() -> None:
    first, second = make_workload(400, 20), make_workload(400, 20)

    assert first.rows.equals(second.rows)
    assert first.rows.num_columns == 17
    assert len(set(first.rows["id"].to_pylist())) == 400
    assert len(set(first.rows["region"].to_pylist())) == 4


def test_updates_hit_rows_of_the_table_in_their_partition_and_fresh_rows_none() -> None:
    workload = make_workload(400, 20)
    home = dict(zip(workload.rows["id"].to_pylist(), workload.rows["region"].to_pylist(), strict=True))

    for batch, size in ((workload.many, 20), (workload.few, 20)):
        keys = dict(zip(batch["id"].to_pylist(), batch["region"].to_pylist(), strict=True))
        assert len(keys) == size
        assert keys.items() <= home.items()
    assert not set(workload.fresh["id"].to_pylist()) & home.keys()


@pytest.mark.parametrize(("median", "is_reached"), [(0.5, True), (1.0, True), (1.5, False)])
def test_a_limit_is_of_ours_alone_and_printed_beside_it(median: float, is_reached: bool) -> None:  # noqa: FBT001 -- a column of the table
    found = Measurement("s", "t", "ours", limit=1.0, unit="MiB")
    found.seconds.update(ours=[median], theirs=[0.1])
    console = Console(width=120, record=True)

    console.print(render([found]))

    (line,) = [line for line in console.export_text().splitlines() if line.startswith("  ours")]
    assert found.is_reached is is_reached
    assert f"≤ 1.00 MiB {'reached' if is_reached else 'missed'}" in line


def test_look_ups_are_told_by_elapsed_and_by_processor_time_with_the_target_beside() -> None:
    found = _measured("embedded", "look-up of 100 random keys", "theirs", 1 / 20, ours=[1.0], theirs=[7.0])
    found.cpu_seconds.update(ours=[1.0], theirs=[13.0])
    other = _measured("embedded", "snapshot", "theirs", 1.0, ours=[1.0], theirs=[5.0])
    console = Console(width=120, file=io.StringIO(), record=True)

    console.print(look_ups([found, other]))

    told = console.export_text()
    line = next(line for line in told.splitlines() if "100 random keys" in line)
    assert line.split()[-4:] == ["7.0", "13.0", "≥", "20"]
    assert "snapshot" not in told


def test_processor_time_is_taken_of_the_same_runs() -> None:
    found = alternate(Measurement("s", "t", "ours"), [Contender("ours", lambda _: sum(range(10**5)))], repeats=3)

    assert len(found.cpu_seconds["ours"]) == len(found.seconds["ours"]) == 3
    assert min(found.cpu_seconds["ours"]) > 0
