"""The nouns against every file name, properties file and timeline payload that Java left in the golden tables."""

from __future__ import annotations

import io
import json
from contextlib import suppress

import fastavro
import pytest

from drawstring_conformance.vectors import Case, load_cases
from drawstring_spec.errors import FormatError
from drawstring_spec.instants import State
from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.layout import (
    HISTORY_VERSION_FILE,
    INDEX_DEFINITIONS_FILE,
    MARKERS_FILE_PREFIX,
    MARKERS_TYPE_FILE,
    PARTITION_METADATA_FILE,
)
from drawstring_spec.merge_modes import PAYLOAD_CLASSES, STRATEGY_IDS, MergeMode
from drawstring_spec.names import (
    ArchivedTimelineFileName,
    BaseFileName,
    LogFileName,
    ManifestFileName,
    MarkerName,
    TimelineFileName,
)
from drawstring_spec.partition_metadata import PartitionMetadata
from drawstring_spec.payloads import SCHEMAS, payload_schema_name
from drawstring_spec.properties import (
    TABLE_PROPERTIES,
    PropertyKind,
    format_properties,
    parse_properties,
    table_checksum,
)

CASES = load_cases()
all_cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)

KINDS = (TimelineFileName, BaseFileName, LogFileName, MarkerName, ArchivedTimelineFileName, ManifestFileName)
FIXED_NAMES = {
    PARTITION_METADATA_FILE,
    "hoodie.properties",
    INDEX_DEFINITIONS_FILE.rpartition("/")[2],
    HISTORY_VERSION_FILE,
    MARKERS_TYPE_FILE,
}


def kind_by_folder(path: str):
    """Which grammar a file's folder calls for: said without looking at the file's name."""
    folder = f"/{path.rpartition('/')[0]}/"
    if "/.bucket_index/" in folder:
        return None
    if folder.endswith(("/timeline/", "/.schema/")):
        return (TimelineFileName,)
    if folder.endswith("/history/"):
        return (ArchivedTimelineFileName, ManifestFileName)
    if "/.hoodie/.temp/" in folder:
        return (MarkerName,)
    return (BaseFileName, LogFileName)


def parse_all(name: str, kinds=KINDS):
    parsed = []
    for kind in kinds:
        with suppress(FormatError):
            parsed.append(kind.parse(name))
    return parsed


def grammar_names(case: Case):
    for path in case.file_names:
        name = path.rpartition("/")[2]
        if name not in FIXED_NAMES and not name.startswith(MARKERS_FILE_PREFIX):
            yield path, name


@all_cases
def test_every_file_name_is_of_the_one_kind_that_its_folder_calls_for(case):
    for path, name in grammar_names(case):
        kinds = kind_by_folder(path)
        if kinds is not None:
            (parsed,) = parse_all(name, kinds)
            assert parsed.format() == name


@all_cases
def test_the_timeline_files_give_the_instants_that_java_listed(case):
    highest = {}
    for path in case.file_names:
        folder, _, name = path.rpartition("/")
        if folder == ".hoodie/timeline":
            instant = TimelineFileName.parse(name).instant
            key = (instant.requested_time, instant.action.comparable)
            if key not in highest or highest[key].state < instant.state:
                highest[key] = instant
    found = {(i.requested_time, i.action.value, i.state.name, i.completion_time) for i in highest.values()}
    listed = {(i["begin"], i["action"], i["state"], i["completion"]) for i in case.details["timeline"]}
    assert found == listed


def properties_files(case: Case):
    return {path: case.read_file(path) for path in case.file_names if path.endswith("hoodie.properties")}


@all_cases
def test_properties_are_written_byte_for_byte_as_java_wrote_them(case):
    for content in properties_files(case).values():
        comments = [line[1:] for line in content.decode().splitlines() if line.startswith("#")]
        assert format_properties(parse_properties(content), comments) == content


@all_cases
def test_the_properties_are_those_that_java_read(case):
    assert parse_properties(case.read_file(".hoodie/hoodie.properties")) == case.table_properties


@all_cases
def test_every_property_is_known_and_every_required_one_is_there(case):
    required = {key for key, entry in TABLE_PROPERTIES.items() if entry.required}
    for content in properties_files(case).values():
        values = parse_properties(content)
        assert set(values) <= set(TABLE_PROPERTIES)
        assert required <= set(values)


