"""Base files, their footers, and the bloom filters in them."""

from __future__ import annotations

import base64
import datetime as dt
import io
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from drawstring.data.base_file_reader import open_base_file
from drawstring.data.bloom import BloomFilter, BloomParameters
from drawstring_spec.footers import (
    BLOOM_FILTER,
    BLOOM_TYPE_CODE,
    DYNAMIC_BLOOM_FILTER,
    MAX_RECORD_KEY,
    MIN_RECORD_KEY,
    SIMPLE_BLOOM_FILTER,
)

from . import golden
from .mutators import damage
from .target import Answer, Files, Target, cuts_are_told, described

_PATH = "north/f_1-1-1_1.parquet"
_FOOTER_END = 8
_DELTAS = {"text": "DELTA_BYTE_ARRAY", "number": "DELTA_BINARY_PACKED", "raw": "DELTA_LENGTH_BYTE_ARRAY"}


def table() -> pa.Table:
    rows = 60
    return pa.table(
        {
            "_hoodie_record_key": pa.array([f"key-{i:05d}" for i in range(rows)]),
            "text": pa.array([None if i % 7 == 0 else "ä" * (i % 5) for i in range(rows)]),
            "number": pa.array(range(rows), pa.int64()),
            "half": pa.array([i / 2 for i in range(rows)], pa.float64()),
            "flag": pa.array([i % 3 == 0 for i in range(rows)]),
            "exact": pa.array([Decimal(i) / 100 for i in range(rows)], pa.decimal128(12, 2)),
            "day": pa.array([dt.date(2024, 1, 1 + i % 28) for i in range(rows)]),
            "at": pa.array([1_700_000_000_000_000 + i for i in range(rows)], pa.timestamp("us", "UTC")),
            "raw": pa.array([bytes([i]) * (i % 9) for i in range(rows)], pa.binary()),
            "list": pa.array([list(range(i % 4)) if i % 5 else None for i in range(rows)], pa.list_(pa.int32())),
            "map": pa.array([[(f"k{i}", i)] for i in range(rows)], pa.map_(pa.string(), pa.int64())),
            "record": pa.array([{"a": i, "b": str(i)} for i in range(rows)]),
        }
    )


@cache
def parquet_files() -> tuple[bytes, ...]:
    """One table in every encoding that matters, and golden files."""
    rows = table()
    bloom = BloomFilter.empty(BloomParameters(num_entries=50))
    bloom.add(rows["_hoodie_record_key"].combine_chunks())
    footer = {**bloom.to_footer(), MIN_RECORD_KEY: "key-00000", MAX_RECORD_KEY: "key-00059"}
    rows = rows.replace_schema_metadata(footer)
    forms: list[dict[str, object]] = [
        {"compression": "none", "use_dictionary": False, "write_page_checksum": True},
        {"compression": "zstd", "use_dictionary": True, "write_page_checksum": True, "write_page_index": True},
        {"compression": "snappy", "use_dictionary": True, "data_page_version": "2.0"},
        {"compression": "gzip", "row_group_size": 25, "data_page_size": 64},
        {
            "compression": "none",
            "use_dictionary": False,
            "column_encoding": _DELTAS,
        },
    ]  # fmt: skip
    found = []
    for form in forms:
        sink = io.BytesIO()
        pq.write_table(rows, sink, **form)
        found.append(sink.getvalue())
    return (*found, *list(golden.matching(r"^[^.].*\.parquet$", most_bytes=8_000))[:4])


def _read_parquet(content: bytes) -> Answer:
    file = open_base_file(Files({_PATH: content}), _PATH, len(content))
    everything = file.read(use_threads=False)
    answer = [str(file.num_rows), described(everything), str(file.key_range())]
    names = file.schema().names
    answer.append(described(file.read(names[:2], use_threads=False)))
    if file.metadata.num_row_groups:
        answer.append(described(file.read(row_groups=[0], use_threads=False)))
    bloom = file.bloom_filter()
    if bloom is not None:
        answer.append(str(bloom.might_contain(pa.array(["key-00003", "stranger"])).tolist()))
    return tuple(answer)


def with_damaged_footer(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """Damage the footer, and state its length rightly."""
    start = _footer_start(content)
    footer = damage(content[start:-_FOOTER_END], chance, [o[_footer_start(o) : -_FOOTER_END] for o in others])
    return content[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def _with_damaged_pages(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """Damage what lies in front of the footer, which stays at the places that it names."""
    start = _footer_start(content)
    return damage(content[:start], chance, others)[:start].ljust(start, b"\0") + content[start:]


def _footer_start(content: bytes) -> int:
    return len(content) - _FOOTER_END - int.from_bytes(content[-8:-4], "little")


@cache
def _blooms() -> tuple[bytes, ...]:
    """A byte that says the kind, and the filter's bytes."""
    found = []
    for dynamic in (False, True):
        bloom = BloomFilter.empty(BloomParameters(num_entries=20, max_entries=60, dynamic=dynamic))
        bloom.add(pa.array([f"key-{i}" for i in range(50)]))
        found.append((b"D" if dynamic else b"S") + bloom.serialise())
    return tuple(found)


def _read_bloom(content: bytes) -> Answer:
    kind = DYNAMIC_BLOOM_FILTER if content[:1] == b"D" else SIMPLE_BLOOM_FILTER
    footer = {BLOOM_FILTER: base64.b64encode(content[1:]), BLOOM_TYPE_CODE: kind.encode()}
    bloom = BloomFilter.from_footer(footer, path=_PATH)
    if bloom is None:
        return ("none",)
    keys = pa.array([f"key-{i}" for i in range(80)])
    return (str(bloom.num_keys(at_least=1)), str(bloom.might_contain(keys).tolist()))


TARGETS = (
    Target("parquet", parquet_files, _read_parquet, (with_damaged_footer, _with_damaged_pages), cuts_are_told),
    Target("bloom", _blooms, _read_bloom),
)
