"""A session that encrypts what it keeps on disk takes rows from this process over a socket, not in a file."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark import SparkContext

import drawstring as ds
from drawstring.spark.driver_rows import rows_frame
from drawstring.spark.types import spark_schema
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import load_case


@pytest.fixture
def handed_over(spark, monkeypatch):
    """Have the session hand rows over as with ``spark.io.encryption.enabled``; return the servers that it asked for."""
    servers = []
    hand_over = SparkContext._serialize_to_jvm

    def watched(context, data, serializer, read_file, serve):
        def served():
            servers.append(serve())
            return servers[-1]

        return hand_over(context, data, serializer, _no_file, served)

    monkeypatch.setattr(spark.sparkContext, "_encryption_enabled", True)
    monkeypatch.setattr(SparkContext, "_serialize_to_jvm", watched)
    return servers


def _no_file(name):
    raise AssertionError(f"rows are in the file {name}, as they are")


@pytest.mark.parametrize("num_rows", [1, 20_000])
def test_rows_are_the_same(spark, handed_over, num_rows):
    rows = pa.table({"n": range(num_rows), "text": [str(n) for n in range(num_rows)]})
    frame = rows_frame(spark, rows, spark_schema(rows.schema))
    assert [server.getClass().getSimpleName() for server in handed_over] == ["ArrowIteratorServer"]
    assert frame.toArrow().sort_by("n").equals(rows)


def test_a_merge_on_read_snapshot_is_the_embedded_reader_s(spark, handed_over, tmp_path):
    table = ds.Table.open(str(load_case("mor_event_time_ordering").extract(tmp_path / "table")))
    answer = table.to_spark(spark).toArrow()
    assert handed_over
    assert difference(answer, table.read()) == ""
