"""Histories of two writers on one table through Spark, at least 25 of them, some with a job that is killed.

Each writer is a thread with a handle of its own. It stops after a chosen step of the protocol until the other one has
gone as far as the history says. Whatever happens, what is read at the end is the serial result of the writes that
succeeded, no key is there twice, nothing is pending, and no file is left that no commit names.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.errors import ConcurrencyError, DuplicateKeyError, EngineError
from drawstring.runtime import open_storage
from drawstring_spec.steps import Step

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64()), ("v", pa.float64())])
SEEDS = range(26)
PAUSES = (Step.LOOKUP_KEYS, Step.START_INFLIGHT, Step.REQUEST_INSTANT, Step.COMPLETE_INSTANT)
SHARED = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.wait_time_ms": 60_000,
    "hoodie.parquet.small.file.limit": 0,
}
UNDER_LOCK = {Step.REQUEST_INSTANT, Step.COMPLETE_INSTANT}
WAIT_S = 120
LOCKED_S = 0.3
"""How long a writer stops where it holds the table lock: the other one can only wait for it there."""


@dataclass(frozen=True)
class Plan:
    """What one writer does: an operation on some keys, told apart by its value; how it ends."""

    operation: str
    keys: tuple[int, ...]
    value: float
    spark: bool
    fate: str


@dataclass
class Gate:
    """Stops a writer right after a step, until it is opened."""

    step: Step
    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def hear(self, event):
        if event.step is self.step and not self.reached.is_set():
            self.reached.set()
            self.opened.wait(LOCKED_S if self.step in UNDER_LOCK else WAIT_S)


def rows(keys, value):
    return [(f"k{n:02}", f"p{n % 2}", 10, value) for n in keys]


def drawn(random_, number):
    operation = random_.choice(["upsert", "upsert", "insert", "bulk_insert", "delete"])
    if operation in {"insert", "bulk_insert"}:
        keys = sorted(random_.sample(range(20, 26), 3))
    else:
        keys = sorted(random_.sample(range(26), 4))
    fates = ["lives"] * 7 + ["fails", "fails", "killed"]
    spark = operation != "delete" and random_.random() < 0.7
    fate = random_.choice(fates) if spark else "lives"
    return Plan(operation, tuple(keys), float(number), spark, fate)


def doomed(frame, fate):
    """Return a frame whose tasks raise, or take so long that they can be killed."""

    def fail(batches):
        for _ in batches:
            raise RuntimeError("this task was made to fail")
        yield from ()

    def hang(batches):
        for batch in batches:
            time.sleep(30)
            yield batch

    return frame.mapInArrow(fail if fate == "fails" else hang, frame.schema)


class Writer(threading.Thread):
    """Runs one plan."""

    def __init__(self, spark, uri, plan, gate, name):
        super().__init__(daemon=True)
        self.spark, self.plan, self.gate = spark, plan, gate
        self.group = f"history-{name}"
        options = {**SHARED, "drawstring.spark.embedded.max.rows": 0}
        self.table = ds.Table.open(uri, engine=ds.SparkEngine(spark), options=options, emit=gate.hear)
        self.result, self.error = None, None

    def run(self):
        try:
            # A job group is the thread's own.
            self.spark.sparkContext.setJobGroup(self.group, "one writer")
            self.result = self.write()
        except Exception as error:  # noqa: BLE001 -- judged by the test
            self.error = error
        finally:
            self.gate.reached.set()

    def write(self):
        plan = self.plan
        table = pa.Table.from_pylist(
            [dict(zip(SCHEMA.names, row, strict=True)) for row in rows(plan.keys, plan.value)], schema=SCHEMA
        )
        if plan.operation == "delete":
            return self.table.delete(table.select(["id", "part"]))
        data = self.spark.createDataFrame(table).coalesce(1) if plan.spark else table
        if plan.fate != "lives":
            data = doomed(data, plan.fate)
        return getattr(self.table, plan.operation)(data)

    def kill(self):
        """Cancel the writer's jobs as soon as one of them runs."""
        deadline = time.monotonic() + WAIT_S
        tracker = self.spark.sparkContext.statusTracker()
        while self.result is None and self.error is None and time.monotonic() < deadline:
            stages = [s for j in tracker.getJobIdsForGroup(self.group) for s in tracker.getJobInfo(j).stageIds]
            if any(info and info.numActiveTasks for info in map(tracker.getStageInfo, stages)):
                self.spark.sparkContext.cancelJobGroup(self.group)
            time.sleep(0.05)


