"""What the Spark engine decides in the driver: no session is needed for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import EngineError
from drawstring.files import BaseFile, FileGroupId
from drawstring.spark import session
from drawstring.spark.routing import ADDRESS_BITS, TASK_BYTES, Target, assign_tasks
from drawstring.spark.tasks import GroupPlan, parse_result, result_batch
from drawstring.spark.uniqueness import NewFile, _overlapping
from drawstring.write_stats import WriteStat


def target(number, size):
    group = FileGroupId("p", f"f{number:04}")
    return Target(GroupPlan(group, BaseFile(f"p/f{number}", group, "1", size)), 1, 0)


def new_file(number, least, greatest):
    stat = WriteStat(FileGroupId("p", f"f{number}"), f"p/f{number}", "null", None, 1, 1, 0, 0, 1)
    return NewFile(stat, least, greatest, (number, 0))


def test_large_files_have_a_task_each():
    routes = assign_tasks([target(n, TASK_BYTES) for n in range(5)], 1, parallelism=2)
    assert routes.tasks == (0, 1, 2, 3, 4)


def test_few_small_files_keep_all_cores_at_work():
    routes = assign_tasks([target(n, 1000) for n in range(4)], 1, parallelism=2)
    assert routes.num_tasks == 4


def test_many_small_files_share_tasks():
    routes = assign_tasks([target(n, 1000) for n in range(400)], 1, parallelism=2)
    assert 4 <= routes.num_tasks <= 8


@given(st.lists(st.integers(0, 3 * TASK_BYTES), min_size=1, max_size=60), st.integers(1, 8))
def test_every_file_has_one_task_and_no_number_of_a_task_is_left_out(sizes, parallelism):
    routes = assign_tasks([target(n, size) for n, size in enumerate(sizes)], 1, parallelism)
    assert len(routes.tasks) == len(sizes)
    assert sorted(set(routes.tasks)) == list(range(routes.num_tasks))
    assert len(sizes) < 1 << ADDRESS_BITS


def test_no_files_make_no_task():
    assert assign_tasks([], 1, parallelism=2).num_tasks == 0


RANGES = st.lists(st.tuples(st.text("abcd", max_size=2), st.text("abcd", max_size=2)).map(sorted), max_size=8)


@given(RANGES)
def test_files_are_suspects_exactly_where_their_key_ranges_meet(ranges):
    files = [new_file(n, *limits) for n, limits in enumerate(ranges)]
    meeting = {
        a.stat.path for a in files for b in files if a is not b and a.least <= b.greatest and b.least <= a.greatest
    }
    assert {file.stat.path for file in _overlapping(files)} == meeting


def test_what_a_task_reports_is_what_the_driver_reads():
    stat = new_file(3, "a", "b").stat
    text = result_batch(stat, {"order": [1, 2]}).column(0)[0].as_py()
    assert parse_result(text) == (stat, {"order": [1, 2]})


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("something else", None),
    ],
)
def test_the_version_of_java_is_read_from_what_it_says(monkeypatch, tmp_path, answer, version):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{answer}\nEND\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert session.java_version() == version


def test_a_missing_java_is_an_engine_error_with_a_way_out(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match="none was found") as caught:
        session.local_session()
    assert "embedded engine needs no Java" in (caught.value.way_out or "")


def test_an_old_java_is_refused_with_its_version(monkeypatch):
    monkeypatch.setattr(session, "java_version", lambda: 11)
    with pytest.raises(EngineError, match="this is Java 11"):
        session.require_java()


def test_what_is_no_session_is_refused():
    with pytest.raises(EngineError, match="no classic Spark session"):
        session.check_session("local[2]")
