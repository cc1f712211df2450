"""Rows read by the page index are those that reading the whole file gives, whoever wrote the file and however."""

from __future__ import annotations

import io
import random
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drawstring.data import fetched_parts
from drawstring.data import paged_file as module
from drawstring.data.base_files import BaseFileLayout, FileStamp, encode_base_file, stamp_rows
from drawstring.data.bloom import BloomFilter
from drawstring.data.paged_file import PagedFile
from drawstring.errors import CorruptFileError, DrawstringError, UnsupportedTableError
from unit.impl.data.golden_base_files import CASES, base_files
from unit.impl.protocol.world import ManualClock, MemoryStorage

KEY = "_hoodie_record_key"
NUM_ROWS = 20_000
LAYOUTS = {
    "pages of some rows": {"write_page_index": True, "write_batch_size": 100, "max_rows_per_page": 100},
    "pages of some bytes": {"write_page_index": True, "write_batch_size": 64, "data_page_size": 2_000},
    "several row groups": {
        "write_page_index": True,
        "write_batch_size": 300,
        "max_rows_per_page": 300,
        "row_group_size": 7_001,
    },
    "no page index": {"row_group_size": 9_000},
    "second version": {
        "write_page_index": True,
        "data_page_version": "2.0",
        "write_batch_size": 500,
        "max_rows_per_page": 300,
    },
}


def rows_of(num_rows=NUM_ROWS, *, is_sorted=True) -> pa.Table:
    rng = np.random.default_rng(7)
    ids = np.arange(num_rows) if is_sorted else rng.permutation(num_rows)
    nested = [None if i % 7 == 0 else [{"x": int(i), "y": str(i)}] * (i % 3) for i in ids]
    return pa.table(
        {
            KEY: pa.array([f"key-{i:06}" for i in ids]),
            "number": pa.array(ids, pa.int64(), mask=ids % 5 == 0),
            "word": pa.array([f"word-{i % 50}" for i in ids]),
            "nested": pa.array(nested, pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())]))),
            "amount": pa.array(rng.random(num_rows)),
            "flag": pa.array(ids % 2 == 0),
        }
    )


def written(table: pa.Table, **options) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, store_schema=False, compression="zstd", **options)
    return sink.getvalue()


def stored(content: bytes) -> tuple[MemoryStorage, PagedFile]:
    storage = MemoryStorage(ManualClock())
    storage.put("f.parquet", content)
    return storage, PagedFile(storage, "f.parquet", len(content))


def whole(content: bytes) -> pa.Table:
    return pq.read_table(io.BytesIO(content)).replace_schema_metadata(None)


def of_our_writer(table: pa.Table, *, bloom=None) -> bytes:
    stamp = FileStamp("2" * 17, 0, "p", "f")
    rows = stamp_rows(table.drop_columns([KEY]), table.column(KEY).combine_chunks(), stamp)
    layout = BaseFileLayout() if bloom is None else BaseFileLayout(bloom=bloom)
    return memoryview(encode_base_file(rows, "{}", layout)).tobytes()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [0, 1, 40, NUM_ROWS])
def test_some_rows_are_those_of_the_whole_file(layout, count):
    content = written(rows_of(), **LAYOUTS[layout])
    expected = whole(content)
    rows = np.sort(np.random.default_rng(count).choice(NUM_ROWS, count, replace=False))
    found = stored(content)[1].read(rows, expected.column_names)
    assert found.equals(expected.take(pa.array(rows)))


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_keys_are_found_where_they_are(layout, is_sorted):
    table = rows_of(is_sorted=is_sorted)
    wanted = pa.array(["key-000000", "key-019999", "key-004711", "key-999999", "a", "z"])
    found = stored(written(table, **LAYOUTS[layout]))[1].rows_of_keys(KEY, wanted)
    assert sorted(table.column(KEY).take(pa.array(found)).to_pylist()) == ["key-000000", "key-004711", "key-019999"]
    assert list(found) == sorted(found)


def test_columns_come_in_the_order_asked_for_and_those_that_are_not_there_are_left_out():
    found = stored(written(rows_of(100)))[1].read(np.array([3, 5]), ["number", "nothing", KEY])
    assert found.to_pydict() == {"number": [3, None], KEY: ["key-000003", "key-000005"]}


def test_text_is_read_as_a_dictionary_where_that_is_asked_for():
    found = stored(written(rows_of(100)))[1].read(np.array([3]), ["word"], dictionary_columns=["word"])
    assert pa.types.is_dictionary(found.column("word").type)
    assert found.column("word").to_pylist() == ["word-3"]


