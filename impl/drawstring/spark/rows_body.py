"""The body of an insert, an upsert or a deletion: find each key's file natively, then one Arrow task per file.

Whose duty: the rows are evaluated once and kept by Spark. Small batches on small tables are handed to the embedded
engine, which needs no further job. Otherwise Spark joins the keys with the key column of the touched partitions, the
driver plans by counts per file, and tasks merge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it

from drawstring.data.packing import ExistingFile, SizeRules, pack
from drawstring.engine.embedded import EmbeddedEngine
from drawstring.engine.lookup import by_partition
from drawstring.engine.preparation import check_same_shape
from drawstring.engine.sizing import record_bytes, size_rules
from drawstring.files import BaseFile, FileGroupId, Snapshot
from drawstring.spark.filters import column
from drawstring.spark.jobs import arrow_task, running
from drawstring.spark.key_scans import held_keys
from drawstring.spark.preparation import Incoming
from drawstring.spark.routing import Routes, Target, assign_tasks, partition_inserts
from drawstring.spark.scan import FILE_NAME, PARTITION
from drawstring.spark.tasks import (
    ADDED,
    KEY,
    ORDER,
    PATH,
    RESULT_SCHEMA,
    GroupJob,
    GroupPlan,
    checked_rows,
    parse_result,
    write_groups,
)
from drawstring.spark.uniqueness import KEY_COLUMNS, NAMED_KEYS, known_keys_error
from drawstring.write_stats import GroupWorkload, Operation, Workload, WriteBody, WriteStat
from drawstring_spec.meta_fields import IS_DELETED, RECORD_KEY

BROADCAST_ROWS: Final = 1_000_000
"""Incoming keys up to this number are sent to every task that scans the table's keys; more are joined by a shuffle."""

_SAMPLE_ROWS: Final = 1_000
_RANK: Final = "_drawstring_rank"

Counts = Mapping[tuple[str, str | None], int]


