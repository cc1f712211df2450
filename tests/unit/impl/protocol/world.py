"""A small world for unit tests of the protocol: memory, a clock that moves when told, and an engine of few lines."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Sequence

from drawstring.context import TableContext
from drawstring.errors import AlreadyExistsError, DeadlineExceededError, NotFoundError, PreconditionFailedError
from drawstring.events import Event
from drawstring.files import BaseFile, FileGroupId, FileSlice, Snapshot
from drawstring.locks import make_lock_provider
from drawstring.options import Options
from drawstring.ports import Content, FileStatus, Ports, Storage, TaskContext
from drawstring.protocol.data_files import publish_data_file
from drawstring.table_config import load_table_config
from drawstring.timeline.timeline import Timeline
from drawstring.write_stats import FilePlan, GroupWorkload, Operation, Workload, WriteStat
from drawstring_spec.names import BaseFileName
from drawstring_spec.properties import format_properties, table_checksum

START_MS = 1_700_000_000_000
OCC = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}


class ManualClock:
    """Moves on when it is told to, and by sleeping."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms

    def local_offset_ms(self, wall_ms: int) -> int:
        return 0

    def sleep_ms(self, duration_ms: int) -> None:
        self.now_ms += duration_ms


class CountingEntropy:
    def __init__(self) -> None:
        self._count = itertools.count(1)

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(int=next(self._count))


class MemoryStorage:
    """Honours every promise of the storage port. `fail` may raise before or after a call takes effect."""

    uri = "file:///table"

    def __init__(self, clock: ManualClock) -> None:
        self.files: dict[str, tuple[bytes, int, int]] = {}
        self.clock = clock
        self.fail: Callable[[str, str, str], None] = lambda when, call, path: None
        self._writes = itertools.count(1)

    def _status(self, path: str) -> FileStatus:
        if path not in self.files:
            raise NotFoundError(path)
        content, mtime_ms, number = self.files[path]
        return FileStatus(path, len(content), mtime_ms, str(number))

    def list(self, prefix: str, *, recursive: bool = False) -> Sequence[FileStatus]:
        start = f"{prefix}/" if prefix else ""
        found = [p for p in sorted(self.files) if p.startswith(start)]
        return [self._status(p) for p in found if recursive or "/" not in p[len(start) :]]

    def list_folders(self, prefix: str) -> Sequence[str]:
        start = f"{prefix}/" if prefix else ""
        rest = [p[len(start) :] for p in self.files if p.startswith(start)]
        return sorted({start + p.partition("/")[0] for p in rest if "/" in p})

    def head(self, path: str) -> FileStatus:
        return self._status(path)

    def read(self, path: str, start: int = 0, length: int | None = None) -> memoryview:
        self._status(path)
        content = self.files[path][0]
        return memoryview(content)[start : None if length is None else start + length]

    def _write(self, call: str, path: str, content: Content) -> FileStatus:
        self.fail("before", call, path)
        body = bytes(content) if isinstance(content, bytes | memoryview) else b"".join(content)
        self.files[path] = (body, self.clock.now_ms, next(self._writes))
        self.fail("after", call, path)
        return self._status(path)

    def _check_deadline(self, not_after_ms: int | None) -> None:
        if not_after_ms is not None and self.clock.now_ms >= not_after_ms:
            raise DeadlineExceededError("too late")

    def put(self, path: str, content: Content) -> FileStatus:
        return self._write("put", path, content)

    def put_if_absent(self, path: str, content: Content, *, not_after_ms: int | None = None) -> FileStatus:
        self._check_deadline(not_after_ms)
        if path in self.files:
            raise AlreadyExistsError(path)
        return self._write("put_if_absent", path, content)

    def put_if_match(self, path: str, content: Content, etag: str, *, not_after_ms: int | None = None) -> FileStatus:
        self._check_deadline(not_after_ms)
        if self._status(path).etag != etag:
            raise PreconditionFailedError(path)
        return self._write("put_if_match", path, content)

    def delete(self, paths: Sequence[str], *, not_after_ms: int | None = None) -> None:
        for path in paths:
            self._check_deadline(not_after_ms)
            self.fail("before", "delete", path)
            self.files.pop(path, None)
            self.fail("after", "delete", path)


class NoBackground:
    """Duties never run: heartbeats and leases expire when the test lets time pass."""

    def every(self, interval_ms: int, duty: Callable[[], None], *, name: str) -> NoBackground:
        return self

    def stop(self) -> None: ...


class InlineTasks:
    def __init__(self, storage: Storage, emit: Callable[[Event], None]) -> None:
        self._storage = storage
        self._emit = emit

    def run(self, function, items, *, label):
        return [function(TaskContext(self._storage, i, 0, self._emit), item) for i, item in enumerate(items)]


