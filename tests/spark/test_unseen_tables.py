"""Tables told to Java Hudi (``interop/data_unseen``), on Spark: all ranges, and one query of each other kind."""

from __future__ import annotations

import pytest

import drawstring as ds
from drawstring_conformance.vectors import QueryType
from interop.test_unseen_tables import CASES, LOST_BY_JAVA
from interop.unseen_recording import unpack
from spark.golden import sample, wrong_on_spark


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_answers_on_spark_are_those_that_java_gave(case, spark, tmp_path, record_property):
    path, options = unpack(case, tmp_path)
    table = ds.Table.open(str(path), options=options)
    chosen = {query.id for query in sample(case)}
    asked = [query for query in case.queries if query.id in chosen or query.type is QueryType.INCREMENTAL]
    record_property("queries", len(asked))
    wrong = wrong_on_spark(spark, table, asked)
    known = LOST_BY_JAVA.get(case.name, set())
    assert {name for name, text in wrong.items() if text} == known & {query.id for query in asked}
