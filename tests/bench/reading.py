"""Reading with the embedded engine: look-ups, HFiles, long timelines; merge-on-read where Java Hudi can write it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hudi import HudiTable
from tests.interop.java.client import JavaHudi
from tests.interop.java.environment import find_environment
from tests.unit.impl.hfile.writer import HFileWriter

import drawstring as ds
from drawstring.hfile.reader import HFileReader

from .archive import archive_before
from .measure import Contender, Measurement, alternate
from .places import Places
from .report import LOOK_UP_TITLE
from .rows import ORDERING, PARTITION, RECORD_KEY, Workload, make_workload

SECTION = "embedded"
OURS = "drawstring"
LOOK_UP, AGAIN, SCAN = "look-up", "look-up, handle kept", "full scan"
LOOK_UP_TARGET = 1 / 20
TIMELINE_TARGET = 2.0
H_FILE_LIMIT_S = 1.0
_SEED = 7
_ENTRIES, _ASKED = 1_000_000, 100_000
_INSTANTS, _ACTIVE = 10_000, 100
_JAVA = {
    "hoodie.table.name": "bench",
    "hoodie.datasource.write.recordkey.field": RECORD_KEY,
    "hoodie.datasource.write.partitionpath.field": PARTITION,
    "hoodie.datasource.write.precombine.field": ORDERING,
    "hoodie.parquet.compression.codec": "zstd",
}

_MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
_INDEXED = {"hoodie.metadata.record.index.enable": "true"}

Run = Callable[..., Measurement]


def measure(
    workload: Workload, places: Places, repeats: int, write: Callable[[str, pa.Table], None]
) -> Iterator[Measurement]:
    """Every comparison of reading; `write` makes a table of ours."""
    run = functools.partial(alternate, repeats=repeats)
    plain, by_key = places.fresh(), places.fresh()
    write(plain, workload.rows)
    write(by_key, workload.rows.sort_by(RECORD_KEY))
    yield from look_ups(run, plain, ", no index", workload)
    yield from look_ups(run, by_key, ", rows by key, no index", workload)
    yield h_file(run, places)
    yield long_timeline(run, workload, places)
    environment = find_environment()
    if environment is None:
        return  # Log files and a record index that others read are Java's to write.
    with JavaHudi(environment) as java:
        yield merge_on_read(run, java, workload, places)
        _index(java, places, by_key, workload.fresh.slice(0, 1))
        path = _by_java(java, places, _INDEXED, bulk_insert=workload.rows)
    yield from look_ups(run, by_key, ", rows by key, record index", workload)
    yield from look_ups(run, path, ", Java's table, record index", workload)


def _index(java: JavaHudi, places: Places, path: str, row: pa.Table) -> None:
    """Let Java build the record index of a table of ours: by the insert of a row into a partition of its own."""
    for name, value in ((RECORD_KEY, "a key of no other row"), (PARTITION, "nowhere")):
        row = row.set_column(row.schema.get_field_index(name), name, pa.array([value]))
    source = Path(places.fresh()).with_suffix(".parquet")
    pq.write_table(row, source)
    java.write_files(Path(path), "insert", source, options={**_JAVA, **_INDEXED, "hoodie.table.name": Path(path).name})


def _by_java(java: JavaHudi, places: Places, options: dict[str, str], **batches: pa.Table) -> str:
    """A table that Java wrote: each batch by the operation that it is named after."""
    path = places.fresh()
    for operation, rows in batches.items():
        source = Path(places.fresh()).with_suffix(".parquet")
        pq.write_table(rows, source)
        java.write_files(Path(path), operation, source, options={**_JAVA, **options})
    return path


def large_look_ups(
    num_rows: int, places: Places, repeats: int, write: Callable[[str, pa.Table], None]
) -> Iterator[Measurement]:
    """Look-ups through Java's record index in a table of ours of another size; none without Java Hudi."""
    environment = find_environment()
    if environment is None:
        return
    workload = make_workload(num_rows, 1)
    path = places.fresh()
    write(path, workload.rows.sort_by(RECORD_KEY))
    with JavaHudi(environment) as java:
        _index(java, places, path, workload.fresh)
    run = functools.partial(alternate, repeats=repeats)
    yield from look_ups(run, path, f", {num_rows:,} rows by key, record index", workload, counts=(1, 10, 100))


