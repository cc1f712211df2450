"""Golden queries for changes, asked on Spark: one function that answers a query, one that judges the answer.

Rows of incremental queries are compared in all columns and types. Change data are compared with the embedded engine's
answer, text by text, and that engine's with Java's (`tests/interop/test_golden_changes.py`, which also names the five
ranges that Java answers wrongly).
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import drawstring as ds
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Query, QueryType

KINDS = (QueryType.INCREMENTAL, QueryType.CDC)
"""Kinds of queries that are asked here."""


def ask(spark: SparkSession, table: ds.Table, query: Query) -> DataFrame:
    """Ask a golden query for changes on Spark: the table's own way."""
    return table.changes_to_spark(spark, query.start, query.end, cdc=query.type is QueryType.CDC).rows


def ask_format(spark: SparkSession, table: ds.Table, query: Query) -> DataFrame:
    """Ask a golden query for changes on Spark: the way of options."""
    options = {
        "hoodie.datasource.query.type": "incremental",
        "hoodie.datasource.read.begin.instanttime": query.start or "",
        **({"hoodie.datasource.read.end.instanttime": query.end} if query.end else {}),
        **({"hoodie.datasource.query.incremental.format": "cdc"} if query.type is QueryType.CDC else {}),
        **query.read_options,
    }
    return spark.read.format("drawstring").options(**options).load(table.uri)


def judge(query: Query, table: ds.Table, answer: pa.Table) -> str:
    """Say how an answer differs from the right one; the empty text where it does not.

    Args:
        query: for changes.
        table: that was asked.
        answer: what Spark returned.

    """
    if query.type is QueryType.CDC:
        return difference(answer, table.changes(query.start, query.end, cdc=True))
    return difference(answer, pq.read_table(query.expected))
