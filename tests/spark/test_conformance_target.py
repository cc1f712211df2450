"""The Spark engine as a target of the conformance suite: its answers are Java's, snapshots and changes alike."""

from __future__ import annotations

from collections import Counter

import pytest

from drawstring.conformance_target import SparkTarget
from drawstring_conformance.runner import Outcome, judge
from drawstring_conformance.vectors import load_case


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cow_nonpartitioned", "cdc_mor"])
def test_spark_gives_the_answers_that_java_gave(name, spark):
    # The target takes the session that runs; it is the fixture's to stop it.
    ((_, verdicts),) = judge([load_case(name)], SparkTarget())
    assert not [verdict for verdict in verdicts if verdict.outcome is not Outcome.PASSED]
    assert len(Counter(verdict.type for verdict in verdicts)) >= 3
