"""Tables beside the conformance vectors, on Spark: ORC base files, and the sixth meta column, as Java wrote them."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.spark.reader import slice_ways
from drawstring.spark.ways import Way
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import QueryType, load_case, load_cases
from drawstring_spec.meta_fields import OPERATION
from spark.golden import in_types, wrong_on_spark

INTEROP = Path(__file__).parent.parent / "interop"
ORC, WITH_OPERATION = INTEROP / "data", INTEROP / "data_operation"


@pytest.mark.parametrize("case", load_cases(WITH_OPERATION), ids=lambda case: case.name)
def test_the_sixth_meta_column_is_there_where_java_has_it(case, spark, tmp_path):
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    wrong = wrong_on_spark(spark, table, case.queries)
    assert not {name: text for name, text in wrong.items() if text}
    by_format = spark.read.format("drawstring").load(str(tmp_path / case.name))
    assert by_format.columns == table.read().column_names
    assert by_format.count() == len(table.read())


def test_files_with_and_without_the_sixth_meta_column_are_scanned_natively(spark, tmp_path):
    table = ds.Table.open(str(load_case("operation_added", WITH_OPERATION).extract(tmp_path / "t")))
    assert {one.way for one in slice_ways(table._refreshed(), spark)} == {Way.NATIVE}
    assert OPERATION in table.to_spark(spark).columns


@pytest.mark.parametrize("case", load_cases(ORC), ids=lambda case: case.name)
def test_all_rows_of_orc_tables_are_those_that_java_gave(case, spark, tmp_path):
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    for query in case.queries:
        expected = pq.read_table(query.expected)
        if (case.name, query.type) == ("orc_mor", QueryType.SNAPSHOT):
            # Compaction gave the rows another file, and dropped the milliseconds of timestamps on the way.
            expected = expected.drop_columns(["_hoodie_file_name", "at"])
        asked = {"as_of": query.as_of, "read_optimized": query.type is QueryType.READ_OPTIMIZED}
        answer = table.to_spark(spark, **asked, columns=expected.column_names).toArrow()
        assert difference(in_types(answer, expected.schema), expected) == ""
    assert {one.way for one in slice_ways(table._refreshed(), spark)} == {Way.ARROW}
