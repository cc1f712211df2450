"""Look-ups through one handle: later ones fetch less, and see each change of the table."""

from __future__ import annotations

import pickle
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.data import paged_file
from drawstring.data.kept_files import KeptFiles
from drawstring.errors import NotFoundError
from drawstring.read import repeated_lookup as module
from drawstring.runtime.object_storage import ObjectStorage

NUM_ROWS = 20_000


def rows_of(numbers: range, *, version: int = 1) -> pa.Table:
    ids = [f"key-{i:06d}" for i in numbers]
    return pa.table({"id": ids, "day": ["a" if i % 2 else "b" for i in numbers], "n": [i * version for i in numbers]})


@pytest.fixture
def path(tmp_path):
    rows = rows_of(range(NUM_ROWS))
    table = ds.Table.create(str(tmp_path / "t"), rows.schema, record_key="id", partition_by="day")
    table.bulk_insert(rows)
    return tmp_path / "t"


@pytest.fixture
def reads(monkeypatch):
    """Of what is read of data files: where it begins, where it ends, how long the file is."""
    found = []
    read = ObjectStorage.read

    def counted(self, path, start=0, length=None):
        content = read(self, path, start, length)
        if path.endswith(".parquet"):
            found.append((start, start + len(content), self.head(path).size))
        return content

    monkeypatch.setattr(ObjectStorage, "read", counted)
    read_parts = ObjectStorage.read_parts

    def counted_parts(self, path, ranges):
        found.extend((start, end, self.head(path).size) for start, end in ranges if path.endswith(".parquet"))
        return read_parts(self, path, ranges)

    monkeypatch.setattr(ObjectStorage, "read_parts", counted_parts)
    return found


def numbers(table: ds.Table, *keys: int) -> list[int]:
    return sorted(table.lookup([f"key-{i:06d}" for i in keys])["n"].to_pylist())


def test_what_was_fetched_is_not_fetched_again(path, reads):
    table = ds.Table.open(str(path))
    assert numbers(table, 1, 2) == [1, 2]
    first = len(reads)
    assert numbers(table, 1, 2) == [1, 2]
    assert first > 0
    assert len(reads) == first


def test_other_keys_need_no_footers(path, reads, monkeypatch):
    monkeypatch.setattr(paged_file, "_TAIL_BYTES", 8192)
    table = ds.Table.open(str(path))
    numbers(table, 1)
    reads.clear()
    assert numbers(table, 15_001, 17_003) == [15_001, 17_003]
    tails = [start for start, behind, size in reads if behind == size]
    assert (len(reads) > 0, tails) == (True, [])


def test_each_change_of_the_table_is_seen(path):
    table = ds.Table.open(str(path))
    assert numbers(table, 1, 2) == [1, 2]
    ds.Table.open(str(path)).upsert(rows_of(range(3), version=10))
    assert numbers(table, 1, 2) == [10, 20]
    ds.Table.open(str(path)).delete(rows_of(range(2)))
    assert numbers(table, 1, 2) == [20]


def test_a_table_that_was_made_anew_in_the_same_place_is_another_one(path, tmp_path):
    table = ds.Table.open(str(path))
    assert numbers(table, 7) == [7]
    other = rows_of(range(10), version=3)
    shutil.rmtree(path)
    ds.Table.create(str(path), other.schema, record_key="id", partition_by="day").bulk_insert(other)
    assert numbers(table, 7) == [21]


def test_threads_share_a_handle(path):
    table = ds.Table.open(str(path))
    random = np.random.default_rng(3)
    wanted = [random.choice(NUM_ROWS, 20, replace=False).tolist() for _ in range(24)]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda keys: numbers(table, *keys), wanted))
    assert found == [sorted(keys) for keys in wanted]


def test_a_snapshot_whose_files_are_gone_is_taken_anew(path, monkeypatch):
    table = ds.Table.open(str(path))
    numbers(table, 1)
    held = table._lookups._held
    lookup_rows = module.lookup_rows

    def gone(context, snapshot, *args, **kwargs):
        if snapshot is held.snapshot:
            raise NotFoundError("A file of the metadata table is gone.")
        return lookup_rows(context, snapshot, *args, **kwargs)

    monkeypatch.setattr(module, "lookup_rows", gone)
    assert numbers(table, 1) == [1]


