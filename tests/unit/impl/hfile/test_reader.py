"""HFiles: what Java wrote is read whole, look-ups find what scans find, and damage has a name."""

from __future__ import annotations

import contextlib
import gzip
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import CorruptFileError, UnsupportedTableError
from drawstring.hfile import reader as reader_module
from drawstring.hfile.reader import HFileReader
from drawstring_conformance.vectors import VECTORS
from drawstring_spec.hfile_format import Codec
from unit.impl.hfile.writer import HFileWriter

ENTRIES = {f"key-{i:05d}".encode(): f"value {i}".encode() * (i % 7) for i in range(2000)}
FILE = HFileWriter(block_bytes=4096).write(ENTRIES, meta={"bloomFilter": b"bits"}, info={b"schema": b"{}"})


def open_file(content: bytes, **options) -> HFileReader:
    return HFileReader(lambda o, n: memoryview(content)[o : o + n], len(content), path="x.hfile", **options)


def entries_of(reader: HFileReader) -> dict[bytes, bytes]:
    return {key: block.value(i) for block in reader.blocks() for i, key in enumerate(block.keys)}


@pytest.mark.parametrize("codec", [Codec.GZ, Codec.NONE])
@pytest.mark.parametrize("leaf_entries", [0, 3])
def test_a_scan_returns_every_entry_in_order(codec, leaf_entries):
    content = HFileWriter(codec=codec, block_bytes=512, leaf_entries=leaf_entries).write(ENTRIES)
    assert list(entries_of(open_file(content)).items()) == sorted(ENTRIES.items())


def test_a_large_block_is_read_to_its_end():
    content = HFileWriter(block_bytes=10**9).write(dict.fromkeys(ENTRIES, b""))
    assert len(entries_of(open_file(content))) == len(ENTRIES)


@given(st.lists(st.sampled_from([*sorted(ENTRIES), b"", b"key", b"key-00000x", b"zzz"])))
def test_a_lookup_finds_exactly_the_keys_that_are_there(keys):
    assert open_file(FILE).get_many(keys) == {k: ENTRIES[k] for k in keys if k in ENTRIES}


@pytest.mark.parametrize("prefix", [b"", b"key-000", b"key-01999", b"a", b"z", b"key-00999"])
def test_a_prefix_finds_the_keys_that_begin_with_it(prefix):
    expected = [(k, v) for k, v in sorted(ENTRIES.items()) if k.startswith(prefix)]
    assert list(open_file(FILE).prefix(prefix)) == expected


def test_a_lookup_fetches_only_the_blocks_that_it_needs():
    fetched = []

    def fetch(offset, length):
        fetched.append(length)
        return memoryview(FILE)[offset : offset + length]

    reader = HFileReader(fetch, len(FILE), path="x.hfile")
    fetched.clear()
    reader.get_many([b"key-00000", b"key-00001", b"key-01999"])
    assert len(fetched) == 2


def test_no_more_blocks_are_kept_than_the_cache_holds():
    reader = open_file(FILE, cache_bytes=10_000)
    entries_of(reader)
    assert sum(len(block.content) for block in reader._cache.values()) <= 10_000


def test_meta_blocks_and_file_info_are_read_by_name():
    reader = open_file(FILE)
    assert (reader.meta_block("bloomFilter"), reader.meta_block("other")) == (b"bits", None)
    assert reader.file_info[b"schema"] == b"{}"


def test_an_empty_file_has_no_entries():
    reader = open_file(HFileWriter().write({}))
    assert (entries_of(reader), reader.get_many([b"k"]), list(reader.prefix(b""))) == ({}, {}, [])


def test_a_codec_that_we_have_no_library_for_is_refused_by_name():
    with pytest.raises(UnsupportedTableError, match="LZO"):
        open_file(HFileWriter(codec=Codec.LZO).write(ENTRIES))


def test_a_block_that_decompresses_to_more_than_it_states_is_refused():
    bomb = gzip.compress(b"\x00" * 10_000_000)
    content = bytearray(FILE)
    start = 33
    content[start : start + len(bomb)] = bomb
    with pytest.raises(CorruptFileError, match="byte 0"):
        entries_of(open_file(bytes(content)))


@pytest.mark.parametrize("checksum_type", [1, 2])
@pytest.mark.parametrize("checksum_every", [64, 16 * 1024, 2**30])
def test_a_flipped_bit_is_told_by_the_checksums(checksum_type, checksum_every):
    options = {"checksum_type": checksum_type, "checksum_every": checksum_every}
    content = HFileWriter(codec=Codec.NONE, **options).write({b"a": b"one value", b"b": b"another"})
    assert entries_of(open_file(content)) == {b"a": b"one value", b"b": b"another"}
    at = content.index(b"another")
    with pytest.raises(CorruptFileError, match="checksum"):
        entries_of(open_file(content[:at] + b"A" + content[at + 1 :]))


def test_a_file_without_checksums_is_read():
    content = HFileWriter(codec=Codec.NONE, checksum_type=0).write({b"a": b"one value"})
    assert entries_of(open_file(content)) == {b"a": b"one value"}


def test_checksums_of_a_type_that_is_not_known_are_refused():
    content = bytearray(HFileWriter(codec=Codec.NONE).write({b"a": b"one value"}))
    content[24] = 7
    with pytest.raises(CorruptFileError, match="type 7"):
        entries_of(open_file(bytes(content)))


@given(st.data())
def test_damage_ends_in_a_named_error_or_in_true_rows(data):
    content = bytearray(FILE)
    for _ in range(data.draw(st.integers(1, 3))):
        position = data.draw(st.integers(0, len(content) - 1) | st.integers(len(content) - 4600, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    with contextlib.suppress(CorruptFileError, UnsupportedTableError):  # any other exception fails the test
        found = entries_of(open_file(bytes(content)))
        # gzip's own checksum tells damaged data, the trailer's count tells a lost block.
        assert found == ENTRIES


@given(st.integers(0, len(FILE) - 1))
def test_a_truncated_file_is_refused(length):
    with pytest.raises(CorruptFileError):
        open_file(FILE[:length])


def test_every_hfile_of_the_golden_tables_is_read_and_looked_up():
    files = 0
    for archive in sorted(VECTORS.glob("*/table.zip")):
        with zipfile.ZipFile(archive) as table:
            for name in sorted(n for n in table.namelist() if n.endswith(".hfile")):
                reader = HFileReader.from_bytes(memoryview(table.read(name)), path=name)
                found = entries_of(reader)
                assert list(found) == sorted(found)
                assert reader.get_many(list(found)) == found
                files += 1
    assert files > 100


def test_a_file_that_holds_far_more_than_it_takes_is_not_read_at_once(monkeypatch):
    zeros = {f"k{i}".encode(): bytes(2**20) for i in range(4)}
    content = HFileWriter(block_bytes=2**20).write(zeros)
    assert len(open_file(content).entries()[0]) == len(zeros)
    monkeypatch.setattr(reader_module, "MOST_BYTES", 2**21)
    with pytest.raises(CorruptFileError, match=f"its file of {len(content)} bytes has"):
        open_file(content).entries()
    assert open_file(content).get_many([b"k3"]) == {b"k3": bytes(2**20)}


@pytest.mark.parametrize("leaf_entries", [0, 3])
def test_an_index_that_names_one_block_many_times_is_refused(leaf_entries):
    class Repeating(HFileWriter):
        def root(self, entries):
            return super().root(entries[:1] * len(entries))

    with pytest.raises(CorruptFileError, match=r"overlap|entries"):
        open_file(Repeating(block_bytes=4096, leaf_entries=leaf_entries).write(ENTRIES)).entries()
