"""Whatever is damaged in a table's files: a reader answers or raises a named error, and changes nothing.

Bytes are damaged by a seeded generator in copies of golden tables of both types: cut, flipped, zeroed, overwritten.
Data pages carry no checksum, so a flipped value inside of one is a value; that is not judged here.
"""

from __future__ import annotations

import io
import random
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

import drawstring as ds
from drawstring.errors import DrawstringError
from unit.impl.bad_input.conftest import contents

VECTORS = Path(__file__).resolve().parents[3] / "drawstring_conformance" / "vectors"
TABLES = [
    "mor_basic",
    "mor_partial_update",
    "mor_parquet_log_blocks",
    "schema_on_read_mor",
    "rollback_restore_cow",
    "all_types_cow",
    "archival_lsm",
]
DAMAGES_PER_TABLE = 15


def damaged(content: bytes, chance: random.Random) -> bytes:
    """The content with one kind of damage, chosen by `chance`."""
    kind = chance.choice(["cut", "flip", "zero", "overwrite", "head"])
    if kind == "cut":
        return content[: chance.randrange(len(content))]
    changed = bytearray(content)
    start = chance.randrange(min(len(content), 300) if kind == "head" else len(content))
    for index in range(start, min(start + chance.choice([1, 4, 8]), len(content))):
        changed[index] = {"zero": 0, "overwrite": 0xFF}.get(kind, changed[index] ^ (1 << chance.randrange(8)))
    return bytes(changed)


@pytest.mark.parametrize("name", TABLES)
def test_a_reader_of_a_damaged_table_answers_or_names_what_is_wrong(tmp_path, name):
    with zipfile.ZipFile(io.BytesIO((VECTORS / name / "table.zip").read_bytes())) as archive:
        archive.extractall(tmp_path)
    files = [p for p in sorted(tmp_path.rglob("*")) if p.is_file() and p.stat().st_size]
    files = [p for p in files if ".hoodie/metadata/" not in p.as_posix()]
    chance = random.Random(name)
    for _ in range(DAMAGES_PER_TABLE):
        file = chance.choice(files)
        whole = file.read_bytes()
        file.write_bytes(damaged(whole, chance))
        before = contents(tmp_path)
        with suppress(DrawstringError):
            ds.Table.open(str(tmp_path)).read()
        assert contents(tmp_path) == before
        file.write_bytes(whole)
