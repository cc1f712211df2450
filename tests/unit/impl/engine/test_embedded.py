"""What each operation of the embedded engine does to the rows and the files of a table."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from hashlib import sha256

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.codec import avro_container
from drawstring.errors import DuplicateKeyError, InputError, OptionError, RecordKeyError, SchemaError
from drawstring_spec.names import BaseFileName
from unit.impl.engine.worlds import SCHEMA, World, content, many, rows

WRITES = ["bulk_insert", "insert", "upsert"]


def parquet_paths(world: World) -> list[str]:
    return [path for path in world.paths() if path.endswith(".parquet") and not path.startswith(".hoodie")]


def last_commit(world: World) -> dict:
    path = max(path for path in world.paths() if path.endswith(".commit"))
    return avro_container.decode(world.storage.read(path), path=path)


@pytest.mark.parametrize("operation", WRITES)
def test_new_rows_are_read_back(world, operation):
    table = world.create()
    result = getattr(table, operation)(rows((1, "a", 1, "x"), (2, "b", 1, "y")))
    assert content(table) == {(1, "a"): "x", (2, "b"): "y"}
    assert (result.num_inserts, result.num_updates, result.num_deletes, result.num_files) == (2, 0, 0, 2)


def test_an_upsert_replaces_rows_and_adds_others(world):
    table = world.create()
    table.insert(many([1, 2]))
    result = table.upsert(many([2, 3], v="new"))
    assert content(table) == {(1, "d"): "x", (2, "d"): "new", (3, "d"): "new"}
    assert (result.num_inserts, result.num_updates) == (1, 1)


def test_an_update_goes_to_the_file_group_of_its_key(world):
    table = world.create()
    table.bulk_insert(many([1, 2]))
    table.bulk_insert(many([3, 4]))
    before = {row["id"]: row["_hoodie_file_name"].split("_")[0] for row in table.read().to_pylist()}
    table.upsert(many([1, 4], v="new"))
    assert {row["id"]: row["_hoodie_file_name"].split("_")[0] for row in table.read().to_pylist()} == before


def test_the_same_key_in_another_partition_is_another_row(world):
    table = world.create()
    table.insert(rows((1, "a", 1, "x")))
    table.upsert(rows((1, "b", 1, "y")))
    assert content(table) == {(1, "a"): "x", (1, "b"): "y"}


def test_an_older_row_does_not_replace_a_newer_one(world):
    table = world.create()
    table.insert(many([1], ts=5))
    result = table.upsert(many([1], ts=4, v="late"))
    assert content(table) == {(1, "d"): "x"}
    assert result.num_updates == 0


def test_without_an_ordering_field_the_later_write_wins(world):
    table = world.create(ordering=None)
    table.insert(many([1], ts=5))
    table.upsert(many([1], ts=4, v="late"))
    assert content(table) == {(1, "d"): "late"}


@pytest.mark.parametrize("operation", WRITES)
def test_rows_of_one_key_in_a_batch_are_reduced_by_the_ordering_field(world, operation):
    table = world.create()
    getattr(table, operation)(rows((1, "d", 2, "mid"), (1, "d", 3, "last"), (1, "d", 1, "first")))
    assert content(table) == {(1, "d"): "last"}


def test_a_marked_row_deletes_unless_it_is_older(world):
    table = world.create()
    table.insert(many([1, 2], ts=5))
    result = table.upsert(rows((1, "d", 6, None, True), (2, "d", 4, None, True), (3, "d", 1, None, True)))
    assert content(table) == {(2, "d"): "x"}
    assert (result.num_inserts, result.num_updates, result.num_deletes) == (0, 0, 1)


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_a_marked_row_is_no_new_row(world, operation):
    table = world.create()
    getattr(table, operation)(rows((1, "d", 1, None, True), (2, "d", 1, "x")))
    assert content(table) == {(2, "d"): "x"}


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_a_marked_row_of_a_key_that_is_there_is_no_duplicate(world, operation):
    table = world.create()
    table.insert(many([1]))
    getattr(table, operation)(rows((1, "d", 9, None, True)))
    assert content(table) == {(1, "d"): "x"}


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_a_key_that_is_there_is_refused_by_name_and_nothing_is_written(world, operation):
    table = world.create()
    table.insert(many([1, 2]))
    before = parquet_paths(world)
    with pytest.raises(DuplicateKeyError, match=r"1 of the keys already: '2' in 'd'"):
        getattr(table, operation)(many([2, 3], v="new"))
    assert parquet_paths(world) == before
    assert content(table) == {(1, "d"): "x", (2, "d"): "x"}


@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_keys_that_are_there_are_dropped_on_request(world, operation):
    world.create().insert(many([1, 2]))
    table = world.open({"hoodie.datasource.insert.dup.policy": "drop"})
    result = getattr(table, operation)(many([2, 3], v="new"))
    assert content(table) == {(1, "d"): "x", (2, "d"): "x", (3, "d"): "new"}
    assert (result.num_inserts, result.num_updates) == (1, 0)


@pytest.mark.parametrize(
    "options", [{"hoodie.datasource.insert.dup.policy": "none"}, {"hoodie.combine.before.insert": "false"}]
)
def test_an_option_that_would_store_a_key_twice_is_refused_by_name(world, options):
    world.create()
    with pytest.raises(OptionError, match=next(iter(options))):
        world.open(options)


def test_inserts_fill_a_small_file_and_bulk_inserts_do_not(world):
    table = world.create()
    table.bulk_insert(many([1]))
    assert table.insert(many([2])).stats[0].prev_base_file is not None
    assert table.bulk_insert(many([3])).stats[0].prev_base_file is None
    assert len({row["_hoodie_file_name"] for row in table.read().to_pylist()}) == 2


def test_a_file_is_no_larger_than_asked_for(world):
    options = {"hoodie.copyonwrite.record.size.estimate": 1000, "hoodie.parquet.max.file.size": 3000}
    result = world.create(options=options).bulk_insert(many(range(8)))
    assert sorted(stat.num_writes for stat in result.stats) == [2, 3, 3]


def test_without_an_estimate_a_sample_of_the_rows_says_how_many_go_into_a_file(world):
    options = {"hoodie.parquet.max.file.size": 40_000, "hoodie.parquet.bloom.filter.enabled": "false"}
    wide = rows(*[(i, "d", 1, sha256(str(i).encode()).hexdigest()) for i in range(4000)])
    result = world.create(options=options).bulk_insert(wide)
    assert len(result.stats) > 1
    assert max(stat.file_size_bytes for stat in result.stats) < 80_000


def test_deleted_keys_are_gone_and_strangers_are_passed_over(world):
    table = world.create()
    table.insert(many([1, 2, 3]))
    result = table.delete([1, 3, 99])
    assert content(table) == {(2, "d"): "x"}
    assert result.num_deletes == 2


def test_a_delete_with_partition_columns_looks_there_only(world):
    table = world.create()
    table.insert(rows((1, "a", 1, "x"), (1, "b", 1, "y")))
    table.delete(pa.table({"id": [1], "day": ["a"]}))
    assert content(table) == {(1, "b"): "y"}


def test_a_delete_without_partition_columns_looks_everywhere(world):
    table = world.create()
    table.insert(rows((1, "a", 1, "x"), (1, "b", 1, "y"), (2, "b", 1, "z")))
    assert table.delete(pa.table({"id": [1, 1]})).num_deletes == 2
    assert content(table) == {(2, "b"): "z"}


def test_a_delete_with_some_partition_columns_only_is_refused(world):
    schema = SCHEMA.append(pa.field("hour", pa.int32()))
    table = world.create(schema=schema, partition_by=["day", "hour"])
    with pytest.raises(RecordKeyError, match="day"):
        table.delete(pa.table({"id": [1], "day": ["a"]}))


def test_a_delete_ignores_ordering_values(world):
    table = world.create()
    table.insert(many([1], ts=2**60))
    table.delete([1])
    assert content(table) == {}


def test_a_file_group_whose_rows_are_all_gone_takes_new_rows(world):
    table = world.create()
    table.insert(many([1]))
    table.delete([1])
    table.upsert(many([1], v="back"))
    assert content(table) == {(1, "d"): "back"}


def test_keys_of_several_fields_are_deleted_by_their_columns(world):
    table = world.create(record_key=["id", "v"])
    table.insert(rows((1, "d", 1, "x"), (1, "d", 1, "y")))
    table.delete(pa.table({"v": ["y"], "id": [1]}))
    assert content(table) == {(1, "d"): "x"}


def test_a_plain_list_cannot_be_keys_of_several_fields(world):
    table = world.create(record_key=["id", "v"])
    with pytest.raises(RecordKeyError, match="id, v"):
        table.delete([1])


def test_a_delete_of_null_is_refused(world):
    with pytest.raises(RecordKeyError):
        world.create().delete([1, None])


@pytest.mark.parametrize("operation", WRITES)
def test_no_rows_are_a_commit_without_files(world, operation):
    table = world.create()
    result = getattr(table, operation)(rows())
    assert (result.num_files, len(table.timeline().completed_writes)) == (0, 1)
    assert content(table) == {}


def test_a_delete_that_finds_nothing_is_a_commit_without_files(world):
    table = world.create()
    table.insert(many([1]))
    assert table.delete([7]).num_files == 0
    assert len(table.timeline().completed_writes) == 2


def test_statistics_say_what_was_written(world):
    table = world.create()
    first = table.insert(many([1, 2, 3]))
    second = table.upsert(rows((1, "d", 2, "new"), (2, "d", 2, None, True), (4, "d", 1, "x")))
    (stat,) = second.stats
    old = first.stats[0]
    assert (stat.num_writes, stat.num_inserts, stat.num_update_writes, stat.num_deletes) == (3, 1, 1, 1)
    assert (stat.prev_commit, stat.prev_base_file) == (first.requested_time, old.path.rpartition("/")[2])
    assert (stat.group, stat.file_size_bytes) == (old.group, world.storage.head(stat.path).size)
    assert old.prev_commit == "null"


def test_file_names_carry_group_token_and_time(world):
    table = world.create()
    result = table.insert(rows((1, "a", 1, "x"), (2, "b", 1, "y")))
    names = [BaseFileName.parse(stat.path.rpartition("/")[2]) for stat in result.stats]
    assert [name.write_token.format() for name in names] == ["0-0-0", "1-0-0"]
    assert {name.requested_time for name in names} == {result.requested_time}
    assert all(name.file_id.endswith("-0") for name in names)


def test_sequence_numbers_are_unique_in_a_write(world):
    table = world.create()
    table.insert(rows((1, "a", 1, "x"), (2, "a", 1, "y"), (3, "b", 1, "z")))
    numbers = table.read().column("_hoodie_commit_seqno").to_pylist()
    assert len(set(numbers)) == 3


def test_the_commit_has_the_tables_own_avro_schema(world):
    table = world.create()
    table.insert(many([1]))
    recorded = json.loads(last_commit(world)["extraMetadata"]["schema"])
    assert recorded == json.loads(table.properties["hoodie.table.create.schema"])


def test_a_commit_keeps_types_that_arrow_has_no_like_of(world):
    table = world.create()
    table.insert(many([1]))
    # The table was given an enum by another writer: its schema stands in the newest commit.
    path = max(path for path in world.paths() if path.endswith(".commit"))
    commit = avro_container.decode(world.storage.read(path), path=path)
    schema = json.loads(commit["extraMetadata"]["schema"])
    schema["fields"][3]["type"] = [{"type": "enum", "name": "e", "symbols": ["x"]}, "null"]
    commit["extraMetadata"]["schema"] = json.dumps(schema)
    world.storage.put(path, avro_container.encode("HoodieCommitMetadata", commit, sync_marker=b"0" * 16))
    table.upsert(many([2]))
    kept = json.loads(last_commit(world)["extraMetadata"]["schema"])["fields"][3]["type"]
    assert kept == ["null", {"type": "enum", "name": "e", "symbols": ["x"]}]


@pytest.mark.parametrize("operation", WRITES)
def test_an_input_error_leaves_no_instant_behind(world, operation):
    table = world.create()
    before = world.paths()
    with pytest.raises(SchemaError):
        getattr(table, operation)(pa.table({"id": [1]}))
    assert world.paths() == before


def test_a_missing_ordering_value_is_refused(world):
    with pytest.raises(InputError, match="'ts'"):
        world.create().upsert(many([1]).set_column(2, "ts", pa.array([None], pa.int64())))


def test_a_missing_ordering_value_does_not_matter_by_commit_time(world):
    table = world.create(options={"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"})
    table.upsert(many([1]).set_column(2, "ts", pa.array([None], pa.int64())))
    assert content(table) == {(1, "d"): "x"}


def test_rows_that_were_read_can_be_written_back(world):
    table = world.create()
    table.insert(many([1, 2]))
    table.upsert(table.read())
    assert content(table) == {(1, "d"): "x", (2, "d"): "x"}


def test_a_null_partition_value_has_a_partition_of_its_own(world):
    table = world.create()
    table.insert(rows((1, None, 1, "x")))
    table.upsert(rows((1, None, 2, "new")))
    assert content(table) == {(1, None): "new"}


def test_the_same_writes_make_the_same_files():
    def write() -> dict[str, bytes]:
        world = World()
        table = world.create()
        table.insert(rows(*[(i, f"p{i % 3}", 1, "x") for i in range(9)]))
        table.upsert(rows(*[(i, f"p{i % 3}", 2, "y") for i in range(3, 12)]))
        return {path: world.storage.files[path][0] for path in parquet_paths(world)}

    assert write() == write()


ALL_TYPES = pa.schema(
    [
        ("k", pa.string()),
        ("b", pa.bool_()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("bin", pa.binary()),
        ("fix", pa.binary(2)),
        ("date", pa.date32()),
        ("tm", pa.time32("ms")),
        ("tu", pa.time64("us")),
        ("ms", pa.timestamp("ms", "UTC")),
        ("us", pa.timestamp("us", "UTC")),
        ("lms", pa.timestamp("ms")),
        ("lus", pa.timestamp("us")),
        ("dec", pa.decimal128(38, 18)),
        ("list", pa.list_(pa.list_(pa.int32()))),
        ("map", pa.map_(pa.string(), pa.struct([("x", pa.decimal128(5, 2)), ("y", pa.list_(pa.string()))]))),
        ("struct", pa.struct([("a", pa.struct([("b", pa.date32())])), pa.field("c", pa.int32(), nullable=False)])),
    ]
)


def all_types(key: str, number: int) -> dict:
    when = dt.datetime(2024, 1, 1, 1, 2, 3, number * 1000, tzinfo=dt.UTC).replace(tzinfo=None)
    return {
        "k": key,
        "b": True,
        "i": -number,
        "l": 2**62 + number,
        "f": 0.5,
        "d": -1e300,
        "bin": b"\0x",
        "fix": b"ab",
        "date": when.date(),
        "tm": when.time(),
        "tu": when.time(),
        "ms": when.replace(tzinfo=dt.UTC),
        "us": when.replace(tzinfo=dt.UTC),
        "lms": when,
        "lus": when,
        "dec": Decimal(number).scaleb(-18),
        "list": [[number, None], None, []],
        "map": [("m", {"x": Decimal("1.25"), "y": ["z", None]}), ("n", None)],
        "struct": {"a": {"b": when.date()}, "c": number},
    }


def test_values_of_every_type_survive_inserts_and_merges(world):
    table = world.create(schema=ALL_TYPES, record_key="k", partition_by=[], ordering=None)
    empty = dict.fromkeys(ALL_TYPES.names) | {"k": "empty"}
    table.insert(pa.Table.from_pylist([all_types("old", 1), all_types("kept", 2), empty], ALL_TYPES))
    table.upsert(pa.Table.from_pylist([all_types("old", 3), all_types("new", 4)], ALL_TYPES))
    answer = {row["k"]: row for row in table.read(meta_columns=False).to_pylist()}
    assert answer == {
        "old": all_types("old", 3),
        "kept": all_types("kept", 2),
        "new": all_types("new", 4),
        "empty": empty,
    }


def test_partitions_are_written_by_threads_as_well(table_uri):
    table = ds.Table.create(table_uri, SCHEMA, record_key="id", partition_by="day", ordering="ts")
    table.bulk_insert(rows(*[(i, f"p{i % 7}", 1, "x") for i in range(70)]))
    result = table.upsert(rows(*[(i, f"p{i % 7}", 2, "y") for i in range(35, 105)]))
    assert (result.num_inserts, result.num_updates, result.num_files) == (35, 35, 7)
    assert content(table) == {(i, f"p{i % 7}"): "x" if i < 35 else "y" for i in range(105)}


def test_keys_and_rows_stay_together_where_new_rows_stand_before_updates(world):
    table = world.create()
    table.insert(many([5]))
    table.upsert(rows((1, "d", 2, "one"), (5, "d", 2, "five")))
    read = table.read(columns=["_hoodie_record_key", "id", "v"]).to_pylist()
    assert sorted((row["_hoodie_record_key"], row["id"], row["v"]) for row in read) == [
        ("1", 1, "one"),
        ("5", 5, "five"),
    ]


def test_partitions_are_written_in_their_order_whatever_that_of_the_rows(world):
    result = world.create().insert(rows((1, "c", 1, "x"), (2, "a", 1, "x"), (3, "b", 1, "x")))
    assert [stat.group.partition_path for stat in result.stats] == ["a", "b", "c"]


def test_new_rows_that_do_not_fit_into_a_small_file_go_to_new_ones(world):
    options = {
        "hoodie.copyonwrite.record.size.estimate": 1000,
        "hoodie.parquet.max.file.size": 8000,
        "hoodie.parquet.small.file.limit": 7000,
        "hoodie.parquet.bloom.filter.enabled": "false",
    }
    table = world.create(options=options)
    table.insert(many([0]))
    result = table.insert(many(range(1, 20)))
    packed, *fresh = result.stats
    assert packed.prev_base_file is not None
    assert packed.num_inserts > 0
    assert len(fresh) > 1
    assert content(table) == {(i, "d"): "x" for i in range(20)}
