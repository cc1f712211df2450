"""Conditions on tables that Java Hudi wrote, on Spark: ``to_spark``, the format's option, and Spark's own ``where``."""

from __future__ import annotations

import drawstring as ds
from drawstring_conformance.vectors import load_case
from interop.test_unseen_conditions import BY_TIME, DATA, WRONG_IN_JAVA
from interop.unseen_filters import filtered_queries
from spark.told_tables import Asked


def test_conditions_on_spark_give_the_rows_that_java_gave(spark, tmp_path):
    case = load_case(BY_TIME, DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    known = {query["where"] for query in filtered_queries(case) if query["id"] in WRONG_IN_JAVA[BY_TIME]}
    wrong = Asked(spark, case, table).filtered_by_format()
    assert set(wrong) == {f"{way} {where}" for way in ("to_spark", "where", "option") for where in known}
