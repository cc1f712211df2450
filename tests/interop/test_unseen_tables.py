"""Tables that were told to Java Hudi, feature by feature (`interop.unseen_story`), and every kind of query of them.

Those whose answers once differed from ours are kept in ``data_unseen`` with what Java answered; a few others are
written by Java each time. ``PYTHONPATH=tests python -m interop.unseen_tables`` tells all of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from drawstring.read import merge_reader
from drawstring_conformance.vectors import load_case, load_cases
from interop.unseen_recording import wrong_answers
from interop.unseen_stories import STORIES
from interop.unseen_tables import record

DATA = Path(__file__).with_name("data_unseen")
CASES = load_cases(DATA)
TOLD_EACH_TIME = ("compacted_range_keys",)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_answer_is_the_one_that_java_gave(case, tmp_path, record_property):
    record_property("queries", len(case.queries))
    assert wrong_answers(case, tmp_path) == {}
    assert case.queries


@pytest.mark.interop
@pytest.mark.parametrize("name", TOLD_EACH_TIME)
def test_a_story_told_now_is_read_as_java_reads_it(name, java, tmp_path):
    case = record(java, STORIES[name], tmp_path / "work", tmp_path / "cases")
    assert wrong_answers(case, tmp_path / "judged") == {}
    assert case.queries


@pytest.mark.parametrize("name", ["compacted_range_positions", "rewritten_base_in_range"])
def test_rows_from_before_a_range_that_took_part_in_its_merging_would_be_noticed(name, tmp_path, monkeypatch):
    monkeypatch.setattr(merge_reader, "_of_commits", lambda rows, _: pa.array(np.ones(rows.num_rows, np.bool_)))
    assert wrong_answers(load_case(name, DATA), tmp_path)