def look_ups(
    run: Run, path: str, of: str, workload: Workload, *, counts: Sequence[int] = (1, 10, 100, 1000)
) -> Iterator[Measurement]:
    """Random keys, each time others, beside reading everything: through a new handle, and through one that is kept."""
    random = np.random.default_rng(_SEED)
    ids = workload.rows.column(RECORD_KEY)
    kept = ds.Table.open(path)

    for count in counts:

        def keys(count: int = count) -> pa.ChunkedArray:
            return ids.take(pa.array(random.choice(len(ids), min(count, len(ids)), replace=False)))

        title = f"{LOOK_UP_TITLE}{count:,} random keys{of}"
        found = run(
            Measurement(SECTION, title, LOOK_UP, SCAN, LOOK_UP_TARGET),
            [
                Contender(LOOK_UP, lambda wanted: ds.Table.open(path).lookup(wanted), prepare=keys),
                Contender(AGAIN, kept.lookup, prepare=keys),
                Contender(SCAN, lambda _: ds.Table.open(path).read()),
            ],
        )
        again = Measurement(SECTION, f"{title}, again", AGAIN, SCAN, LOOK_UP_TARGET)
        again.seconds = {AGAIN: found.seconds.pop(AGAIN), SCAN: found.seconds[SCAN]}
        again.cpu_seconds = {AGAIN: found.cpu_seconds.pop(AGAIN), SCAN: found.cpu_seconds[SCAN]}
        yield from (found, again)


def merge_on_read(run: Run, java: JavaHudi, workload: Workload, places: Places) -> Measurement:
    """A snapshot with 5 % of the keys in log files."""
    path = _by_java(java, places, _MERGE_ON_READ, bulk_insert=workload.rows, upsert=workload.many)
    return run(
        Measurement(SECTION, "merge-on-read snapshot, 5 % in log files, Java's table", OURS, "hudi-rs read", 1.0),
        [
            Contender(OURS, lambda _: ds.Table.open(path).read()),
            Contender("hudi-rs read", lambda _: HudiTable(path).read()),
        ],
    )


def h_file(run: Run, places: Places) -> Measurement:
    """Random keys of an HFile with a million entries of a record index's size, beside reading all of them."""
    writer = HFileWriter(block_bytes=1024 * 1024)
    entries = {b"key-%010d" % i: b"%047d" % i for i in range(_ENTRIES)}
    path = Path(places.fresh())
    path.write_bytes(writer.write(entries))
    random = np.random.default_rng(_SEED)
    asked = [b"key-%010d" % i for i in random.choice(_ENTRIES, _ASKED, replace=False)]

    def open_file() -> HFileReader:
        content = memoryview(path.read_bytes())
        return HFileReader.from_bytes(content, path=path.name)

    return run(
        Measurement(SECTION, f"{_ASKED:,} look-ups in an HFile of {_ENTRIES:,} entries", LOOK_UP, limit=H_FILE_LIMIT_S),
        [
            Contender(LOOK_UP, lambda _: open_file().lookup(asked)),
            Contender("all entries", lambda _: open_file().entries()),
        ],
    )


def long_timeline(run: Run, workload: Workload, places: Places) -> Measurement:
    """The latest snapshot's file slices with 10,000 instants, nearly all archived, and with as many as are active."""
    short = places.fresh()
    options = {"hoodie.parquet.bloom.filter.enabled": False}
    schema = workload.few.schema
    table = ds.Table.create(
        short, schema, record_key=RECORD_KEY, partition_by=PARTITION, ordering=ORDERING, options=options
    )
    for number in range(_ACTIVE):
        table.upsert(workload.few.slice(number % workload.few.num_rows, 1))
    long = places.copier(short)()
    archive_before(long, _INSTANTS - _ACTIVE)
    names = (f"{_INSTANTS:,} instants", f"{_ACTIVE} instants")
    return run(
        Measurement(SECTION, "latest file slices, a long timeline", names[0], names[1], TIMELINE_TARGET),
        [
            Contender(name, lambda _, path=path: ds.Table.open(path).file_slices())
            for name, path in zip(names, (long, short), strict=True)
        ],
    )
