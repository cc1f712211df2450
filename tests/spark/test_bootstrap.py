"""Bootstrap tables on Spark: which slices go through Arrow tasks, and the option of ``format("drawstring")``.

That all answers are Java's says `spark.test_unseen_tables`.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import drawstring as ds
from drawstring.spark.reader import slice_ways
from drawstring.spark.ways import Way
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY
from unit.impl.read.bootstrapped import BootstrapTable
from unit.impl.read.tables import a_row


@pytest.fixture
def places(tmp_path):
    """A table of one skeleton file and a whole one, and where its source file is."""
    made = BootstrapTable()
    made.skeleton("x", "f1", pa.table({"id": ["a", "b"], "n": pa.array([1, 2], pa.int32())}))
    made.complete()
    made.commit(5, 6)
    made.base_file("y", "f2", 5, a_row("c", 3, "y"))
    return made.on_disk(tmp_path)


def rows(frame):
    return sorted(tuple(row) for row in frame.select("id", "n", "day").collect())


def test_slices_of_skeleton_files_are_read_by_arrow_and_others_natively(places, spark):
    table = ds.Table.open(places[0], options={BASE_PATH_PROPERTY: places[1]})
    ways = [(one.way, "skeleton" in one.reason) for one in slice_ways(table._refreshed(), spark)]
    assert ways == [(Way.ARROW, True), (Way.NATIVE, False)]
    assert rows(table.to_spark(spark)) == [("a", 1, "x"), ("b", 2, "x"), ("c", 3, "y")]


def test_the_format_reads_source_files_where_its_option_says_that_they_are(places, spark):
    reader = spark.read.format("drawstring").option(BASE_PATH_PROPERTY, places[1])
    assert rows(reader.load(places[0])) == [("a", 1, "x"), ("b", 2, "x"), ("c", 3, "y")]
    with pytest.raises(PySparkException, match="are not opened on its word alone"):
        spark.read.format("drawstring").load(places[0]).select("n").collect()


def test_the_format_refuses_the_option_of_a_table_that_was_not_bootstrapped(places, spark, tmp_path):
    ds.Table.create(str(tmp_path / "t"), pa.schema([("id", pa.string())]), record_key="id")
    with pytest.raises(PySparkException, match="was not made of other files"):
        spark.read.format("drawstring").option(BASE_PATH_PROPERTY, places[1]).load(str(tmp_path / "t")).collect()
