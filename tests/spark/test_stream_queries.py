"""Streams of changes, as Spark runs them: each change once, across restarts, failures and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

import drawstring as ds
from drawstring_conformance.vectors import load_case

SCHEMA = pa.schema([("id", pa.string()), ("v", pa.int64())])
CDC = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.query.incremental.format": "cdc"}


def rows(*ids, v=0):
    return pa.table({"id": list(ids), "v": [v] * len(ids)}, schema=SCHEMA)


@pytest.fixture
def table(table_uri):
    return ds.Table.create(table_uri, SCHEMA, record_key="id")


class Sink:
    """What a consumer keeps: rows by batch, so that a batch that is given again counts once."""

    def __init__(self):
        self.batches: dict[int, list] = {}
        self.given: list[int] = []
        self.fails_after: set[int] = set()

    def __call__(self, frame, number):
        self.given.append(number)
        self.batches[number] = sorted((row["id"], row["v"]) for row in frame.collect())
        if number in self.fails_after:
            self.fails_after.remove(number)
            raise RuntimeError("made to fail")

    @property
    def rows(self):
        return sorted(row for batch in self.batches.values() for row in batch)


@pytest.fixture
def start(spark, table_uri, tmp_path):
    def run(sink, uri=table_uri, trigger=None, **options):
        frame = spark.readStream.format("drawstring").options(**options).load(uri)
        writer = frame.writeStream.foreachBatch(sink).option("checkpointLocation", str(tmp_path / "checkpoint"))
        return writer.trigger(**(trigger or {"availableNow": True})).start()

    return run


def test_each_change_is_given_once_across_restarts(table, start):
    table.upsert(rows("a", "b"))
    table.upsert(rows("b", v=1))
    sink = Sink()
    start(sink).awaitTermination(300)
    assert sink.rows == [("a", 0), ("b", 1)]
    start(sink).awaitTermination(300)
    assert sink.rows == [("a", 0), ("b", 1)]
    table.upsert(rows("a", "c", v=2))
    start(sink).awaitTermination(300)
    assert sink.rows == [("a", 0), ("a", 2), ("b", 1), ("c", 2)]


def test_a_batch_that_failed_is_given_again_with_the_same_commits(table, start):
    table.upsert(rows("a"))
    sink = Sink()
    sink.fails_after = {0}
    with pytest.raises(PySparkException, match="made to fail"):
        start(sink).awaitTermination(300)
    table.upsert(rows("b"))
    start(sink).awaitTermination(300)
    assert sink.given == [0, 0, 1]
    assert sink.batches == {0: [("a", 0)], 1: [("b", 0)]}


def test_a_table_that_is_being_written_is_followed(table, start):
    table.upsert(rows("first"))
    sink = Sink()
    query = start(sink, trigger={"processingTime": "0 seconds"})
    writer = threading.Thread(target=lambda: [table.upsert(rows(f"k{n}", "same", v=n)) for n in range(4)])
    writer.start()
    writer.join()
    query.processAllAvailable()
    query.stop()
    assert {row for row in sink.rows if row[0] != "same"} == {("first", 0), *((f"k{n}", n) for n in range(4))}
    same = [row for number in sorted(sink.batches) for row in sink.batches[number] if row[0] == "same"]
    assert same == sorted(set(same))
    assert same[-1] == ("same", 3)
    assert len(sink.rows) == 5 + len(same)


KILLED = """
    import os, signal, sys
    from drawstring.spark import local_session

    uri, checkpoint, output = sys.argv[1:]
    spark = local_session(cores=1)

    def sink(frame, number):
        frame.toPandas().to_csv(f"{output}-{number}.csv", index=False)
        os.kill(os.getpid(), signal.SIGKILL)

    query = spark.readStream.format("drawstring").load(uri).writeStream.foreachBatch(sink)
    query.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
"""


@pytest.mark.slow
def test_a_batch_in_whose_middle_the_driver_was_killed_is_given_again(table, start, tmp_path):
    table.upsert(rows("a", "b"))
    arguments = [table.uri, str(tmp_path / "checkpoint"), str(tmp_path / "output")]
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), *arguments],
        capture_output=True,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        timeout=300,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert (tmp_path / "output-0.csv").exists()
    table.upsert(rows("c"))
    sink = Sink()
    start(sink).awaitTermination(300)
    assert sink.batches == {0: [("a", 0), ("b", 0)], 1: [("c", 0)]}


def test_a_stream_of_every_single_change_has_all_of_them(spark, tmp_path):
    table = ds.Table.open(str(load_case("cdc_mor").extract(tmp_path / "golden")))
    frame = spark.readStream.format("drawstring").options(**CDC).load(table.uri)
    query = frame.writeStream.format("memory").queryName("every_change")
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination(300)
    expected = table.changes("earliest", cdc=True, bounds="(]")
    assert expected.num_rows
    assert sorted(map(tuple, spark.table("every_change").collect()), key=repr) == sorted(
        (tuple(row.values()) for row in expected.to_pylist()), key=repr
    )


def test_an_archived_range_is_refused_in_words_that_reach_the_user(start, tmp_path):
    table = ds.Table.open(str(load_case("archival_lsm").extract(tmp_path / "golden")))
    refusing = {"hoodie.datasource.read.incr.fallback.fulltablescan.enable": "false"}
    with pytest.raises(PySparkException, match=r"is archived: what it changed can no longer be told.*CH-004"):
        start(Sink(), uri=table.uri, **refusing).awaitTermination(300)


def test_options_of_batches_are_refused_in_words_that_reach_the_user(table, start):
    table.upsert(rows("a"))
    incremental = {"hoodie.datasource.query.type": "incremental", "hoodie.datasource.read.begin.instanttime": "000"}
    with pytest.raises(PySparkException, match=r"begin\.instanttime' is not honoured for a stream"):
        start(Sink(), **incremental).awaitTermination(300)
