"""The body of an insert, upsert or bulk insert: look keys up, pack new rows, write files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.context import TableContext
from drawstring.data.merge import Mask, Rows, deletes
from drawstring.data.packing import ExistingFile, Packing, SizeRules, pack
from drawstring.engine.batch import PartitionRows
from drawstring.engine.buckets import refuse_bucketed
from drawstring.engine.file_tasks import CreateFile, MergeFile, write_file
from drawstring.engine.lookup import by_partition, find_in_files
from drawstring.engine.preparation import TableShape, check_same_shape
from drawstring.engine.sizing import RECORD_SIZE_ESTIMATE, record_bytes, size_rules
from drawstring.errors import DuplicateKeyError
from drawstring.files import BaseFile, FileGroupId, Snapshot
from drawstring.write_stats import GroupWorkload, Operation, Workload, WriteStat

_NAMED_KEYS = 10
_META_BYTES = 200
_SAMPLE_ROWS = 5_000
_DUPLICATE_POLICY = "hoodie.datasource.insert.dup.policy"


@dataclass(frozen=True, slots=True)
class _GroupChanges:
    """What one existing file group gets: positions among the partition's rows."""

    file: BaseFile
    updates: Rows
    inserts: Rows


@dataclass(frozen=True, slots=True)
class _PartitionPlan:
    """What one partition gets."""

    rows: PartitionRows
    changes: tuple[_GroupChanges, ...]
    inserts: Rows
    new_files: tuple[int, ...]


class RowsBody:
    """A `drawstring.write_stats.WriteBody` of rows.

    Args:
        context: of the table.
        operation: insert, upsert or bulk insert.
        shape: the table's schema and how its files are written.
        data: the rows, in the table's columns.
        partitions: their keys by partition.
        use_threads: whether Arrow may decode in parallel.

    """

    def __init__(
        self,
        context: TableContext,
        operation: Operation,
        shape: TableShape,
        data: pa.Table,
        partitions: tuple[PartitionRows, ...],
        *,
        use_threads: bool,
    ) -> None:
        self.operation = operation
        self.schema_json = shape.schema_json
        self._context = context
        self._shape = shape
        self._data = data
        self._gone = deletes(data)
        self._partitions = partitions
        if operation is not Operation.UPSERT and self._gone is not None:
            self._partitions = tuple(_without(partition, self._gone) for partition in partitions)
        self._use_threads = use_threads
        self._plans: tuple[_PartitionPlan, ...] = ()

    def lookup_keys(self, snapshot: Snapshot) -> Workload:
        """See `WriteBody.lookup_keys`."""
        check_same_shape(self._context, self._shape, snapshot.timeline)
        files = snapshot.base_files()
        found = self._find(files, {p.partition_path: p.keys for p in self._partitions})
        if self.operation is not Operation.UPSERT:
            self._check_duplicates(found)
        size = self._record_bytes(snapshot)
        local = by_partition(files)
        self._plans = tuple(
            self._plan(partition, local.get(partition.partition_path, []), found, size)
            for partition in self._partitions
        )
        if any(len(plan.inserts) for plan in self._plans):
            refuse_bucketed(file.group.file_id for file in files)
        return _workload(self._plans)

    def write_files(self, requested_time: str) -> Sequence[WriteStat]:
        """See `WriteBody.write_files`."""
        settings = self._shape.settings(self._context, requested_time, use_threads=self._use_threads)
        items: list[CreateFile | MergeFile] = []
        for plan in self._plans:
            for change in plan.changes:
                picked = np.sort(np.concatenate([change.updates, change.inserts]))
                items.append(MergeFile(settings, change.file, self._data, *_pick(plan.rows, picked)))
            start = len(plan.inserts) - sum(plan.new_files)
            for count in plan.new_files:
                group = FileGroupId(plan.rows.partition_path, f"{self._context.ports.entropy.uuid()}-0")
                picked = plan.inserts[start : start + count]
                items.append(CreateFile(settings, group, self._data, *_pick(plan.rows, picked)))
                start += count
        return self._context.ports.tasks.run(write_file, items, label="write base files")

    def find_key_conflicts(self, concurrent: Sequence[BaseFile]) -> Sequence[str]:
        """See `WriteBody.find_key_conflicts`."""
        inserted = {plan.rows.partition_path: _take_keys(plan.rows.keys, plan.inserts) for plan in self._plans}
        conflicts: set[str] = set()
        for file, positions in self._find(concurrent, inserted).items():
            keys = inserted[file.group.partition_path]
            conflicts.update(pc.take(keys, pa.array(positions[:_NAMED_KEYS])).to_pylist())
        return sorted(conflicts)[:_NAMED_KEYS]

    def discard(self) -> None:
        """See `WriteBody.discard`."""
        self._data = self._data.schema.empty_table()
        self._partitions, self._plans = (), ()

    def _find(self, files: Sequence[BaseFile], keys: Mapping[str, pa.Array]) -> dict[BaseFile, Rows]:
        return find_in_files(self._context.ports.tasks, files, keys, use_threads=self._use_threads)

    def _check_duplicates(self, found: Mapping[BaseFile, Rows]) -> None:
        """Refuse an insert of keys that the table holds, unless they are to be dropped."""
        if not found or self._context.options[_DUPLICATE_POLICY] == "drop":
            return
        keys = {p.partition_path: p.keys for p in self._partitions}
        names: list[str] = []
        for file, positions in found.items():
            path = file.group.partition_path
            held = pc.take(keys[path], pa.array(positions[:_NAMED_KEYS])).to_pylist()
            names.extend(f"{key!r} in {path!r}" if path else repr(key) for key in held)
        count = sum(len(positions) for positions in found.values())
        more = f" and {count - _NAMED_KEYS} more" if count > _NAMED_KEYS else ""
        raise DuplicateKeyError(
            f"The table holds {count} of the keys already: {', '.join(sorted(names)[:_NAMED_KEYS])}{more}.",
            way_out=f"Use upsert to replace those rows, or set {_DUPLICATE_POLICY}=drop to leave them out; "
            "nothing was written.",
        )

    def _record_bytes(self, snapshot: Snapshot) -> int:
        first = next((p for p in self._partitions if len(p.rows)), None)
        if first is None:
            return 1
        packs = self.operation is not Operation.BULK_INSERT and snapshot.slices
        most = self._data.nbytes + _META_BYTES * self._data.num_rows
        fits = (
            most < size_rules(self._context).max_file_bytes and RECORD_SIZE_ESTIMATE not in self._context.options.given
        )
        if fits and not packs:
            return 1  # Everything fits into one file per partition, however large a row turns out to be.
        picked = first.rows[:_SAMPLE_ROWS]
        rows = self._data.take(pa.array(picked))
        return record_bytes(self._context, snapshot, rows, first.keys.slice(0, len(picked)))

    def _plan(
        self, partition: PartitionRows, files: Sequence[BaseFile], found: Mapping[BaseFile, Rows], size: int
    ) -> _PartitionPlan:
        is_new: Mask = np.ones(len(partition.keys), np.bool_)
        updates: dict[str, Rows] = {}
        for file in files:
            if file in found:
                is_new[found[file]] = False
                updates[file.group.file_id] = found[file]
        if self.operation is not Operation.UPSERT:
            updates = {}  # Rows with keys that the table holds are dropped.
        if self._gone is not None:
            is_new &= ~self._gone[partition.rows]
        inserts = np.flatnonzero(is_new)
        packing = self._pack(len(inserts), files, updates, size)
        return _PartitionPlan(partition, tuple(_changes(files, updates, inserts, packing)), inserts, packing.new_files)

    def _pack(self, count: int, files: Sequence[BaseFile], updates: Mapping[str, Rows], size: int) -> Packing:
        rules = size_rules(self._context)
        if self.operation is Operation.BULK_INSERT:
            rules = SizeRules(rules.max_file_bytes, 0)
        existing = [ExistingFile(f.group.file_id, f.size, f.group.file_id in updates) for f in files]
        return pack(count, existing, size, rules)


