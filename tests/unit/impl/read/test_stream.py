"""Snapshots as streams: the rows of `read`, a batch at a time, in memory that does not grow with the table."""

from __future__ import annotations

import gc

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drawstring.data import base_file_reader
from drawstring.errors import CorruptFileError, InputError, NotFoundError
from drawstring.read.arrow_reader import plan_snapshot, read_snapshot
from drawstring.read.stream import ScanDataset, scan_snapshot
from drawstring.read.view import load_snapshot
from drawstring_conformance.compare import difference
from unit.impl.read.tables import HandMadeTable, avro_text

WIDE = pa.schema([("id", pa.string()), ("n", pa.int64()), ("text", pa.string()), ("day", pa.string())])
NUM_ROWS, GROUP_ROWS, BATCH_ROWS = 60_000, 10_000, 500


def rows(count, *, first=0, day="a"):
    numbers = range(first, first + count)
    texts = [f"{n:050}" for n in numbers]
    return pa.table([[f"{day}{n}" for n in numbers], pa.array(numbers), texts, [day] * count], schema=WIDE)


@pytest.fixture
def table():
    table = HandMadeTable(schema=WIDE)
    table.base_file("a", "f-0", 1, rows(7))
    table.base_file("b", "g-0", 1, rows(5, day="b"))
    table.commit(1, 2, schema=avro_text(WIDE))
    return table


def a_large_table(count):
    """One base file of several row groups, many times the size of a batch."""
    table = HandMadeTable(schema=WIDE)
    path = f"a/{table.base_file('a', 'f-0', 1, rows(count))}"
    whole = pq.read_table(pa.BufferReader(table.storage.files[path][0]))
    sink = pa.BufferOutputStream()
    pq.write_table(whole, sink, row_group_size=GROUP_ROWS)
    table.storage.put(path, sink.getvalue().to_pybytes())
    table.commit(1, 2, schema=avro_text(WIDE))
    return table


@pytest.fixture
def large():
    return a_large_table(NUM_ROWS)


def scan(table, **query):
    context = table.context()
    return scan_snapshot(context, load_snapshot(context), **query)


def read(table, **query):
    context = table.context()
    return read_snapshot(context, load_snapshot(context), **query)


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_a_scan_has_the_rows_of_a_read_in_their_order(table, batch_rows):
    assert scan(table, batch_rows=batch_rows).read_all() == read(table)


def test_no_batch_is_larger_than_asked_for_and_none_is_empty(table):
    sizes = [batch.num_rows for batch in scan(table, batch_rows=3, filter=pc.field("n") != 4)]
    assert max(sizes) <= 3
    assert min(sizes) > 0
    assert sum(sizes) == 10


def test_columns_and_filter_are_those_of_a_read(table):
    query = {"columns": ["text", "id"], "filter": [("n", ">", 2), ("day", "=", "b")]}
    assert scan(table, batch_rows=2, **query).read_all() == read(table, **query)
    assert read(table, **query).num_rows == 2


def test_a_scan_of_no_columns_still_counts_rows(table):
    assert sum(batch.num_rows for batch in scan(table, columns=[], batch_rows=2)) == 12


@pytest.mark.parametrize("batch_rows", [0, -1, "7", True, 1.5, None, 2**63])
def test_what_is_no_number_of_rows_is_refused(table, batch_rows):
    with pytest.raises(InputError, match="batch_rows"):
        scan(table, batch_rows=batch_rows)


def test_a_batch_may_be_larger_than_any_table(table):
    assert [batch.num_rows for batch in scan(table, batch_rows=2**63 - 1)] == [batch.num_rows for batch in scan(table)]


def test_a_wrong_column_is_refused_before_anything_is_read(table):
    with pytest.raises(InputError, match="nothing"):
        scan(table, columns=["nothing"])


def test_a_file_that_goes_while_the_stream_is_read_is_named(table):
    reader = scan(table, batch_rows=2)
    reader.read_next_batch()
    gone = next(path for path in table.storage.files if path.startswith("b/g-0"))
    table.storage.delete([gone])
    with pytest.raises(NotFoundError, match="b/g-0"):
        reader.read_all()


