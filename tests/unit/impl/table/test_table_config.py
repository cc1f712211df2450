"""The table's configuration: what is understood, and what is refused."""

from __future__ import annotations

import pytest

from drawstring.errors import FormatError, InputError, OptionError, TableExistsError, UnsupportedTableError
from drawstring.options import Options
from drawstring.table_config import TableConfig, TableType, load_table_config
from drawstring.table_creation import create_table
from drawstring.table_properties import read_properties
from drawstring.writable import check_writable
from drawstring_conformance.vectors import load_case, load_cases
from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.merge_modes import MergeMode
from unit.impl.protocol.world import START_MS, ManualClock, MemoryStorage
from unit.impl.read.tables import HandMadeTable, avro_text

BASE = HandMadeTable().context().config.properties


def changed(key, value):
    return TableConfig.from_properties({**BASE, key: value})


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_the_properties_of_every_golden_table_are_understood(case):
    loaded = TableConfig.from_properties(case.table_properties)
    assert loaded.table_type.value == case.table_type
    assert loaded.record_key_fields == tuple(case.details["record_keys"])
    assert loaded.partition_fields == tuple(f.partition(":")[0] for f in case.details["partition_fields"])


def test_a_custom_key_generators_partition_fields_have_types():
    loaded = TableConfig.from_properties(load_case("keygen_custom").table_properties)
    assert loaded.partition_fields == ("cat", "evt")
    assert loaded.partition_types == ("SIMPLE", "TIMESTAMP")


def test_a_custom_key_generators_partition_fields_without_types_keep_their_names():
    properties = {**load_case("keygen_custom").table_properties, "hoodie.table.partition.fields": "cat,evt"}
    loaded = TableConfig.from_properties(properties)
    assert (loaded.partition_fields, loaded.partition_types) == (("cat", "evt"), ())


@pytest.mark.parametrize("version", ["6", "9", "eight", ""])
def test_another_version_is_refused(version):
    with pytest.raises(UnsupportedTableError, match=version or "none"):
        changed("hoodie.table.version", version)


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("hoodie.timeline.layout.version", "1", UnsupportedTableError),
        ("hoodie.table.type", "COPY_ON_READ", FormatError),
        ("hoodie.record.merge.mode", "SOMEHOW", FormatError),
        ("hoodie.table.keygenerator.type", "MAGIC", FormatError),
        ("hoodie.table.timeline.timezone", "CET", FormatError),
        ("hoodie.timeline.path", "../elsewhere", FormatError),
        ("hoodie.timeline.path", "/etc", FormatError),
        ("hoodie.timeline.history.path", "a/../..", FormatError),
        ("hoodie.table.name", "", FormatError),
    ],
)
def test_a_property_that_is_not_understood_is_refused_with_its_value(key, value, error):
    with pytest.raises(error) as caught:
        changed(key, value)
    assert value in caught.value.message
    assert caught.value.way_out


def test_a_key_generator_may_be_recorded_by_its_class():
    values = {**BASE, "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedAvroKeyGenerator"}
    del values["hoodie.table.keygenerator.type"]
    assert TableConfig.from_properties(values).key_generator is KeyGenerator.TIMESTAMP


def test_a_key_generator_of_the_users_own_is_refused():
    values = {**BASE, "hoodie.table.keygenerator.class": "com.example.SimpleKeyGenerator"}
    del values["hoodie.table.keygenerator.type"]
    with pytest.raises(UnsupportedTableError, match=r"com\.example"):
        TableConfig.from_properties(values)


def test_what_is_not_recorded_is_inferred_as_java_infers_it():
    keys = ("hoodie.record.merge.mode", "hoodie.table.keygenerator.type", "hoodie.table.timeline.timezone")
    values = {k: v for k, v in BASE.items() if k not in keys}
    loaded = TableConfig.from_properties(values)
    assert loaded.merge_mode is MergeMode.COMMIT_TIME_ORDERING
    assert loaded.key_generator is KeyGenerator.SIMPLE
    assert loaded.timeline_zone == "LOCAL"
    ordered = TableConfig.from_properties({**values, "hoodie.table.precombine.field": "n"})
    assert ordered.merge_mode is MergeMode.EVENT_TIME_ORDERING


def test_metadata_partitions_are_a_set():
    assert changed("hoodie.table.metadata.partitions", "record_index,files,,files").metadata_partitions == (
        "files",
        "record_index",
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.table.type", "MERGE_ON_READ"),
        ("hoodie.table.base.file.format", "ORC"),
        ("hoodie.table.cdc.enabled", "true"),
        ("hoodie.populate.meta.fields", "false"),
        ("hoodie.datasource.write.drop.partition.columns", "true"),
        ("hoodie.table.keygenerator.type", "TIMESTAMP"),
        ("hoodie.table.recordkey.fields", ""),
        ("hoodie.partition.metafile.use.base.format", "true"),
        ("hoodie.record.merge.mode", "CUSTOM"),
        ("hoodie.record.merge.strategy.id", "00000000-0000-0000-0000-000000000000"),
        ("hoodie.compaction.payload.class", "com.example.Payload"),
    ],
)
def test_a_table_that_cannot_be_written_rightly_is_refused_by_its_property(key, value):
    with pytest.raises(UnsupportedTableError) as caught:
        check_writable(changed(key, value))
    assert key in caught.value.message
    assert caught.value.way_out


