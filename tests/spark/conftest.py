"""One Spark session for all tests of the Spark engine, small and quiet, and tables to try it on."""

from __future__ import annotations

import pyarrow as pa
import pytest

import drawstring as ds

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])
ALWAYS_SPARK = {"drawstring.spark.embedded.max.rows": 0}


def pytest_collection_modifyitems(items):
    here = __file__.rpartition("/")[0]
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session")
def spark():
    from drawstring.spark import local_session

    session = local_session(
        "drawstring tests",
        cores=2,
        config={
            "spark.sql.shuffle.partitions": "2",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.memory": "2g",
            "spark.sql.session.timeZone": "America/New_York",
            "spark.log.level": "OFF",
        },
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def engine(spark):
    return ds.SparkEngine(spark)


@pytest.fixture
def make_table(engine, table_uri):
    """Make a table of `SCHEMA` whose writes all go through Spark, unless options say otherwise."""

    def make(*, schema=SCHEMA, record_key="id", partition_by="part", ordering="ts", **options):
        return ds.Table.create(
            table_uri,
            schema,
            record_key=record_key,
            partition_by=partition_by,
            ordering=ordering,
            engine=engine,
            options={**ALWAYS_SPARK, **options},
        )

    return make


@pytest.fixture
def frame(spark):
    """Make a DataFrame of rows ``(id, part, ts, v)``, in so many partitions."""

    def make(rows, partitions=1):
        table = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema=SCHEMA)
        size = max(1, -(-table.num_rows // partitions))
        numbers = pa.array([n // size for n in range(table.num_rows)], pa.int32())
        numbered = spark.createDataFrame(table.append_column("n", numbers)).coalesce(1)
        return numbered.repartitionById(partitions, "n").drop("n")

    return make


@pytest.fixture
def rows_of():
    """Read a table's rows as ``(id, part, ts, v)``, sorted, duplicates kept."""

    def read(table, **query):
        answer = table.read(columns=SCHEMA.names, **query).to_pylist()
        return sorted(tuple(row.values()) for row in answer)

    return read
