from __future__ import annotations

import base64
import io
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.bloom import BloomFilter, BloomParameters
from drawstring.data.murmur import hash_positions, mixed_keys
from drawstring.errors import FormatError, OptionError
from drawstring_spec.footers import BLOOM_FILTER, BLOOM_TYPE_CODE
from unit.impl.data.golden_base_files import CASES, base_files

SMALL = BloomParameters(num_entries=20, false_positive_rate=0.001, max_entries=50)
FIXED = BloomParameters(num_entries=20, false_positive_rate=0.001, dynamic=False)


def signed(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31


def java_murmur2(key: bytes, seed: int) -> int:
    """Hadoop's hash, one key at a time with Java's signed 32-bit arithmetic."""
    m = 0x5BD1E995
    h = signed(seed ^ len(key))
    for at in range(0, len(key) // 4 * 4, 4):
        k = signed(struct.unpack_from("<i", key, at)[0] * m)
        k ^= (k & 0xFFFFFFFF) >> 24
        h = signed(signed(h * m) ^ signed(k * m))
    tail = len(key) % 4
    for back in range(tail, 0, -1):
        h = signed(h ^ (struct.unpack_from("b", key, len(key) - back)[0] << (8 * (back - 1))))
    if tail:
        h = signed(h * m)
    h = signed(h ^ ((h & 0xFFFFFFFF) >> 13))
    h = signed(h * m)
    return signed(h ^ ((h & 0xFFFFFFFF) >> 15))


def java_positions(key: bytes, hashes: int, bits: int) -> list[int]:
    h, positions = 0, []
    for _ in range(hashes):
        h = java_murmur2(key, h)
        positions.append(abs(h) % bits)
    return positions


def footer(bloom: BloomFilter) -> dict[str, bytes]:
    return {key: value.encode() for key, value in bloom.to_footer().items()}


@given(st.lists(st.text(max_size=13), min_size=1, max_size=30))
def test_positions_are_those_of_java_for_any_text(texts):
    keys = pa.array(texts)
    for group in mixed_keys(keys):
        columns = np.stack([positions.copy() for positions in hash_positions(group, 5, 997)])
        for index, row in enumerate(group.rows):
            assert columns[:, index].tolist() == java_positions(texts[row].encode(), 5, 997)


@given(st.lists(st.text(max_size=9), max_size=120), st.sampled_from([SMALL, FIXED]), st.integers(0, 120))
def test_a_filter_never_forgets_a_key_however_keys_come(texts, parameters, cut):
    keys = pa.array(texts, pa.string())
    bloom = BloomFilter.empty(parameters)
    bloom.add(keys.slice(0, cut))
    bloom.add(keys.slice(cut))
    again = BloomFilter.from_footer(footer(bloom), path="f")
    assert again is not None
    assert again.might_contain(keys).all()


@given(st.lists(st.text(max_size=9), max_size=60), st.integers(0, 60))
def test_a_growing_filter_is_the_same_however_its_keys_come(texts, cut):
    keys = pa.array(texts, pa.string())
    whole, parts = BloomFilter.empty(SMALL), BloomFilter.empty(SMALL)
    whole.add(keys)
    parts.add(keys.slice(0, cut))
    parts.add(keys.slice(cut))
    assert whole.serialise() == parts.serialise()


def test_a_key_of_any_row_of_a_grown_filter_is_known():
    keys = pa.array([f"k{i}" for i in range(70)])
    bloom = BloomFilter.empty(SMALL)
    bloom.add(keys)
    assert len(bloom.rows) == 3
    assert bloom.might_contain(keys).all()


def test_a_filter_with_bytes_to_spare_is_refused():
    content = BloomFilter.empty(SMALL).serialise() + b"\0"
    entries = {BLOOM_FILTER: base64.b64encode(content), BLOOM_TYPE_CODE: b"DYNAMIC_V0"}
    with pytest.raises(FormatError):
        BloomFilter.from_footer(entries, path="f")


def test_strangers_are_mostly_turned_away():
    bloom = BloomFilter.empty(BloomParameters(num_entries=1000, false_positive_rate=0.01))
    bloom.add(pa.array([f"in{i}" for i in range(1000)]))
    assert bloom.might_contain(pa.array([f"out{i}" for i in range(5000)])).mean() < 0.02


@pytest.mark.parametrize("case", CASES)
def test_filters_of_java_files_know_their_keys_and_are_made_again_byte_for_byte(case):
    for path, content in base_files(case):
        file = pq.ParquetFile(io.BytesIO(content))
        entries = {key.decode(): value for key, value in file.metadata.metadata.items()}
        bloom = BloomFilter.from_footer(entries, path=path)
        assert bloom is not None, path
        keys = file.read(["_hoodie_record_key"]).column(0).combine_chunks()
        assert bloom.might_contain(keys).all(), path
        ours = BloomFilter.empty(BloomParameters())
        ours.add(keys)
        assert ours.serialise() == base64.b64decode(entries[BLOOM_FILTER]), path


def test_the_default_filter_has_the_size_that_java_gives_it():
    parameters = BloomParameters()
    assert (parameters.num_bits(), parameters.num_hashes(), parameters.max_rows()) == (2_587_966, 30, 2)


def test_a_dynamic_filter_grows_to_its_bound_and_then_takes_its_rows_in_turn():
    bloom = BloomFilter.empty(SMALL)
    bloom.add(pa.array([f"k{i}" for i in range(60)]))
    before = [row.copy() for row in bloom.rows]
    bloom.add(pa.array([f"late{i}" for i in range(3)]))
    assert len(bloom.rows) == 3
    assert all((old != new).any() for old, new in zip(before, bloom.rows, strict=True))


@pytest.mark.parametrize(
    ("entries", "rate"), [(2_000_000_000, 1e-9), (60_000, 1.0), (60_000, 2.0)], ids=["too large", "no bits", "rate"]
)
def test_a_layout_that_makes_no_filter_is_refused(entries, rate):
    with pytest.raises(OptionError):
        BloomFilter.empty(BloomParameters(entries, rate))


def test_a_file_without_a_filter_has_none():
    assert BloomFilter.from_footer({}, path="f") is None


def test_a_filter_of_an_unknown_kind_is_not_asked():
    bloom = BloomFilter.empty(SMALL)
    assert BloomFilter.from_footer({**footer(bloom), BLOOM_TYPE_CODE: b"FUTURE"}, path="f") is None


def test_a_filter_with_another_hash_is_not_asked():
    content = bytearray(BloomFilter.empty(FIXED).serialise())
    content[8] = 0
    assert BloomFilter.from_footer({BLOOM_FILTER: base64.b64encode(content)}, path="f") is None


@pytest.mark.parametrize(
    ("at", "number"), [(4, -1), (4, 10**6), (9, -5), (9, 2**31 - 1), (13, 0), (21, 0), (21, 2**31 - 1), (29, 3)]
)
def test_a_filter_that_claims_more_than_is_there_is_refused(at, number):
    content = bytearray(BloomFilter.empty(SMALL).serialise())
    struct.pack_into(">i", content, at, number)
    entries = {BLOOM_FILTER: base64.b64encode(content), BLOOM_TYPE_CODE: b"DYNAMIC_V0"}
    with pytest.raises(FormatError, match=r"x\.parquet"):
        BloomFilter.from_footer(entries, path="x.parquet")


@pytest.mark.parametrize("text", [b"", b"AAAA", b"!not base64!", b"\xff\xfe"])
def test_a_filter_that_is_no_filter_is_refused(text):
    with pytest.raises(FormatError):
        BloomFilter.from_footer({BLOOM_FILTER: text}, path="f")


def test_keys_of_a_slice_are_those_of_the_slice():
    keys = pa.array(["a", "bbbbb", "cc", "ddddddd"])
    bloom = BloomFilter.empty(FIXED)
    bloom.add(keys[1:3])
    same = BloomFilter.empty(FIXED)
    same.add(pa.array(["bbbbb", "cc"]))
    assert bloom.serialise() == same.serialise()
