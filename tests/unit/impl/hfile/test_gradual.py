"""A few keys of a block: what splitting the whole block finds, with no more of it decompressed than that takes."""

from __future__ import annotations

import gzip
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import CorruptFileError
from drawstring.hfile import gradual
from drawstring.hfile.blocks import BlockContent
from drawstring.hfile.gradual import find_gradually
from drawstring_spec.hfile_format import MAGIC_DATA, ChecksumType, Codec
from unit.impl.hfile.test_entries import KEY_END, block, pieces
from unit.impl.hfile.writer import HFileWriter, full_key

PAIRS = [(b"key-%05d" % i, b"value %d " % i * (i % 30)) for i in range(20_000)]
KEYS = [key for key, _ in PAIRS]


def stored(content: bytes, *, codec: Codec = Codec.GZ, checksum_type: int = ChecksumType.CRC32C) -> BlockContent:
    writer = HFileWriter(codec=codec, checksum_type=checksum_type)
    writer.block(MAGIC_DATA, content)
    return opened(bytes(writer.out), codec)


def opened(raw: bytes, codec: Codec = Codec.GZ) -> BlockContent:
    return BlockContent(memoryview(raw), codec, MAGIC_DATA, path="x", offset=0)


@pytest.fixture
def small_steps(monkeypatch):
    monkeypatch.setattr(gradual, "_STEP_BYTES", 64)


@pytest.mark.parametrize("codec", [Codec.GZ, Codec.NONE])
@pytest.mark.parametrize(
    "wanted", [[0], [19_999], [0, 1, 2, 19_999], [7_000, 7_001, 12_345], list(range(0, 20_000, 501))]
)
def test_keys_are_found_wherever_they_stand(wanted, codec):
    found = find_gradually(stored(block(PAIRS), codec=codec), [KEYS[i] for i in wanted])
    assert found == [PAIRS[i] for i in wanted]


def test_keys_that_are_not_there_are_not_found():
    wanted = [b"a", b"key-00000", b"key-00000x", b"key-10000x", b"key-19999", b"key-19999x", b"z"]
    assert find_gradually(stored(block(PAIRS)), wanted) == [PAIRS[0], PAIRS[-1]]


@given(st.dictionaries(pieces, pieces, min_size=1, max_size=30), pieces)
def test_the_answer_is_that_of_the_whole_block_or_none(pairs, other):
    wanted = sorted({*list(pairs)[:3], other})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gradual, "_STEP_BYTES", 16)
        found = find_gradually(stored(block(sorted(pairs.items()))), wanted)
    assert found is None or dict(found) == {key: pairs[key] for key in wanted if key in pairs}


@pytest.mark.usefixtures("small_steps")
def test_a_key_behind_what_looks_like_greater_ones_is_not_lost():
    inner = block([(b"y", b""), (b"z", b"")])
    pairs = [(b"a", b"1"), (b"b", inner + bytes(200)), (b"c", b"2")]
    assert find_gradually(stored(block(pairs)), [b"c"]) in (None, [(b"c", b"2")])


@pytest.mark.usefixtures("small_steps")
def test_an_entry_of_many_steps_is_found():
    pairs = [(b"a", b"1"), (b"b", bytes(range(200)) * 50), (b"c", b"2"), (b"d", b"3")]
    assert find_gradually(stored(block(pairs)), [b"b", b"c"]) == pairs[1:3]


def test_nothing_behind_the_last_key_is_decompressed():
    content = stored(block(PAIRS))
    find_gradually(content, KEYS[:3])
    assert not content.is_read
    assert len(content.more(content.size)) > content.size * 3 // 4


def test_a_large_entry_is_not_copied_for_each_step(monkeypatch):
    asked = []
    content = stored(block([(b"a", bytes(10_000_000)), (b"b", b"1")]))
    more = content.more
    monkeypatch.setattr(content, "more", lambda at_most: asked.append(at_most) or more(at_most))
    assert find_gradually(content, [b"b"]) == [(b"b", b"1")]
    assert len(asked) < 12


def test_a_block_of_other_keys_than_hudis_is_left_to_splitting():
    assert find_gradually(stored(block(PAIRS).replace(b"\x7f\xff", b"\x7e\xff")), KEYS[:1]) is None


def test_keys_longer_than_those_looked_for_from_their_end_are_found():
    pairs = [(b"k" * 3000 + b"%d" % i, b"v%d" % i) for i in range(200)]
    wanted = sorted(key for key, _ in pairs)[50:60]
    assert find_gradually(stored(block(sorted(pairs))), wanted) == [(k, v) for k, v in sorted(pairs) if k in wanted]


def damaged_stream(*, checksum_type: int) -> bytes:
    """A block whose gzip stream has a wrong checksum at its end."""
    content = block(PAIRS)
    data = bytearray(gzip.compress(content, 1, mtime=0))
    data[-8] ^= 1
    head = struct.pack(">8siiqbii", MAGIC_DATA, len(data), len(content), -1, checksum_type, 2**30, 33 + len(data))
    return head + bytes(data)


def test_a_block_without_checksums_of_its_own_is_read_to_the_end():
    with pytest.raises(CorruptFileError, match="does not decompress"):
        find_gradually(opened(damaged_stream(checksum_type=ChecksumType.NONE)), KEYS[:1])


@pytest.mark.parametrize(("stated", "why"), [(-5, "goes on beyond"), (-1, "decompresses to"), (1, "decompresses to")])
def test_a_block_of_another_size_than_it_states_is_refused(stated, why):
    content = block(PAIRS)
    writer = HFileWriter(checksum_type=ChecksumType.NONE)
    writer.block(MAGIC_DATA, content)
    raw = bytearray(writer.out)
    raw[12:16] = struct.pack(">i", len(content) + stated)
    with pytest.raises(CorruptFileError, match=why):
        find_gradually(opened(bytes(raw)), KEYS[-1:])


def test_what_looks_like_a_key_in_a_value_is_no_key():
    pairs = [(b"a", full_key(b"key") + KEY_END), (b"key", b"this")]
    assert find_gradually(stored(block(pairs)), [b"key"]) in (None, [(b"key", b"this")])
