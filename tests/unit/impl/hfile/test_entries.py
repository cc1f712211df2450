"""Data blocks as columns: entries are found by how keys end, and exactly where walking finds them."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import CorruptFileError
from drawstring.hfile import entries as module
from drawstring.hfile.blocks import corrupt
from drawstring.hfile.entries import find_in_block, gather, parse_data_block
from unit.impl.hfile.writer import full_key

KEY_END = b"\x00\x7f" + b"\xff" * 7 + b"\x04"


def block(pairs: list[tuple[bytes, bytes]]) -> bytes:
    return b"".join(
        struct.pack(">ii", len(key) + 12, len(value)) + full_key(key) + value + b"\x00" for key, value in pairs
    )


def parse(content: bytes) -> list[tuple[bytes, bytes]]:
    parsed = parse_data_block(content, lambda what: corrupt("x", 0, what))
    return [(parsed.key(i), parsed.value(i)) for i in range(len(parsed))]


pieces = st.binary(max_size=30) | st.sampled_from([KEY_END, b"a" + KEY_END, full_key(b"k"), b""])


@given(st.lists(st.tuples(pieces, pieces), max_size=30))
def test_every_entry_is_found_whatever_keys_and_values_hold(pairs):
    assert parse(block(pairs)) == pairs


def test_an_entry_inside_of_a_value_is_none():
    pairs = [(b"real", b"zz" + block([(b"fake", b"")])), (b"next", b"1")]
    assert parse(block(pairs)) == pairs


def test_rows_of_more_sizes_than_are_tried_are_found_by_walking():
    pairs = [(b"k" * size, b"v") for size in range(module._MAX_ROW_SIZES + 50)]
    assert parse(block(pairs)) == pairs


def test_ordinary_blocks_are_not_walked(monkeypatch):
    monkeypatch.delattr(module, "_starts_by_walking")
    pairs = [(b"key-%d" % (i * 7), b"v" * (i % 40)) for i in range(5000)]
    assert parse(block(pairs)) == pairs


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_block_that_ends_inside_an_entry_is_refused(cut):
    with pytest.raises(CorruptFileError, match="cut off"):
        parse(block([(b"a", b"1"), (b"b", b"2")])[:-cut])


def test_an_entry_with_a_version_of_its_own_is_refused():
    content = block([(b"a", b"1"), (b"b", b"2")])
    with pytest.raises(CorruptFileError, match="version of its own"):
        parse(content[:-1] + b"\x01")


def test_a_row_that_is_longer_than_its_key_is_refused():
    content = bytearray(block([(b"a", b"1")]))
    content[9] = 200
    with pytest.raises(CorruptFileError, match="byte 0"):
        parse(bytes(content))


@given(st.lists(st.binary(max_size=5), min_size=1))
def test_pieces_are_copied_in_order(parts):
    ends = np.cumsum([len(part) for part in parts])
    starts = ends - [len(part) for part in parts]
    assert gather(b"".join(parts), starts, ends).to_pylist() == parts
    assert gather(b"".join(parts), starts[::-1], ends[::-1]).to_pylist() == parts[::-1]


@given(st.dictionaries(pieces, pieces, min_size=1, max_size=30), pieces)
def test_a_few_entries_are_found_without_splitting_the_block(pairs, other):
    wanted = sorted({*list(pairs)[:3], other})
    found = find_in_block(block(sorted(pairs.items())), wanted)
    assert found is None or dict(found) == {key: pairs[key] for key in wanted if key in pairs}


@pytest.mark.parametrize("behind", [[], [(b"z", b"1")]])
def test_an_entry_inside_of_a_value_is_left_to_splitting(behind):
    content = block([(b"a", block([(b"key", b"not this")])), *behind])
    assert find_in_block(content, [b"key"]) is None
    assert dict(find_in_block(content, [b"a"])) == {b"a": block([(b"key", b"not this")])}


def test_what_looks_like_a_key_in_two_places_is_left_to_splitting():
    assert find_in_block(block([(b"a", full_key(b"key")), (b"key", b"this")]), [b"key"]) is None


def test_a_block_of_other_keys_than_hudis_is_left_to_splitting():
    content = block([(b"a", b"1")]).replace(b"\x7f\xff", b"\x7e\xff")
    assert find_in_block(content, [b"a"]) is None


def test_ordinary_blocks_are_searched():
    pairs = [(f"key-{i}".encode(), b"value %d" % i) for i in range(10)]
    assert find_in_block(block(pairs), [b"key-3", b"key-33", b"key-9"]) == [pairs[3], pairs[9]]