def _without(partition: PartitionRows, gone: Mask) -> PartitionRows:
    """Leave rows out that ask for their own deletion: there is nothing for them to delete in an insert."""
    stays = np.flatnonzero(~gone[partition.rows])
    return PartitionRows(partition.partition_path, partition.rows[stays], pc.take(partition.keys, pa.array(stays)))


def _changes(
    files: Sequence[BaseFile], updates: Mapping[str, Rows], inserts: Rows, packing: Packing
) -> list[_GroupChanges]:
    start = 0
    packed: dict[str, Rows] = {}
    for file_id, count in packing.existing:
        packed[file_id] = inserts[start : start + count]
        start += count
    none: Rows = np.empty(0, np.int64)
    return [
        _GroupChanges(file, updates.get(file.group.file_id, none), packed.get(file.group.file_id, none))
        for file in sorted(files)
        if file.group.file_id in updates or file.group.file_id in packed
    ]


def _pick(rows: PartitionRows, picked: Rows) -> tuple[Rows, pa.Array]:
    """Return positions in the data, and keys, of some of a partition's rows."""
    return rows.rows[picked], _take_keys(rows.keys, picked)


def _take_keys(keys: pa.Array, picked: Rows) -> pa.Array:
    """Return the keys at some positions, ascending: if as many as there are keys, they are all of them in order."""
    return keys if len(picked) == len(keys) else pc.take(keys, pa.array(picked))


def _workload(plans: Sequence[_PartitionPlan]) -> Workload:
    groups = [
        GroupWorkload(change.file.group, change.file.requested_time, len(change.updates), len(change.inserts))
        for plan in plans
        for change in plan.changes
    ]
    new = {plan.rows.partition_path: sum(plan.new_files) for plan in plans if plan.new_files}
    return Workload(tuple(groups), new)
