"""Golden queries on Spark: of every table, of every kind, a sample with the answers that Java Hudi gave.

``make golden`` asks all of them.
"""

from __future__ import annotations

import pytest

import drawstring as ds
from drawstring.spark.reader import slice_ways
from drawstring.spark.ways import Way
from drawstring_conformance.vectors import QueryType, load_case, load_cases
from spark.golden import is_refused, refusals, sample, wrong_on_spark

CASES = load_cases()
NUM_TABLES, LEAST_QUERIES = 63, 150


@pytest.mark.parametrize("case", [case for case in CASES if case.queries], ids=lambda case: case.name)
def test_answers_on_spark_are_those_that_java_gave(case, spark, tmp_path, record_property):
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    wrong = wrong_on_spark(spark, table, sample(case))
    record_property("queries", len(wrong))
    assert not {name: text for name, text in wrong.items() if text}


@pytest.mark.parametrize("case", [case for case in CASES if refusals(case)], ids=lambda case: case.name)
def test_what_java_refused_is_refused_on_spark(case, spark, tmp_path):
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    assert all(is_refused(table, query, spark) for query in refusals(case))


def test_the_sample_has_every_table_and_every_kind_of_query():
    asked = {case.name: sample(case) for case in CASES}
    assert len([name for name, queries in asked.items() if queries or refusals(load_case(name))]) == NUM_TABLES
    assert {query.type for queries in asked.values() for query in queries} == set(QueryType)
    assert sum(map(len, asked.values())) >= LEAST_QUERIES


def test_base_files_of_tables_that_java_wrote_are_scanned_natively_beside_their_log_files(spark, tmp_path):
    merged = set()
    for name in ("mor_basic", "mor_event_time_ordering", "mor_partial_update", "no_meta_fields_mor"):
        table = ds.Table.open(str(load_case(name).extract(tmp_path / name)))
        merged |= {name for one in slice_ways(table._refreshed(), spark) if one.way is Way.MERGED}
    assert merged == {"mor_basic", "mor_event_time_ordering", "mor_partial_update", "no_meta_fields_mor"}
