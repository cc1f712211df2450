from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.codec import avro_container
from drawstring.data.base_file_reader import open_base_file
from drawstring.data.base_files import BaseFileLayout, FileStamp, encode_base_file, stamp_rows
from drawstring.data.bloom import BloomParameters
from drawstring.data.schema import arrow_to_avro, with_meta_fields
from drawstring.engine import file_tasks, lookup
from drawstring.engine.embedded import EmbeddedEngine
from drawstring.engine.lookup import KeyLookup, find_keys
from drawstring.errors import ConflictError, CorruptFileError
from drawstring.files import BaseFile, FileGroupId
from drawstring.ports import TaskContext
from drawstring.read.view import load_snapshot
from drawstring.write_stats import Operation
from unit.impl.engine.worlds import World, many, rows

GROUP = FileGroupId("p", "f-0")
BLOOM = BloomParameters(num_entries=1000, false_positive_rate=1e-6)


def stored(world: World, keys: list[str], bloom: BloomParameters | None = BLOOM) -> BaseFile:
    table = pa.table({"n": pa.array(range(len(keys)), pa.int32())})
    avro = json.dumps(with_meta_fields(arrow_to_avro(table.schema, name="r", namespace="n")))
    stamped = stamp_rows(table, pa.array(keys, pa.string()), FileStamp("1", 0, "p", "f"))
    content = encode_base_file(stamped, avro, BaseFileLayout(bloom=bloom))
    status = world.storage.put("p/f.parquet", memoryview(content))
    return BaseFile(status.path, GROUP, "1", status.size)


def found(world: World, file: BaseFile, keys: list[str]) -> list[str]:
    array = pa.array(keys, pa.string())
    positions = find_keys(TaskContext(world.storage, 0, 0), KeyLookup(file, array, use_threads=False))
    return pc.take(array, pa.array(positions)).to_pylist()


@given(
    st.lists(st.text(max_size=3), unique=True, max_size=60),
    st.lists(st.text(max_size=3), unique=True, max_size=8),
    st.sampled_from([BLOOM, None]),
)
def test_exactly_the_keys_that_a_file_holds_are_found_in_it(held, wanted, bloom):
    world = World()
    assert found(world, stored(world, held, bloom), wanted) == [key for key in wanted if key in held]


def test_key_ranges_in_javas_text_order_lose_no_key(world):
    # In UTF-16 the first key is the lesser one, in UTF-8 it is the greater one.
    keys = ["\U0001f600", "\ue000"]
    file = stored(world, keys, None)
    sink = pa.BufferOutputStream()
    rows_of_file = pq.read_table(pa.BufferReader(world.storage.files[file.path][0]))
    with pq.ParquetWriter(sink, rows_of_file.schema) as writer:
        writer.write_table(rows_of_file)
        writer.add_key_value_metadata({"hoodie_min_record_key": keys[0], "hoodie_max_record_key": keys[1]})
    status = world.storage.put(file.path, sink.getvalue().to_pybytes())
    assert found(world, BaseFile(file.path, GROUP, "1", status.size), keys) == keys


def test_keys_that_the_filter_turns_away_cost_no_look_at_the_rows(monkeypatch):
    world = World()
    file = stored(world, [f"k{i:04d}" for i in range(500)])

    def never(*_arguments, **_options):
        raise AssertionError("the key column was read")

    monkeypatch.setattr(lookup, "read_keys", never)
    assert found(world, file, ["k0001x", "a", "z"]) == []


def test_a_file_without_keys_is_corrupt():
    world = World()
    content = encode_nothing()
    status = world.storage.put("p/f.parquet", content)
    with pytest.raises(CorruptFileError, match="_hoodie_record_key"):
        found(world, BaseFile(status.path, GROUP, "1", status.size), ["a"])


def encode_nothing() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"n": [1]}), sink)
    return sink.getvalue().to_pybytes()


def concurrent(world: World, *batches: pa.Table) -> list[BaseFile]:
    files: list[BaseFile] = []
    for batch in batches:
        for stat in world.open().bulk_insert(batch).stats:
            time = stat.path.rpartition("_")[2].partition(".")[0]
            files.append(BaseFile(stat.path, stat.group, time, stat.file_size_bytes))
    return files


