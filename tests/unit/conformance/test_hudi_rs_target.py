"""hudi-rs as a target: asked in its own words, and what it does not do is unsupported, not failed."""

from __future__ import annotations

from collections import Counter

import pytest

from drawstring_conformance.runner import Outcome, judge
from drawstring_conformance.vectors import QueryType, load_case

pytest.importorskip("hudi")

from drawstring_conformance.hudi_rs import HudiRsTarget, _before


def outcomes(name):
    ((_, verdicts),) = judge([load_case(name)], HudiRsTarget())
    return Counter((verdict.type, verdict.outcome) for verdict in verdicts)


def test_queries_of_each_type_are_asked_so_that_hudi_rs_understands_them():
    assert {outcome for _, outcome in outcomes("mor_basic")} == {Outcome.PASSED}


def test_change_data_is_unsupported():
    counted = outcomes("cdc_mor")
    assert counted[QueryType.CDC, Outcome.UNSUPPORTED] == 8
    assert not counted[QueryType.CDC, Outcome.FAILED]


def test_what_hudi_rs_says_it_lacks_is_unsupported():
    counted = outcomes("schema_on_read_cow")
    assert counted[QueryType.SNAPSHOT, Outcome.UNSUPPORTED] == 1
    assert not counted[QueryType.SNAPSHOT, Outcome.FAILED]


@pytest.mark.parametrize(
    ("start", "before"),
    [
        ("20240101000000000", "20231231235959999"),
        ("20240131120000001", "20240131120000000"),
        ("000", "19700101000000000"),
    ],
)
def test_a_range_that_includes_its_start_begins_a_millisecond_earlier(start, before):
    assert _before(start) == before
