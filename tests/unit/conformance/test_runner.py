"""The judge passes right answers, fails each kind of wrong one, and leaves nothing out in silence."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from drawstring_conformance.defects import KNOWN_DEFECTS
from drawstring_conformance.runner import Outcome, judge, refusals
from drawstring_conformance.targets import UnsupportedQueryError
from drawstring_conformance.vectors import load_case, load_cases


def outcomes(cases, target):
    return [verdict for _, found in judge(cases, target) for verdict in found]


def test_right_answers_pass_and_known_defects_judge_nobody(few_cases, oracle):
    counted = Counter(verdict.outcome for verdict in outcomes(few_cases, oracle(few_cases)))
    total = sum(len(case.queries) + len(refusals(case)) for case in few_cases)
    assert counted == {Outcome.PASSED: total - 5, Outcome.VECTOR_DEFECT: 5}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda query, table: table.slice(1) if table.num_rows else table.append_column("x", pa.array([], pa.int8())),
        lambda query, table: table.append_column("more", pa.nulls(table.num_rows)),
        lambda query, table: "no rows at all",
        lambda query, table: 1 // 0,
    ],
    ids=["a row too few", "a column too many", "no table", "an error"],
)
def test_a_wrong_answer_fails_in_every_query(spoil, few_cases, oracle):
    found = outcomes(few_cases, oracle(few_cases, spoil))
    answers = [verdict for verdict in found if not verdict.refusal and verdict.outcome is not Outcome.VECTOR_DEFECT]
    defects = [key for key in KNOWN_DEFECTS if key[0] in {case.name for case in few_cases}]
    assert {verdict.outcome for verdict in answers} == {Outcome.FAILED}
    assert len(answers) >= sum(len(case.queries) for case in few_cases) - len(defects)
    assert all(verdict.detail for verdict in answers)


def test_an_image_with_another_value_fails(few_cases, oracle):
    def spoil(query, table):
        if query["type"] != "cdc" or not table.num_rows:
            return table
        images = [text and text.replace('"id":', '"key":') for text in table["after"].to_pylist()]
        return table.set_column(table.column_names.index("after"), "after", pa.array(images, pa.string()))

    failed = {v.query for v in outcomes(few_cases, oracle(few_cases, spoil)) if v.outcome is Outcome.FAILED}
    assert failed
    assert all(name.startswith("cdc") for name in failed)


def test_what_java_refused_has_to_be_refused(oracle):
    cases = (load_case("inflight_only_cow"),)
    target = oracle(cases)
    target.answer = lambda base_path, query: pa.table({"a": [1]})
    found = outcomes(cases, target)
    assert {verdict.outcome for verdict in found} == {Outcome.FAILED}
    assert all(verdict.refusal and "instead of a refusal" in verdict.detail for verdict in found)


def test_what_a_target_does_not_do_is_unsupported_with_its_reason(few_cases, oracle):
    def spoil(query, table):
        raise UnsupportedQueryError("no queries at all")

    found = [verdict for verdict in outcomes(few_cases, oracle(few_cases, spoil)) if not verdict.refusal]
    assert {(verdict.outcome, verdict.detail) for verdict in found} == {(Outcome.UNSUPPORTED, "no queries at all")}


def test_the_defects_are_those_of_queries_that_exist_and_each_says_what_proves_it():
    queries = {(case.name, query.id) for case in load_cases() for query in case.queries}
    assert set(KNOWN_DEFECTS) <= queries
    assert all(defect.what and "test_deletes_by_an_overwrite" in defect.evidence for defect in KNOWN_DEFECTS.values())


def test_a_defect_is_reported_with_the_answer_that_the_target_gives(few_cases, oracle):
    found = [v for v in outcomes(few_cases, oracle(few_cases)) if v.outcome is Outcome.VECTOR_DEFECT]
    other = [
        v
        for v in outcomes(few_cases, oracle(few_cases, lambda query, table: table.slice(1)))
        if v.outcome is Outcome.VECTOR_DEFECT
    ]
    assert all("gives Java's wrong answer" in verdict.detail for verdict in found)
    assert all("gives another answer than Java's" in verdict.detail for verdict in other)
    assert len(found) == len(other) == 5


def test_the_unpacked_tables_are_gone_afterwards(few_cases, oracle):
    seen = []
    target = oracle(few_cases)
    ask = target.answer

    def answer(base_path, query):
        seen.append(base_path)
        return ask(base_path, query)

    target.answer = answer
    outcomes(few_cases, target)
    assert seen
    assert not any(Path(path).exists() for path in seen)
