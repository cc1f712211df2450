"""ORC base files; and rows of Parquet files read by their page indexes, which other code than Arrow's takes apart."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
from pyarrow import orc

from drawstring.data.orc_reader import open_orc_file
from drawstring.data.paged_file import PagedFile
from drawstring_conformance.vectors import load_case

from . import base_files
from .mutators import damage
from .target import Answer, Files, Target, cuts_are_told, described

_JAVA = Path(__file__).resolve().parents[1] / "interop" / "data"
_ORC_PATH = "north/f_1-1-1_1.orc"
_PARQUET_PATH = "north/f_1-1-1_1.parquet"
_MOST_BYTES = 30_000


@cache
def _orc_files() -> tuple[bytes, ...]:
    """One table in each compression, and the smallest files that Java wrote."""
    table = base_files.table()
    found = []
    for compression in ("uncompressed", "zlib", "snappy", "zstd", "lz4"):
        sink = io.BytesIO()
        orc.write_table(table, sink, compression=compression, stripe_size=1024)
        found.append(sink.getvalue())
    for name in ("orc_cow", "orc_mor"):
        case = load_case(name, _JAVA)
        files = [case.read_file(path) for path in case.file_names if path.endswith(".orc")]
        found += [content for content in sorted(files, key=len) if len(content) < _MOST_BYTES][:1]
    return tuple(found)


def _read_orc(content: bytes) -> Answer:
    file = open_orc_file(Files({_ORC_PATH: content}), _ORC_PATH, len(content))
    names = file.schema().names
    answer = [str(file.num_rows), str(sorted(file.footer)), described(file.read()), described(file.read(names[:2]))]
    answer += [described(pa.Table.from_batches([batch])) for batch in file.batches(names, 7)]
    return tuple(answer)


def _with_damaged_end(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """Damage the footers; the postscript and its length stay."""
    end = content[-1] + 1
    start = max(0, len(content) - end - 400)
    return content[:start] + damage(content[start:-end], chance, others) + content[-end:]


@cache
def _paged_files() -> tuple[bytes, ...]:
    return base_files.parquet_files()[:4]


def _read_paged(content: bytes) -> Answer:
    file = PagedFile(Files({_PARQUET_PATH: content}), _PARQUET_PATH, len(content))
    keys = pa.array(["key-00003", "key-00042", "stranger"])
    rows = file.rows_of_keys("_hoodie_record_key", keys)
    found = file.read(rows, list(file.column_names))
    return (str(file.column_names), str(rows.tolist()), described(found), str(np.asarray(rows).dtype))


TARGETS = (
    Target("orc", _orc_files, _read_orc, (_with_damaged_end,), cuts_are_told),
    Target("parquet_pages", _paged_files, _read_paged, (base_files.with_damaged_footer,), cuts_are_told),
)
