"""Keeping a bulk insert's keys unique without moving its rows: what was written is looked at, and mended if need be.

Whose duty: find rows of just-written files that may not stay, natively and without a shuffle where nothing is wrong:
rows whose key the table holds already, and all but one of the rows that share a key. Only files that hold such rows
are written anew; what they replace is named by nobody, and removed by the protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from pyspark.sql.types import LongType, StringType, StructField, StructType

from drawstring.engine.file_tasks import WriteSettings
from drawstring.errors import DuplicateKeyError
from drawstring.files import BaseFile
from drawstring.ports import Storage
from drawstring.spark.bulk_tasks import CountJob, RewriteJob, find_repeated, rewrite_without
from drawstring.spark.filters import column
from drawstring.spark.jobs import arrow_task
from drawstring.spark.key_scans import held_keys
from drawstring.spark.scan import FILE_NAME, FILE_ROW, PARTITION
from drawstring.spark.tasks import GROUP, RESULT_SCHEMA, parse_result
from drawstring.spark.types import spark_schema
from drawstring.write_stats import WriteStat
from drawstring_spec.meta_fields import RECORD_KEY

COUNTED_IN_ONE_TASK: Final = 4_000_000
"""Keys of one partition that one task compares in memory; more are compared by a shuffle of their hashes."""

NAMED_KEYS: Final = 10
"""Keys that an error names."""

KEY_COLUMNS: Final = StructType([StructField(RECORD_KEY, StringType())])

_ORDER: Final = "_drawstring_file_order"
_RANK: Final = "_drawstring_rank"


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that a task of the write made.

    Attributes:
        stat: what it holds.
        least: of its record keys.
        greatest: of its record keys.
        order: task and number of the file in it: rows of later files came later.

    """

    stat: WriteStat
    least: str
    greatest: str
    order: tuple[int, int]

    def base_file(self, requested_time: str) -> BaseFile:
        """Return the file as storage has it."""
        return BaseFile(self.stat.path, self.stat.group, requested_time, self.stat.file_size_bytes)


