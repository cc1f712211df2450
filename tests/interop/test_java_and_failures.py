"""Failed and concurrent writes of ours, as Java Hudi sees them and cleans up after them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.errors import ConflictError
from interop import crash, tables
from interop.rows import data_columns, difference

pytestmark = pytest.mark.interop
LAYOUT = tables.LAYOUTS[1]
OPTIMISTIC = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}


@pytest.fixture
def crashed(tmp_path):
    """A table of ours with a history and a write whose process was killed before it completed."""
    story = tables.write_history(tmp_path / "t", LAYOUT)
    rows = tmp_path / "rows.parquet"
    pq.write_table(tables.to_table([tables.row(LAYOUT, n, ts=900, name="never seen") for n in range(60)]), rows)
    result = subprocess.run([sys.executable, crash.__file__, story.path, rows], check=False, timeout=60)
    assert result.returncode == crash.EXIT_STATUS
    return story


def files_with(path: Path, requested_time: str) -> list[Path]:
    return [p for p in path.rglob(f"*{requested_time}*") if p.is_file()]


def failed_instant(java, path: Path) -> str:
    return next(i["requested_time"] for i in java.timeline(path) if i["state"] == "INFLIGHT")


def test_java_does_not_see_a_write_of_ours_that_died(java, crashed):
    assert not difference(data_columns(java.read(crashed.path)), crashed.expected())


def test_java_rolls_a_write_of_ours_back_that_died(java, crashed):
    failed = failed_instant(java, crashed.path)
    rows = [tables.row(LAYOUT, n, ts=950, name="by Java") for n in range(5)]
    crashed.remember(java.write(crashed.path, "upsert", tables.to_table(rows)), rows)
    assert [p for p in files_with(crashed.path, failed) if p.suffix == ".parquet"] == []
    assert not difference(data_columns(java.read(crashed.path)), crashed.expected())


def test_java_parses_the_rollback_that_we_did(java, crashed):
    failed = failed_instant(java, crashed.path)
    crashed.write("upsert", [tables.row(LAYOUT, 1, ts=960, name="after the crash")])
    timeline = java.timeline(crashed.path)
    assert [i["state"] for i in timeline if i["action"] == "rollback"] == ["COMPLETED"]
    assert failed not in [i["requested_time"] for i in timeline]
    assert not difference(data_columns(java.read(crashed.path)), crashed.expected())


def test_java_continues_a_table_in_which_we_rolled_back(java, crashed):
    crashed.write("upsert", [tables.row(LAYOUT, 1, ts=960, name="after the crash")])
    rows = [tables.row(LAYOUT, n, ts=970, name="by Java") for n in range(45, 65)]
    crashed.remember(java.write(crashed.path, "upsert", tables.to_table(rows)), rows)
    assert java.validate(crashed.path)["problems"] == []
    assert not difference(data_columns(ds.Table.open(str(crashed.path)).read()), crashed.expected())


@pytest.fixture
def failed_in_java(java, tmp_path):
    """A table of ours with a write of Java's that died before it completed: what Java leaves then, by hand."""
    story = tables.write_history(tmp_path / "t", LAYOUT)
    rows = [tables.row(LAYOUT, n, ts=900, name="never seen") for n in range(20)]
    options = {"hoodie.metadata.enable": "false"}
    failed = java.write(story.path, "upsert", tables.to_table(rows), options=options)
    for file in (story.path / ".hoodie" / "timeline").glob(f"*{failed}_*.commit*"):
        file.unlink()
    for data_file in list(story.path.rglob(f"*_{failed}.parquet")):
        folder = story.path / ".hoodie" / ".temp" / failed / data_file.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{data_file.name}.marker.MERGE").touch()
        (folder / f".{data_file.name}.marker.MERGE.crc").write_bytes(b"crc\0\0\0\2\0")
    return story, failed


def test_we_do_not_see_a_write_of_javas_that_died(failed_in_java):
    story, _ = failed_in_java
    assert not difference(data_columns(story.table.read()), story.expected())


def test_we_roll_a_write_of_javas_back_that_died(java, failed_in_java):
    story, failed = failed_in_java
    story.write("upsert", [tables.row(LAYOUT, 1, ts=960, name="after the crash")])
    assert files_with(story.path, failed) == []
    assert not (story.path / ".hoodie" / ".temp" / failed).exists()
    assert not difference(data_columns(java.read(story.path)), story.expected())


def test_java_reads_the_winners_of_concurrent_writers_and_nothing_of_the_losers(java, tmp_path):
    story = tables.create(tmp_path / "t", LAYOUT)
    story.write("bulk_insert", [tables.row(LAYOUT, n, ts=100, name="first") for n in range(9)])

    def write(number: int) -> str | None:
        rows = tables.to_table([tables.row(LAYOUT, n, ts=200, name=f"writer {number}") for n in range(9)])
        try:
            return ds.Table.open(str(story.path), options=OPTIMISTIC).upsert(rows).requested_time
        except ConflictError:
            return None

    with ThreadPoolExecutor(3) as pool:
        winners = [time for time in pool.map(write, range(3)) if time is not None]
    java_rows = java.read(story.path)
    assert winners
    assert set(java_rows["_hoodie_commit_time"].to_pylist()) == {max(winners)}
    assert len(set(java_rows["name"].to_pylist())) == 1
    completed = [i["requested_time"] for i in java.timeline(story.path) if i["state"] == "COMPLETED"]
    assert set(winners) <= set(completed)
