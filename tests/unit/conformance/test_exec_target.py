"""A program in any language can be judged, and one that misbehaves fails its query and no other."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from drawstring_conformance.exec_target import ExecTarget, ExecTargetError, QueryRefusedError
from drawstring_conformance.runner import Outcome, judge
from drawstring_conformance.targets import TargetError, UnsupportedQueryError, load_target
from drawstring_conformance.vectors import QueryType, load_case
from meta.documents import python_blocks

PAGE = Path(__file__).resolve().parents[3] / "docs" / "how-to" / "judge-a-reader.md"
QUERY = {"type": "snapshot", "as_of": None, "start": None, "end": None, "read_options": {}}
PROGRAM = """
import json, os, sys, time
import pyarrow as pa, pyarrow.parquet as pq
rows = pa.table({"a": [1, 2]})
for line in sys.stdin:
    r = json.loads(line)
    if "protocol" in r:
        print(json.dumps({"name": "p", "version": "2"}), flush=True)
        continue
    path, reply = r["answer_path"], {"id": r["id"], "status": "answered"}
    what = r["base_path"]
    if what == "parquet": pq.write_table(rows, path)
    if what == "file":
        with pa.ipc.new_file(path, rows.schema) as w: w.write_table(rows)
    if what == "stream":
        with pa.ipc.new_stream(path, rows.schema) as w: w.write_table(rows)
    if what == "garbage": open(path, "wb").write(b"nothing")
    if what in ("refused", "unsupported", "strange"): reply = {"id": r["id"], "status": what, "reason": "because"}
    if what == "other id": reply["id"] = -1
    if what == "end": os._exit(3)
    if what == "sleep": time.sleep(60)
    if what == "text": print("hello", flush=True); continue
    if what == "list": print("[]", flush=True); continue
    if what == "long": print("x" * 2_000_000, flush=True); continue
    print(json.dumps(reply), flush=True)
"""


@pytest.fixture
def target(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    started = ExecTarget.start(shlex.join([sys.executable, str(program)]), timeout_s=5.0)
    yield started
    started.close()


def test_the_program_says_who_it_is(target):
    assert (target.name, target.version) == ("p", "2")


@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
def test_rows_come_in_three_forms(form, target):
    assert target.answer(form, QUERY).equals(pa.table({"a": [1, 2]}))


def test_a_refusal_has_its_reason(target):
    with pytest.raises(QueryRefusedError, match="because"):
        target.answer("refused", QUERY)


def test_what_the_program_does_not_do_has_its_reason(target):
    with pytest.raises(UnsupportedQueryError, match="because"):
        target.answer("unsupported", QUERY)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("garbage", "no rows that can be read"),
        ("nothing written", "no rows that can be read"),
        ("strange", "status 'strange'"),
        ("other id", "instead of 1"),
        ("end", "ended with status 3"),
        ("text", "wrote no JSON"),
        ("list", "wrote no JSON object"),
        ("long", "a line of more than"),
    ],
)
def test_a_program_that_misbehaves_fails_its_query_and_answers_the_next(what, message, target):
    with pytest.raises(ExecTargetError, match=message):
        target.answer(what, QUERY)
    assert target.answer("parquet", QUERY).num_rows == 2


def test_a_program_that_gives_no_answer_is_ended(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    target = ExecTarget.start(shlex.join([sys.executable, str(program)]))
    target._timeout_s = 0.2
    with pytest.raises(ExecTargetError, match="gave no answer"):
        target.answer("sleep", QUERY)
    target.close()


@pytest.mark.parametrize("command", ["/no/such/program", "", "'"])
def test_a_program_that_does_not_start_is_named(command):
    with pytest.raises(ExecTargetError, match="does not start"):
        load_target("exec:" + command)


def test_a_target_that_cannot_be_called_without_arguments_is_named():
    with pytest.raises(TargetError, match=r"'json:loads' cannot be started: TypeError"):
        load_target("json:loads")


def test_the_example_of_the_documents_passes(tmp_path):
    code = re.search(r"<!-- example: exec target -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    (tmp_path / "example.py").write_text(code)
    target = load_target("exec:" + shlex.join([sys.executable, str(tmp_path / "example.py")]))
    ((_, verdicts),) = judge([load_case("mor_clustering")], target)
    target.close()
    by_type = {
        outcome: {v.type for v in verdicts if v.outcome is outcome}
        for outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.UNSUPPORTED)
    }
    assert by_type[Outcome.PASSED] == {QueryType.SNAPSHOT, QueryType.TIME_TRAVEL}
    assert by_type[Outcome.FAILED] == set()
    assert QueryType.INCREMENTAL in by_type[Outcome.UNSUPPORTED]


def test_the_reader_of_the_documents_is_a_target():
    code = python_blocks(PAGE.read_text())[0].code
    names = {}
    exec(code, names)
    ((_, verdicts),) = judge([load_case("mor_clustering")], names["MyReader"]())
    assert {v.outcome for v in verdicts if v.type is QueryType.SNAPSHOT} == {Outcome.PASSED}
    assert {v.outcome for v in verdicts if v.type is not QueryType.SNAPSHOT} == {Outcome.UNSUPPORTED}
