"""The rows of one write, by partition, with their keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.merge import Rows, latest_rows
from drawstring.ports import TaskContext, Tasks


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """The rows of one partition, each key once.

    Attributes:
        partition_path: of the rows.
        rows: their positions in the caller's data, ascending.
        keys: their record keys, in the same order.

    """

    partition_path: str
    rows: Rows
    keys: pa.Array


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Rows of one partition as they came."""

    partition_path: str
    rows: Rows
    keys: pa.Array
    ordering: pa.Array | None


def split_by_partition(
    keys: pa.Array, paths: pa.DictionaryArray, ordering: pa.Array | None, tasks: Tasks
) -> tuple[PartitionRows, ...]:
    """Group rows by partition, sorted by path, and reduce rows with the same key to the one that stays.

    Args:
        keys: record key of each row.
        paths: partition path of each row.
        ordering: ordering value of each row; None where the later row stays.
        tasks: partitions are reduced side by side.

    """
    names = paths.dictionary.to_pylist()
    items: list[_Reduction] = []
    for code, rows in _rows_by_code(np.asarray(paths.indices), names):
        picked = pa.array(rows)
        whole = len(rows) == len(keys)
        items.append(
            _Reduction(
                names[code],
                rows,
                keys if whole else pc.take(keys, picked),
                ordering if whole or ordering is None else pc.take(ordering, picked),
            )
        )
    return tuple(tasks.run(_reduce, items, label="reduce duplicate keys"))


def _rows_by_code(codes: np.ndarray[tuple[int], np.dtype[np.int32]], names: Sequence[str]) -> list[tuple[int, Rows]]:
    """Return the positions of each code's rows, in the order of the names."""
    counts = np.bincount(codes, minlength=len(names))
    by_code = np.argsort(codes, kind="stable")
    ends = np.cumsum(counts)
    order = sorted((name, code) for code, name in enumerate(names) if counts[code])
    return [(code, by_code[ends[code] - counts[code] : ends[code]]) for _, code in order]


def _reduce(context: TaskContext, item: _Reduction) -> PartitionRows:
    del context
    stays = latest_rows(item.keys, item.ordering)
    if stays is None:
        return PartitionRows(item.partition_path, item.rows, item.keys)
    return PartitionRows(item.partition_path, item.rows[stays], pc.take(item.keys, pa.array(stays)))
