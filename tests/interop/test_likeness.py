"""A table of ours looks like one of Java's: the same kinds of files, names, footers, Avro fields and properties.

Each test writes the data of a golden table with drawstring and compares shapes (`interop.likeness`). Where we
differ on purpose, the difference is written down here with its reason, and nothing else may differ.
"""

from __future__ import annotations

import base64
import json

import pyarrow.parquet as pq
import pytest

import drawstring as ds
from interop import likeness
from interop.conftest import VECTORS, golden_case
from interop.rows import data_columns

# Java's metadata table is not written yet, so neither are the properties and definitions that speak of it.
METADATA_PROPERTIES = {
    "hoodie.table.metadata.partitions",
    "hoodie.table.metadata.partitions.inflight",
    "hoodie.table.index.defs.path",
}
# Java's SQL writer records the schema at creation, its DataFrame writer does not; we always do.
OUR_PROPERTIES = {"hoodie.table.create.schema"}
# Java writes the partition fields of an unpartitioned table as an empty property, SQL leaves it out.
MAY_BE_EMPTY = {"hoodie.table.partition.fields"}
# The folder of index definitions belongs to the metadata table; locks and heartbeats are made on demand by both.
METADATA_FOLDERS = {".hoodie/.index_defs"}
METADATA_FILES = {".hoodie/.index_defs/index.json"}
# Values that are a choice: names (the checksum follows), and the zone of instant times, which we fix to UTC.
CHOSEN_VALUES = {"hoodie.table.checksum", "hoodie.table.timeline.timezone"}

CASES = ["cow_nonpartitioned", "all_types_cow", "keygen_complex"]


@pytest.fixture(scope="module", params=CASES)
def pair(request, tmp_path_factory):
    """A golden table, and the same rows written by us under the same name: inserted, then some updated."""
    import zipfile

    name = request.param
    folder = tmp_path_factory.mktemp(name)
    with zipfile.ZipFile(VECTORS / name / "table.zip") as archive:
        archive.extractall(folder / "java")
    case = golden_case(name)
    rows = data_columns(pq.read_table(VECTORS / name / "expected" / "snapshot.parquet"))
    options = {
        "hoodie.table.name": case["options"]["hoodie.table.name"],
        "hoodie.datasource.write.hive_style_partitioning": case["table_properties"][
            "hoodie.datasource.write.hive_style_partitioning"
        ],
    }
    table = ds.Table.create(
        str(folder / "ours"),
        rows.schema,
        record_key=case["record_keys"],
        partition_by=case["partition_fields"],
        ordering=case["ordering_fields"][0],
        options=options,
    )
    table.insert(rows)
    table.upsert(rows.slice(0, 5))
    return folder / "java", folder / "ours"


@pytest.fixture(scope="module")
def rolled_back(tmp_path_factory):
    """Java's table with rollbacks, and one of ours in which a failed write was rolled back."""
    import subprocess
    import sys
    import zipfile

    from interop import crash, tables

    folder = tmp_path_factory.mktemp("rolled_back")
    with zipfile.ZipFile(VECTORS / "rollback_restore_cow" / "table.zip") as archive:
        archive.extractall(folder / "java")
    story = tables.write_history(folder / "ours", tables.LAYOUTS[2])
    rows = folder / "rows.parquet"
    pq.write_table(story.expected(), rows)
    result = subprocess.run([sys.executable, crash.__file__, story.path, rows], check=False, timeout=60)
    assert result.returncode == crash.EXIT_STATUS
    story.write("upsert", list(story.rows.values())[:1])
    return folder / "java", folder / "ours"


def first_record(table, suffix):
    found = next(item for item in likeness.timeline_payloads(table, suffix) if item is not None)
    return found[2][0]


def stats_of_new_groups(table):
    records = [item[2][0] for item in likeness.timeline_payloads(table, ".commit") if item]
    return [s for record in records for s in likeness.write_stats(record) if s["prevCommit"] == "null"]