def test_a_table_of_ours_can_be_written():
    check_writable(TableConfig.from_properties(BASE))


@pytest.fixture
def storage():
    return MemoryStorage(ManualClock())


def create(storage, *, record_key=("id",), partition_by=("day",), ordering=None, options=None, **more):
    return create_table(
        storage,
        name="t",
        record_key=record_key,
        partition_by=partition_by,
        ordering=ordering,
        create_schema=avro_text(),
        options=Options.parse(options),
        now_ms=START_MS,
        **more,
    )


def test_a_new_table_loads_as_it_was_made(storage):
    assert create(storage, ordering="n") == load_table_config(storage)


# A DataFrame writer's properties; those of the metadata table come with its first write.
JAVA_ONLY = {
    "hoodie.table.metadata.partitions",
    "hoodie.table.metadata.partitions.inflight",
    "hoodie.table.index.defs.path",
}
OURS_ONLY = {"hoodie.table.create.schema"}
OWN_VALUES = {"hoodie.table.name", "hoodie.table.checksum", "hoodie.table.timeline.timezone"} | OURS_ONLY


def test_a_new_table_has_the_properties_that_java_gives_one(storage):
    java = load_case("cow_partitioned_hive").table_properties
    options = {"hoodie.datasource.write.hive_style_partitioning": "true"}
    create(storage, ordering="ts", options=options)
    ours = read_properties(storage)
    assert set(ours) == (set(java) - JAVA_ONLY) | OURS_ONLY
    assert {k: v for k, v in ours.items() if k not in OWN_VALUES} == {
        k: v for k, v in java.items() if k not in JAVA_ONLY | OWN_VALUES
    }


def test_a_table_is_not_made_over_another(storage):
    create(storage)
    before = dict(storage.files)
    with pytest.raises(TableExistsError, match="file:///table"):
        create(storage)
    assert storage.files == before


def test_of_two_that_make_a_table_at_once_one_wins(storage):
    """The other one finds no table when it looks, and a table when it puts its own."""
    listing = storage.list
    storage.list = lambda prefix, **_: (create_first(), [])[1]

    def create_first():
        storage.list = listing
        create(storage, ordering="n")

    with pytest.raises(TableExistsError):
        create(storage)
    assert load_table_config(storage).ordering_field == "n"


@pytest.mark.parametrize(
    ("record_key", "partition_by", "generator"),
    [
        (["id"], [], KeyGenerator.NON_PARTITION),
        (["id", "n"], [], KeyGenerator.NON_PARTITION),
        (["id"], ["day"], KeyGenerator.SIMPLE),
        (["id", "n"], ["day"], KeyGenerator.COMPLEX),
        (["id"], ["day", "n"], KeyGenerator.COMPLEX),
    ],
)
def test_the_key_generator_follows_from_the_fields(storage, record_key, partition_by, generator):
    assert create(storage, record_key=record_key, partition_by=partition_by).key_generator is generator


@pytest.mark.parametrize(
    ("kind", "record_key", "partition_by"),
    [
        ("SIMPLE", ["id", "n"], ["day"]),
        ("SIMPLE", ["id"], []),
        ("NON_PARTITION", ["id"], ["day"]),
        ("COMPLEX", ["id"], []),
    ],
)
def test_a_key_generator_that_does_not_fit_the_fields_is_refused(storage, kind, record_key, partition_by):
    options = {"hoodie.datasource.write.keygenerator.type": kind}
    with pytest.raises(OptionError, match=kind):
        create(storage, record_key=record_key, partition_by=partition_by, options=options)
    assert not storage.files


def test_event_time_ordering_needs_an_ordering_field(storage):
    with pytest.raises(OptionError, match="EVENT_TIME_ORDERING"):
        create(storage, options={"hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING"})


def test_commit_time_ordering_can_be_chosen_beside_an_ordering_field(storage):
    made = create(storage, ordering="n", options={"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"})
    assert made.merge_mode is MergeMode.COMMIT_TIME_ORDERING
    check_writable(made)


def test_a_merge_on_read_table_is_not_made(storage):
    with pytest.raises(UnsupportedTableError, match="MERGE_ON_READ"):
        create(storage, table_type=TableType.MERGE_ON_READ)
    assert not storage.files


@pytest.mark.parametrize("fields", [[], [""], ["a,b"], ["a:b"], ["id", "id"], [" id"]])
def test_a_record_key_that_the_properties_cannot_hold_is_refused(storage, fields):
    with pytest.raises(InputError):
        create(storage, record_key=fields)
    assert not storage.files


def test_a_database_is_part_of_the_checksum(storage):
    assert create(storage, options={"hoodie.database.name": "d"}).database == "d"
    assert load_table_config(storage).database == "d"
