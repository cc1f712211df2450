"""Spark scans only files that statistics in the metadata table do not rule out."""

from __future__ import annotations

import pyarrow.compute as pc

import drawstring as ds
from drawstring_conformance.vectors import load_case


def test_files_that_statistics_rule_out_are_not_scanned(spark, tmp_path):
    case = load_case("index_col_stats_cow")
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    greatest = pc.max(table.read(columns=["ts"])["ts"]).as_py()
    everything = table.to_spark(spark).inputFiles()
    some, none = [("ts", ">=", greatest)], [("ts", ">", greatest)]
    assert sorted(row.id for row in table.to_spark(spark, filter=some).collect()) == sorted(
        table.read(filter=some)["id"].to_pylist()
    )
    assert 0 < len(table.to_spark(spark, filter=some).inputFiles()) < len(everything)
    assert table.to_spark(spark, filter=none).inputFiles() == []