def stats_of_new_versions(table):
    records = [item[2][0] for item in likeness.timeline_payloads(table, ".commit") if item]
    return [s for record in records for s in likeness.write_stats(record) if s["prevCommit"] != "null"]


def test_the_same_kinds_of_files_lie_below_hoodie(pair):
    java, ours = pair
    assert likeness.hoodie_file_kinds(ours) == likeness.hoodie_file_kinds(java) - METADATA_FILES


def test_the_same_folders_lie_below_hoodie(pair):
    java, ours = pair
    assert likeness.hoodie_folders(ours) == likeness.hoodie_folders(java) - METADATA_FOLDERS


def test_the_same_kinds_of_files_lie_in_partitions(pair):
    java, ours = pair
    assert likeness.data_file_kinds(ours) == likeness.data_file_kinds(java)


def test_the_same_properties_are_set(pair):
    java, ours = (set(likeness.properties(t / ".hoodie" / "hoodie.properties")) for t in pair)
    assert ours - OUR_PROPERTIES - MAY_BE_EMPTY == java - METADATA_PROPERTIES - MAY_BE_EMPTY


def test_the_properties_have_the_same_values(pair):
    java, ours = (likeness.properties(t / ".hoodie" / "hoodie.properties") for t in pair)
    compared = (set(java) & set(ours)) - CHOSEN_VALUES - METADATA_PROPERTIES
    assert {k: ours[k] for k in compared} == {k: java[k] for k in compared}


def test_the_checksum_is_the_one_that_java_computed_for_the_same_name(pair):
    java, ours = (likeness.properties(t / ".hoodie" / "hoodie.properties") for t in pair)
    assert ours["hoodie.table.checksum"] == java["hoodie.table.checksum"]


def test_both_properties_files_begin_with_two_comments(pair):
    java, ours = (likeness.comment_lines(t / ".hoodie" / "hoodie.properties") for t in pair)
    assert ours == java == 2


def test_partition_metadata_has_the_same_keys_and_depth(pair):
    def shapes(table):
        files = [p for p in table.rglob(".hoodie_partition_metadata") if ".hoodie/metadata" not in p.as_posix()]
        found = [likeness.properties(file) for file in files]
        return {(frozenset(values), values["partitionDepth"]) for values in found}

    java, ours = pair
    assert shapes(ours) == shapes(java)


@pytest.mark.parametrize("suffix", [".commit.requested", ".inflight", ".commit"])
def test_timeline_payloads_hold_the_same_avro_schema(pair, suffix):
    java, ours = ([item and item[0] for item in likeness.timeline_payloads(table, suffix)] for table in pair)
    assert ours
    assert all(schema in java for schema in ours)


@pytest.mark.parametrize("suffix", [".inflight", ".commit"])
def test_timeline_payloads_hold_one_record_and_no_codec(pair, suffix):
    for table in pair:
        # Empty in Java's tables: the inflight file of a bulk insert.
        filled = [item for item in likeness.timeline_payloads(table, suffix) if item is not None]
        assert {(frozenset(item[1]), len(item[2])) for item in filled} == {(frozenset({"avro.schema"}), 1)}


def test_commits_have_the_same_fields_filled_but_for_the_write_statistics(pair):
    java, ours = (first_record(table, ".commit") for table in pair)
    for record in (java, ours):
        record["partitionToWriteStats"] = {}
    assert likeness.field_shape(ours) == likeness.field_shape(java)


def test_commits_record_the_writers_schema_as_java_does(pair):
    java, ours = (json.loads(first_record(table, ".commit")["extraMetadata"]["schema"]) for table in pair)
    assert ours == java


def test_statistics_of_new_file_groups_have_the_same_fields_filled(pair):
    java, ours = (stats_of_new_groups(table)[0] for table in pair)
    assert likeness.field_shape(ours) == likeness.field_shape(java)


def test_statistics_of_new_file_versions_have_the_same_fields_filled(pair):
    java, ours = (stats_of_new_versions(table)[0] for table in pair)
    assert likeness.field_shape(ours) == likeness.field_shape(java)