def test_bytes_that_are_kept_are_bounded(path):
    table = ds.Table.open(str(path))
    numbers(table, *range(0, NUM_ROWS, 50))
    context = table._context
    kept = KeptFiles(most_bytes=1000)
    for one in table.file_slices():
        kept.keep(kept.take(context.ports.storage, one.base_file.path, one.base_file.size))
    (last,) = kept._files
    assert last[0] == table.file_slices()[-1].base_file.path


def test_in_another_process_nothing_is_kept(path):
    table = ds.Table.open(str(path))
    numbers(table, 1)
    kept = table._lookups._held.files
    assert kept.num_bytes > 0
    assert pickle.loads(pickle.dumps(kept)).num_bytes == 0


def test_what_needs_too_much_of_the_metadata_table_is_not_kept(path, monkeypatch):
    class Large:
        num_kept_bytes = module.MOST_METADATA_BYTES + 1

    monkeypatch.setattr(module, "MetadataTable", Large)
    monkeypatch.setattr(module, "load_snapshot", _with_metadata(module.load_snapshot, Large()))
    monkeypatch.setattr("drawstring.read.lookup.metadata_of", lambda *_: None)
    table = ds.Table.open(str(path))
    assert numbers(table, 1) == [1]
    assert table._lookups._held is None


def _with_metadata(load, metadata):
    import dataclasses

    return lambda *a, **k: dataclasses.replace(load(*a, **k), metadata=metadata)


def test_a_kept_file_that_another_of_its_name_replaced_is_not_read_on(path):
    table = ds.Table.open(str(path))
    assert numbers(table, 7) == [7]
    (held,) = [one.base_file for one in table.file_slices() if one.group.partition_path == "a"]
    kept = table._lookups._held.files
    storage = table._context.ports.storage
    before = kept.take(storage, held.path, held.size)
    kept.keep(before)
    assert kept.take(storage, held.path, held.size) is before
    kept.keep(before)
    # Of the same name, but of another size: it is another file.
    longer = storage.read(held.path).tobytes()
    replaced = longer[:4] + b"\0" * 16 + longer[4:]
    (path / held.path).write_bytes(replaced)
    after = kept.take(storage, held.path, len(replaced))
    assert (after is not before, after.size) == (True, len(replaced))


def test_a_file_is_in_one_hand_at_a_time(path):
    table = ds.Table.open(str(path))
    numbers(table, 7)
    kept, storage = table._lookups._held.files, table._context.ports.storage
    (name, size), file = next(iter(kept._files.items()))
    assert kept.take(storage, name, size) is file
    assert kept.take(storage, name, size) is not file


def _by_path_alone(self, storage, path, size):
    for key in [key for key in self._files if key[0] == path]:
        return self._files.pop(key)
    return paged_file.PagedFile(storage, path, size)


def _without_taking(self, storage, path, size):
    return self._files.get((path, size)) or paged_file.PagedFile(storage, path, size)


def _held_for_ever(self, context):
    if self._held is None:
        self._held = module._Held(context.config, module.load_snapshot(context))
    return self._held


PLANTED = {
    "a kept look-up is not renewed after a commit": (
        (module.RepeatedLookup, "_current", _held_for_ever),
        test_each_change_of_the_table_is_seen,
    ),
    "a kept file is known by its path alone": (
        (KeptFiles, "take", _by_path_alone),
        test_a_kept_file_that_another_of_its_name_replaced_is_not_read_on,
    ),
    "a kept file is given to two at once": (
        (KeptFiles, "take", _without_taking),
        test_a_file_is_in_one_hand_at_a_time,
    ),
    "what is kept of files has no bound": (
        (KeptFiles, "num_bytes", property(lambda _: 0)),
        test_bytes_that_are_kept_are_bounded,
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_each_planted_bug_is_noticed(name, path, monkeypatch):
    (owner, attribute, bug), notices = PLANTED[name]
    monkeypatch.setattr(owner, attribute, bug)
    with pytest.raises((AssertionError, ValueError)):
        notices(path)
