"""The embedded engine beside deltalake's writer and hudi-rs's reader, in this process, all with zstd."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, WriterProperties, write_deltalake
from hudi import HudiTable

import drawstring as ds
from drawstring.events import Event
from drawstring_spec.steps import Step

from . import reading, streams
from .measure import Contender, Measurement, alternate
from .places import Places
from .rows import ORDERING, PARTITION, RECORD_KEY, Workload

SECTION = "embedded"
OURS = "drawstring"
_ZSTD = WriterProperties(compression="ZSTD")
_TOGETHER = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL", "hoodie.parquet.small.file.limit": 0}


def create(path: str, schema: pa.Schema, options: Mapping[str, object] | None = None) -> ds.Table:
    """A table of ours for the benchmark's rows."""
    return ds.Table.create(
        path, schema, record_key=RECORD_KEY, partition_by=PARTITION, ordering=ORDERING, options=options
    )


def bulk_insert(path: str, rows: pa.Table, options: Mapping[str, object] | None = None) -> None:
    """A table of ours with these rows."""
    create(path, rows.schema, options).bulk_insert(rows)


def _delta_write(path: str, rows: pa.Table) -> None:
    write_deltalake(path, rows, partition_by=[PARTITION], writer_properties=_ZSTD)


def _delta_merge(path: str, rows: pa.Table) -> None:
    merge = DeltaTable(path).merge(
        rows,
        f"t.{PARTITION} = s.{PARTITION} AND t.{RECORD_KEY} = s.{RECORD_KEY}",
        source_alias="s",
        target_alias="t",
        writer_properties=_ZSTD,
    )
    merge.when_matched_update_all().when_not_matched_insert_all().execute()


def _upsert(path: str, rows: pa.Table) -> None:
    ds.Table.open(path).upsert(rows)


def measure(workload: Workload, places: Places, repeats: int) -> Iterator[Measurement]:
    """Every comparison of this section."""
    run = functools.partial(alternate, repeats=repeats)
    rows = workload.rows

    def writer(name: str, write: Callable[..., None], **arguments: object) -> Contender:
        return Contender(
            name, functools.partial(write, rows=rows, **arguments), prepare=places.fresh, clean_up=places.remove
        )

    yield run(
        Measurement(SECTION, "bulk_insert", OURS, "deltalake write", 1.0),
        [writer(OURS, bulk_insert), writer("deltalake write", _delta_write)],
    )
    ours, delta = places.fresh(), places.fresh()
    bulk_insert(ours, rows)
    _delta_write(delta, rows)
    for title, batch in (
        (f"upsert {workload.many.num_rows:,} keys", workload.many),
        (f"upsert {workload.few.num_rows:,} keys", workload.few),
    ):
        contenders = [
            Contender(name, functools.partial(write, rows=batch), places.copier(source), places.remove)
            for name, write, source in ((OURS, _upsert, ours), ("deltalake merge", _delta_merge, delta))
        ]
        yield run(Measurement(SECTION, title, OURS, "deltalake merge", 1.0), contenders)
    yield run(
        Measurement(SECTION, "snapshot", OURS, "hudi-rs read", 1.0),
        [
            Contender(OURS, lambda _: ds.Table.open(ours).read()),
            Contender("hudi-rs read", lambda _: HudiTable(ours).read()),
        ],
    )
    yield run(
        Measurement(SECTION, "bulk_insert, what gzip costs", "gzip", "zstd"),
        [
            writer("gzip", bulk_insert, options={"hoodie.parquet.compression.codec": "gzip"}),
            writer("zstd", bulk_insert),
        ],
    )
    yield run(
        Measurement(SECTION, "bulk_insert, what the bloom filter costs", "with", "without"),
        [
            writer("with", bulk_insert),
            writer("without", bulk_insert, options={"hoodie.parquet.bloom.filter.enabled": False}),
        ],
    )
    yield key_conflict_check(workload, places, repeats)
    yield from streams.measure(ours, repeats)
    yield from reading.measure(workload, places, repeats, bulk_insert)


def key_conflict_check(workload: Workload, places: Places, repeats: int) -> Measurement:
    """What the conflict checks take under the lock, when another insert of as many new keys completed meanwhile."""
    found = Measurement(
        SECTION,
        f"conflict checks of an insert of {workload.many.num_rows // 2:,} rows beside another",
        "with keys",
        "without keys",
    )
    # Every other key, so that the key ranges of the two writes' files overlap and the keys have to be compared.
    turn = pa.array(range(workload.many.num_rows))
    mine = workload.many.filter(pc.equal(pc.bit_wise_and(turn, 1), 0))
    theirs = workload.many.filter(pc.equal(pc.bit_wise_and(turn, 1), 1))
    for _ in range(repeats):
        for name, is_on in (("with keys", True), ("without keys", False)):
            path = places.fresh()
            options = {**_TOGETHER, "drawstring.write.key.conflict.check": is_on}
            create(path, workload.rows.schema)

            def interfere(event: Event, path: str = path) -> None:
                if event.step is Step.LOOKUP_KEYS:
                    ds.Table.open(path, options=_TOGETHER).insert(theirs)

            result = ds.Table.open(path, options=options, emit=interfere).insert(mine)
            found.seconds.setdefault(name, []).append(result.conflict_check_ms / 1000)
            places.remove(path)
    return found