@pytest.mark.parametrize("case", CASES)
def test_files_that_java_wrote_are_read_alike(case):
    for name, content in base_files(case):
        expected = whole(content)
        keys = expected.column(KEY).combine_chunks()
        _, file = stored(content)
        rows = file.rows_of_keys(KEY, keys.take(pa.array([len(keys) - 1, 0])))
        assert set(rows) == {0, len(keys) - 1}, name
        assert file.read(rows, expected.column_names).equals(expected.take(pa.array(rows))), name


def test_of_a_file_of_ours_a_look_up_decodes_a_page_of_each_column(monkeypatch):
    content = of_our_writer(rows_of())
    expected = whole(content)
    _, file = stored(content)
    decoded = []
    read = pq.ParquetFile.read
    monkeypatch.setattr(pq.ParquetFile, "read", lambda f, **k: (decoded.append(f.metadata.num_rows), read(f, **k))[1])
    rows = file.rows_of_keys(KEY, pa.array(["key-010000"]))
    found = file.read(rows, [name for name in expected.column_names if name != "nested"])
    assert found.column("number").to_pylist() == [None]
    assert decoded == [2048, 2048]


def test_keys_are_decoded_once(monkeypatch):
    content = of_our_writer(rows_of())
    expected = whole(content)
    _, file = stored(content)
    decoded = []
    read = pq.ParquetFile.read
    monkeypatch.setattr(pq.ParquetFile, "read", lambda f, **k: (decoded.append(f.schema_arrow.names), read(f, **k))[1])
    rows = file.rows_of_keys(KEY, pa.array(["key-010000", "key-000007"]))
    found = file.read(rows, ["word", KEY, "number"])
    assert decoded == [[KEY], ["number", "word"]]
    assert found.equals(expected.select(["word", KEY, "number"]).take(pa.array([7, 10_000])))
    assert file.read(np.array([7]), [KEY]).column(KEY).to_pylist() == ["key-000007"]


def test_texts_of_a_dictionary_are_looked_up_only_for_the_rows_that_are_wanted(monkeypatch):
    content = written(rows_of(), write_page_index=True)
    expected = whole(content)
    _, file = stored(content)
    asked = []
    open_parquet = module.open_parquet
    monkeypatch.setattr(
        module, "open_parquet", lambda c, **k: (asked.append(k["dictionary_columns"]), open_parquet(c, **k))[1]
    )
    found = file.read(np.array([3, 5_000]), ["word", "number"])
    assert asked[-1] == ["word"]
    assert found.equals(expected.select(["word", "number"]).take(pa.array([3, 5_000])))


def test_of_a_large_file_only_the_pages_that_are_needed_are_fetched(monkeypatch):
    monkeypatch.setattr(fetched_parts, "MAX_GAP_BYTES", 0)
    monkeypatch.setattr(module, "_TAIL_BYTES", 32 * 1024)
    content = written(
        rows_of(), write_page_index=True, use_dictionary=False, write_batch_size=1_000, max_rows_per_page=1_000
    )
    storage, fetched = MemoryStorage(ManualClock()), []
    storage.put("f.parquet", content)
    read = storage.read
    monkeypatch.setattr(storage, "read", lambda *a: (fetched.append(read(*a)), fetched[-1])[1])
    file = PagedFile(storage, "f.parquet", len(content))
    file.read(file.rows_of_keys(KEY, pa.array(["key-010000"])), [KEY, "number", "amount"])
    assert sum(map(len, fetched)) < 32 * 1024 + 40_000
    assert len(content) > 200_000


def test_a_bloom_filter_that_has_no_key_spares_the_keys(monkeypatch):
    content = of_our_writer(rows_of(is_sorted=False))
    _, file = stored(content)
    asked = []
    monkeypatch.setattr(
        BloomFilter, "might_contain", lambda self, keys: (asked.append(keys), np.zeros(len(keys), bool))[1]
    )
    monkeypatch.setattr(module, "open_parquet", lambda *a, **k: pytest.fail("keys were read"))
    assert len(file.rows_of_keys(KEY, pa.array(["key-010000"]))) == 0
    assert len(asked) == 1


def test_keys_beyond_the_range_of_the_file_are_not_looked_for(monkeypatch):
    _, file = stored(of_our_writer(rows_of(is_sorted=False)))
    monkeypatch.setattr(module, "open_parquet", lambda *a, **k: pytest.fail("keys were read"))
    assert len(file.rows_of_keys(KEY, pa.array(["a", "zzz"]))) == 0


