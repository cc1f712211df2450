"""Java Hudi and drawstring write to one table at the same time: lock, heartbeats and conflicts are understood."""

from __future__ import annotations

from pathlib import Path

import pytest

import drawstring as ds
from drawstring.errors import ConflictError, LockTimeoutError
from drawstring.locks import make_lock_provider
from drawstring.options import Options
from drawstring.runtime import open_storage
from drawstring.runtime.clock import SystemClock, SystemEntropy
from drawstring_spec.steps import Step
from interop import tables
from interop.java.client import JavaHudiError
from interop.rows import data_columns, difference

pytestmark = pytest.mark.interop
LAYOUT = tables.LAYOUTS[1]
OURS = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.wait_time_ms": "300",
}
# The metadata table is off: a commit of Java's that made one would be a reason of its own to refuse ours.
JAVAS = {
    **OURS,
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.metadata.enable": "false",
    "hoodie.write.lock.wait_time_ms_between_retry": "50",
    "hoodie.write.lock.num_retries": "2",
    "hoodie.write.lock.client.num_retries": "2",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "50",
}


@pytest.fixture
def story(tmp_path):
    return tables.write_history(tmp_path / "t", LAYOUT)


def java_upserts(java, story, numbers):
    rows = [tables.row(LAYOUT, n, ts=500, name="by Java") for n in numbers]
    story.remember(java.write(story.path, "upsert", tables.to_table(rows), options=JAVAS), rows)


def our_lock(path: Path):
    storage, clock, entropy = open_storage(str(path)), SystemClock(), SystemEntropy()
    return make_lock_provider(Options.parse(OURS), storage=storage, clock=clock, entropy=entropy)


def test_java_does_not_write_while_we_hold_the_lock(java, story):
    lock = our_lock(story.path)
    lease = lock.acquire(timeout_ms=0)
    try:
        with pytest.raises(JavaHudiError, match="lock"):
            java_upserts(java, story, range(5))
    finally:
        lock.release(lease)
    assert not difference(data_columns(story.table.read()), story.expected())


def test_java_writes_once_we_gave_the_lock_back(java, story):
    lock = our_lock(story.path)
    lock.release(lock.acquire(timeout_ms=0))
    java_upserts(java, story, range(5))
    assert not difference(data_columns(story.table.read()), story.expected())


def test_we_do_not_write_while_java_holds_the_lock(story):
    javas_lock = story.path / ".hoodie" / "lock"
    javas_lock.write_text('{"lockCreateTime":"2024-01-01 00:00:00.000","lockThreadName":"main"}', encoding="utf-8")
    table = ds.Table.open(str(story.path), options=OURS)
    with pytest.raises(LockTimeoutError, match="lock"):
        table.upsert(tables.to_table([tables.row(LAYOUT, 1, ts=600, name="ours")]))
    assert javas_lock.exists()


def write_ours_while_java_upserts(java, story, ours, javas) -> None:
    """Java's whole write happens while ours is inflight."""

    def listen(event):
        if event.step is Step.START_INFLIGHT:
            java_upserts(java, story, javas)

    story.table = ds.Table.open(str(story.path), options=OURS, emit=listen)
    story.write("upsert", [tables.row(LAYOUT, n, ts=600, name="ours") for n in ours])


def test_java_leaves_our_live_write_alone_and_both_stay(java, story):
    north, south = range(0, 9, 3), range(1, 10, 3)
    write_ours_while_java_upserts(java, story, north, [n for n in south if n != 1])
    assert not difference(data_columns(java.read(story.path)), story.expected())


def test_we_lose_against_a_write_of_javas_that_completed_in_the_same_file_group(java, story):
    north = range(0, 9, 3)
    with pytest.raises(ConflictError):
        write_ours_while_java_upserts(java, story, north, north)
    assert not difference(data_columns(java.read(story.path)), story.expected())


def test_we_lose_against_a_new_key_that_java_inserted_meanwhile(java, story):
    with pytest.raises(ConflictError):
        write_ours_while_java_upserts(java, story, [300], [300])
    assert not difference(data_columns(java.read(story.path)), story.expected())
