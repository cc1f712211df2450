"""Record positions are read as a library of Roaring bitmaps writes them; what are none are told."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from drawstring.log_files.positions import parse_positions

POSITIONS = st.one_of(
    st.integers(0, 2**40),
    st.integers(0, 70_000),
    st.sampled_from([0, 65_535, 65_536, 2**32 - 1, 2**32, 2**63]),
)
RANGES = st.tuples(st.integers(0, 300_000), st.integers(0, 70_000)).map(lambda p: range(p[0], p[0] + p[1]))


@given(st.sets(POSITIONS, max_size=50), st.lists(RANGES, max_size=3), st.booleans())
def test_positions_are_those_that_a_library_of_bitmaps_wrote(single, ranges, as_runs):
    expected = sorted(single.union(*ranges))
    bitmap = BitMap64(expected)
    if as_runs:
        bitmap.run_optimize()

    found = parse_positions(bitmap.serialize(), most=len(expected))

    assert found.dtype == np.uint64
    assert found.tolist() == expected


def container(cookie: int, head: bytes, body: bytes) -> bytes:
    return struct.pack("<QII", 1, 0, cookie) + head + body


def run_container(size: int, *runs: tuple[int, int]) -> bytes:
    pairs = b"".join(struct.pack("<HH", *run) for run in runs)
    return container(12347, b"\x01" + struct.pack("<HH", 0, size - 1), struct.pack("<H", len(runs)) + pairs)


HOSTILE = {
    "more positions than allowed": run_container(65_536, (0, 65_535)),
    "runs that overlap": run_container(20, (0, 9), (5, 9)),
    "runs that are more than the head says": run_container(3, (0, 9)),
    "a run beyond its container": run_container(11, (65_530, 10)),
    "a bit set of more bits than the head says": container(
        12346, struct.pack("<IHHI", 1, 0, 4_999, 16), b"\xff" * 8192
    ),
    "an array that descends": container(12346, struct.pack("<IHHI", 1, 0, 1, 16), struct.pack("<HH", 9, 3)),
    "containers that are not there": container(12346, struct.pack("<I", 2**32 - 1), b""),
    "bitmaps that are not there": struct.pack("<Q", 2**60),
    "another cookie": container(1, b"", b""),
    "bytes behind the end": BitMap64([1]).serialize() + b"\0",
    "no bytes": b"",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_bitmap_that_cannot_be_is_refused(content):
    with pytest.raises(ValueError, match=r"."):
        parse_positions(content, most=10_000)


def test_a_bitmap_without_its_end_is_refused():
    bitmap = BitMap64([1, 70_000, 2**33, *range(200_000, 210_000)])
    bitmap.run_optimize()
    whole = bitmap.serialize()

    for size in range(len(whole)):
        with pytest.raises(ValueError, match=r"."):
            parse_positions(whole[:size], most=20_000)