def test_statistics_count_the_rows_that_are_in_the_file(pair):
    _, ours = pair
    for stat in stats_of_new_groups(ours) + stats_of_new_versions(ours):
        file = pq.ParquetFile(ours / stat["path"])
        assert stat["numWrites"] == file.metadata.num_rows
        assert stat["fileSizeInBytes"] == stat["totalWriteBytes"] == (ours / stat["path"]).stat().st_size


def test_the_inflight_workload_of_an_insert_has_the_same_fields_filled(pair):
    java, ours = (likeness.write_stats(first_record(table, ".inflight"))[0] for table in pair)
    assert likeness.field_shape(ours) == likeness.field_shape(java)


def test_parquet_footers_have_the_keys_of_javas_avro_writer(pair):
    java, ours = ({frozenset(likeness.footer(f)) for f in likeness.base_files(table)} for table in pair)
    # Java's bulk insert goes through Spark's row writer, whose footers name no Avro schema.
    assert ours == {keys for keys in java if "parquet.avro.schema" in keys}


def test_parquet_footers_hold_the_same_avro_schema(pair):
    java, ours = (likeness.footer(likeness.base_files(table)[0])["parquet.avro.schema"] for table in pair)
    assert json.loads(ours) == json.loads(java)


def test_parquet_columns_have_the_same_types_whatever_the_list_layout(pair):
    java, ours = (likeness.leaf_columns(likeness.base_files(table)[0]) for table in pair)
    assert ours == java


def test_parquet_columns_come_in_the_same_order(pair):
    java, ours = (pq.read_schema(likeness.base_files(table)[0]).names for table in pair)
    assert ours == java


def test_bloom_filters_have_the_same_type_and_size(pair):
    def shape(table):
        found = [likeness.footer(file) for file in likeness.base_files(table)]
        return {
            (f["hoodie_bloom_filter_type_code"], len(base64.b64decode(f["org.apache.hudi.bloomfilter"]))) for f in found
        }

    java, ours = pair
    assert shape(ours) == shape(java)


def test_key_ranges_are_the_least_and_greatest_key_of_the_file(pair):
    for table in pair:
        for path in likeness.base_files(table):
            keys = pq.read_table(path, columns=["_hoodie_record_key"])["_hoodie_record_key"].to_pylist()
            footer = likeness.footer(path)
            assert (footer["hoodie_min_record_key"], footer["hoodie_max_record_key"]) == (min(keys), max(keys))


def test_sequence_numbers_have_the_same_form(pair):
    def forms(table):
        found = pq.read_table(likeness.base_files(table)[0], columns=["_hoodie_commit_seqno"])
        return {"_".join("n" if p.isdigit() else p for p in t.split("_")) for t in found.column(0).to_pylist()}

    java, ours = pair
    assert forms(ours) == forms(java)


@pytest.mark.parametrize("suffix", [".rollback.requested", ".rollback.inflight", ".rollback"])
def test_rollback_payloads_hold_the_same_avro_schema(rolled_back, suffix):
    java, ours = rolled_back
    expected = likeness.timeline_payloads(java, suffix)[0]
    actual = likeness.timeline_payloads(ours, suffix)[0]
    assert (actual and actual[0]) == (expected and expected[0])


@pytest.mark.parametrize("suffix", [".rollback.requested", ".rollback"])
def test_rollback_payloads_have_the_same_fields_filled(rolled_back, suffix):
    java, ours = (first_record(table, suffix) for table in rolled_back)
    for record in (java, ours):
        # One entry per partition: the names of the partitions are data.
        record["partitionMetadata"] = list(record.get("partitionMetadata", {}).values())
    assert likeness.field_shape(ours) == likeness.field_shape(java)


def test_nothing_of_a_rolled_back_write_is_left(rolled_back):
    _, ours = rolled_back
    gone = first_record(ours, ".rollback")["commitsRollback"][0]
    assert [p for p in ours.rglob(f"*{gone}*") if p.is_file()] == []
