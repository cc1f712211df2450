"""Small inputs that stand for much, each read in a process of its own whose memory is limited.

``python -m unit.impl.bad_input.bombs NAME`` says how its reading ended, as a line of JSON.
"""

from __future__ import annotations

import json
import resource
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import drawstring as ds
from drawstring.errors import DrawstringError
from drawstring.log_files.avro_records import decode_prefixed_records
from drawstring.read.schema_history import parse_internal_schema
from drawstring.runtime.object_storage import ObjectStorage
from drawstring.table_config import load_table_config
from drawstring.timeline.archived import load_archived

ADDRESS_SPACE_BYTES = 2 * 1024 * 1024 * 1024
"""Beyond what the process has when it begins to read."""

DEPTH = 100_000


def _fixed_record(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": [{"name": "f", "type": kind}]}


def _nulls_of_a_wide_fixed_type(folder: Path) -> object:
    schema = _fixed_record(["null", {"type": "fixed", "name": "wide", "size": 2**31 - 1}])
    return decode_prefixed_records(schema, 50, memoryview((struct.pack(">i", 1) + b"\0") * 50), path="a block")


def _nulls_of_a_wide_fixed_type_in_lists(folder: Path) -> object:
    wide = {"type": "fixed", "name": "wide", "size": 2**20}
    schema = _fixed_record({"type": "array", "items": ["null", wide]})
    record = b"\xc0\xbb\x78" + bytes(1_000_000 - 4) + b"\0"
    return decode_prefixed_records(schema, 1, memoryview(struct.pack(">i", len(record)) + record), path="a block")


def _history(folder: Path) -> Path:
    ds.Table.create(str(folder), pa.schema([("id", pa.string())]), record_key="id")
    history = folder / ".hoodie" / "timeline" / "history"
    history.mkdir(parents=True, exist_ok=True)
    (history / "_version_").write_text("1", encoding="ascii")
    return history


def _load_archived(folder: Path) -> object:
    storage = ObjectStorage(str(folder))
    return load_archived(storage, load_table_config(storage))


def _archive_of_one_instant_many_times(folder: Path) -> object:
    history = _history(folder)
    name = "20240101000000000_20240101000000000_0.parquet"
    count = 20_000_000
    one = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array(["20240101000000000"]))
    rows = pa.table({"instantTime": one, "completionTime": one, "action": one, "metadata": one})
    with pq.ParquetWriter(history / name, rows.schema, compression="zstd", write_statistics=False) as writer:
        for _ in range(10):
            writer.write_table(rows, row_group_size=count)
    manifest = {"files": [{"fileName": name, "fileLen": (history / name).stat().st_size}]}
    (history / "manifest_1").write_text(json.dumps(manifest), encoding="ascii")
    return _load_archived(folder)


def _deep_manifest(folder: Path) -> object:
    (_history(folder) / "manifest_1").write_text("[" * DEPTH + "]" * DEPTH, encoding="ascii")
    return _load_archived(folder)


def _long_manifest(folder: Path) -> object:
    with (_history(folder) / "manifest_1").open("wb") as file:
        file.truncate(10**11)  # as many bytes as a billion entries take; none of them is on the disk
    return _load_archived(folder)


def _deep_schema(folder: Path) -> object:
    deep: Any = "int"
    for number in range(DEPTH):
        deep = {"type": "array", "element_id": number, "element": deep}
    return parse_internal_schema({"type": "record", "fields": [{"id": 0, "name": "c", "type": deep}]})


def _deep_properties(folder: Path) -> object:
    table = ds.Table.create(str(folder), pa.schema([("id", pa.string())]), record_key="id")
    table.insert(pa.table({"id": ["a"]}))
    properties = folder / ".hoodie" / "hoodie.properties"
    definitions = folder / ".hoodie" / ".index_defs" / "index.json"
    definitions.parent.mkdir(exist_ok=True)
    definitions.write_text('{"indexDefinitions":' + "[" * DEPTH + "]" * DEPTH + "}", encoding="ascii")
    lines = properties.read_text(encoding="latin-1") + "\nhoodie.table.index.defs.path=.hoodie/.index_defs/index.json\n"
    schema = '{"type":"array","items":' * DEPTH + '"int"' + "}" * DEPTH
    lines += f"hoodie.table.create.schema={schema}\n"
    properties.write_text(lines, encoding="latin-1")
    for commit in (folder / ".hoodie" / "timeline").glob("*.commit"):
        commit.unlink()
    return ds.Table.open(str(folder)).read()


BOMBS = {
    function.__name__.removeprefix("_"): function
    for function in (
        _nulls_of_a_wide_fixed_type,
        _nulls_of_a_wide_fixed_type_in_lists,
        _archive_of_one_instant_many_times,
        _deep_manifest,
        _long_manifest,
        _deep_schema,
        _deep_properties,
    )
}


def _limit() -> None:
    now = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ADDRESS_SPACE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(name: str, folder: str) -> None:
    """Read one input; what is not named by drawstring ends the process with a traceback, or worse."""
    _limit()
    answer = {"named": False, "error": ""}
    try:
        BOMBS[name](Path(folder))
    except DrawstringError as error:
        causes = [error, error.__cause__, error.__context__]
        ran_out = any(isinstance(cause, MemoryError) for cause in causes)
        answer = {"named": not ran_out, "error": f"{type(error).__name__}: {error}"[:300]}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