class World:
    """One storage and clock, and as many writers on them as a test asks for."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.storage = MemoryStorage(self.clock)
        self.entropy = CountingEntropy()
        self.events: list[Event] = []
        properties = {
            "hoodie.table.name": "t",
            "hoodie.table.type": "COPY_ON_WRITE",
            "hoodie.table.version": "8",
            "hoodie.timeline.layout.version": "2",
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.partition.fields": "day",
            "hoodie.table.keygenerator.type": "SIMPLE",
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
            "hoodie.record.merge.strategy.id": "ce9acb64-bde0-424c-9b91-f6ebba25356d",
            "hoodie.compaction.payload.class": "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
            "hoodie.table.checksum": str(table_checksum("", "t")),
        }
        self.storage.put(".hoodie/hoodie.properties", format_properties(properties))

    def context(self, options: dict[str, str] | None = None) -> TableContext:
        parsed = Options.parse(options or {})
        return TableContext(
            Ports(
                storage=self.storage,
                clock=self.clock,
                lock=make_lock_provider(parsed, storage=self.storage, clock=self.clock, entropy=self.entropy),
                entropy=self.entropy,
                background=NoBackground(),
                tasks=InlineTasks(self.storage, self.events.append),
            ),
            load_table_config(self.storage),
            parsed,
            self.events.append,
        )

    def names(self, folder: str) -> list[str]:
        return [s.path.rpartition("/")[2] for s in self.storage.list(folder, recursive=True)]

    def timeline_names(self) -> list[str]:
        return self.names(".hoodie/timeline")

    def data_files(self) -> list[str]:
        return [p for p in sorted(self.storage.files) if p.endswith(".parquet")]

    def steps(self) -> list[str]:
        return [event.step.value for event in self.events]


def load_slices(context: TableContext, timeline: Timeline) -> Snapshot:
    """File slices without replaced groups: enough here."""
    latest: dict[FileGroupId, BaseFile] = {}
    for status in context.ports.storage.list("", recursive=True):
        if not status.path.endswith(".parquet"):
            continue
        folder, _, name = status.path.rpartition("/")
        parsed = BaseFileName.parse(name)
        if timeline.is_completed(parsed.requested_time):
            group = FileGroupId(folder, parsed.file_id)
            file = BaseFile(status.path, group, parsed.requested_time, status.size)
            if group not in latest or latest[group].requested_time < file.requested_time:
                latest[group] = file
    slices = tuple(FileSlice(g, latest[g].requested_time, latest[g]) for g in sorted(latest))
    last = timeline.last_write()
    return Snapshot(timeline, last.requested_time if last else None, slices)


class FakeBody:
    """Writes one file per named file group; the file's bytes are the keys. Hooks let a test act in between."""

    operation = Operation.UPSERT
    schema_json = '{"type":"record","name":"t_record","fields":[]}'

    def __init__(self, world: World, context: TableContext, groups: dict[str, str], *, partition: str = "p") -> None:
        self.world, self.context, self.groups, self.partition = world, context, groups, partition
        self.after_lookup: Callable[[], None] = lambda: None
        self.after_write: Callable[[], None] = lambda: None
        self.lost_attempts = 0
        self.discarded = False

    def lookup_keys(self, snapshot: Snapshot) -> Workload:
        self.slices = {s.group.file_id: s for s in snapshot.slices}
        self.after_lookup()
        known = [s for f, s in self.slices.items() if f in self.groups]
        return Workload(tuple(GroupWorkload(s.group, s.base_instant_time, 1, 0) for s in known), {})

    def write_files(self, requested_time: str) -> list[WriteStat]:
        stats = []
        for file_id, keys in self.groups.items():
            for attempt in range(self.lost_attempts, -1, -1):
                name = BaseFileName(file_id, f"0-0-{attempt}", requested_time, "parquet").format()
                plan = FilePlan(f"{self.partition}/{name}", file_id in self.slices)
                publish_data_file(
                    TaskContext(self.world.storage, 0, attempt, self.world.events.append),
                    requested_time,
                    plan,
                    keys.encode(),
                )
            old = self.slices.get(file_id)
            stats.append(
                WriteStat(
                    FileGroupId(self.partition, file_id),
                    plan.path,
                    old.base_instant_time if old else "null",
                    old.base_file.name if old and old.base_file else None,
                    num_writes=1,
                    num_inserts=0 if old else 1,
                    num_update_writes=1 if old else 0,
                    num_deletes=0,
                    file_size_bytes=len(keys),
                )
            )
        self.after_write()
        return stats

    def find_key_conflicts(self, concurrent: Sequence[BaseFile]) -> list[str]:
        theirs = {k for f in concurrent for k in bytes(self.world.storage.read(f.path)).decode().split(",")}
        mine = {k for f, keys in self.groups.items() if f not in self.slices for k in keys.split(",")}
        return sorted(theirs & mine)

    def discard(self) -> None:
        self.discarded = True
