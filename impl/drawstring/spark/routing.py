"""Which file each incoming row goes to: decided in the driver per file group, carried out by Spark per row.

Source: `drawstring.data.packing`. Rows with a known key go to their file group. New rows are spread over the small
files and new files of their partition by a hash of their key, in the proportions that packing gave, so that rows of
one key meet in one file; Java does the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from drawstring.spark.scan import FILE_NAME
from drawstring.spark.tasks import GROUP, KEY, PATH, GroupPlan

TASK_BYTES: Final = 64 * 1024 * 1024
"""Files that a task reads and takes in, about; a larger file has a task of its own."""

ADDRESS_BITS: Final = 31
"""An address is the number of the task, and in so many low bits the number of the file."""

_ADDRESS: Final = "_drawstring_address"
_ADDRESSES: Final = "_drawstring_addresses"
_ENDS: Final = "_drawstring_ends"


@dataclass(frozen=True, slots=True)
class Target:
    """A file that a write makes.

    Attributes:
        plan: the file.
        updates: rows whose keys it holds.
        inserts: new rows, about.

    """

    plan: GroupPlan
    updates: int
    inserts: int


@dataclass(frozen=True, slots=True)
class Routes:
    """How the rows of one write reach their files.

    Attributes:
        targets: in the order of their numbers.
        tasks: per target, the number of its task.

    """

    targets: tuple[Target, ...]
    tasks: tuple[int, ...]

    @property
    def num_tasks(self) -> int:
        """Tasks that write."""
        return self.tasks[-1] + 1 if self.tasks else 0

    def routed(self, spark: SparkSession, rows: DataFrame) -> DataFrame:
        """Return rows in the tasks that write them, with the number of their file in the column `GROUP`.

        Args:
            spark: the session.
            rows: with `KEY`, `PATH` and `FILE_NAME` (of the file that holds the key; null for a new key).

        """
        addresses = [task << ADDRESS_BITS | number for number, task in enumerate(self.tasks)]
        names = [StructField(FILE_NAME, StringType()), StructField(_ADDRESS, LongType())]
        known = [
            (target.plan.file.name, address)
            for target, address in zip(self.targets, addresses, strict=True)
            if target.plan.file is not None and target.updates
        ]
        arrays = [StructField(name, ArrayType(LongType())) for name in (_ADDRESSES, _ENDS)]
        new = self._new_rows(addresses)
        updates = spark.createDataFrame(known, StructType(names))
        inserts = spark.createDataFrame(new, StructType([StructField(PATH, StringType()), *arrays]))
        found = rows.join(F.broadcast(updates), FILE_NAME, "left").join(F.broadcast(inserts), PATH, "left")
        chosen = found.withColumn(_ADDRESS, F.coalesce(_ADDRESS, F.when(F.col(FILE_NAME).isNull(), _spread())))
        task = F.shiftright(_ADDRESS, ADDRESS_BITS).cast("int")
        number = F.col(_ADDRESS).bitwiseAND(F.lit((1 << ADDRESS_BITS) - 1))
        numbered = chosen.withColumn(GROUP, number).drop(_ADDRESSES, _ENDS, FILE_NAME)
        return numbered.repartitionById(self.num_tasks, task).drop(_ADDRESS)

    def _new_rows(self, addresses: Sequence[int]) -> list[tuple[str, list[int], list[int]]]:
        """Return, per partition, the addresses for new rows and where each one's share of the hashes ends."""
        shares: dict[str, tuple[list[int], list[int]]] = {}
        for target, address in zip(self.targets, addresses, strict=True):
            if target.inserts:
                chosen, ends = shares.setdefault(target.plan.group.partition_path, ([], []))
                chosen.append(address)
                ends.append((ends[-1] if ends else 0) + target.inserts)
        return [(path, chosen, ends) for path, (chosen, ends) in sorted(shares.items())]


def _spread() -> Column:
    """Return the address of a new row, by the hash of its key."""
    return F.expr(
        f"element_at({_ADDRESSES}, 1 + size(filter({_ENDS}, e -> e <= pmod(xxhash64({KEY}), element_at({_ENDS}, -1)))))"
    )


def assign_tasks(targets: Sequence[Target], record_bytes: int, parallelism: int) -> Routes:
    """Give each file a task; small files share one as long as all cores have work.

    Args:
        targets: sorted by partition, so that the files of a task are neighbours.
        record_bytes: what a row takes in a file.
        parallelism: tasks that run side by side.

    """
    costs = [
        (target.plan.file.size if target.plan.file else 0) + (target.updates + target.inserts) * record_bytes
        for target in targets
    ]
    limit = min(TASK_BYTES, sum(costs) // max(1, 2 * parallelism))
    tasks: list[int] = []
    task, filled = 0, 0
    for cost in costs:
        if tasks and filled + cost > limit:
            task, filled = task + 1, 0
        tasks.append(task)
        filled += cost
    return Routes(tuple(targets), tuple(tasks))


def partition_inserts(counts: Mapping[tuple[str, str | None], int]) -> dict[str, int]:
    """Return the new rows per partition path, of counts by partition path and name of the file that holds the key."""
    return {path: count for (path, name), count in sorted(counts.items(), key=str) if name is None}
