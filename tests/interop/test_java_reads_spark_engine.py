"""What the Spark engine wrote is read and continued by Java Hudi, and by hudi-rs; Spark reads what Java wrote."""

from __future__ import annotations

import pyarrow as pa
import pytest

from interop import tables
from interop.rows import data_columns, difference

pytestmark = [pytest.mark.interop, pytest.mark.spark]
LAYOUTS = [tables.LAYOUTS[0], tables.LAYOUTS[1], tables.LAYOUTS[4]]


@pytest.fixture(scope="module")
def spark():
    """One small session of our own Spark 4; Java Hudi runs beside it on Spark 3.5."""
    from drawstring.spark import local_session

    session = local_session(
        "interop", cores=2, config={"spark.sql.shuffle.partitions": "2", "spark.sql.session.timeZone": "UTC"}
    )
    yield session
    session.stop()


@pytest.fixture(scope="module", params=LAYOUTS, ids=lambda layout: layout.name)
def story(request, spark, tmp_path_factory):
    """A table that the Spark engine wrote; the tests only read it."""
    import drawstring as ds

    path = tmp_path_factory.mktemp("spark") / "t"
    story = tables.create(path, request.param, engine=ds.SparkEngine(spark))
    story.to_data = spark.createDataFrame
    tables.continue_history(story)
    return story


def test_java_returns_the_snapshot_that_the_spark_engine_wrote(java, story):
    assert not difference(data_columns(java.read(story.path)), story.expected())


def test_java_returns_each_version_that_the_spark_engine_wrote(java, story):
    for requested_time, rows in story.versions.items():
        actual = data_columns(java.read(story.path, as_of=requested_time))
        assert not difference(actual, tables.to_table(rows)), requested_time


def test_hudi_rs_returns_the_snapshot_that_the_spark_engine_wrote(story):
    hudi = pytest.importorskip("hudi")
    batches = hudi.HudiTableBuilder.from_base_uri(str(story.path)).build().read(hudi.HudiReadOptions())
    assert not difference(data_columns(pa.Table.from_batches(batches)), story.expected())


def test_java_decodes_the_statistics_that_the_spark_engine_published(java, story):
    last = java.commit_metadata(story.path, max(story.versions))["partitionToWriteStats"].values()
    assert sum(stat["numDeletes"] for stats in last for stat in stats) == 3


def test_the_spark_engine_reads_what_java_upserted_and_deleted(java, spark, tmp_path):
    import drawstring as ds

    layout = tables.LAYOUTS[1]
    story = tables.create(tmp_path / "t", layout, engine=ds.SparkEngine(spark))
    story.to_data = spark.createDataFrame
    tables.continue_history(story)
    rows = [tables.row(layout, n, ts=400, name="by Java") for n in range(15, 60)]
    story.remember(java.write(story.path, "upsert", tables.to_table(rows)), rows)
    gone = [story.rows[f"key-{n:03}"] for n in (2, 30, 55)]
    story.forget(java.write(story.path, "delete", tables.to_table(gone)), gone)
    frame = ds.Table.open(str(story.path)).to_spark(spark, meta_columns=False)
    assert not difference(frame.toArrow(), story.expected())


def test_the_spark_engine_writes_again_after_java_and_java_reads_it(java, spark, tmp_path):
    import drawstring as ds

    layout = tables.LAYOUTS[1]
    story = tables.write_history(tmp_path / "t", layout)
    rows = [tables.row(layout, n, ts=400, name="by Java") for n in range(15, 60)]
    story.remember(java.write(story.path, "upsert", tables.to_table(rows)), rows)
    story.table = ds.Table.open(
        str(story.path), engine=ds.SparkEngine(spark), options={"hoodie.metadata.enable": "false"}
    )
    story.to_data = spark.createDataFrame
    story.write("upsert", [tables.row(layout, n, ts=500, name="by Spark") for n in range(50, 80)])
    story.delete([5, 60])
    assert not difference(data_columns(java.read(story.path)), story.expected())


def test_java_returns_all_types_as_the_spark_engine_wrote_them(java, spark, tmp_path):
    import drawstring as ds

    table = ds.Table.create(
        str(tmp_path / "t"),
        tables.ALL_TYPES,
        record_key="id",
        partition_by="part",
        ordering="ts",
        engine=ds.SparkEngine(spark),
    )
    old, new = ([tables.all_types_row(n, ts=ts) for n in range(20)] for ts in (1, 2))
    table.bulk_insert(spark.createDataFrame(tables.to_table(old, tables.ALL_TYPES)))
    table.upsert(spark.createDataFrame(tables.to_table(new[:10], tables.ALL_TYPES)))
    expected = tables.to_table(new[:10] + old[10:], tables.ALL_TYPES)
    assert not difference(data_columns(java.read(tmp_path / "t")), expected)