@dataclass(frozen=True, slots=True)
class KeyGuard:
    """Looks after the keys of one bulk insert.

    Attributes:
        spark: the session.
        storage: of the table.
        settings: of the files.
        drop_known: leave rows out whose keys the table holds, instead of refusing the write.

    """

    spark: SparkSession
    storage: Storage
    settings: WriteSettings
    drop_known: bool

    def mend(self, files: Sequence[NewFile], existing: Sequence[BaseFile]) -> list[WriteStat]:
        """Return the stats of the files that make up the write, each key once and none that the table held.

        Args:
            files: as the tasks wrote them.
            existing: the table's base files.

        Raises:
            DuplicateKeyError: the table holds a key already, and such rows are not to be left out.

        """
        extra = [frame for frame in (self._known(files, existing), self._repeated(files)) if frame is not None]
        if not extra:
            return [file.stat for file in files]
        rows = extra[0] if len(extra) == 1 else extra[0].union(extra[1]).distinct()
        return self._without(files, rows)

    def _known(self, files: Sequence[NewFile], existing: Sequence[BaseFile]) -> DataFrame | None:
        """Return the rows whose keys the table holds; None where there are none."""
        partitions = {file.stat.group.partition_path for file in files}
        old_files = [file for file in existing if file.group.partition_path in partitions]
        if not old_files or not files:
            return None
        least, greatest = min(file.least for file in files), max(file.greatest for file in files)
        old = held_keys(self.spark, self.storage, old_files, KEY_COLUMNS)
        old = old.where(column(RECORD_KEY).between(least, greatest)).select(RECORD_KEY, PARTITION)
        held = self._rows(files, KEY_COLUMNS).join(old, [RECORD_KEY, PARTITION], "left_semi")
        first = held.select(RECORD_KEY, PARTITION).limit(NAMED_KEYS).collect()
        if not first:
            return None
        if not self.drop_known:
            raise known_keys_error([(row[0], row[1]) for row in first])
        return held.select(FILE_NAME, FILE_ROW)

    def _repeated(self, files: Sequence[NewFile]) -> DataFrame | None:
        """Return all but one of the rows that share a key, in partitions where there are such; None where not."""
        overlapping = {path: _overlapping(members) for path, members in _by_partition(files).items()}
        suspects = {path: members for path, members in overlapping.items() if members}
        if not suspects:
            return None
        repeated = self._partitions_with_repeats(suspects)
        if not repeated:
            return None
        members = [file for path in repeated for file in suspects[path]]
        order_field = self.settings.ordering_field
        columns = KEY_COLUMNS
        if order_field is not None:
            columns = StructType([*KEY_COLUMNS, *spark_schema(pa.schema([self.settings.schema.field(order_field)]))])
        places = sorted(members, key=lambda file: file.order)
        orders = self._lookup(_ORDER, {_name(file): number for number, file in enumerate(places)})
        later = [F.desc(_ORDER), F.desc(FILE_ROW)]
        greater = [column(order_field).desc()] if order_field is not None else []
        window = Window.partitionBy(PARTITION, RECORD_KEY).orderBy(*greater, *later)
        rows = self._rows(members, columns).join(F.broadcast(orders), FILE_NAME)
        return rows.withColumn(_RANK, F.row_number().over(window)).where(F.col(_RANK) > 1).select(FILE_NAME, FILE_ROW)

    def _partitions_with_repeats(self, suspects: Mapping[str, Sequence[NewFile]]) -> list[str]:
        small = sorted(path for path, files in suspects.items() if _num_rows(files) <= COUNTED_IN_ONE_TASK)
        large = sorted(set(suspects) - set(small))
        found: list[str] = []
        if small:
            time = self.settings.requested_time
            job = CountJob(self.storage, tuple(tuple(f.base_file(time) for f in suspects[path]) for path in small))
            tasks = min(len(small), 2 * self.spark.sparkContext.defaultParallelism)
            numbers = self.spark.range(0, len(small), 1, tasks)
            answers = numbers.mapInArrow(arrow_task(find_repeated, job), "number long").collect()
            found = [small[row[0]] for row in answers]
        if large:
            rows = self._rows([file for path in large for file in suspects[path]], KEY_COLUMNS)
            hashed = rows.select(PARTITION, F.xxhash64(RECORD_KEY, PARTITION).alias(_RANK))
            counted = hashed.groupBy(_RANK, PARTITION).count().where("count > 1")
            found += [row[0] for row in counted.select(PARTITION).distinct().collect()]
        return sorted(found)

    def _without(self, files: Sequence[NewFile], rows: DataFrame) -> list[WriteStat]:
        """Write the files that hold some of the rows anew without them, and return all stats of the write."""
        rows = rows.persist()
        try:
            names = {row[0] for row in rows.select(FILE_NAME).distinct().collect()}
            affected = sorted((file for file in files if _name(file) in names), key=lambda file: file.order)
            numbers = self._lookup(GROUP, {_name(file): number for number, file in enumerate(affected)})
            job = RewriteJob(
                self.storage,
                self.settings,
                tuple(file.base_file(self.settings.requested_time) for file in affected),
                FILE_ROW,
            )
            routed = rows.join(F.broadcast(numbers), FILE_NAME).select(GROUP, FILE_ROW)
            routed = routed.repartitionById(len(affected), F.col(GROUP).cast("int"))
            results = routed.mapInArrow(arrow_task(rewrite_without, job), RESULT_SCHEMA).collect()
        finally:
            rows.unpersist()
        whole = [file.stat for file in files if _name(file) not in names]
        return whole + [parse_result(row[0])[0] for row in results]

    def _rows(self, files: Sequence[NewFile], columns: StructType) -> DataFrame:
        bases = [file.base_file(self.settings.requested_time) for file in files]
        return held_keys(self.spark, self.storage, bases, columns, rows=True)

    def _lookup(self, name: str, numbers: Mapping[str, int]) -> DataFrame:
        schema = StructType([StructField(FILE_NAME, StringType()), StructField(name, LongType())])
        return self.spark.createDataFrame(list(numbers.items()), schema)


def known_keys_error(keys: Sequence[tuple[str, str]]) -> DuplicateKeyError:
    """Return the error for keys (with their partition paths) that the table holds already."""
    names = sorted(f"{key!r} in {path!r}" if path else repr(key) for key, path in keys)
    more = " and maybe more" if len(keys) >= NAMED_KEYS else ""
    return DuplicateKeyError(
        f"The table holds some of the keys already: {', '.join(names)}{more}.",
        way_out="Use upsert to replace those rows, or set hoodie.datasource.insert.dup.policy=drop to leave them "
        "out; nothing of the write is visible.",
    )


def _name(file: NewFile) -> str:
    return file.stat.path.rpartition("/")[2]


def _num_rows(files: Sequence[NewFile]) -> int:
    return sum(file.stat.num_writes for file in files)


def _by_partition(files: Sequence[NewFile]) -> dict[str, list[NewFile]]:
    groups: dict[str, list[NewFile]] = {}
    for file in files:
        groups.setdefault(file.stat.group.partition_path, []).append(file)
    return groups


def _overlapping(files: Sequence[NewFile]) -> list[NewFile]:
    """Return the files whose key range meets another's."""
    ranked = sorted(files, key=lambda file: (file.least, file.greatest))
    found: set[int] = set()
    widest = 0
    for position in range(1, len(ranked)):
        if ranked[position].least <= ranked[widest].greatest:
            found |= {widest, position}
        if ranked[position].greatest > ranked[widest].greatest:
            widest = position
    return [ranked[position] for position in sorted(found)]
