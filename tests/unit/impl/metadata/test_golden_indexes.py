"""Keys and values of the indexes in metadata tables that Java wrote, against the files and rows that they are about."""

from __future__ import annotations

import base64
import datetime as dt
import io
import uuid
from functools import cache

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.log_files.blocks import read_blocks
from drawstring.metadata.keys import hashed_file, hashed_name, secondary_prefix
from drawstring.metadata.merging import merge_files
from drawstring_conformance.vectors import Case, load_case, load_cases
from drawstring_spec.footers import BLOOM_FILTER
from drawstring_spec.log_format import BlockType
from drawstring_spec.names import BaseFileName
from unit.impl.log_files.test_golden_blocks import deleted
from unit.impl.metadata.made import files
from unit.impl.metadata.test_merging import puts

ALL, LISTING, STATS, BLOOM, LOCATION, PARTITION_STATS, SECONDARY = 1, 2, 3, 4, 5, 6, 7


@cache
def dump(case: Case) -> list[dict]:
    found = next(iter((case.folder / "expected").glob("metadata_table*.parquet")), None)
    return [] if found is None else pq.read_table(found).to_pylist()


def records(kind: int) -> list[tuple[Case, dict]]:
    found = [(case, row) for case in load_cases() for row in dump(case) if row["type"] == kind]
    assert found, kind
    return found


@cache
def partitions(case: Case) -> dict[str, str]:
    """Partition of each data file, by the file's name; a dot where there are no partitions."""
    paths = [path.rpartition("/") for path in case.file_names if not path.startswith(".hoodie/")]
    return {name: folder or "." for folder, _, name in paths}


def test_a_listing_says_of_a_file_its_size_and_whether_it_is_gone_and_nothing_else():
    for case, row in records(LISTING):
        assert row["key"] in {*partitions(case).values(), "."}
        for _, info in row["filesystemMetadata"]:
            assert set(info) == {"size", "isDeleted"}


def test_one_record_lists_all_partitions():
    for case, row in records(ALL):
        assert row["key"] == "__all_partitions__"
        listed = {name for name, info in row["filesystemMetadata"] if not info["isDeleted"]}
        assert listed == {entry["key"] for entry in dump(case) if entry["type"] == LISTING}


def test_the_key_of_column_statistics_is_made_of_the_hashes_of_column_partition_and_file():
    judged = 0
    for case, row in records(STATS):
        stats = row["ColumnStatsMetadata"]
        if stats["fileName"] in partitions(case):
            judged += 1
            partition = partitions(case)[stats["fileName"]]
            expected = hashed_name(stats["columnName"]) + hashed_name(partition) + hashed_file(stats["fileName"])
            assert row["key"] == expected
    assert judged > 100


def test_the_key_of_partition_statistics_has_no_file():
    for case, row in records(PARTITION_STATS):
        if case.name == "index_expression":
            continue  # an expression index has statistics of partitions under keys of its own
        stats = row["ColumnStatsMetadata"]
        assert row["key"] == hashed_name(stats["columnName"]) + hashed_name(stats["fileName"] or ".")


def test_statistics_count_nulls_among_the_values():
    for _, row in records(STATS):
        stats = row["ColumnStatsMetadata"]
        assert 0 <= stats["nullCount"] <= stats["valueCount"]
        assert (stats["minValue"] is None) == (stats["maxValue"] is None)


def wrappers(name: str) -> dict[str, set[str]]:
    """Which members of the union of wrappers the bounds of each column use, in one table."""
    used: dict[str, set[str]] = {}
    for row in dump(load_case(name)):
        if row["type"] == STATS and row["ColumnStatsMetadata"]["minValue"]:
            bound = row["ColumnStatsMetadata"]["minValue"]
            used.setdefault(row["ColumnStatsMetadata"]["columnName"], set()).update(k for k, v in bound.items() if v)
    return used


def test_bounds_of_moments_are_plain_numbers_and_those_of_decimals_have_fifteen_digits():
    moments, decimals = wrappers("index_col_stats_cow"), wrappers("index_col_stats_decimal")
    assert moments["ts"] == {"member2"}
    assert {"member8"} in decimals.values()
    for row in dump(load_case("index_col_stats_decimal")):
        bound = (row["ColumnStatsMetadata"] or {}).get("minValue")
        if bound and bound["member8"]:
            assert bound["member8"]["value"].as_tuple().exponent == -15


