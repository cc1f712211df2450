"""Tables made by hand, file by file, so that a reader's answer can be told in advance."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from drawstring.codec import avro_container
from drawstring.context import TableContext
from drawstring.data.schema import arrow_to_avro
from drawstring.options import Options
from drawstring.ports import Ports
from drawstring.table_config import load_table_config
from drawstring.table_creation import create_table
from drawstring_spec.meta_fields import META_FIELDS
from unit.impl.protocol.world import START_MS, CountingEntropy, InlineTasks, ManualClock, MemoryStorage, NoBackground

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int32()), ("day", pa.string())])
HISTORY = ".hoodie/timeline"


def avro_text(schema: pa.Schema = SCHEMA) -> str:
    return json.dumps(arrow_to_avro(schema, name="t_record", namespace="hoodie.t"))


def at(moment: int) -> str:
    """The instant time of a small number: ``at(3)`` is later than ``at(2)``."""
    return f"20240101000000{moment:03d}"


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


class HandMadeTable:
    """A table in memory."""

    def __init__(self, *, partition_by=("day",), schema=SCHEMA, options=None, properties=None) -> None:
        self.clock = ManualClock()
        self.storage = MemoryStorage(self.clock)
        create_table(
            self.storage,
            name="t",
            record_key=["id"],
            partition_by=partition_by,
            ordering=None,
            create_schema=avro_text(schema),
            options=Options.parse(options),
            now_ms=START_MS,
        )
        if properties:
            self.change_properties(properties)

    def change_properties(self, properties: dict[str, str | None]) -> None:
        from drawstring.table_properties import modify_properties

        modify_properties(
            self.storage,
            now_ms=START_MS,
            updates={k: v for k, v in properties.items() if v is not None},
            remove=[k for k, v in properties.items() if v is None],
        )

    def context(self) -> TableContext:
        ports = Ports(
            self.storage,
            self.clock,
            None,
            CountingEntropy(),
            NoBackground(),
            InlineTasks(self.storage, lambda event: None),
        )
        return TableContext(ports, load_table_config(self.storage), Options.parse())

    def commit(
        self,
        requested: int,
        completed: int | None = None,
        *,
        schema: str | None = None,
        operation: str = "UPSERT",
        extra: dict[str, str] | None = None,
        replaces: dict[str, list[str]] | None = None,
        writes: dict[str, list[str]] | None = None,
    ) -> None:
        """Complete a commit, or leave it inflight; `replaces` makes it a replacecommit; `writes` names its files."""
        action = "commit" if replaces is None else "replacecommit"
        self.storage.put(f"{HISTORY}/{at(requested)}.{action}.requested", b"")
        inflight = "inflight" if replaces is None else "replacecommit.inflight"
        self.storage.put(f"{HISTORY}/{at(requested)}.{inflight}", b"")
        if completed is None:
            return
        metadata = {"schema": avro_text() if schema is None else schema, **(extra or {})}
        record: dict[str, Any] = {"operationType": operation, "extraMetadata": metadata}
        if writes is not None:
            record["partitionToWriteStats"] = {
                partition: [{"fileId": name.partition("_")[0], "path": f"{partition}/{name}"} for name in names]
                for partition, names in writes.items()
            }
        name = "HoodieCommitMetadata"
        if replaces is not None:
            record["partitionToReplaceFileIds"] = replaces
            name = "HoodieReplaceCommitMetadata"
        content = avro_container.encode(name, record, sync_marker=b"0" * 16)
        self.storage.put(f"{HISTORY}/{at(requested)}_{at(completed)}.{action}", content)

    def clean(self, requested: int, earliest_retained: int | None) -> None:
        record = {
            "startCleanTime": at(requested),
            "timeTakenInMillis": 1,
            "totalFilesDeleted": 0,
            "earliestCommitToRetain": "" if earliest_retained is None else at(earliest_retained),
            "lastCompletedCommitTimestamp": "",
            "partitionMetadata": {},
        }
        content = avro_container.encode("HoodieCleanMetadata", record, sync_marker=b"0" * 16)
        self.storage.put(f"{HISTORY}/{at(requested)}_{at(requested + 1)}.clean", content)

    def plan_clean(self, requested: int, earliest_retained: int | None) -> None:
        """A clean that is inflight: files of its plan may be gone."""
        earliest = None
        if earliest_retained is not None:
            earliest = {"timestamp": at(earliest_retained), "action": "commit", "state": "COMPLETED"}
        record = {"earliestInstantToRetain": earliest, "policy": "KEEP_LATEST_COMMITS"}
        content = avro_container.encode("HoodieCleanerPlan", record, sync_marker=b"0" * 16)
        for state in ("requested", "inflight"):
            self.storage.put(f"{HISTORY}/{at(requested)}.clean.{state}", content)

    def archive(self, version: int, rows: list[tuple[int, int, str]], payload: bytes | None = None) -> None:
        """Move instants (requested moment, completed moment, action) from the active timeline to the archive."""
        name = f"{at(rows[0][0])}_{at(rows[-1][0])}_0.parquet"
        columns = {
            "instantTime": [at(requested) for requested, _, _ in rows],
            "completionTime": [at(completed) for _, completed, _ in rows],
            "action": [action for _, _, action in rows],
            "metadata": pa.array([payload] * len(rows), pa.binary()),
            "plan": pa.nulls(len(rows), pa.binary()),
            "version": pa.array([1] * len(rows), pa.int32()),
        }
        self.storage.put(f"{HISTORY}/history/{name}", parquet(pa.table(columns)))
        listed = [s.path.rpartition("/")[2] for s in self.storage.list(f"{HISTORY}/history")]
        files = [{"fileName": one, "fileLen": 1} for one in listed if one.endswith(".parquet")]
        self.storage.put(f"{HISTORY}/history/manifest_{version}", json.dumps({"files": files}).encode())
        self.storage.put(f"{HISTORY}/history/_version_", str(version).encode())
        moved = tuple(at(requested) for requested, _, _ in rows)
        self.storage.delete([s.path for s in self.storage.list(HISTORY) if s.path.rpartition("/")[2].startswith(moved)])

    def base_file(self, partition: str, file_id: str, requested: int, rows: pa.Table | None = None, *, token="0-0-0"):
        """Write a base file; its rows get meta columns."""
        folder = f"{partition}/" if partition else ""
        name = f"{file_id}_{token}_{at(requested)}.parquet"
        self.storage.put(f"{folder}.hoodie_partition_metadata", b"commitTime=0\npartitionDepth=1\n")
        table = rows if rows is not None else a_row(file_id, requested, partition)
        values = {
            "_hoodie_commit_time": at(requested),
            "_hoodie_commit_seqno": "0",
            "_hoodie_record_key": "k",
            "_hoodie_partition_path": partition,
            "_hoodie_file_name": name,
        }
        meta = [pa.repeat(values[field], table.num_rows) for field in META_FIELDS]
        whole = pa.table([*meta, *table.columns], names=[*META_FIELDS, *table.column_names])
        self.storage.put(f"{folder}{name}", parquet(whole))
        return name


def a_row(identity: str, n: int, day: str) -> pa.Table:
    return pa.table({"id": [identity], "n": pa.array([n], pa.int32()), "day": [day]})
