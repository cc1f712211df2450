"""Metadata tables made by hand, record by record, beside a table in memory."""

from __future__ import annotations

import io
import json
import struct
from typing import Any

import fastavro
import pyarrow as pa

from drawstring.metadata.keys import hashed_file, hashed_name
from drawstring_spec.log_format import BlockType, HeaderKey
from drawstring_spec.payloads import SCHEMAS
from drawstring_spec.properties import format_properties, table_checksum
from unit.impl.hfile.writer import HFileWriter
from unit.impl.log_files.test_blocks import block
from unit.impl.read.tables import HandMadeTable, at, parquet

FOLDER = ".hoodie/metadata"
INITIAL = "0" * 17
SCHEMA = SCHEMAS["HoodieMetadataRecord"]
PREFIXES = {"column_stats": "col-stats"}
WRAPPER = "org.apache.hudi.avro.model."


def encode(payload: dict[str, Any]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(dict(SCHEMA)), {"key": "", "type": 2, **payload})
    return body.getvalue()


def files(**sizes: int | None) -> dict[str, Any]:
    """A listing; None is a deletion."""
    return {"filesystemMetadata": {n: {"size": s or 0, "isDeleted": s is None} for n, s in sizes.items()}}


def stats(file: str, column: str, low: Any, high: Any, *, kind="LongWrapper", count=1, nulls=0, tight=False) -> Any:
    def bound(value: Any) -> Any:
        return None if value is None else (WRAPPER + kind, {"value": value})

    payload = {"fileName": file, "columnName": column, "minValue": bound(low), "maxValue": bound(high)}
    counts = {"valueCount": count, "nullCount": nulls, "totalSize": 1, "totalUncompressedSize": 1}
    return {"ColumnStatsMetadata": {**payload, **counts, "isDeleted": False, "isTightBound": tight}}


def stats_key(column: str, partition: str, file: str) -> str:
    return hashed_name(column) + hashed_name(partition or ".") + hashed_file(file)


def location(partition: str, file_id: str) -> dict[str, Any]:
    """An entry of the record index, with an id that is no UUID."""
    place = {"partitionName": partition, "fileId": file_id, "fileIdEncoding": 1, "fileIndex": -1}
    return {"recordIndexMetadata": {**place, "fileIdHighBits": -1, "fileIdLowBits": -1, "instantTime": 0}}


def java_hash(text: str) -> int:
    value = 0
    for unit in struct.unpack(f"<{len(text.encode('utf-16-le')) // 2}H", text.encode("utf-16-le")):
        value = (31 * value + unit) & 0xFFFFFFFF
    return abs(value - (1 << 32) if value >> 31 else value)


def hfile(records: dict[str, dict[str, Any]]) -> bytes:
    values = {key.encode(): encode(payload) for key, payload in records.items()}
    return HFileWriter().write(values, info={b"schema": json.dumps(SCHEMA).encode()})


class MadeMetadataTable:
    """The metadata table of a table that was made by hand."""

    def __init__(self, table: HandMadeTable, *partitions: str) -> None:
        self.table, self.storage = table, table.storage
        properties = {
            "hoodie.table.name": "t_metadata",
            "hoodie.table.type": "MERGE_ON_READ",
            "hoodie.table.version": "8",
            "hoodie.table.recordkey.fields": "key",
            "hoodie.table.base.file.format": "HFILE",
            "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
            "hoodie.record.merge.mode": "CUSTOM",
            "hoodie.table.checksum": str(table_checksum("", "t_metadata")),
        }
        self.storage.put(f"{FOLDER}/.hoodie/hoodie.properties", format_properties(properties))
        self.delta_commit(INITIAL)
        table.change_properties({"hoodie.table.metadata.partitions": ",".join(partitions)})

    def delta_commit(self, requested_time: str, *, completed: str | None = at(0)) -> None:
        folder = f"{FOLDER}/.hoodie/timeline"
        self.storage.put(f"{folder}/{requested_time}.deltacommit.requested", b"")
        if completed is not None:
            self.storage.put(f"{folder}/{requested_time}_{completed}.deltacommit", b"")

    def archive(self, times: list[tuple[str, str]]) -> None:
        """Move delta commits (requested time, completion time) from the active timeline to the archive."""
        folder = f"{FOLDER}/.hoodie/timeline"
        name = f"{times[0][0]}_{times[-1][0]}_0.parquet"
        columns = {
            "instantTime": [requested for requested, _ in times],
            "completionTime": [completed for _, completed in times],
            "action": ["deltacommit"] * len(times),
        }
        self.storage.put(f"{folder}/history/{name}", parquet(pa.table(columns)))
        listed = json.dumps({"files": [{"fileName": name, "fileLen": 1}]}).encode()
        self.storage.put(f"{folder}/history/manifest_1", listed)
        moved = tuple(requested for requested, _ in times)
        gone = [s.path for s in self.storage.list(folder) if s.path.rpartition("/")[2].startswith(moved)]
        self.storage.delete(gone)

    def base(self, partition: str, records: dict[str, Any], *, groups: int = 1, instant: str = INITIAL) -> None:
        """Write base files, each key in the file group that Java puts it in."""
        for group in range(groups):
            own = {key: payload for key, payload in records.items() if java_hash(key) % groups == group}
            name = f"{self.file_id(partition, group)}_0-0-0_{instant}.hfile"
            self.storage.put(f"{FOLDER}/{partition}/{name}", hfile(own))

    def log(self, partition: str, instant: str, puts: dict[str, Any], deletes: list[str] = [], *, group=0) -> None:  # noqa: B006 -- never changed
        """Write a log file: a data block, then a delete block."""
        header = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: json.dumps(SCHEMA)}
        content = block(BlockType.HFILE_DATA, header, hfile(puts)) if puts else b""
        if deletes:
            rows = [{"recordKey": key, "partitionPath": partition, "orderingVal": None} for key in deletes]
            body = io.BytesIO()
            schema = fastavro.parse_schema(dict(SCHEMAS["HoodieDeleteRecordList"]))
            fastavro.schemaless_writer(body, schema, {"deleteRecordList": rows})
            listed = struct.pack(">ii", 3, len(body.getvalue())) + body.getvalue()
            content += block(BlockType.DELETE, {HeaderKey.INSTANT_TIME: instant}, listed)
        name = f".{self.file_id(partition, group)}_{instant}.log.1_0-0-0"
        self.storage.put(f"{FOLDER}/{partition}/{name}", content)

    def file_id(self, partition: str, group: int) -> str:
        return f"{PREFIXES.get(partition, partition.replace('_', '-'))}-{group:04d}-0"

    def open(self):
        from drawstring.metadata import MetadataTable

        return MetadataTable.open(self.table.context())
