"""``format("drawstring")``: which rows a read gives, whatever Spark may push down, and which files it opens."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import drawstring as ds
from drawstring.errors import InputError
from drawstring.spark.source_filters import parse_filter
from drawstring_conformance.vectors import load_case

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("part", pa.string()),
        ("n", pa.int32()),
        ("x", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("price", pa.decimal128(38, 2)),
        ("raw", pa.binary()),
        ("yes", pa.bool_()),
    ]
)
LONG = Decimal("123456789012345678901234567890123456.78")


def row(name, part, n, x, price, minute):
    naive = dt.datetime(2026, 1, 1, 0, minute)  # noqa: DTZ001 -- the column has no zone
    at, day = naive.replace(tzinfo=dt.UTC), dt.date(2026, 1, n or 1)
    return dict(zip(SCHEMA.names, [name, part, n, x, at, naive, day, price, name.encode(), n == 1], strict=True))


@pytest.fixture
def table(table_uri):
    made = ds.Table.create(table_uri, SCHEMA, record_key="id", partition_by="part")
    given = [
        row("a", "p", 1, 1.0, Decimal("1.00"), 1),
        row("b", "q", 2, float("nan"), LONG, 2),
        row("ab", "r", None, None, None, 3),
    ]
    made.bulk_insert(pa.Table.from_pylist(given, schema=SCHEMA))
    return made


@pytest.fixture(params=["true", "false"], ids=["pushed", "not pushed"])
def pushdown(spark, request):
    before = spark.conf.get(PUSHDOWN)
    spark.conf.set(PUSHDOWN, request.param)
    yield request.param == "true"
    spark.conf.set(PUSHDOWN, before)


WHERES = [
    "id = 'a'",
    "id <=> 'a' or n is null",
    "n <=> null",
    "not (n = 1)",
    "n in (1, null)",
    "n not in (2)",
    "n > 1 and n < 3",
    "x = 'NaN'",
    "x > 5",
    "not (x = 1)",
    "id like 'a%'",
    "id like '%b'",
    "at > timestamp'2026-01-01 00:01:00Z'",
    "local <= timestamp_ntz'2026-01-01 00:02:00'",
    "day = date'2026-01-02'",
    "price = 1.00",
    f"price = {LONG}",
    f"price >= {LONG}",
    "raw = x'6162'",
    "yes",
    "not yes",
    "_hoodie_record_key >= 'ab'",
]


def test_queries_of_one_dataframe_do_not_disturb_each_other(spark, table, pushdown):
    frame = spark.read.format("drawstring").load(table.uri)
    every = frame.collect()
    whole = spark.createDataFrame(every, frame.schema)
    wrong = {}
    for where in WHERES:
        found = sorted(row["id"] for row in frame.where(where).collect())
        if found != sorted(row["id"] for row in whole.where(where).collect()):
            wrong[where] = found
    assert len(every) == frame.count() == 3
    assert not wrong
    assert frame.where("part = 'p'").union(frame.where("part = 'q'")).count() == 2


def pushing_source():
    """A source that leaves out what Spark's conditions rule out; made here, so that workers get it whole."""

    class Pushed(DataSourceReader):
        """A reader that leaves out what Spark's conditions rule out, by the book."""

        only = None

        def pushFilters(self, filters):  # noqa: N802 -- Spark's own
            self.only = next((one.value for one in filters if type(one).__name__ == "EqualTo"), None)
            return filters

        def partitions(self):
            return [InputPartition(number) for number in range(3) if self.only in (None, number)]

        def read(self, partition):
            yield (partition.value,)

    class Pushing(DataSource):
        @classmethod
        def name(cls):
            return "pushing"

        def schema(self):
            return "n int"

        def reader(self, schema):
            return Pushed()

    return Pushing


def test_spark_still_mixes_up_the_conditions_of_two_queries(spark):
    """Once this fails, Spark can be trusted with conditions: docs/decisions/filters-of-the-format.md."""
    before = spark.conf.get(PUSHDOWN)
    spark.conf.set(PUSHDOWN, "true")
    try:
        spark.dataSource.register(pushing_source())
        frame = spark.read.format("pushing").load()
        assert frame.where("n = 1").union(frame.where("n = 2")).count() == 1
    finally:
        spark.conf.set(PUSHDOWN, before)


FILTER = "drawstring.read.filter"
FILTERS = [
    ('[["part", "in", ["q", "r"]], ["id", "!=", "ab"]]', ["b"], 2),
    ('[["part", "==", "nowhere"]]', [], 1),
    ('[[["part", "==", "p"]], [["part", "==", "r"]]]', ["a", "ab"], 2),
    ('[["day", ">=", "2026-01-02"]]', ["b"], 3),
    ('[["at", "<", "2026-01-01T00:02:00Z"]]', ["a"], 3),
    ('[["price", "==", "1.00"]]', ["a"], 3),
    ('[["yes", "==", true]]', ["a"], 3),
]


@pytest.mark.parametrize(("text", "ids", "num_partitions"), FILTERS, ids=[text for text, *_ in FILTERS])
def test_a_filter_gives_the_rows_that_are_wanted_of_the_files_that_may_hold_them(
    spark, table, text, ids, num_partitions
):
    frame = spark.read.format("drawstring").option(FILTER, text).load(table.uri)
    assert sorted(row["id"] for row in frame.collect()) == ids
    assert frame.rdd.getNumPartitions() == num_partitions


def test_a_filter_of_changes_is_one_of_their_rows(spark, table):
    options = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": "earliest"}
    frame = spark.read.format("drawstring").options(**options).option(FILTER, '[["part", "==", "p"]]').load(table.uri)
    assert frame.rdd.getNumPartitions() == 1
    assert [row["id"] for row in frame.collect()] == ["a"]


def test_a_filter_leaves_files_out_by_the_statistics_of_java(spark, tmp_path):
    table = ds.Table.open(str(load_case("index_col_stats_cow").extract(tmp_path / "golden")))
    greatest = max(table.read(columns=["ts"])["ts"].to_pylist())
    text = f'[["ts", ">=", {greatest}]]'
    reads = [
        spark.read.format("drawstring").option(FILTER, text).option("hoodie.enable.data.skipping", skipping)
        for skipping in ("true", "false")
    ]
    few, all_files = (read.load(table.uri) for read in reads)
    assert few.rdd.getNumPartitions() < all_files.rdd.getNumPartitions()
    expected = sorted(table.read(filter=[("ts", ">=", greatest)])["id"].to_pylist())
    assert sorted(row["id"] for row in few.collect()) == sorted(row["id"] for row in all_files.collect()) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n = 1", "is no JSON"),
        ("{}", "has the value"),
        ('[["n", "=="]]', "has the condition"),
        ('[["nowhere", "==", 1]]', "nowhere"),
        ('[["n", "==", "one"]]', "none of column 'n'"),
        ('[["n", "~", 1]]', "does not fit the table"),
    ],
)
def test_a_filter_that_does_not_fit_is_refused_in_words(table, text, words):
    with pytest.raises(InputError, match=words):
        parse_filter(text, SCHEMA)


def test_several_paths_are_refused(spark, table):
    with pytest.raises(PySparkException, match="Several paths"):
        spark.read.format("drawstring").load([table.uri, table.uri]).collect()


def test_keys_of_options_are_taken_in_any_case(spark, table):
    frame = spark.read.format("drawstring").option("HOODIE.Datasource.Query.TYPE", "Read_Optimized").load(table.uri)
    assert frame.count() == 3