def test_a_damaged_file_is_named_while_the_stream_is_read(table):
    path = next(path for path in table.storage.files if path.startswith("b/g-0"))
    table.storage.put(path, bytes(table.storage.files[path][0])[:-9])
    with pytest.raises(CorruptFileError, match="b/g-0"):
        scan(table).read_all()


POOLS = []
"""Buffers outlive the test that made them, so their pools have to."""


def peak_of(work):
    """Bytes that Arrow held at once, at most, while something ran."""
    pool, before = pa.proxy_memory_pool(pa.system_memory_pool()), pa.default_memory_pool()
    POOLS.append(pool)
    gc.collect()
    pa.set_memory_pool(pool)
    try:
        work()
    finally:
        pa.set_memory_pool(before)
    return pool.max_memory()


def test_memory_is_bounded_by_the_batch_and_a_row_group_and_not_by_the_table():
    def drain(table):
        return peak_of(lambda: [batch.num_rows for batch in scan(table, batch_rows=BATCH_ROWS)])

    small, large = a_large_table(GROUP_ROWS), a_large_table(NUM_ROWS)
    whole = peak_of(lambda: read(large))
    assert drain(large) < drain(small) * 1.2
    assert drain(large) < whole / 4


def test_no_more_than_a_row_group_is_fetched_at_once(large, monkeypatch):
    monkeypatch.setattr(base_file_reader, "_TAIL_BYTES", 4096)
    fetched = []
    inner = large.storage.read

    def counting(path, start=0, length=None):
        content = inner(path, start, length)
        if path.endswith(".parquet"):
            fetched.append(len(content))
        return content

    large.storage.read = counting
    size = next(len(f[0]) for path, f in large.storage.files.items() if path.endswith(".parquet"))
    scan(large, batch_rows=BATCH_ROWS).read_all()
    assert max(fetched) < size / 4
    assert len(fetched) >= NUM_ROWS // GROUP_ROWS


def test_nothing_is_read_of_a_slice_before_its_batches_are_asked_for(large):
    opened = []
    inner = large.storage.read

    def noting(path, start=0, length=None):
        opened.append(path)
        return inner(path, start, length)

    reader = scan(large)
    large.storage.read = noting
    assert not opened
    reader.read_next_batch()
    assert opened


def test_slices_whose_partition_an_expression_rules_out_are_not_opened(table):
    context = table.context()
    condition = (pc.field("n") > 1) & (pc.field("day") == "b")
    plan = plan_snapshot(context, load_snapshot(context), filter=condition)
    assert [query.base.file.group.partition_path for query in plan.queries] == ["b"]
    assert difference(read(table, filter=condition), read(table).filter(condition)) == ""


def dataset(table, **query):
    context = table.context()
    return ScanDataset(context, load_snapshot(context), **query)


def test_a_dataset_is_scanned_for_what_is_asked_of_it(table):
    own = dataset(table, filter=[("n", ">", 1)], columns=["id", "n", "text"])
    found = own.scanner(columns=["id"], filter=pc.field("n") < 4, batch_size=2).to_table()
    assert found["id"].to_pylist() == ["a2", "a3", "b2", "b3"]


def test_a_dataset_can_be_scanned_again_and_sees_the_same_snapshot(table):
    own = dataset(table)
    before = own.scanner().to_table()
    table.base_file("b", "g-0", 3, rows(1, day="b"))
    table.commit(3, 4, schema=avro_text(WIDE))
    assert own.scanner().to_table() == before
    assert read(table).num_rows < before.num_rows


def test_a_column_that_the_dataset_does_not_have_is_refused(table):
    with pytest.raises(InputError, match="text"):
        dataset(table, columns=["id"]).scanner(columns=["text"])


@pytest.mark.parametrize("name", ["filter", "get_fragments", "head", "count_rows", "join", "take", "sort_by"])
def test_what_a_native_dataset_would_do_is_refused(table, name):
    with pytest.raises(InputError, match="can only be scanned"):
        getattr(dataset(table), name)(1)
