"""Buckets of Java's tables: which file group a key is in follows from the key."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from drawstring_conformance.vectors import load_case


def java_hash(text: str) -> int:
    value = 0
    for unit in memoryview(text.encode("utf-16-be")).cast("B").tolist()[1::2]:  # keys of these tables are ASCII
        value = (31 * value + unit) & 0xFFFFFFFF
    return value


def bucket(key: str, buckets: int) -> int:
    """Java's ``List.hashCode`` of the one value, without its sign, modulo the number of buckets."""
    return ((31 + java_hash(key)) & 0x7FFFFFFF) % buckets


@pytest.mark.parametrize("name", ["bucket_index_simple_cow", "bucket_index_simple_mor"])
def test_every_row_is_in_the_bucket_that_its_key_names(name):
    case = load_case(name)
    buckets = int(case.details["options"]["hoodie.bucket.index.num.buckets"])
    snapshot = next(query for query in case.queries if query.type == "snapshot")
    rows = pq.read_table(snapshot.expected, columns=["_hoodie_record_key", "_hoodie_file_name"]).to_pylist()
    assert rows
    assert all(row["_hoodie_record_key"].isascii() for row in rows)
    for row in rows:
        assert int(row["_hoodie_file_name"][:8]) == bucket(row["_hoodie_record_key"], buckets)