def play(spark, uri, seed):
    random_ = random.Random(seed)
    plans = [drawn(random_, 100 + n) for n in range(2)]
    gates = [Gate(random_.choice(PAUSES)) for _ in plans]
    writers = [
        Writer(spark, uri, plan, gate, f"{seed}-{n}") for n, (plan, gate) in enumerate(zip(plans, gates, strict=True))
    ]
    killers = [threading.Thread(target=w.kill, daemon=True) for w in writers if w.plan.fate == "killed"]
    first, second = writers
    for killer in killers:
        killer.start()
    first.start()
    gates[0].reached.wait(WAIT_S)
    second.start()
    gates[1].reached.wait(WAIT_S)
    order = [0, 1] if random_.random() < 0.5 else [1, 0]
    for number in order:
        gates[number].opened.set()
        writers[number].join(WAIT_S)
    return writers


def expected_rows(before, writers):
    table = {(key, part): (ts, v) for key, part, ts, v in before}
    done = sorted((w for w in writers if w.result is not None), key=lambda w: w.result.requested_time)
    for writer in done:
        for key, part, ts, v in rows(writer.plan.keys, writer.plan.value):
            if writer.plan.operation == "delete":
                table.pop((key, part), None)
            else:
                table[key, part] = (ts, v)
    return sorted((key, part, ts, v) for (key, part), (ts, v) in table.items())


def expected_errors(plan):
    """An insert may come after the other writer's; a job that is made to fail may lose to the other one before."""
    inserts = (DuplicateKeyError,) if plan.operation in {"insert", "bulk_insert"} else ()
    return (ConcurrencyError, *inserts) if plan.fate == "lives" else (ConcurrencyError, EngineError, *inserts)


def rows_now(table):
    return sorted(tuple(row.values()) for row in table.read(columns=SCHEMA.names).to_pylist())


@pytest.mark.parametrize("seed", SEEDS)
def test_two_writers_leave_what_the_successful_ones_wrote(seed, spark, table_uri):
    before = rows(range(20), 0.0)
    table = ds.Table.create(table_uri, SCHEMA, record_key="id", partition_by="part", ordering="ts", options=SHARED)
    table.bulk_insert(pa.Table.from_pylist([dict(zip(SCHEMA.names, r, strict=True)) for r in before], schema=SCHEMA))
    writers = play(spark, table_uri, seed)
    for writer in writers:
        assert not writer.is_alive()
        assert (writer.result is None) == (writer.error is not None)
        assert writer.error is None or isinstance(writer.error, expected_errors(writer.plan)), repr(writer.error)
        assert writer.plan.fate == "lives" or writer.result is None
    assert rows_now(table) == expected_rows(before, writers)
    after = table.upsert(
        pa.Table.from_pylist([dict(zip(SCHEMA.names, ("z", "p0", 1, 1.0), strict=True))], schema=SCHEMA)
    )
    timeline = table.timeline()
    assert timeline.pending_writes == ()
    assert ("z", "p0", 1, 1.0) in rows_now(table)
    named = {i.requested_time for i in timeline.completed_writes}
    files = [s.path for s in open_storage(table.uri).list("", recursive=True) if s.path.endswith(".parquet")]
    assert {path.rpartition("_")[2].removesuffix(".parquet") for path in files} <= named
    assert after.requested_time in named


def test_the_histories_are_of_all_kinds():
    plans = [plan for seed in SEEDS for plan in _plans(seed)]
    assert len(SEEDS) >= 25
    assert {plan.operation for plan in plans} == {"upsert", "insert", "bulk_insert", "delete"}
    assert sum(plan.fate == "killed" for plan in plans) >= 2
    assert sum(plan.fate == "fails" for plan in plans) >= 3


def _plans(seed):
    random_ = random.Random(seed)
    return [drawn(random_, 100 + n) for n in range(2)]
