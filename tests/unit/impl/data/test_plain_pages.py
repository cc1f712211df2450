"""Rows taken from a page directly are those that Arrow decodes, whoever wrote it; damage is Arrow's to tell."""

from __future__ import annotations

import io
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drawstring.data import inflated_pages, paged_file
from drawstring.data import plain_pages as module
from drawstring.data.paged_file import PagedFile
from drawstring.data.plain_pages import Leaf, plain_pages
from drawstring.errors import CorruptFileError
from unit.impl.protocol.world import ManualClock, MemoryStorage

NUM_ROWS = 3000
CODECS = ["none", "snappy", "gzip", "zstd", "lz4"]
_numbers = np.random.default_rng(11).integers(-(2**31), 2**31, NUM_ROWS)
COLUMNS = {
    "int32": pa.array(_numbers, pa.int32()),
    "int64": pa.array(_numbers * 4711, pa.int64()),
    "float": pa.array(_numbers / 7).cast(pa.float32()),
    "double": pa.array(_numbers / 7),
    "date": pa.array(_numbers % 20_000, pa.int32()).cast(pa.date32()),
    "time": pa.array(_numbers % 1000, pa.int64()).cast(pa.time64("us")),
    "timestamp": pa.array(_numbers * 4711, pa.int64()).cast(pa.timestamp("us", tz="UTC")),
    "small": pa.array(_numbers % 100, pa.int64()).cast(pa.int8()),
    "flag": pa.array(_numbers % 2 == 0),
    "decimal": pa.array([Decimal(int(n)) for n in _numbers], pa.decimal128(20, 0)),
    "fixed": pa.array([b"%016d" % abs(n) for n in _numbers], pa.binary(16)),
    "keys": pa.array([f"key-{n:012d}" for n in abs(_numbers)]),
    "counted": pa.array([f"2026_{n}" for n in range(NUM_ROWS)]),
    "texts": pa.array(["x" * (abs(n) % 13) for n in _numbers]),
    "bytes": pa.array([b"%05d" % (abs(n) % 1000) for n in _numbers]),
    "empty": pa.array([""] * NUM_ROWS),
}
PLAIN = {"int32", "int64", "float", "double", "date", "time", "timestamp", "keys", "counted", "bytes", "empty"}


def table_of(names, share_of_nulls: float, *, optional: bool = True) -> pa.Table:
    chance = np.random.default_rng(int(share_of_nulls * 100))
    nulls = pa.array(chance.random(NUM_ROWS) < share_of_nulls)
    columns = [pa.compute.if_else(nulls, pa.scalar(None, COLUMNS[name].type), COLUMNS[name]) for name in names]
    fields = [pa.field(n, c.type, nullable=optional) for n, c in zip(names, columns, strict=True)]
    return pa.table(columns, schema=pa.schema(fields))


def written(table: pa.Table, **options) -> bytes:
    sink = io.BytesIO()
    defaults = {"use_dictionary": False, "write_page_index": True, "write_page_checksum": True, "store_schema": False}
    pq.write_table(table, sink, **{**defaults, **options})
    return sink.getvalue()


def opened(content: bytes) -> PagedFile:
    storage = MemoryStorage(ManualClock())
    storage.put("f.parquet", content)
    return PagedFile(storage, "f.parquet", len(content))


@pytest.fixture
def all_are_worth_while(monkeypatch):
    monkeypatch.setattr(paged_file, "MANY_ROWS", 0)


def by_arrow(content: bytes, rows, names):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PagedFile, "_plain_pages", lambda *_: None)
        patch.setattr(paged_file, "inflated", lambda piece: piece)
        return opened(content).read(rows, names)


