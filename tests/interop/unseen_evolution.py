"""Stories of schemas that change over log files, of SQL that updates some columns, and of what orders records."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

import pyarrow as pa

from interop.unseen_recording import Recorder
from interop.unseen_story import BY_ID, COW, MOR, ONE_BUCKET, SCHEMA, SIMPLE_INDEX, rows, some, story

MODE: Final = "hoodie.write.record.merge.mode"
PARTIAL: Final = "hoodie.spark.sql.merge.into.partial.updates"
WHOLE: Final = {PARTIAL: "false"}


def _schema(*fields: tuple[str, pa.DataType]) -> pa.Schema:
    return pa.schema([*SCHEMA, *fields])


OLD: Final = _schema(
    ("st", pa.struct([("a", pa.int32()), ("f", pa.float32()), ("in", pa.struct([("x", pa.int32())]))])),
    ("ls", pa.list_(pa.struct([("n", pa.int32())]))),
    ("m", pa.map_(pa.string(), pa.int32())),
    ("i", pa.int32()),
    ("f", pa.float32()),
)
WIDER: Final = _schema(
    (
        "st",
        pa.struct(
            [
                ("a", pa.int64()),
                ("f", pa.float64()),
                ("in", pa.struct([("x", pa.int64()), ("y", pa.string())])),
                ("new", pa.list_(pa.string())),
            ]
        ),
    ),
    ("ls", pa.list_(pa.struct([("n", pa.int64()), ("o", pa.bool_())]))),
    ("m", pa.map_(pa.string(), pa.int64())),
    ("i", pa.float64()),
    ("f", pa.float64()),
    ("added", pa.struct([("p", pa.int32())])),
)


def _old(keys: range, ts: int) -> pa.Table:
    return rows(
        *(
            (
                f"k{n}",
                "a",
                ts,
                n,
                None if n == 3 else {"a": n, "f": n / 4, "in": None if n == 2 else {"x": -n}},
                [{"n": n}, {"n": None}],
                [("z", n)],
                2**30 + n,
                0.1 * n,
            )
            for n in keys
        ),
        schema=OLD,
    )


def _wider(keys: range, ts: int) -> pa.Table:
    return rows(
        *(
            (
                f"k{n}",
                "a",
                ts,
                n,
                {"a": 2**40 + n, "f": n / 3, "in": {"x": 2**33, "y": "y"}, "new": ["q"] * (n % 3)},
                [{"n": 2**50, "o": True}],
                [("z", 2**34), ("w", None)],
                n / 7,
                0.1 * n,
                {"p": n} if n % 2 else None,
            )
            for n in keys
        ),
        schema=WIDER,
    )


@story(
    {"hoodie.datasource.write.reconcile.schema": "false"},
    names={
        "buckets": {**MOR, **ONE_BUCKET},
        "positions": {**MOR, **SIMPLE_INDEX},
        "parquet": {**MOR, **ONE_BUCKET, "hoodie.logfile.data.block.format": "parquet"},
        "cow": {**COW, **SIMPLE_INDEX},
    },
)
def wider_inside(tell: Recorder) -> None:
    """Types get wider and fields are added inside of structs, lists and maps, while older records lie in log files."""
    tell.write("upsert", _old(range(6), 10))
    tell.write("upsert", _old(range(2, 5), 20))
    tell.write("upsert", _wider(range(1, 3), 30))
    tell.write("upsert", _wider(range(4, 5), 15))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", _wider(range(5, 8), 40))


AMOUNTS: Final = _schema(
    ("d", pa.decimal128(6, 2)),
    ("n", pa.int32()),
    ("old", pa.string()),
    ("st", pa.struct([("a", pa.int32()), ("b", pa.string()), ("e", pa.decimal128(4, 1))])),
)


@story(
    {**BY_ID, "hoodie.datasource.write.reconcile.schema": "true"},
    names={"buckets": {**MOR, **ONE_BUCKET}, "positions": {**MOR, **SIMPLE_INDEX}, "cow": {**COW, **SIMPLE_INDEX}},
    read_options=BY_ID,
)
def altered(tell: Recorder) -> None:
    """Columns are renamed, dropped and get more digits by SQL, log files of before beside those of after."""

    def before(keys: range, ts: int) -> pa.Table:
        return rows(
            *(
                (f"k{n}", "a", ts, n, Decimal(n) / 4, n, f"o{n}", {"a": n, "b": f"b{n}", "e": Decimal(n) / 10})
                for n in keys
            ),
            schema=AMOUNTS,
        )

    settings = {"hoodie__schema__on__read__enable": "true"}
    tell.write("upsert", before(range(6), 10))
    tell.write("upsert", before(range(2), 20))
    tell.sql("alter table {table} alter column d type decimal(12,2)", **settings)
    tell.sql("alter table {table} alter column n type bigint", **settings)
    tell.sql("alter table {table} rename column old to new", **settings)
    tell.sql("alter table {table} drop column st.a", **settings)
    after = _schema(
        ("d", pa.decimal128(12, 2)),
        ("n", pa.int64()),
        ("new", pa.string()),
        ("st", pa.struct([("b", pa.string()), ("e", pa.decimal128(4, 1))])),
    )

    def changed(keys: range, ts: int) -> pa.Table:
        return rows(
            *(
                (f"k{n}", "a", ts, n, Decimal(10**8 + n), 2**40 + n, f"n{n}", {"b": f"c{n}", "e": Decimal(n) / 10})
                for n in keys
            ),
            schema=after,
        )

    tell.write("upsert", changed(range(1, 4), 30))
    tell.write("upsert", changed(range(3, 8), 5))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.sql("alter table {table} drop column new", **settings)
    tell.sql("alter table {table} add columns (new int)", **settings)
    last = rows(
        *((f"k{n}", "a", 50, n, Decimal(n), n, {"b": "e", "e": None}, n) for n in range(2)),
        schema=pa.schema([*list(after)[:6], after.field("st"), ("new", pa.int32())]),
    )
    tell.write("upsert", last)


@story(
    {**MOR, "hoodie.parquet.small.file.limit": "0"},
    names={
        "partial": ONE_BUCKET,
        "buckets": {**ONE_BUCKET, **WHOLE},
        "positions": {**SIMPLE_INDEX, **WHOLE},
        "commit": {**SIMPLE_INDEX, **WHOLE, MODE: "COMMIT_TIME_ORDERING"},
        "metadata": {**SIMPLE_INDEX, **WHOLE, "hoodie.metadata.enable": "true"},
    },
)
def sql_changes(tell: Recorder) -> None:
    """MERGE INTO of some columns with inserts and deletes, UPDATE and DELETE, between compactions; then clustering."""
    schema = _schema(("s", pa.string()), ("d", pa.decimal128(8, 2)), ("l", pa.list_(pa.int32())))
    first = ((f"k{i}", "ab"[i % 2], 10, i, f"s{i}", Decimal(i) / 4, [i]) for i in range(8))
    tell.write("bulk_insert", rows(*first, schema=schema))
    merge = (
        "merge into {table} t using (select * from values ('k0', 'a', 20L, 100), ('k1', 'b', 5L, 101), "
        "('k2', 'a', 30L, -1), ('k9', 'b', 20L, 109) as x(id, part, ts, v)) s on t.id = s.id "
        "when matched and s.v < 0 then delete "
        "when matched then update set id = s.id, v = s.v, ts = s.ts "
        "when not matched then insert (id, part, ts, v, s, d, l) values (s.id, s.part, s.ts, s.v, null, 1.5, null)"
    )
    tell.sql(merge)
    tell.sql("update {table} set s = concat(s, '!'), d = d * 2 where v > 3")
    if tell.options.get("hoodie.index.type") == "BUCKET":
        tell.service("compaction")
    merge = (
        "merge into {table} t using (select 'k0' as id, 'a' as part, {ts}L as ts, {value} as x) s on t.id = s.id "
        "when matched then update set id = s.id, {field} = s.x, ts = s.ts"
    )
    for ts, field, value in ((40, "s", "'late'"), (35, "l", "array(1, 2)"), (45, "d", "cast(null as decimal(8,2))")):
        statement = merge.replace("{ts}", str(ts)).replace("{field}", field).replace("{value}", value)
        tell.sql(statement)
    tell.service("compaction")
    tell.sql("delete from {table} where id in ('k3', 'k9')")
    tell.sql("update {table} set v = v + 1000 where part = 'b'")
    tell.service("compaction")
    if tell.options.get("hoodie.index.type") != "BUCKET":
        tell.service("clustering")
    tell.sql("update {table} set l = array(7) where id = 'k5'")


@story(
    {MODE: "COMMIT_TIME_ORDERING"},
    names={"buckets": {**MOR, **ONE_BUCKET}, "positions": {**MOR, **SIMPLE_INDEX}, "cow": {**COW, **SIMPLE_INDEX}},
)
def order_of_commits(tell: Recorder) -> None:
    """Records and deletes whose ordering values go backwards, where the order of commits decides."""
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))

    def each(keys: range, ts: int, v: int, *, deleted: bool = False) -> pa.Table:
        return rows(*((f"k{i}", "a", ts, v + i, deleted) for i in keys), schema=schema)

    tell.write("upsert", each(range(8), 100, 0))
    tell.write("upsert", each(range(4), 50, 100))
    tell.write("delete", each(range(1), 1, 0))
    tell.write("upsert", pa.concat_tables([each(range(1, 3), 40, 200, deleted=True), each(range(4, 6), 10, 200)]))
    tell.write("upsert", pa.concat_tables([each(range(5, 7), 5, 300), each(range(5, 7), 9, 350)]))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", each(range(2), 2, 400))
    tell.write("delete", each(range(6, 8), 1, 0))
    tell.write("upsert", each(range(7, 8), -5, 500))


@story(
    {MODE: "EVENT_TIME_ORDERING"},
    names={"buckets": {**MOR, **ONE_BUCKET}, "positions": {**MOR, **SIMPLE_INDEX}, "cow": {**COW, **SIMPLE_INDEX}},
)
def no_event_time(tell: Recorder) -> None:
    """Null ordering values among others, in base files, log files and deletes."""
    schema = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))

    def one(i: int, ts: int | None, v: int, *, deleted: bool = False) -> tuple[object, ...]:
        return (f"k{i}", "a", ts, v, deleted)

    # Java refuses a null in a record that it merges, and takes it in one that it inserts.
    tell.write("bulk_insert", rows(*(one(i, None if i % 2 else 10, i) for i in range(8)), schema=schema))
    tell.write("upsert", rows(*(one(i, 5, 100 + i) for i in range(4)), schema=schema))
    tell.write("upsert", rows(*(one(i, 0, 200 + i, deleted=True) for i in range(4, 6)), schema=schema))
    tell.write("upsert", rows(*(one(i, 1, 300 + i) for i in (1, 4)), schema=schema))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", rows(*(one(i, 7, 400 + i) for i in (0, 3, 6)), schema=schema))
    tell.write("delete", some(range(1), 0, 0))


@story(
    {**MOR, "hoodie.log.compaction.enable": "true", "hoodie.log.compaction.blocks.threshold": "2"},
    names={
        "parquet": {**ONE_BUCKET, "hoodie.logfile.data.block.format": "parquet"},
        "parquet_commit": {**ONE_BUCKET, "hoodie.logfile.data.block.format": "parquet", MODE: "COMMIT_TIME_ORDERING"},
        "positions": SIMPLE_INDEX,
        "positions_commit": {**SIMPLE_INDEX, MODE: "COMMIT_TIME_ORDERING"},
    },
)
def compacted_logs(tell: Recorder) -> None:
    """Log files are compacted into one another, with updates and deletes before, between and after; then compaction."""
    inline = {"hoodie__log__compaction__inline": "true"}
    marked = SCHEMA.append(pa.field("_hoodie_is_deleted", pa.bool_()))

    def each(keys: range, ts: int, v: int, *, deleted: bool = False) -> pa.Table:
        return rows(*((f"k{i}", "a", ts, v + i, deleted) for i in keys), schema=marked)

    tell.write("upsert", each(range(8), 10, 0))
    tell.write("upsert", each(range(4), 20, 100))
    tell.write("upsert", each(range(2), 30, 150, deleted=True))
    tell.write("upsert", each(range(1, 6), 15, 200), **inline)
    tell.write("upsert", each(range(5, 7), 40, 250, deleted=True))
    tell.write("upsert", each(range(0, 6, 2), 35, 300), **inline)
    tell.write("upsert", each(range(6, 7), 50, 350), **inline)
    tell.service("compaction")
    tell.write("upsert", each(range(3), 60, 500))


@story({**COW, **SIMPLE_INDEX, "hoodie.table.cdc.enabled": "true"}, cdc=True)
def changes_widened_cow(tell: Recorder) -> None:
    """Change data that was logged before a column was added and another became wider."""
    tell.write("insert", some(range(4), 1, 0))
    tell.write("upsert", rows(("k000", "a", 2, 50), ("k009", "a", 2, 9)))
    wide = pa.schema([*SCHEMA.set(3, pa.field("v", pa.float64())), ("w", pa.string())])
    tell.write("upsert", rows(("k001", "a", 2, 51.5, "new"), schema=wide))
