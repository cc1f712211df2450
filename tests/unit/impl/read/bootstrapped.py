"""A bootstrap table made by hand: skeleton files, their source files in a storage of their own, and the index."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from drawstring.codec import avro_container
from drawstring.context import TableContext
from drawstring.options import Options
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY, INDEX_FILE, INDEX_INFO, SKELETON_TIME, WHOLE_TIME, index_key
from drawstring_spec.hfile_format import Codec
from drawstring_spec.meta_fields import META_FIELDS
from unit.impl.hfile.writer import HFileWriter
from unit.impl.protocol.world import MemoryStorage
from unit.impl.read.tables import HISTORY, HandMadeTable, at, avro_text

OLD_PLACE = "/old/place"
"""Where the source files were when the table was made; they are elsewhere now."""


class SourceFiles(MemoryStorage):
    """The storage of the source files, which counts what is asked of it."""

    uri = "file:///source"

    def __init__(self, clock) -> None:
        super().__init__(clock)
        self.opened: list[str] = []

    def head(self, path):
        self.opened.append(path)
        return super().head(path)


class BootstrapTable(HandMadeTable):
    """A table in memory, partitioned by ``day``: source files have the other columns."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.change_properties({BASE_PATH_PROPERTY: OLD_PLACE, "hoodie.bootstrap.index.type": "HFILE"})
        self.source = SourceFiles(self.clock)
        self.entries: dict[bytes, bytes] = {}

    def skeleton(self, partition: str, file_id: str, rows: pa.Table, *, group_rows: int | None = None) -> str:
        """A skeleton file and its source file, whose row groups have `group_rows` rows; the path of the first."""
        path = f"{partition}/{file_id}_0-1-2_{SKELETON_TIME}.parquet"
        self.storage.put(f"{partition}/.hoodie_partition_metadata", b"commitTime=0\npartitionDepth=1\n")
        meta = {
            "_hoodie_commit_time": [SKELETON_TIME] * rows.num_rows,
            "_hoodie_commit_seqno": [f"{SKELETON_TIME}_0_{n}" for n in range(rows.num_rows)],
            "_hoodie_record_key": rows["id"],
            "_hoodie_partition_path": [partition] * rows.num_rows,
            "_hoodie_file_name": [path.rpartition("/")[2]] * rows.num_rows,
        }
        assert list(meta) == list(META_FIELDS)
        self.storage.put(path, _parquet(pa.table(meta), None))
        source = f"{partition}/{file_id}.parquet"
        status = self.source.put(source, _parquet(rows, group_rows))
        self.name_source(partition, file_id, f"file:{OLD_PLACE}/{source}", status.size)
        return path

    def name_source(self, partition: str, file_id: str, uri: str | None, size: int | None) -> None:
        """What the index says of a skeleton file."""
        status = {"path": {"uri": uri}, "length": size}
        self.entries[index_key(partition, file_id)] = _container(_ENTRY, {"bootstrapFileStatus": status})

    def complete(self, *, time: str = SKELETON_TIME, info: dict[bytes, bytes] | None = None) -> None:
        """Write the commit, and the index if it has entries."""
        stats: dict[str, list[dict[str, str]]] = {}
        for path in (one.path for one in self.storage.list("", recursive=True) if f"_{time}.parquet" in one.path):
            partition, _, name = path.rpartition("/")
            stats.setdefault(partition, []).append({"fileId": name.partition("_")[0], "path": path})
        metadata = {
            "operationType": "BOOTSTRAP",
            "extraMetadata": {"schema": avro_text()},
            "partitionToWriteStats": stats,
        }
        content = avro_container.encode("HoodieCommitMetadata", metadata, sync_marker=b"0" * 16)
        self.storage.put(f"{HISTORY}/{time}.commit.requested", b"")
        self.storage.put(f"{HISTORY}/{time}.inflight", b"")
        self.storage.put(f"{HISTORY}/{time}_{at(0)}.commit", content)
        if info is None:
            info = {INDEX_INFO: _container(_INFO, {"bootstrapBasePath": OLD_PLACE})}
        if self.entries:
            self.storage.put(INDEX_FILE, HFileWriter(codec=Codec.NONE).write(self.entries, info=info))

    def whole_file(self, partition: str, file_id: str, rows: pa.Table) -> None:
        """A copy of a source file, with meta columns."""
        name = self.base_file(partition, file_id, 1, rows)
        path = f"{partition}/{name}"
        content = self.storage.files.pop(path)
        self.storage.files[path.replace(at(1), WHOLE_TIME)] = content

    def context(self, *, with_source: bool = True, options: dict[str, Any] | None = None) -> TableContext:
        context = super().context()
        ports = dataclasses.replace(context.ports, source_files=self.source if with_source else None)
        return dataclasses.replace(context, ports=ports, options=Options.parse(options))

    def on_disk(self, folder: Path) -> tuple[str, str]:
        """Put the table and its source files into a folder: where both are."""
        for name, storage in (("table", self.storage), ("source", self.source)):
            for path, (content, *_) in storage.files.items():
                file = folder / name / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        return str(folder / "table"), str(folder / "source")


def _parquet(rows: pa.Table, group_rows: int | None) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows, sink, row_group_size=group_rows)
    return sink.getvalue()


_PATH = {"type": "record", "name": "HoodiePath", "fields": [{"name": "uri", "type": ["null", "string"]}]}
_STATUS = {
    "type": "record",
    "name": "HoodieFileStatus",
    "fields": [{"name": "path", "type": ["null", _PATH]}, {"name": "length", "type": ["null", "long"]}],
}
_ENTRY = {
    "type": "record",
    "name": "HoodieBootstrapFilePartitionInfo",
    "fields": [{"name": "bootstrapFileStatus", "type": ["null", _STATUS]}],
}
_INFO = {
    "type": "record",
    "name": "HoodieBootstrapIndexInfo",
    "fields": [{"name": "bootstrapBasePath", "type": ["null", "string"]}],
}


def _container(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    fastavro.writer(sink, schema, [record], sync_marker=b"0" * 16)
    return sink.getvalue()