@all_cases
def test_every_property_value_is_of_its_kind(case):
    for content in properties_files(case).values():
        for key, value in parse_properties(content).items():
            entry = TABLE_PROPERTIES[key]
            fits = {
                PropertyKind.BOOLEAN: value in {"true", "false"},
                PropertyKind.INTEGER: value.isdigit(),
                PropertyKind.CHOICE: value in entry.choices,
            }
            assert fits.get(entry.kind, True), (key, value)


@all_cases
def test_the_checksum_in_the_properties_is_ours(case):
    for content in properties_files(case).values():
        values = parse_properties(content)
        checksum = table_checksum(values.get("hoodie.database.name", ""), values["hoodie.table.name"])
        assert values["hoodie.table.checksum"] == str(checksum)


@all_cases
def test_merge_mode_strategy_and_payload_class_agree(case):
    for content in properties_files(case).values():
        values = parse_properties(content)
        mode = MergeMode(values["hoodie.record.merge.mode"])
        assert values["hoodie.record.merge.strategy.id"] == STRATEGY_IDS[mode]
        payload_class = values["hoodie.compaction.payload.class"]
        assert payload_class == PAYLOAD_CLASSES.get(mode, payload_class)
        assert KeyGenerator(values["hoodie.table.keygenerator.type"])


@all_cases
def test_every_partition_metafile_is_read(case):
    for path in case.file_names:
        # A restore leaves folders of the metadata table behind, under other names.
        if path.endswith(PARTITION_METADATA_FILE) and not path.startswith(".hoodie/.metadata_"):
            metadata = PartitionMetadata.parse(case.read_file(path))
            partition = path.removeprefix(".hoodie/metadata/").rpartition("/")[0]
            assert metadata.partition_depth == len([part for part in partition.split("/") if part])


def timeline_payloads(case: Case):
    """Name and bytes of each file on the timelines of the table and of its metadata table."""
    for path, content in case.read_files():
        folder, _, name = path.rpartition("/")
        if folder.endswith(".hoodie/timeline"):
            yield TimelineFileName.parse(name), content


def without_comments(schema):
    """Return a schema without what has no meaning: comments, and defaults inside of array and map types."""
    if isinstance(schema, list):
        return [without_comments(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    container = schema.get("type") in ("array", "map")
    kept = {key: value for key, value in schema.items() if key != "doc" and not (container and key == "default")}
    for key in {"type", "items", "values", "fields"} & set(kept):
        kept[key] = without_comments(kept[key])
    return kept


@all_cases
def test_a_timeline_file_is_empty_or_an_uncompressed_container_of_our_schema(case):
    for name, content in timeline_payloads(case):
        if content:
            reader = fastavro.reader(io.BytesIO(content))
            schema_name = payload_schema_name(name.action, name.state)
            assert set(reader.metadata) == {"avro.schema"}, name
            assert without_comments(json.loads(reader.metadata["avro.schema"])) == SCHEMAS[schema_name], name


@all_cases
def test_a_completed_timeline_file_is_never_empty(case):
    for name, content in timeline_payloads(case):
        assert content or name.state is not State.COMPLETED


@all_cases
def test_every_payload_is_the_same_after_being_encoded_with_our_schema(case):
    for name, content in timeline_payloads(case):
        if content:
            schema = SCHEMAS[payload_schema_name(name.action, name.state)]
            reader = fastavro.reader(io.BytesIO(content))
            writer_schema = reader.writer_schema
            (record,) = list(reader)
            (resolved,) = list(fastavro.reader(io.BytesIO(content), reader_schema=schema))
            assert resolved == record, name
            ours, theirs = io.BytesIO(), io.BytesIO()
            fastavro.schemaless_writer(ours, fastavro.parse_schema(schema), record)
            fastavro.schemaless_writer(theirs, writer_schema, record)
            assert ours.getvalue() == theirs.getvalue(), name


def test_the_golden_tables_hold_every_kind_of_name():
    kinds = {type(parsed) for case in CASES for _, name in grammar_names(case) for parsed in parse_all(name)}
    assert kinds == set(KINDS)
