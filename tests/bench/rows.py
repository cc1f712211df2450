"""The rows that every side of the benchmark works on: 17 columns, 4 partitions, the same in every run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

RECORD_KEY = "id"
PARTITION = "region"
ORDERING = "changed_at"
_REGIONS = np.array(["africa", "america", "asia", "europe"])
_SEED = 20130101


@dataclass(frozen=True)
class Workload:
    """What is written.

    Attributes:
        rows: of the table.
        many: 5 % of the keys, spread evenly over the table, with new values.
        few: so and so many keys, spread likewise.
        fresh: as many rows as `few`, with keys that the table does not hold.

    """

    rows: pa.Table
    many: pa.Table
    few: pa.Table
    fresh: pa.Table


def make_workload(num_rows: int, num_few: int) -> Workload:
    """Make the rows: keys in no order, numbers of several widths, texts of low and high cardinality, some nulls."""
    rng = np.random.default_rng(_SEED)
    ids = rng.permutation(num_rows)
    rows = _table(rng, ids, version=1)
    many = rng.choice(num_rows, num_rows // 20, replace=False)
    few = rng.choice(num_rows, min(num_few, num_rows), replace=False)
    return Workload(
        rows=rows,
        many=_table(rng, np.sort(many), version=2),
        few=_table(rng, np.sort(few), version=3),
        fresh=_table(rng, np.arange(num_rows, num_rows + num_few), version=1),
    )


def _table(rng: np.random.Generator, ids: np.ndarray, *, version: int) -> pa.Table:
    count = len(ids)
    words = np.array([f"word-{i:04}" for i in range(2_000)])
    amounts = np.round(rng.lognormal(3, 1, count), 2)
    return pa.table(
        {
            "id": pa.array(np.char.add("key-", np.char.zfill(ids.astype(str), 10)), pa.string()),
            # A key's partition follows from the key: an update never moves a row.
            "region": pa.array(_REGIONS[ids % len(_REGIONS)], pa.string()),
            "changed_at": pa.array(np.full(count, version, np.int64)),
            "customer": pa.array(rng.integers(0, 50_000, count), pa.int64()),
            "product": pa.array(rng.integers(0, 5_000, count).astype(np.int32)),
            "quantity": pa.array(rng.integers(1, 100, count).astype(np.int32)),
            "amount": pa.array(amounts),
            "discount": pa.array(np.round(rng.random(count) * 0.3, 3), mask=rng.random(count) < 0.5),
            "weight": pa.array(rng.normal(10, 3, count).astype(np.float32)),
            "score": pa.array(rng.random(count)),
            "is_gift": pa.array(rng.random(count) < 0.1),
            "status": pa.array(np.array(["new", "paid", "sent", "done"])[rng.integers(0, 4, count)], pa.string()),
            "city": pa.array(words[rng.integers(0, 2_000, count)], pa.string()),
            "comment": pa.array(
                np.char.add(words[rng.integers(0, 2_000, count)], words[rng.integers(0, 2_000, count)]),
                pa.string(),
                mask=rng.random(count) < 0.2,
            ),
            "ordered_on": pa.array(rng.integers(15_000, 19_000, count).astype(np.int32), pa.date32()),
            "sent_at": pa.array(
                rng.integers(1_500_000_000_000_000, 1_600_000_000_000_000, count), pa.timestamp("us", tz="UTC")
            ),
            "sequence": pa.array(ids.astype(np.int64)),
        }
    )