def indexes_of(content: bytes) -> tuple[int, int]:
    """Where the page indexes and the footer stand."""
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    first = min(chunk.column_index[0] for chunk in layout_of(content).row_groups[0].chunks)
    return first, footer


def layout_of(content):
    from drawstring.data.parquet_pages import parse_layout

    length = int.from_bytes(content[-8:-4], "little")
    return parse_layout(content[-8 - length : -8], len(content))


@pytest.mark.parametrize("seed", range(60))
def test_damage_of_footer_or_index_ends_in_a_named_error_or_an_answer(seed):
    content = bytearray(written(rows_of(3_000), **LAYOUTS["pages of some bytes"]))
    first, _ = indexes_of(bytes(content))
    chance = random.Random(seed)
    for _ in range(chance.randrange(1, 4)):
        content[chance.randrange(first, len(content))] = chance.randrange(256)
    with suppress(DrawstringError):
        _, file = stored(bytes(content))
        rows = file.rows_of_keys(KEY, pa.array(["key-001000"]))
        file.read(rows, list(file.column_names))


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"\x19\xfc\xff\xff\xff\xff\x0f", id="more pages than bytes"),
        pytest.param(b"\x19\x1c\x16\x08\x15\x00\x16\x00\x00\x00", id="a page of no bytes"),
        pytest.param(b"\x19\x1c\x16\x08\x15\x10\x16\x02\x00\x00", id="a first page that begins later"),
        pytest.param(
            b"\x19\x2c\x16\x08\x15\x10\x16\x00\x00\x16\x08\x15\x10\x16\x02\x00\x00", id="pages upon each other"
        ),
        pytest.param(b"\x19\x1c\x16\x08\x15\x10\x16\x80", id="a number that goes on behind the end"),
    ],
)
def test_an_offset_index_with_pages_where_none_can_be_is_refused(raw):
    from drawstring.data.parquet_pages import parse_offset_indexes

    chunk = layout_of(written(rows_of(10))).row_groups[0].chunks[0]
    with pytest.raises(ValueError, match="offset index"):
        parse_offset_indexes([raw], [chunk], 10)


def test_rows_that_the_index_misplaces_are_told_by_their_number():
    content = bytearray(written(rows_of(3_000), **LAYOUTS["pages of some rows"]))
    chunk = layout_of(bytes(content)).row_groups[0].chunks[0]
    start, end = chunk.offset_index
    # The second page begins at row 100; let the index say 101.
    at = bytes(content).index(b"\x16\xc8\x01\x00", start, end)
    content[at + 1 : at + 3] = b"\xca\x01"
    with pytest.raises(CorruptFileError, match="by its page index"):
        stored(bytes(content))[1].read(np.array([5]), [KEY])


def test_a_footer_beyond_any_use_is_refused_for_look_ups(monkeypatch):
    monkeypatch.setattr(module, "_MAX_FOOTER_BYTES", 100)
    with pytest.raises(UnsupportedTableError, match="too large for look-ups"):
        stored(written(rows_of(10)))


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"\x19\xfc\xff\xff\xff\xff\x0f", id="a list of more than there is"),
        pytest.param(b"\x18\xff\xff\xff\xff\x0f", id="a text of more than there is"),
        pytest.param(b"\x1c" * 100, id="structures without end"),
        pytest.param(b"\x19" * 2000, id="lists without end"),
        pytest.param(b"\x16" + b"\xff" * 20, id="a number without end"),
        pytest.param(b"\x1f\x00", id="a type that there is not"),
        pytest.param(b"\x16", id="nothing behind a field"),
    ],
)
def test_bytes_that_are_no_structure_are_told(raw):
    from drawstring.codec.thrift import parse_struct

    with pytest.raises((ValueError, IndexError)):
        parse_struct(raw)


def test_a_key_column_that_only_the_row_groups_have_is_damage():
    content = bytearray(written(rows_of(10), write_page_index=True))
    at = content.index(KEY.encode(), len(content) - 8 - int.from_bytes(content[-8:-4], "little"))
    content[at : at + len(KEY)] = b"_hoodie_record_kex"
    with pytest.raises(CorruptFileError, match=KEY):
        stored(bytes(content))[1].rows_of_keys(KEY, pa.array(["key-000001"]))


def test_a_file_without_a_footer_is_refused():
    with pytest.raises(CorruptFileError, match="do not end as a Parquet file"):
        stored(b"nothing of the kind")
