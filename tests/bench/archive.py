"""A long timeline without the writes that make one: archived instants as Java Hudi's archiver leaves them.

Java archives ten instants at a time into a Parquet file, and merges ten files of one level into one of the next. What
is made here is the state after all of that: files of the levels 2, 1 and 0, a manifest that names them, and the version
file. Judged against the archive of a table that Java wrote, in ``tests/unit/bench/test_archive.py``.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from drawstring.codec import avro_container

_TIMELINE = ".hoodie/timeline"
_FORM = "%Y%m%d%H%M%S%f"
_BATCH = 10
_SYNC = b"0123456789abcdef"
SCHEMA = pa.schema(
    [
        ("instantTime", pa.string()),
        ("completionTime", pa.string()),
        ("action", pa.string()),
        ("metadata", pa.binary()),
        ("plan", pa.binary()),
        pa.field("version", pa.int32(), nullable=False),
    ]
)


def archive_before(path: str, count: int) -> None:
    """Put `count` archived commits in front of what stands on a table's timeline; nothing was archived there before."""
    folder = Path(path) / _TIMELINE
    first = min(name.name.split("_")[0].split(".")[0] for name in folder.iterdir() if name.is_file())
    start = dt.datetime.strptime(f"{first}000", _FORM).replace(tzinfo=dt.UTC) - dt.timedelta(minutes=count)
    times = [start + dt.timedelta(minutes=i) for i in range(count)]
    history = folder / "history"
    history.mkdir(exist_ok=True)
    names = []
    for level, begin, end in _files(count):
        requested = [_text(time) for time in times[begin:end]]
        completed = [_text(time + dt.timedelta(seconds=2)) for time in times[begin:end]]
        names.append(f"{requested[0]}_{requested[-1]}_{level}.parquet")
        columns = [requested, completed, ["commit"] * len(requested), [_payload()] * len(requested)]
        columns += [pa.nulls(len(requested), pa.binary()), [1] * len(requested)]
        pq.write_table(pa.table(columns, schema=SCHEMA), history / names[-1], compression="gzip", store_schema=False)
    listed = [{"fileName": name, "fileLen": (history / name).stat().st_size} for name in names]
    (history / "manifest_1").write_text(json.dumps({"files": listed}, indent=2), encoding="utf-8")
    (history / "_version_").write_text("1", encoding="utf-8")


def _files(count: int) -> Iterator[tuple[int, int, int]]:
    """Level, first and last instant of each file, oldest first."""
    begin = 0
    for level in (2, 1, 0):
        size = _BATCH ** (level + 1)
        while count - begin >= size:
            yield level, begin, begin + size
            begin += size
    if begin < count:
        yield 0, begin, count


def _text(time: dt.datetime) -> str:
    return time.strftime(_FORM)[:17]


def _payload() -> bytes:
    stat = {"fileId": "f-0", "path": "p/f-0_0-0-0_0.parquet", "numWrites": 1, "numInserts": 1, "totalWriteBytes": 1000}
    record = {
        "partitionToWriteStats": {"p": [stat]},
        "compacted": False,
        "extraMetadata": {"schema": "{}" * 500},
        "operationType": "UPSERT",
    }
    return avro_container.encode("HoodieCommitMetadata", record, sync_marker=_SYNC)