def body_that_inserts(world: World, data: pa.Table):
    table = world.create()
    context = table._writable()
    body = EmbeddedEngine(use_threads=False).prepare_write(context, Operation.UPSERT, data)
    body.lookup_keys(load_snapshot(context))
    return body


def test_keys_that_another_writer_inserted_meanwhile_are_named(world):
    body = body_that_inserts(world, many([1, 2, 3]))
    assert body.find_key_conflicts(concurrent(world, many([2, 3, 4]))) == ["2", "3"]


def test_at_most_ten_keys_are_named(world):
    body = body_that_inserts(world, many(range(30)))
    assert len(body.find_key_conflicts(concurrent(world, many(range(30))))) == 10


def test_the_same_key_in_another_partition_is_no_conflict(world):
    body = body_that_inserts(world, rows((1, "a", 1, "x")))
    assert body.find_key_conflicts(concurrent(world, rows((1, "b", 1, "x")))) == []


def test_keys_that_are_updated_are_no_conflict(world):
    world.create().insert(many([1]))
    table = world.open()
    context = table._writable()
    body = EmbeddedEngine(use_threads=False).prepare_write(context, Operation.UPSERT, many([1]))
    body.lookup_keys(load_snapshot(context))
    files = [s.base_file for s in table.file_slices()]
    assert body.find_key_conflicts(files) == []


def filters(world: World) -> list[np.ndarray]:
    answer = []
    for file_slice in world.open().file_slices():
        file = file_slice.base_file
        answer.append(open_base_file(world.storage, file.path, file.size).bloom_filter())
    return answer


def test_a_merged_file_has_a_filter_that_knows_old_and_new_keys(world):
    table = world.create()
    table.insert(many(range(50)))
    table.upsert(many(range(40, 60), ts=2))
    (bloom,) = filters(world)
    assert bloom.might_contain(pa.array([str(i) for i in range(60)])).all()
    assert bloom.num_keys(at_least=0) == 60


def test_the_filter_of_the_old_file_is_grown_not_made_again(world, monkeypatch):
    table = world.create()
    table.insert(many(range(50)))
    grown: list[object] = []
    original = file_tasks._grown_filter
    monkeypatch.setattr(file_tasks, "_grown_filter", lambda *a: grown.append(original(*a)) or grown[-1])
    table.upsert(many(range(40, 52), ts=2))
    assert grown[0] is not None


def test_a_filter_is_made_again_when_many_keys_are_gone(world):
    table = world.create()
    table.insert(many(range(50)))
    table.delete(list(range(40)))
    (bloom,) = filters(world)
    assert bloom.num_keys(at_least=0) == 10
    assert not bloom.might_contain(pa.array([str(i) for i in range(40)])).any()


def test_a_filter_of_another_layout_is_made_again(world):
    table = world.create()
    table.insert(many(range(50)))
    world.open({"hoodie.index.bloom.num_entries": 100}).upsert(many([1], ts=2))
    (bloom,) = filters(world)
    assert bloom.row_entries == 100


def test_a_body_that_is_discarded_holds_no_rows(world):
    body = body_that_inserts(world, many(range(1000)))
    body.discard()
    assert body._data.get_total_buffer_size() < 100


def test_data_that_was_checked_against_columns_that_another_writer_changed_is_refused(world):
    context = world.create()._writable()
    body = EmbeddedEngine(use_threads=False).prepare_write(context, Operation.UPSERT, many([1]))
    world.open().insert(many([2]))
    path = max(path for path in world.paths() if path.endswith(".commit"))
    commit = avro_container.decode(world.storage.read(path), path=path)
    schema = json.loads(commit["extraMetadata"]["schema"])
    schema["fields"].append({"name": "more", "type": ["null", "int"], "default": None})
    commit["extraMetadata"]["schema"] = json.dumps(schema)
    world.storage.put(path, avro_container.encode("HoodieCommitMetadata", commit, sync_marker=b"0" * 16))
    with pytest.raises(ConflictError, match="changed the columns"):
        body.lookup_keys(load_snapshot(context))
