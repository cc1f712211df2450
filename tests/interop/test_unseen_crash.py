"""A Java writer that is killed in the middle of a write: what it left, read by both, and after Java's next writes."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from interop.java.client import JavaHudi, JavaHudiError
from interop.java.environment import find_environment
from interop.unseen_recording import Recorder, wrong_answers
from interop.unseen_story import COW, MOR, NO_METADATA, ONE_BUCKET, PLAIN, SIMPLE_INDEX, rows

pytestmark = [pytest.mark.interop, pytest.mark.slow]
NUM_PARTITIONS = 60
KINDS = {"cow": {**COW, **SIMPLE_INDEX}, "mor": {**MOR, **SIMPLE_INDEX}, "buckets": {**MOR, **ONE_BUCKET}}


def several(ts: int, v: int) -> pa.Table:
    return rows(*((f"k{n}", f"p{n % NUM_PARTITIONS}", ts, v + n) for n in range(6 * NUM_PARTITIONS)))


def descendants(process_id: int) -> list[int]:
    """The processes that one has started, and those that they have."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = children.get(process_id, [])
    return [*found, *(further for child in found for further in descendants(child))]


def data_files_of(path: Path, requested_time: str) -> list[Path]:
    return [file for file in path.glob(f"p*/*{requested_time}*") if not file.name.endswith(".crc")]


def begun(path: Path) -> str | None:
    """The requested time of a write that is inflight."""
    found = [file.name for file in (path / ".hoodie" / "timeline").glob("*.inflight")]
    times = {name.partition(".")[0] for name in found}
    done = {file.name.partition("_")[0] for file in (path / ".hoodie" / "timeline").glob("*_*")}
    return max(times - done, default=None)


def kill_in_the_middle(java: JavaHudi, path: Path, options: dict[str, str]) -> str:
    """Start a write, kill the process when it has written some files, and return the write's requested time."""
    process_id = java._process.pid
    doomed = [process_id, *descendants(process_id)]

    def write() -> None:
        with pytest.raises((JavaHudiError, BrokenPipeError)):
            java.write(path, "upsert", several(20, 1000), options=options)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while thread.is_alive():
            failed = begun(path)
            if failed is not None and data_files_of(path, failed):
                break
            time.sleep(0.005)
        else:
            raise AssertionError("the write has ended before it was seen")
    finally:
        for one in doomed:
            os.kill(one, signal.SIGKILL)
        thread.join()
    return failed


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_killed_writer_of_java_left_is_read_as_java_reads_it(kind, java, tmp_path):
    environment = find_environment()
    path, options = tmp_path / "t", {**PLAIN, **NO_METADATA, **KINDS[kind]}
    with JavaHudi(environment, log=tmp_path / "killed.log") as doomed:
        doomed.write(path, "upsert", several(10, 0), options=options)
        failed = kill_in_the_middle(doomed, path, options)
    assert begun(path) == failed
    left = Recorder(java, path, options)
    left.ask_all()
    assert wrong_answers(left.keep(tmp_path / "left", "killed"), tmp_path / "judged") == {}

    after = Recorder(java, path, options)
    after.write("upsert", several(30, 2000).slice(3, 9))
    after.write("upsert", several(5, 3000).slice(0, 6))
    after.ask_all()
    assert begun(path) is None
    assert wrong_answers(after.keep(tmp_path / "after", "written again"), tmp_path / "judged") == {}
    assert not data_files_of(path, failed)
