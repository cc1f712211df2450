"""Puts a state of the model on storage, as files that any reader of Hudi tables can open.

Whose duty: bytes for what the model says is there, and nothing else: timeline files, base files, log files with data
and delete blocks, plans of compactions. Nothing is taken from the implementation but the encoding of Avro and of
schemas. A time of the model is an instant time, in the same order; values are the column ``n``, keys the column ``id``.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

import fastavro
import pyarrow as pa

from drawstring.codec import avro_container
from drawstring_model.core.module import part
from drawstring_model.core.state import Commit, DataFile, State
from drawstring_model.modules.log_files import Plans
from drawstring_spec.log_format import BlockType, HeaderKey
from drawstring_spec.meta_fields import META_FIELDS
from drawstring_spec.payloads import SCHEMAS
from fuzz.log_files import framed
from unit.impl.read.tables import HISTORY, HandMadeTable, at, avro_text, parquet

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64()), ("day", pa.string())])
DAY = "d1"
_SYNC = b"0" * 16
_META = [{"name": name, "type": ["null", "string"]} for name in META_FIELDS]
_OWN = [{"name": n, "type": ["null", t]} for n, t in (("id", "string"), ("n", "long"), ("day", "string"))]
_RECORD: dict[str, Any] = {"type": "record", "name": "t_record", "fields": [*_META, *_OWN]}


def file_id(group: int) -> str:
    return f"f{group}-0"


def token(number: int) -> str:
    return f"{number}-0-0"


def base_name(file: DataFile) -> str:
    return f"{file_id(file.group)}_{token(file.token)}_{at(file.requested)}.parquet"


def log_name(file: DataFile) -> str:
    return f".{file_id(file.group)}_{at(file.requested)}.log.1_{token(file.token)}"


def materialise(state: State, *, merge_on_read: bool) -> HandMadeTable:
    """The table that a state of the model is."""
    world = state.world
    table = HandMadeTable(schema=SCHEMA)
    if merge_on_read:
        table.change_properties({"hoodie.table.type": "MERGE_ON_READ"})
    table.storage.put(f"{DAY}/.hoodie_partition_metadata", b"commitTime=0\npartitionDepth=1\n")
    # Files are written in any order, as a copy of a table is: what the storage's clock says means nothing.
    for file in Random(len(world.files)).sample(world.files, len(world.files)):
        table.clock.now_ms += 1000
        name = log_name(file) if file.is_log else base_name(file)
        table.storage.put(f"{DAY}/{name}", log_file(file) if file.is_log else base_file(file))
    plans = {plan.requested: plan for plan in part(world, Plans).all}
    write = "deltacommit" if merge_on_read else "commit"
    for time in world.requested:
        action = "compaction" if time in plans else write
        table.storage.put(
            f"{HISTORY}/{at(time)}.{action}.requested", plan_payload(plans[time]) if time in plans else b""
        )
    for time in world.inflight:
        action = "compaction.inflight" if time in plans else "inflight" if write == "commit" else f"{write}.inflight"
        table.storage.put(f"{HISTORY}/{at(time)}.{action}", b"")
    for commit in world.commits:
        action = "commit" if commit.requested in plans else write
        path = f"{HISTORY}/{at(commit.requested)}_{at(commit.completion)}.{action}"
        table.storage.put(path, commit_payload(commit))
    return table


def base_file(file: DataFile) -> bytes:
    rows = [_record(file, str(key), value) for key, value in file.rows]
    columns = pa.schema([*((name, pa.string()) for name in META_FIELDS), *SCHEMA])
    return parquet(pa.Table.from_pylist(rows, schema=columns))


def _record(file: DataFile, key: str, value: int | None) -> dict[str, Any]:
    meta = (at(file.requested), f"{at(file.requested)}_0_0", key, DAY, base_name(file))
    return {**dict(zip(META_FIELDS, meta, strict=True)), "id": key, "n": value, "day": DAY}


def log_file(file: DataFile) -> bytes:
    """One data block with what was written, and one delete block with what was deleted."""
    written = [_record(file, str(key), value) for key, value in file.rows if value is not None]
    deleted = [str(key) for key, value in file.rows if value is None]
    header = {HeaderKey.INSTANT_TIME: at(file.requested)}
    blocks = b""
    if written:
        with_schema = {**header, HeaderKey.SCHEMA: str(_RECORD).replace("'", '"')}
        blocks += framed(BlockType.AVRO_DATA, with_schema, struct.pack(">ii", 3, len(written)) + _records(written))
    if deleted:
        content = _avro(
            SCHEMAS["HoodieDeleteRecordList"],
            {"deleteRecordList": [{"recordKey": k, "partitionPath": DAY, "orderingVal": None} for k in deleted]},
        )
        blocks += framed(BlockType.DELETE, header, struct.pack(">ii", 3, len(content)) + content)
    return blocks


def _records(rows: Sequence[dict[str, Any]]) -> bytes:
    encoded = [_avro(_RECORD, row) for row in rows]
    return b"".join(struct.pack(">i", len(record)) + record for record in encoded)


def _avro(schema: Any, record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(dict(schema)), record)
    return out.getvalue()


def commit_payload(commit: Commit) -> bytes:
    stats = [
        {
            "fileId": file_id(f.group),
            "path": f"{DAY}/{name(DataFile(f.group, commit.requested, f.token, (), f.is_log))}",
        }
        for f in commit.files
        for name in [log_name if f.is_log else base_name]
    ]
    record = {
        "partitionToWriteStats": {DAY: stats},
        "operationType": "UPSERT",
        "extraMetadata": {"schema": avro_text(SCHEMA)},
    }
    return avro_container.encode("HoodieCommitMetadata", record, sync_marker=_SYNC)


def plan_payload(plan: Any) -> bytes:
    operations = [
        {
            "baseInstantTime": None if each.base is None else at(each.base),
            "deltaFilePaths": [
                log_name(DataFile(each.group, time, number, (), is_log=True)) for time, number in each.logs
            ],
            "fileId": file_id(each.group),
            "partitionPath": DAY,
        }
        for each in plan.inputs
    ]
    return avro_container.encode("HoodieCompactionPlan", {"operations": operations, "version": 2}, sync_marker=_SYNC)
