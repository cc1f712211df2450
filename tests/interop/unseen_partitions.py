"""Stories of conditions on partitions and on every type, of composite keys, and of change data over replacements."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Final

import pyarrow as pa

from interop.random_choices import GENERATORS, HIVE
from interop.unseen_recording import Recorder
from interop.unseen_story import COW, MOR, ONE_BUCKET, SCHEMA, SIMPLE_INDEX, rows, some, story

PARTITION: Final = "hoodie.datasource.write.partitionpath.field"
GENERATOR: Final = "hoodie.datasource.write.keygenerator.class"
KEYS: Final = "hoodie.datasource.write.recordkey.field"
TIMED: Final = pa.schema([*SCHEMA, ("at", pa.int64()), ("day", pa.date32()), ("text", pa.string())])
DAY_MS: Final = 86_400_000
FIRST_MS: Final = 1_700_000_000_000


def _timebased(kind: str, output: str, **more: str) -> dict[str, str]:
    texts = {"timestamp.type": kind, "output.dateformat": output, "timezone": "UTC", **more}
    return {f"hoodie.keygen.timebased.{name}": text for name, text in texts.items()}


_BY_MILLIS = {PARTITION: "at", GENERATOR: GENERATORS + "TimestampBasedKeyGenerator"}
_BY_TEXT = _timebased("DATE_STRING", "yyyyMMdd", **{"input.dateformat": "yyyy-MM-dd"})
_CUSTOM = {GENERATOR: GENERATORS + "CustomKeyGenerator"}


@story(
    {**ONE_BUCKET, **_timebased("EPOCHMILLISECONDS", "yyyy/MM/dd")},
    names={
        "timestamp": {**MOR, **_BY_MILLIS},
        "timestamp_hive": {**COW, **_BY_MILLIS, HIVE: "true", **_timebased("EPOCHMILLISECONDS", "yyyy-MM-dd")},
        "custom": {**COW, **_CUSTOM, PARTITION: "part:SIMPLE,at:TIMESTAMP"},
        "custom_hive": {
            **MOR,
            **_CUSTOM,
            PARTITION: "at:TIMESTAMP,part:SIMPLE",
            HIVE: "true",
            **_timebased("EPOCHMILLISECONDS", "yyyy-MM-dd"),
        },
        "custom_text": {**COW, **_CUSTOM, **_BY_TEXT, PARTITION: "part:SIMPLE,text:TIMESTAMP"},
        "custom_text_hive": {**MOR, **_CUSTOM, **_BY_TEXT, PARTITION: "text:TIMESTAMP,part:SIMPLE", HIVE: "true"},
        "text": {**MOR, **_BY_TEXT, PARTITION: "text", GENERATOR: GENERATORS + "TimestampBasedKeyGenerator"},
        "custom_simple": {**MOR, **_CUSTOM, PARTITION: "part:SIMPLE,v:SIMPLE", HIVE: "true"},
        "dates": {**MOR, PARTITION: "day", GENERATOR: GENERATORS + "SimpleKeyGenerator"},
        "dates_hive": {**COW, PARTITION: "day", GENERATOR: GENERATORS + "SimpleKeyGenerator", HIVE: "true"},
        "several": {**COW, PARTITION: "part,day,v", GENERATOR: GENERATORS + "ComplexKeyGenerator", HIVE: "true"},
    },
)
def asked_by_partition(tell: Recorder) -> None:
    """Conditions on partition columns that a key generator made, some of them null."""

    def several(keys: range, ts: int) -> pa.Table:
        first = dt.date(2023, 11, 14)
        return rows(
            *(
                (
                    f"k{i}",
                    None if i == 5 else "ab"[i % 2],
                    ts,
                    i % 3,
                    FIRST_MS + DAY_MS * (i // 3),
                    None if i == 6 else first + dt.timedelta(days=i // 3),
                    f"{first + dt.timedelta(days=i // 3)}",
                )
                for i in keys
            ),
            schema=TIMED,
        )

    tell.write("upsert", several(range(9), 10))
    tell.write("upsert", several(range(2, 5), 20))
    tell.ask_filtered("part = 'a'", [["part", "=", "a"]])
    tell.ask_filtered("part is null", [["part", "is_null", None]])
    tell.ask_filtered("part != 'a' and ts > 10", [["part", "!=", "a"], ["ts", ">", 10]], ["id", "v"])
    tell.ask_filtered("v = 1", [["v", "=", 1]])
    tell.ask_filtered("v in (0, 2) and part in ('a')", [["v", "in", [0, 2]], ["part", "in", ["a"]]])
    tell.ask_filtered("day = date'2023-11-15'", [["day", "=", "2023-11-15"]])
    tell.ask_filtered("day < date'2023-11-15'", [["day", "<", "2023-11-15"]], ["day", "id"])
    tell.ask_filtered("day is null", [["day", "is_null", None]])
    texts = tell.options[PARTITION] != "day" and "at" in tell.options[PARTITION]
    middle = FIRST_MS + DAY_MS
    asked = f"'{middle}'" if texts else str(middle)
    tell.ask_filtered(f"at = {asked}", [["at", "=", str(middle) if texts else middle]])
    tell.ask_filtered(f"at > {asked}", [["at", ">", str(middle) if texts else middle]], ["id", "at"])
    tell.ask_filtered("text = '2023-11-15'", [["text", "=", "2023-11-15"]])
    tell.ask_filtered("text > '2023-11-14' and v < 2", [["text", ">", "2023-11-14"], ["v", "<", 2]], ["id", "text"])
    tell.ask_filtered("at is null", [["at", "is_null", None]])


EVERY: Final = pa.schema(
    [
        *SCHEMA,
        ("big", pa.int64()),
        ("small", pa.int16()),
        ("f", pa.float32()),
        ("x", pa.float64()),
        ("dec", pa.decimal128(9, 2)),
        ("wide", pa.decimal128(30, 5)),
        ("at", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("raw", pa.binary()),
        ("yes", pa.bool_()),
        ("st", pa.struct([("a", pa.int32()), ("in", pa.struct([("s", pa.string()), ("d", pa.decimal128(5, 1))]))])),
        ("ls", pa.list_(pa.int32())),
    ]
)


def _every(keys: range, ts: int) -> pa.Table:
    def one(n: int) -> tuple[object, ...]:
        key = (f"k{n:02}", "ab"[n % 2], ts)
        if n % 5 == 4:
            return (*key, *[None] * 13)
        at = dt.datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=dt.UTC) + dt.timedelta(days=n * 2000, microseconds=n)
        nested = (
            None if n % 7 == 3 else {"a": n - 5, "in": None if n % 3 == 2 else {"s": f"s{n}", "d": Decimal(n) / 10}}
        )
        values = (n - 8, 2**40 * (n - 8), n - 8, n / 8 - 1, 0.1 * n, Decimal(n * 25 - 200) / 100)
        return (*key, *values, Decimal(10**20 * (n - 8)), at, at.date(), bytes([n, 255]), n % 2 == 0, nested, [n])

    return rows(*(one(n) for n in keys), schema=EVERY)


@story(
    {},
    names={
        "cow": {**COW, **SIMPLE_INDEX, "hoodie.parquet.small.file.limit": "0"},
        "mor": {**MOR, **SIMPLE_INDEX, "hoodie.parquet.small.file.limit": "0"},
        "buckets": {**MOR, **ONE_BUCKET, "hoodie.bucket.index.num.buckets": "3"},
        "indexed": {
            **MOR,
            **SIMPLE_INDEX,
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.metadata.enable": "true",
            "hoodie.metadata.index.column.stats.enable": "true",
            "hoodie.metadata.index.column.stats.column.list": "id,v,ts,day",
        },
    },
)
def asked_by_value(tell: Recorder) -> None:
    """Conditions on every type, on fields of structs, and on nulls."""
    tell.write("insert", _every(range(10), 10))
    tell.write("insert", _every(range(10, 20), 10))
    tell.write("upsert", _every(range(5, 14, 2), 20))
    tell.write("delete", _every(range(3, 4), 99))
    for sql, value in (("-3", -3), ("4", 4)):
        tell.ask_filtered(f"v >= {sql}", [["v", ">=", value]])
        tell.ask_filtered(f"small < {sql}", [["small", "<", value]])
        tell.ask_filtered(f"big > {sql}", [["big", ">", value]])
    tell.ask_filtered("v != 2", [["v", "!=", 2]])
    tell.ask_filtered("v in (1, 3, 99)", [["v", "in", [1, 3, 99]]])
    tell.ask_filtered("v is null or v not in (1, 3)", [["v", "not in", [1, 3]]])
    tell.ask_filtered("v is null", [["v", "is_null", None]])
    tell.ask_filtered("v is not null and yes", [["v", "is_valid", None], ["yes", "=", True]])
    tell.ask_filtered("not yes", [["yes", "=", False]])
    tell.ask_filtered("f > cast(0.5 as float)", [["f", ">", 0.5]])
    tell.ask_filtered("x <= 0.5D", [["x", "<=", 0.5]])
    tell.ask_filtered("dec = -1.75", [["dec", "=", "-1.75"]])
    tell.ask_filtered("dec > 0.5", [["dec", ">", "0.5"]])
    tell.ask_filtered("wide < 0", [["wide", "<", "0"]])
    tell.ask_filtered("day < date'1990-01-01'", [["day", "<", "1990-01-01"]])
    tell.ask_filtered("at >= timestamp'2001-01-01 00:00:00'", [["at", ">=", "2001-01-01T00:00:00Z"]])
    tell.ask_filtered("raw = x'06ff'", [["raw", "is_valid", None], ["id", "=", "k06"]])
    tell.ask_filtered("st.a > 3", [[["st", "a"], ">", 3]])
    tell.ask_filtered("st.in.s = 's7'", [[["st", "in", "s"], "=", "s7"]], ["id", "st"])
    tell.ask_filtered("st.in.d is null", [[["st", "in", "d"], "is_null", None]], ["id"])
    tell.ask_filtered("st is null", [["st", "is_null", None]])
    tell.ask_filtered("id > 'k05' and part = 'b' and v < 7", [["id", ">", "k05"], ["part", "=", "b"], ["v", "<", 7]])
    tell.ask_filtered("_hoodie_record_key = 'k08'", [["_hoodie_record_key", "=", "k08"]])


TWO: Final = pa.schema([("id", pa.string()), ("id2", pa.string()), ("id3", pa.int64()), *list(SCHEMA)[1:]])


@story(
    {KEYS: "id,id2", GENERATOR: GENERATORS + "ComplexKeyGenerator"},
    names={
        "cow": {**COW, **SIMPLE_INDEX},
        "mor": {**MOR, **SIMPLE_INDEX},
        "three": {**MOR, **ONE_BUCKET, KEYS: "id3,id,id2"},
        "unpartitioned": {**MOR, **SIMPLE_INDEX, PARTITION: "", GENERATOR: GENERATORS + "NonpartitionedKeyGenerator"},
        "nowhere": {**COW, **SIMPLE_INDEX, PARTITION: ""},
        "bloom": {**COW, "hoodie.index.type": "BLOOM"},
        "hashed": {
            **MOR,
            **ONE_BUCKET,
            "hoodie.bucket.index.num.buckets": "3",
            "hoodie.bucket.index.hash.field": "id2",
        },
    },
)
def two_keys(tell: Recorder) -> None:
    """Keys of several fields with nulls, empty texts, commas and colons, such that two rows have nearly one key."""
    keys = (
        ("a", None, 1),
        ("a", "", 2),
        (None, "a", 3),
        ("", "a", 4),
        ("x", "y,id2:z", 5),
        ("x,id2:y", "z", 6),
        (":", ",", 7),
        ("__null__", "__empty__", 8),
    )

    def each(ts: int, v: int, chosen: range) -> pa.Table:
        return rows(*((*keys[i], "ab"[i % 2], ts, v + i) for i in chosen), schema=TWO)

    tell.write("upsert", each(10, 0, range(8)))
    tell.write("upsert", each(20, 100, range(0, 8, 2)))
    tell.write("upsert", each(5, 200, range(4, 8)))
    tell.write("delete", each(99, 0, range(1, 6, 3)))
    if tell.options["hoodie.datasource.write.table.type"] == "MERGE_ON_READ":
        tell.service("compaction")
    tell.write("upsert", each(30, 300, range(0, 8, 3)))
    tell.ask_filtered("id is null", [["id", "is_null", None]])
    tell.ask_filtered("id2 = ''", [["id2", "=", ""]])


@story(
    {**COW, **SIMPLE_INDEX, "hoodie.table.cdc.enabled": "true", "hoodie.clean.automatic": "false"},
    names={
        mode.lower(): {"hoodie.table.cdc.supplemental.logging.mode": mode}
        for mode in ("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER")
    },
    cdc=True,
)
def changes_over_replacements(tell: Recorder) -> None:
    """Change data where clustering, overwrites and deletes of a partition replace files in between."""
    both = [some(range(5), 10, 0), some(range(5, 9), 10, 0, "b")]
    tell.write("insert", pa.concat_tables(both))
    tell.write("upsert", pa.concat_tables([some(range(2), 20, 100), some(range(8, 10), 20, 100, "b")]))
    tell.service("clustering")
    tell.write("upsert", some(range(1, 4), 30, 200))
    tell.write("insert_overwrite", some(range(6, 8), 30, 300, "b"))
    tell.write("delete", some(range(4, 5), 99, 0))
    tell.write("delete_partition", some(range(1), 1, 0), hoodie__datasource__write__partitions__to__delete="a")
    tell.write("upsert", pa.concat_tables([some(range(2), 40, 400), some(range(7, 8), 40, 400, "b")]))
    tell.write("insert_overwrite_table", some(range(3), 50, 500, "c"))
    tell.write("upsert", some(range(1, 4), 60, 600, "c"))
    writes = [i for i in tell.java.timeline(tell.path) if i["completion_time"]]
    for first, last in itertools.pairwise(writes):
        tell.ask(type="cdc", start=first["requested_time"], end=last["completion_time"])
