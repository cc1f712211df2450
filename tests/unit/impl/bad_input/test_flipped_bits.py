"""A flipped bit in the pages of a base file is told, whether drawstring or Java Hudi wrote the file."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drawstring.codec.parquet_bytes import checked, open_parquet
from drawstring.data.base_file_reader import open_base_file
from drawstring.errors import CorruptFileError
from drawstring_conformance.vectors import load_case
from fuzz.target import Files

PATH = "north/f_1-1-1_1.parquet"


def with_a_flipped_bit(content: bytes, column: str) -> bytes:
    """The last byte of the column's last page, which belongs to its values."""
    group = pq.ParquetFile(pa.BufferReader(content)).metadata.row_group(0)
    chunk = next(c for c in map(group.column, range(group.num_columns)) if c.path_in_schema == column)
    start = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    changed = bytearray(content)
    changed[start + chunk.total_compressed_size - 1] ^= 4
    return bytes(changed)


def file_of_java() -> bytes:
    case = load_case("cow_commit_time_ordering")
    return case.read_file(next(name for name in case.file_names if name.endswith(".parquet") and name[0] != "."))


def file_of_ours(tmp_path) -> bytes:
    import drawstring as ds

    rows = pa.table({"id": ["a", "b"], "amount": [1.5, 2.5]})
    ds.Table.create(
        str(tmp_path), rows.schema, record_key="id", options={"hoodie.parquet.compression.codec": "uncompressed"}
    ).insert(rows)
    return next(tmp_path.glob("*.parquet")).read_bytes()


@pytest.mark.parametrize("writer", ["java", "ours"])
def test_a_flipped_bit_in_a_page_is_told(tmp_path, writer):
    content = file_of_java() if writer == "java" else file_of_ours(tmp_path)
    names = pq.ParquetFile(pa.BufferReader(content)).schema_arrow.names
    column = names[-1]
    damaged = with_a_flipped_bit(content, column)

    with pytest.raises(CorruptFileError, match=PATH):
        open_base_file(Files({PATH: damaged}), PATH, len(damaged)).read([column])


def test_without_the_check_the_flipped_bit_would_be_a_value(tmp_path):
    content = file_of_ours(tmp_path)
    damaged = with_a_flipped_bit(content, "amount")

    unchecked = pq.ParquetFile(pa.BufferReader(damaged)).read(columns=["amount"])

    assert unchecked["amount"].to_pylist() != [1.5, 2.5]


def test_text_that_is_no_text_is_told_where_no_checksum_tells_it():
    sink = pa.BufferOutputStream()
    names = pa.table({"name": ["marker-one", "marker-two"]})
    pq.write_table(names, sink, use_dictionary=False, compression="none")
    damaged = sink.getvalue().to_pybytes().replace(b"marker-two", b"\xff\xffrker-two")

    with pytest.raises(pa.ArrowInvalid, match="UTF8"):
        checked(open_parquet(pa.py_buffer(damaged)).read())