class RowsBody:
    """A `drawstring.write_stats.WriteBody` of rows, or of keys to delete.

    Args:
        incoming: the rows.
        embedded: takes over where the batch and the table are small.

    """

    def __init__(self, incoming: Incoming, embedded: EmbeddedEngine) -> None:
        self.operation = incoming.operation
        self.schema_json = incoming.shape.schema_json
        self._incoming = incoming
        self._embedded = embedded
        self._body: WriteBody | None = None
        self._kept: list[DataFrame] = []
        self._tagged: DataFrame | None = None
        self._routes = Routes((), ())

    def lookup_keys(self, snapshot: Snapshot) -> Workload:
        """See `WriteBody.lookup_keys`."""
        incoming = self._incoming
        check_same_shape(incoming.context, incoming.shape, snapshot.timeline)
        with running(incoming.spark, incoming.context.ports.entropy.uuid(), "look keys up"):
            rows = self._keep(incoming.keyed())
            per_path = {row[0]: row[1] for row in rows.groupBy(PATH).count().collect()}
            files = [f for f in snapshot.base_files() if None in per_path or f.group.partition_path in per_path]
            if self._is_small(sum(per_path.values()), files):
                self._body = self._handed_over(rows)
                return self._body.lookup_keys(snapshot)
            if self.operation is not Operation.UPSERT and IS_DELETED in rows.columns:
                rows = self._without_deleted(rows)
            self._tagged = self._tag(rows, files, sum(per_path.values()))
            counts: Counts = {(r[0], r[1]): r[2] for r in self._tagged.groupBy(PATH, FILE_NAME).count().collect()}
            if self.operation in {Operation.INSERT, Operation.BULK_INSERT}:
                counts = self._only_new(counts)
            self._routes = self._plan(snapshot, files, counts)
        return _workload(self._routes.targets)

    def write_files(self, requested_time: str) -> Sequence[WriteStat]:
        """See `WriteBody.write_files`."""
        if self._body is not None:
            return self._body.write_files(requested_time)
        if self._tagged is None or not self._routes.targets:
            return ()
        incoming = self._incoming
        job = GroupJob(
            storage=incoming.context.ports.storage,
            settings=incoming.settings(requested_time),
            plans=tuple(target.plan for target in self._routes.targets),
            removes=self.operation is Operation.DELETE,
            key_job=incoming.key_job,
        )
        with running(incoming.spark, incoming.context.ports.entropy.uuid(), "write files"):
            routed = self._routes.routed(incoming.spark, self._tagged)
            rows = routed.mapInArrow(arrow_task(write_groups, job), RESULT_SCHEMA).collect()
        return sorted((parse_result(row[0])[0] for row in rows), key=lambda stat: stat.path)

    def find_key_conflicts(self, concurrent: Sequence[BaseFile]) -> Sequence[str]:
        """See `WriteBody.find_key_conflicts`."""
        if self._body is not None:
            return self._body.find_key_conflicts(concurrent)
        if self._tagged is None or self.operation is Operation.DELETE or not concurrent:
            return ()
        incoming = self._incoming
        with running(incoming.spark, incoming.context.ports.entropy.uuid(), "compare keys with other writes'"):
            mine = self._tagged.where(F.col(FILE_NAME).isNull()).select(KEY, PATH)
            shared = mine.join(self._held(concurrent), [KEY, PATH], "left_semi").limit(NAMED_KEYS).collect()
        return sorted({row[0] for row in shared})

    def discard(self) -> None:
        """See `WriteBody.discard`."""
        if self._body is not None:
            self._body.discard()
        for frame in self._kept:
            frame.unpersist()
        self._kept, self._tagged = [], None

    def _keep(self, frame: DataFrame) -> DataFrame:
        kept = frame.persist()
        self._kept.append(kept)
        return kept

    def _is_small(self, num_rows: int, files: Sequence[BaseFile]) -> bool:
        options = self._incoming.context.options
        return bool(
            num_rows <= options["drawstring.spark.embedded.max.rows"]
            and sum(file.size for file in files) <= options["drawstring.spark.embedded.max.bytes"]
        )

    def _handed_over(self, rows: DataFrame) -> WriteBody:
        """Let the embedded engine do it: few rows, which come to the driver."""
        table = rows.drop(*ADDED).toArrow()
        context = self._incoming.context
        if self.operation is Operation.DELETE:
            return self._embedded.prepare_delete(context, table)
        return self._embedded.prepare_write(context, self.operation, table)

    def _without_deleted(self, rows: DataFrame) -> DataFrame:
        """Leave out keys whose last row asks for its own deletion: an insert has nothing to delete."""
        field = self._incoming.key_job.ordering_field
        greater = [column(field).desc()] if field is not None else []
        window = Window.partitionBy(PATH, KEY).orderBy(*greater, F.desc(ORDER))
        last = rows.withColumn(_RANK, F.row_number().over(window)).where(F.col(_RANK) == 1).drop(_RANK)
        return last.where(~F.coalesce(column(IS_DELETED), F.lit(False)))

    def _held(self, files: Sequence[BaseFile], *names: str) -> DataFrame:
        """Return keys and partition paths of base files, and further columns of the scan."""
        held = held_keys(self._incoming.spark, self._incoming.storage, files, KEY_COLUMNS)
        return held.select(F.col(RECORD_KEY).alias(KEY), F.col(PARTITION).alias(PATH), *names)

    def _tag(self, rows: DataFrame, files: Sequence[BaseFile], num_rows: int) -> DataFrame:
        """Return the rows with the name of the file that holds their key, if there is one.

        Keys of a deletion that no file holds are left out.
        """
        deletes = self.operation is Operation.DELETE
        if not files:
            tagged = rows.withColumn(FILE_NAME, F.lit(None).cast("string"))
            return tagged.limit(0) if deletes else tagged
        on = [KEY, PATH] if self._incoming.key_job.with_paths else [KEY]
        keys = rows.select(*on).distinct()
        may_send = num_rows <= BROADCAST_ROWS
        found = self._held(files, FILE_NAME).join(F.broadcast(keys) if may_send else keys, on)
        found = self._keep(found.select(KEY, PATH, FILE_NAME))
        if on == [KEY]:
            rows = rows.drop(PATH)
        return rows.join(F.broadcast(found) if may_send else found, on, "inner" if deletes else "left")

    def _only_new(self, counts: Counts) -> Counts:
        """Refuse keys that the table holds, or leave their rows out."""
        if all(name is None for _, name in counts):
            return counts
        if self._tagged is None:
            raise AssertionError
        if self._incoming.context.options["hoodie.datasource.insert.dup.policy"] != "drop":
            held = self._tagged.where(F.col(FILE_NAME).isNotNull()).select(KEY, PATH).limit(NAMED_KEYS)
            raise known_keys_error([(row[0], row[1]) for row in held.collect()])
        self._tagged = self._tagged.where(F.col(FILE_NAME).isNull())
        return {place: count for place, count in counts.items() if place[1] is None}

    def _plan(self, snapshot: Snapshot, files: Sequence[BaseFile], counts: Counts) -> Routes:
        """Decide which files are written, from the number of rows per partition and file."""
        inserts = {} if self.operation is Operation.DELETE else partition_inserts(counts)
        size = self._record_bytes(snapshot) if inserts else 1
        local = by_partition(files)
        targets: list[Target] = []
        for path in sorted({path for path, _ in counts}):
            updates = {file: counts[path, file.name] for file in local.get(path, ()) if (path, file.name) in counts}
            targets += self._targets(path, local.get(path, ()), updates, inserts.get(path, 0), size)
        return assign_tasks(targets, size, self._incoming.spark.sparkContext.defaultParallelism)

    def _targets(
        self, path: str, files: Sequence[BaseFile], updates: Mapping[BaseFile, int], inserts: int, size: int
    ) -> list[Target]:
        rules = size_rules(self._incoming.context)
        if self.operation is Operation.BULK_INSERT:
            rules = SizeRules(rules.max_file_bytes, 0)
        existing = [ExistingFile(file.group.file_id, file.size, file in updates) for file in files]
        packing = pack(inserts, existing, size, rules)
        packed = dict(packing.existing)
        known = [
            Target(GroupPlan(file.group, file), updates.get(file, 0), packed.get(file.group.file_id, 0))
            for file in sorted(files)
            if file in updates or file.group.file_id in packed
        ]
        entropy = self._incoming.context.ports.entropy
        new = [
            Target(GroupPlan(FileGroupId(path, f"{entropy.uuid()}-0"), None), 0, count) for count in packing.new_files
        ]
        return known + new

    def _record_bytes(self, snapshot: Snapshot) -> int:
        """Return what a row takes in a file; a few of the rows are looked at."""
        sample = self._kept[0].limit(_SAMPLE_ROWS).toArrow()
        rows = checked_rows(sample.drop_columns(list(ADDED)), self._incoming.key_job)
        return record_bytes(self._incoming.context, snapshot, rows, sample.column(KEY).combine_chunks())


def _workload(targets: Sequence[Target]) -> Workload:
    groups = [
        GroupWorkload(target.plan.group, target.plan.file.requested_time, target.updates, target.inserts)
        for target in targets
        if target.plan.file is not None
    ]
    new: dict[str, int] = {}
    for target in targets:
        if target.plan.file is None:
            path = target.plan.group.partition_path
            new[path] = new.get(path, 0) + target.inserts
    return Workload(tuple(groups), new)
