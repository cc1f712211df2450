"""Log files for tables that were written as copy-on-write: what a delta commit of Java Hudi leaves, block by block.

Records are encoded one by one, which is slow and does not matter: it is preparation. Rows of keys that the table has
go to the file group that holds them; others go to the first file group of their partition.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc

import drawstring as ds
from drawstring.codec import avro_container
from drawstring.data.schema import arrow_to_avro, with_meta_fields
from drawstring.files import FileSlice
from drawstring_spec.log_format import CONTENT_VERSION, LOG_FORMAT_VERSION, MAGIC, BlockType, HeaderKey

_TIMELINE = ".hoodie/timeline"
_SYNC = b"0123456789abcdef"


def make_merge_on_read(path: str) -> None:
    """Make a table merge-on-read, which so far has base files only."""
    properties = Path(path) / ".hoodie" / "hoodie.properties"
    text = properties.read_text(encoding="utf-8")
    properties.write_text(text.replace("COPY_ON_WRITE", "MERGE_ON_READ"), encoding="utf-8")


def append_delta_commit(
    path: str,
    rows: pa.Table,
    *,
    record_key: str,
    partition: str,
    deletes: Sequence[str] = (),
    partial: Sequence[str] | None = None,
) -> str:
    """Complete a delta commit that appends one log file to each file group that it touches.

    Args:
        path: of the table, partitioned by one text column, not hive-style.
        rows: new versions of rows, in the table's columns.
        record_key: their key column, of texts.
        partition: their partition column.
        deletes: keys that a delete block removes, by commit time.
        partial: columns that the records carry beside their key, for a partial update; None for all.

    Returns:
        The requested time.

    """
    table = ds.Table.open(path)
    slices = {s.group.file_id: s for s in table.file_slices()}
    homes = _homes(table, slices)
    time = _next_time(table)
    own = table.schema if partial is None else pa.schema([table.schema.field(n) for n in [record_key, *partial]])
    schema = with_meta_fields(arrow_to_avro(own, name="bench_record", namespace="hoodie.bench"))
    texts = rows.column(record_key).to_pylist()
    groups: dict[str, list[dict[str, Any]]] = {}
    for number, (key, row) in enumerate(zip(texts, rows.select(own.names).to_pylist(), strict=True)):
        home = homes.get(key) or _first_of(slices, rows.column(partition)[number].as_py())
        meta = dict.fromkeys(["_hoodie_commit_seqno"], f"{time}_0_{number}")
        folder = slices[home].group.partition_path
        meta |= {"_hoodie_commit_time": time, "_hoodie_record_key": key, "_hoodie_partition_path": folder}
        groups.setdefault(home, []).append({**meta, "_hoodie_file_name": home, **row})
    removed: dict[str, list[str]] = {}
    for key in deletes:
        removed.setdefault(homes[key], []).append(key)
    for file_id in sorted({*groups, *removed}):
        content = b""
        if file_id in groups:
            content += _block(
                BlockType.AVRO_DATA, time, schema, _records(schema, groups[file_id]), partial=partial is not None
            )
        if file_id in removed:
            folder = slices[file_id].group.partition_path
            content += _block(BlockType.DELETE, time, schema, _deletes(removed[file_id], folder), partial=False)
        name = Path(path) / slices[file_id].group.partition_path / f".{file_id}_{time}.log.1_0-0-0"
        name.write_bytes(content)
    _complete(path, time)
    return time


def _homes(table: ds.Table, slices: Mapping[str, FileSlice]) -> dict[str, str]:
    """File group of each key that is in a base file."""
    by_file = {s.base_file.name: file_id for file_id, s in slices.items() if s.base_file is not None}
    held = table.read(columns=["_hoodie_record_key", "_hoodie_file_name"], read_optimized=True)
    names = pc.dictionary_encode(held.column(1)).combine_chunks()
    files = [by_file[name] for name in names.dictionary.to_pylist()]
    return {k: files[i] for k, i in zip(held.column(0).to_pylist(), names.indices.to_pylist(), strict=True)}


def _first_of(slices: Mapping[str, FileSlice], partition: str) -> str:
    return min(file_id for file_id, one in slices.items() if one.group.partition_path == partition)


def _next_time(table: ds.Table) -> str:
    form = "%Y%m%d%H%M%S%f"
    latest = max(str(i.completion_time) for i in table.timeline().completed_writes)
    moment = dt.datetime.strptime(f"{latest}000", form).replace(tzinfo=dt.UTC) + dt.timedelta(milliseconds=10)
    return moment.strftime(form)[:17]


def _records(schema: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> bytes:
    parsed = fastavro.parse_schema(dict(schema))
    out = io.BytesIO()
    out.write(struct.pack(">ii", CONTENT_VERSION, len(rows)))
    for row in rows:
        record = io.BytesIO()
        fastavro.schemaless_writer(record, parsed, dict(row))
        out.write(struct.pack(">i", record.tell()) + record.getvalue())
    return out.getvalue()


def _deletes(keys: Sequence[str], partition_path: str) -> bytes:
    from drawstring_spec.payloads import SCHEMAS

    entries = [{"recordKey": k, "partitionPath": partition_path, "orderingVal": None} for k in keys]
    out = io.BytesIO()
    fastavro.schemaless_writer(out, dict(SCHEMAS["HoodieDeleteRecordList"]), {"deleteRecordList": entries})
    return struct.pack(">ii", CONTENT_VERSION, out.tell()) + out.getvalue()


def _block(kind: BlockType, time: str, schema: Mapping[str, Any], content: bytes, *, partial: bool) -> bytes:
    header = {HeaderKey.INSTANT_TIME: time, HeaderKey.SCHEMA: json.dumps(schema)}
    if partial:
        header[HeaderKey.IS_PARTIAL] = "true"
    body = struct.pack(">iii", LOG_FORMAT_VERSION, kind, len(header))
    for key, value in header.items():
        body += struct.pack(">ii", key, len(value.encode())) + value.encode()
    body += struct.pack(">q", len(content)) + content + struct.pack(">i", 0)
    return MAGIC + struct.pack(">q", len(body) + 8) + body + struct.pack(">q", len(body) + 8 + len(MAGIC))


def _complete(path: str, time: str) -> None:
    completed = f"{int(time) + 1:017}"
    record = {"partitionToWriteStats": {}, "compacted": False, "extraMetadata": {}, "version": None}
    content = avro_container.encode("HoodieCommitMetadata", {**record, "operationType": "UPSERT"}, sync_marker=_SYNC)
    folder = Path(path) / _TIMELINE
    (folder / f"{time}.deltacommit.requested").write_bytes(b"")
    (folder / f"{time}.deltacommit.inflight").write_bytes(b"")
    (folder / f"{time}_{completed}.deltacommit").write_bytes(content)
