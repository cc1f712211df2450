"""Thousands of damaged HFiles: each ends in a named error or in the rows that were written, within bounds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from drawstring.errors import CorruptFileError, UnsupportedTableError
from drawstring.hfile.reader import HFileReader
from drawstring_spec.hfile_format import Codec
from unit.impl.hfile.writer import HFileWriter

ENTRIES = {f"key-{i:03d}".encode(): f"value {i}".encode() * (i % 5) for i in range(120)}
FILES = {
    codec: HFileWriter(codec=codec, block_bytes=700, leaf_entries=leaves).write(ENTRIES, meta={"m": b"bits"})
    for codec, leaves in ((Codec.GZ, 0), (Codec.NONE, 2))
}
MUTATIONS = 1000
MAX_BYTES = 64 * 1024 * 1024
EXTREMES = (0, 1, 0x7F, 0x80, 0xFF)


def mutated(content: bytes, random: np.random.Generator) -> bytes:
    """Bits flipped, bytes set to extremes, pieces cut out, the end cut off; mostly where lengths stand."""
    raw = bytearray(content)
    used = len(raw) - 4096 + 200  # the trailer is mostly padding
    for _ in range(int(random.integers(1, 4))):
        position = int(random.integers(0, min(used, len(raw))))
        kind = int(random.integers(0, 5))
        if kind == 0:
            raw[position] ^= 1 << int(random.integers(0, 8))
        elif kind == 1:
            raw[position] = EXTREMES[int(random.integers(0, len(EXTREMES)))]
        elif kind == 2:
            raw[position : position + 4] = b"\x7f\xff\xff\xff"
        elif kind == 3:
            del raw[position : position + int(random.integers(1, 40))]
        else:
            raw[position:position] = bytes(int(random.integers(1, 40)))
        used = min(used, len(raw))
    return bytes(raw)


def entries_of(content: bytes) -> dict[bytes, bytes] | None:
    try:
        keys, values = HFileReader.from_bytes(memoryview(content), path="x").entries()
    except (CorruptFileError, UnsupportedTableError):
        return None
    return dict(zip(keys.to_pylist(), values.to_pylist(), strict=True))


@pytest.mark.parametrize("codec", FILES, ids=lambda codec: codec.name)
def test_a_look_up_in_a_damaged_file_is_an_error_or_what_was_written(codec):
    random = np.random.default_rng(20240102)
    wanted = [*list(ENTRIES)[3:100:40], b"key-0505"]
    refused = 0
    for number in range(MUTATIONS):
        try:
            reader = HFileReader.from_bytes(memoryview(mutated(FILES[codec], random)), path="x")
            found = reader.get_many(wanted)
        except (CorruptFileError, UnsupportedTableError):
            refused += 1
            continue
        assert found == {key: ENTRIES[key] for key in wanted if key in ENTRIES}, number
    assert refused > MUTATIONS // 4


@pytest.mark.parametrize("codec", FILES, ids=lambda codec: codec.name)
def test_a_damaged_file_is_an_error_or_has_the_rows_that_were_written(codec):
    random = np.random.default_rng(20240101)
    tracemalloc.start()
    refused = 0
    for number in range(MUTATIONS):
        found = entries_of(mutated(FILES[codec], random))
        refused += found is None
        if found is not None:
            assert found == ENTRIES, number
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MAX_BYTES
    assert refused > MUTATIONS // 2
