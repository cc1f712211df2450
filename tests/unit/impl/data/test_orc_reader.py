"""ORC files: footers of every codec, one stripe at a time, and damage that is named."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa
import pytest
from pyarrow import orc

from drawstring.data.orc_footer import parse_footer, parse_tail
from drawstring.data.orc_reader import open_orc_file
from drawstring.data.row_files import open_row_file
from drawstring.errors import CorruptFileError, DrawstringError, UnsupportedTableError

CODECS = ("uncompressed", "zlib", "snappy", "lz4", "zstd")
NUM_ROWS = 20_000


class OneFile:
    """A storage that holds one file, and notes what is read of it."""

    def __init__(self, content):
        self.content = content
        self.reads = []

    def read(self, path, start=0, length=None):
        part = memoryview(self.content)[start : None if length is None else start + length]
        self.reads.append(len(part))
        return part


def rows(count=NUM_ROWS):
    numbers = list(range(count))
    return pa.table(
        {
            "n": numbers,
            "text": [f"text {n}" for n in numbers],
            "list": [[n, None] if n % 3 else None for n in numbers],
            "at": pa.array([n * 1_000_003 for n in numbers], pa.timestamp("us")),
        }
    )


def written(table, codec="zlib", stripe_size=64 * 1024):
    sink = pa.BufferOutputStream()
    orc.write_table(table, sink, compression=codec, stripe_size=stripe_size)
    return sink.getvalue().to_pybytes()


def opened(content):
    return open_orc_file(OneFile(content), "a/f.orc", len(content))


def expected(table):
    """A timestamp of a table is an instant."""
    index = table.column_names.index("at")
    return table.set_column(index, "at", table["at"].cast(pa.timestamp("ns", "UTC")))


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_is_read(codec):
    file = opened(written(rows(), codec))
    assert file.num_rows == NUM_ROWS
    assert sum(file.group_rows) == NUM_ROWS
    assert file.read().to_pydict() == expected(rows()).to_pydict()


@pytest.mark.parametrize("codec", CODECS)
def test_footers_say_what_arrow_says(codec):
    content = written(rows(), codec)
    tail = parse_tail(content[-256:], len(content))
    end = len(content) - tail.behind_bytes
    footer = parse_footer(content[end - tail.footer_bytes : end], tail, len(content))
    assert len(footer.stripes) == orc.ORCFile(pa.BufferReader(content)).nstripes
    assert footer.rows == NUM_ROWS


def test_columns_come_in_the_order_that_is_asked_for_and_others_are_left_out():
    assert opened(written(rows(9))).read(["text", "nothing", "n"]).column_names == ["text", "n"]


@pytest.mark.parametrize("batch_rows", [1000, 7777, 10**6])
def test_batches_are_the_rows_of_the_file_in_order(batch_rows):
    file = opened(written(rows()))
    batches = list(file.batches(["n", "list"], batch_rows))
    assert max(batch.num_rows for batch in batches) <= batch_rows
    assert pa.Table.from_batches(batches).to_pydict() == rows().select(["n", "list"]).to_pydict()


def test_batches_of_no_columns_still_have_rows():
    assert sum(batch.num_rows for batch in opened(written(rows(50))).batches([], 8)) == 50


def test_one_stripe_is_fetched_at_a_time():
    content = written(rows(), "uncompressed")
    storage = OneFile(content)
    file = open_orc_file(storage, "f.orc", len(content))
    assert len(file.group_rows) > 5
    storage.reads.clear()
    next(file.batches(["n"], 10))
    assert len(storage.reads) == 1
    assert storage.reads[0] < len(content) / 4


def test_the_extension_says_which_format_a_file_has():
    content = written(rows(3))
    assert open_row_file(OneFile(content), "f.orc", len(content)).num_rows == 3
    with pytest.raises(CorruptFileError, match="Parquet"):
        open_row_file(OneFile(content), "f.parquet", len(content))


def test_a_time_that_nanoseconds_do_not_reach_is_refused_by_name():
    far = pa.table({"at": pa.array([dt.datetime(9999, 12, 31)], pa.timestamp("us")), "n": [1]})  # noqa: DTZ001 -- ORC's have none
    file = opened(written(far))
    assert file.read(["n"]).to_pydict() == {"n": [1]}
    with pytest.raises(UnsupportedTableError, match=r"f\.orc"):
        file.read()


@pytest.mark.parametrize("size", [0, 1, 3, 100, -1])
def test_a_file_that_is_cut_off_is_named(size):
    content = written(rows(1000))[:size]
    with pytest.raises(CorruptFileError, match=r"a/f\.orc"):
        opened(content)


def test_a_postscript_that_claims_more_than_the_file_is_refused():
    content = bytearray(written(rows(10)))
    at = len(content) - 1 - content[-1]
    content[at + 1] = 0xFF  # the low bits of the footer's length
    with pytest.raises(CorruptFileError):
        opened(bytes(content)).read()


def test_a_footer_that_inflates_beyond_a_block_is_refused():
    content = written(rows(10), "zlib")
    tail = parse_tail(content[-256:], len(content))
    end = len(content) - tail.behind_bytes
    small = type(tail)(tail.compression, 16, tail.footer_bytes, tail.behind_bytes, tail.metadata_bytes)
    with pytest.raises(ValueError, match="more than 16 bytes"):
        parse_footer(content[end - tail.footer_bytes : end], small, len(content))


def test_stripes_outside_of_the_file_are_refused():
    content = written(rows(10), "uncompressed")
    tail = parse_tail(content[-256:], len(content))
    end = len(content) - tail.behind_bytes
    with pytest.raises(ValueError, match="stripe claims"):
        parse_footer(content[end - tail.footer_bytes : end], tail, tail.size + 3)


@pytest.mark.parametrize("seed", range(150))
def test_any_damage_is_a_named_error_or_rows(seed):
    chance = random.Random(seed)
    content = bytearray(written(rows(300), chance.choice(CODECS), 4096))
    for _ in range(chance.choice([1, 1, 3])):
        near_the_end = max(0, len(content) - 1 - int(chance.expovariate(1 / 200)))
        at = chance.choice([chance.randrange(len(content)), near_the_end])
        content[at] ^= 1 << chance.randrange(8)
    try:
        assert opened(bytes(content)).read().num_rows == 300
    except DrawstringError as error:
        assert "f.orc" in str(error)  # noqa: PT017 -- either is right


def test_damage_that_ends_arrows_reader_ends_a_process_of_its_own_and_no_more():
    lists = pa.table({"text": [f"x{i % 100}" for i in range(3000)], "list": [[i, i + 1] for i in range(3000)]})
    good, ended = written(lists, "uncompressed", 8192), 0
    for at in range(80, 110):
        content = bytearray(good)
        content[at] ^= 1
        try:
            opened(bytes(content)).read()
        except CorruptFileError as error:
            ended += "ended the process" in str(error)
    assert ended
    assert opened(good).read().to_pydict() == lists.to_pydict()
