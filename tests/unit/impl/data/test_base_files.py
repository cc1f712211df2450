from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.base_file_reader import open_base_file
from drawstring.data.base_files import BaseFileLayout, FileStamp, encode_base_file, stamp_rows
from drawstring.data.bloom import BloomParameters
from drawstring.data.schema import arrow_to_avro, with_meta_fields
from drawstring.errors import CorruptFileError
from drawstring.options import Options
from drawstring_spec.meta_fields import META_FIELDS
from unit.impl.data.golden_base_files import base_files
from unit.impl.data.strategies import SCHEMAS

STAMP = FileStamp("20240101000000000", 4, "day=1", "f-0_4-0-0_20240101000000000.parquet")
BLOOM = BloomParameters(num_entries=100, max_entries=200)
LAYOUT = BaseFileLayout(bloom=BLOOM)


class Files:
    """A storage of one file that keeps account of what is read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.reads: list[tuple[int, int]] = []

    def read(self, path: str, start: int = 0, length: int | None = None) -> memoryview:
        end = len(self.content) if length is None else start + length
        self.reads.append((start, end))
        return memoryview(self.content)[start:end]

    def open(self):
        return open_base_file(self, "p/f.parquet", len(self.content))


def encode(table: pa.Table, layout: BaseFileLayout = LAYOUT) -> bytes:
    avro = json.dumps(with_meta_fields(arrow_to_avro(table.schema, name="t_record", namespace="hoodie.t")))
    keys = pa.array([f"k{i:05d}" for i in range(table.num_rows)], pa.string())
    return encode_base_file(stamp_rows(table, keys, STAMP), avro, layout).to_pybytes()


def numbers(count: int) -> pa.Table:
    return pa.table(
        {
            "n": pa.array(range(count), pa.int64()),
            "t": pa.array([f"text {i % 7}" for i in range(count)], pa.string()),
            "d": pa.array([0.5] * count, pa.float64()),
        }
    )


def test_every_row_says_where_and_when_it_was_written():
    first, second = pq.read_table(io.BytesIO(encode(numbers(2)))).to_pylist()
    assert [first[name] for name in META_FIELDS] == [
        STAMP.requested_time,
        f"{STAMP.requested_time}_4_0",
        "k00000",
        "day=1",
        STAMP.file_name,
    ]
    assert second["_hoodie_commit_seqno"] == f"{STAMP.requested_time}_4_1"


def test_the_footer_has_the_entries_that_java_writes():
    (_, java), ours = next(base_files("cow_event_time_ordering")), encode(numbers(3))
    entries = pq.read_metadata(io.BytesIO(ours)).metadata
    assert set(entries) == set(pq.read_metadata(io.BytesIO(java)).metadata)
    assert (entries[b"hoodie_min_record_key"], entries[b"hoodie_max_record_key"]) == (b"k00000", b"k00002")
    assert [f["name"] for f in json.loads(entries[b"parquet.avro.schema"])["fields"]] == [*META_FIELDS, "n", "t", "d"]


def test_meta_columns_are_plain_optional_text_in_the_file():
    schema = pq.ParquetFile(io.BytesIO(encode(numbers(3)))).schema
    for index in range(5):
        column = schema.column(index)
        assert (column.physical_type, column.max_definition_level, str(column.logical_type)) == (
            "BYTE_ARRAY",
            1,
            "String",
        )


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy", "uncompressed"])
def test_each_codec_is_the_one_in_the_file(codec):
    content = encode(numbers(3), BaseFileLayout(codec, bloom=None))
    chunk = pq.read_metadata(io.BytesIO(content)).row_group(0).column(0)
    assert chunk.compression.lower() == codec


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy"])
def test_in_a_large_file_only_what_shrinks_is_compressed(codec):
    rng = np.random.default_rng(3)
    count = 40_000
    nested = pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), pa.array(rng.random(count)))
    columns = {"noise": rng.random(count), "words": ["one text " * 3 + str(i) for i in range(count)], "l": nested}
    content = encode(pa.table(columns), BaseFileLayout(codec, bloom=None))
    group = pq.read_metadata(io.BytesIO(content)).row_group(0)
    chunks = [group.column(index) for index in range(group.num_columns)]
    codecs = {chunk.path_in_schema: chunk.compression.lower() for chunk in chunks}
    assert (codecs["words"], codecs["noise"], codecs["l.list.element"]) == (codec, "uncompressed", "uncompressed")
    assert pq.read_table(io.BytesIO(content)).select(list(columns)).equals(pa.table(columns))


def test_row_groups_are_no_larger_than_asked_for():
    table = numbers(1000)
    content = encode(table, BaseFileLayout(row_group_bytes=10_000, bloom=None))
    assert pq.read_metadata(io.BytesIO(content)).num_row_groups > 3
    assert pq.read_table(io.BytesIO(content)).select(table.column_names).equals(table)


def test_lists_have_three_levels():
    content = encode(pa.table({"l": [[1, None], None]}))
    assert pq.ParquetFile(io.BytesIO(content)).schema.column(5).path == "l.list.element"


def test_columns_of_few_values_get_a_dictionary_and_unique_ones_do_not():
    content = encode(numbers(3000))
    group = pq.read_metadata(io.BytesIO(content)).row_group(0)
    encodings = {group.column(i).path_in_schema: group.column(i).encodings for i in range(group.num_columns)}
    assert "RLE_DICTIONARY" in encodings["t"]
    assert "DELTA_BINARY_PACKED" in encodings["n"]
    assert "RLE_DICTIONARY" not in encodings["_hoodie_record_key"]


def test_a_file_without_rows_has_no_key_range():
    reader = Files(encode(numbers(0))).open()
    assert reader.num_rows == 0
    assert reader.key_range() is None
    assert reader.read().num_rows == 0


def test_the_layout_comes_from_the_options():
    options = {"hoodie.parquet.compression.codec": "gzip", "hoodie.parquet.bloom.filter.enabled": "false"}
    assert BaseFileLayout.from_options(Options.parse(options)) == BaseFileLayout("gzip", bloom=None)
    assert BaseFileLayout.from_options(Options.parse({})) == BaseFileLayout()


@given(SCHEMAS, st.data())
def test_rows_of_any_types_survive_the_file(schema, data):
    schema = pa.schema([field.with_nullable(True) for field in schema])
    count = data.draw(st.integers(0, 3))
    table = pa.table([pa.nulls(count, field.type) for field in schema], schema=schema)
    assert Files(encode(table)).open().read(schema.names).to_pylist() == table.to_pylist()


def test_reading_gives_the_footers_filter_and_key_range():
    reader = Files(encode(numbers(50))).open()
    assert reader.key_range() == ("k00000", "k00049")
    found = reader.bloom_filter().might_contain(pa.array(["k00007", "stranger"]))
    assert found.tolist() == [True, False]


def test_columns_come_in_the_order_wanted_and_unknown_ones_are_left_out():
    assert Files(encode(numbers(3))).open().read(["t", "nope", "n"]).column_names == ["t", "n"]


def test_a_projection_reads_only_its_own_bytes():
    table = pa.table({f"c{i}": pa.array(range(i, i + 400_000)) for i in range(4)})
    files = Files(encode(table, BaseFileLayout("uncompressed", bloom=None)))
    reader = files.open()
    files.reads.clear()
    assert reader.read(["c2"]).column("c2").to_pylist() == list(range(2, 400_002))
    chunk = reader.metadata.row_group(0).column(7)
    assert sum(end - start for start, end in files.reads) == chunk.total_compressed_size


def test_neighbouring_ranges_are_fetched_at_once():
    files = Files(encode(numbers(2000)))
    reader = files.open()
    files.reads.clear()
    reader.read(["_hoodie_record_key", "n", "d"])
    assert len(files.reads) == 1


def test_a_large_footer_is_fetched_with_a_second_read():
    table = pa.table({f"column_{i:05d}": [i] for i in range(6000)})
    files = Files(encode(table))
    assert files.open().read(["column_00017"]).to_pylist() == [{"column_00017": 17}]
    assert files.reads[1][0] < files.reads[0][0]


def test_row_groups_can_be_chosen():
    reader = Files(encode(numbers(1000), BaseFileLayout(row_group_bytes=10_000, bloom=None))).open()
    first = reader.metadata.row_group(0).num_rows
    assert reader.read(["n"], row_groups=[1]).column("n")[0].as_py() == first


def test_text_columns_can_be_read_as_dictionaries():
    table = Files(encode(numbers(20))).open().read(["t"], dictionary_columns=["t"])
    assert pa.types.is_dictionary(table.schema.field("t").type)


@pytest.mark.parametrize("size", [0, 3, 8, 12, 400])
def test_a_truncated_file_is_corrupt_and_named(size):
    with pytest.raises(CorruptFileError, match=r"p/f\.parquet"):
        Files(encode(numbers(5))[:size]).open()


def test_a_footer_that_claims_more_than_the_file_is_corrupt():
    content = bytearray(encode(numbers(5)))
    content[-8:-4] = (2**31).to_bytes(4, "little")
    with pytest.raises(CorruptFileError, match="claims"):
        Files(bytes(content)).open()


def test_a_column_that_claims_bytes_beyond_the_file_is_corrupt():
    reader = dataclasses.replace(Files(encode(numbers(50))).open(), size=100)
    with pytest.raises(CorruptFileError, match="claims the bytes"):
        reader.read(["d"])


@given(st.data())
def test_damaged_bytes_are_a_corrupt_file_or_rows_never_another_error(data):
    content = bytearray(encode(numbers(40), BaseFileLayout("zstd", bloom=None)))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        reader = Files(bytes(content)).open()
        reader.schema()
        assert reader.read(["n", "t"]).num_columns <= 2
    except CorruptFileError as error:
        assert "p/f.parquet" in str(error)  # noqa: PT017 - either outcome is right


def test_java_files_are_read_with_a_projection():
    for _, content in base_files("all_types_cow"):
        reader = Files(content).open()
        whole = pq.read_table(io.BytesIO(content))
        names = ["c_arr_struct", "_hoodie_record_key", "c_dec"]
        assert reader.read(names).equals(whole.select(names).replace_schema_metadata(None))