def test_a_bloom_filter_stands_under_partition_and_file_as_the_text_of_the_files_footer():
    judged = 0
    for case, row in records(BLOOM):
        if case.name == "index_expression":
            continue  # filters of an expression's values, in no footer
        entry = row["BloomFilterMetadata"]
        for path in case.file_names:
            name = path.rpartition("/")[2]
            if name in partitions(case) and row["key"] == hashed_name(partitions(case)[name]) + hashed_file(name):
                judged += 1
                footer = pq.read_metadata(io.BytesIO(case.read_file(path))).metadata
                assert entry["bloomFilter"] == footer[BLOOM_FILTER.encode()]
                assert base64.b64decode(entry["bloomFilter"], validate=True)
                assert entry["timestamp"] == BaseFileName.parse(name).requested_time
    assert judged > 0


def test_a_location_is_a_partition_a_file_id_in_three_pieces_and_a_moment():
    judged = 0
    for case, row in records(LOCATION):
        place = row["recordIndexMetadata"]
        assert (place["fileIdEncoding"], place["fileId"], place["position"]) == (0, "", None)
        halves = [half % 2**64 for half in (place["fileIdHighBits"], place["fileIdLowBits"])]
        file_id = f"{uuid.UUID(int=halves[0] << 64 | halves[1])}-{place['fileIndex']}"
        files = {BaseFileName.parse(n).file_id: p for n, p in partitions(case).items() if n.endswith(".parquet")}
        assert files[file_id] == (place["partitionName"] or ".")
        moment = dt.datetime.fromtimestamp(place["instantTime"] / 1000, dt.UTC)
        assert moment.strftime("%Y%m%d%H%M%S%f")[:17] in {i["begin"] for i in case.details["timeline"]}
        judged += 1
    assert judged > 100


def test_a_secondary_key_has_the_value_as_it_is_a_dollar_sign_and_the_record_key():
    case = load_case("index_secondary")
    rows = [row for row in dump(case) if row["type"] == SECONDARY]
    snapshot = next(query for query in case.queries if query.type == "snapshot")
    cities = pq.read_table(snapshot.expected, columns=["city", "_hoodie_record_key"]).to_pylist()
    made = {secondary_prefix(r["city"]) + r["_hoodie_record_key"] for r in cities if r["city"] is not None}
    assert {row["key"] for row in rows} == made
    assert any(key != key.lower() for key in made), "the case of letters is kept"
    assert not any(row["SecondaryIndexMetadata"]["isDeleted"] for row in rows)


def metadata_blocks(case: Case):
    for path, raw in case.read_files():
        if path.startswith(".hoodie/metadata/") and ".log." in path:
            for block in read_blocks(memoryview(raw), path=path):
                yield path, block


@pytest.mark.parametrize("table", ["index_secondary", "index_record"])
def test_what_leaves_an_index_is_an_entry_of_a_delete_block(table):
    entries = [
        (path.split("/")[2], entry)
        for path, block in metadata_blocks(load_case(table))
        if block.type is BlockType.DELETE
        for entry in deleted(block.content)
    ]
    assert entries
    for partition, entry in entries:
        assert entry["partitionPath"] == partition
        assert entry["orderingVal"] == {"value": 0}


def test_each_file_group_of_an_index_begins_with_an_empty_delete_block():
    judged = 0
    for case in load_cases():
        indexing = {entry["begin"] for entry in case.details["timeline"] if entry["action"] == "indexing"}
        for path, block in metadata_blocks(case):
            if path.endswith(".log.1_0-0-0"):
                judged += 1
                assert block.type is BlockType.DELETE
                assert deleted(block.content) == [], path
                assert block.instant_time.startswith("0") or block.instant_time in indexing
    assert judged > 100


def test_only_the_listing_keeps_what_is_deleted():
    kept = [row for case in load_cases() for row in dump(case) if row["type"] > LISTING]
    members = [value for row in kept for value in row.values() if isinstance(value, dict) and "isDeleted" in value]
    assert members
    assert not any(member["isDeleted"] for member in members)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(0, 9), min_size=1, max_size=3)))
def test_a_change_of_a_listing_that_is_applied_twice_is_one_change(steps):
    once = [puts({"p": files(**step)}) for step in steps]
    again = once[-1:]
    live = [listed(merge_files(sources)) for sources in (once, [*once, *again])]
    assert live[0] == live[1]


def listed(merged) -> dict:
    return {row["name"]: row["size"] for row in merged.to_pylist() if not row["isDeleted"]}