@settings(deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5, unique=True),
    nulls=st.sampled_from([0.0, 0.01, 0.5, 1.0]),
    codec=st.sampled_from(CODECS),
    dictionary=st.booleans(),
    checksum=st.booleans(),
    version=st.sampled_from(["1.0", "2.0"]),
    page_rows=st.integers(1, NUM_ROWS),
    rows=st.lists(st.integers(0, NUM_ROWS - 1), min_size=1, max_size=60, unique=True),
)
def test_rows_are_those_that_arrow_decodes(names, nulls, codec, dictionary, checksum, version, page_rows, rows):
    table = table_of(names, nulls)
    content = written(
        table,
        compression=codec,
        use_dictionary=dictionary,
        write_page_checksum=checksum,
        data_page_version=version,
        max_rows_per_page=max(page_rows, 20),
        write_batch_size=max(page_rows, 20),
    )
    wanted = np.sort(np.array(rows, np.int64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paged_file, "MANY_ROWS", 0)
        found = opened(content).read(wanted, names)
    assert found.equals(by_arrow(content, wanted, names))
    assert found.equals(table.select(names).take(pa.array(wanted)).cast(found.schema))


@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.usefixtures("all_are_worth_while")
def test_what_stands_plainly_is_not_decoded_by_arrow(codec, optional):
    content = written(table_of(sorted(COLUMNS), 0.0, optional=optional), compression=codec, max_rows_per_page=500)
    file = opened(content)
    file.read(np.array([3, 1999]), sorted(COLUMNS))
    assert set(COLUMNS) - {name for _, name in file._not_plain} == PLAIN


def test_small_pages_are_left_to_arrow():
    file = opened(written(table_of(["int64", "keys"], 0.0), max_rows_per_page=500))
    file.read(np.array([3]), ["int64", "keys"])
    assert {name for _, name in file._not_plain} == {"int64", "keys"}


@pytest.mark.parametrize("num_keys", [1, 16, 17, 400])
@pytest.mark.parametrize("name", ["keys", "counted", "texts", "empty"])
@pytest.mark.usefixtures("all_are_worth_while")
def test_keys_are_found_wherever_they_stand(name, num_keys):
    content = written(table_of([name], 0.0), max_rows_per_page=700)
    held = COLUMNS[name]
    wanted = pa.compute.unique(pa.concat_arrays([held.take(pa.array(range(0, num_keys * 7, 7))), pa.array(["no key"])]))
    found = opened(content).rows_of_keys(name, wanted)
    assert found.tolist() == np.flatnonzero(pa.compute.is_in(held, value_set=wanted)).tolist()


@pytest.mark.usefixtures("all_are_worth_while")
def test_texts_that_end_alike_are_not_taken_for_each_other():
    texts = pa.array([f"{i:04}-the same ending" for i in range(NUM_ROWS)])
    file = opened(written(pa.table({"k": texts})))
    assert file.rows_of_keys("k", pa.array(["0007-the same ending", "0x08-the same ending"])).tolist() == [7]


def outcome(read):
    try:
        return read().to_pydict()
    except CorruptFileError:
        return "damaged"


@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
@pytest.mark.usefixtures("all_are_worth_while")
def test_damaged_pages_end_as_they_do_in_arrow(codec, checksum):
    names = ["int64", "keys", "counted", "texts", "bytes"]
    content = written(table_of(names, 0.2), compression=codec, write_page_checksum=checksum, max_rows_per_page=500)
    end = opened(content)._layout.row_groups[0].chunks[-1].end
    chance = random.Random(5)
    seen = set()
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(chance.randrange(1, 4)):
            damaged[chance.randrange(4, end)] = chance.randrange(256)
        rows = np.arange(0, NUM_ROWS, 37)
        ours = outcome(lambda damaged=bytes(damaged), rows=rows: opened(damaged).read(rows, names))
        theirs = outcome(lambda damaged=bytes(damaged), rows=rows: by_arrow(damaged, rows, names))
        assert ours == theirs
        seen.add(ours == "damaged")
    assert True in seen


def page(*, size=8, stored=8, crc=None, rows=1, encoding=0, content=b"\x07" * 8) -> memoryview:
    from drawstring.codec.thrift import I32, STRUCT, write_number, write_struct

    inner = [(field, I32, write_number(value)) for field, value in ((1, rows), (2, encoding), (3, 3), (4, 3))]
    head = [(1, I32, write_number(0)), (2, I32, write_number(size)), (3, I32, write_number(stored))]
    head += [] if crc is None else [(4, I32, write_number(crc))]
    return memoryview(write_struct([*head, (5, STRUCT, write_struct(inner))]) + content)


@pytest.mark.parametrize(
    ("raw", "rows", "optional"),
    [
        pytest.param(page(crc=1), 1, False, id="a wrong checksum"),
        pytest.param(page(rows=2), 1, False, id="other rows than the index says"),
        pytest.param(page(rows=2), 2, False, id="values that are cut off"),
        pytest.param(page(encoding=5), 1, False, id="another encoding"),
        pytest.param(page(stored=7), 1, False, id="bytes behind the page"),
        pytest.param(page(stored=9), 1, False, id="a page that is cut off"),
        pytest.param(page(size=2**31 - 1), 1, False, id="a size beyond any use"),
        pytest.param(page(size=0, stored=0, content=b""), 0, False, id="nothing"),
        pytest.param(page(rows=2**30, content=b"\x05\0\0\0\x80\x80\x80\x80"), 2**30, True, id="nulls without end"),
        pytest.param(page(content=b"\xff\xff\xff\x7f\x02\x01\0\0"), 1, True, id="levels without end"),
        pytest.param(page(content=b"\x02\0\0\0\x02\x02\0\0"), 1, True, id="a level that there is not"),
        pytest.param(page(content=b"\x02\0\0\0\x03\x01\0\0"), 1, True, id="levels, and no value"),
        pytest.param(memoryview(b"\x15"), 1, False, id="half a header"),
    ],
)
def test_what_is_no_plain_page_is_left_to_arrow(raw, rows, optional):
    assert plain_pages([raw], [rows], Leaf(2, 0, optional)) is None


def test_what_is_one_is_taken():
    (found,) = plain_pages([page()], [1], Leaf(2, 0, is_optional=False))
    assert module.take_plain([found], [np.array([0])], pa.int64()).to_pylist() == [0x0707070707070707]


@pytest.mark.parametrize("options", [{}, {"use_dictionary": True}, {"write_page_index": False}])
def test_pages_of_gzip_reach_arrow_inflated(options, monkeypatch):
    names = ["decimal", "texts", "flag"]
    content = written(table_of(names, 0.2), compression="gzip", max_rows_per_page=700, **options)
    codecs = []
    read = pq.ParquetFile.read
    monkeypatch.setattr(
        pq.ParquetFile,
        "read",
        lambda f, **k: (codecs.extend(f.metadata.row_group(0).column(i).compression for i in range(3)), read(f, **k))[
            1
        ],
    )
    rows = np.array([5, 2999])
    found = opened(content).read(rows, names)
    assert codecs == ["UNCOMPRESSED"] * 3
    assert found.equals(by_arrow(content, rows, names))


@pytest.mark.parametrize(("limit", "of"), [("MAX_PAGE_BYTES", 100), ("MAX_BYTES", 3000)])
def test_no_more_is_inflated_than_fits_into_memory(limit, of, monkeypatch):
    monkeypatch.setattr(inflated_pages, limit, of)
    inflated_bytes = []
    inflate = inflated_pages.decompressed
    monkeypatch.setattr(inflated_pages, "decompressed", lambda *a: (inflated_bytes.append(a[2]), inflate(*a))[1])
    content = written(table_of(["texts"], 0.2), compression="gzip", max_rows_per_page=700)
    rows = np.array([5, 2999])
    assert opened(content).read(rows, ["texts"]).equals(by_arrow(content, rows, ["texts"]))
    assert sum(inflated_bytes) <= of
