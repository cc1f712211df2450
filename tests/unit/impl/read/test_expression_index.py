"""Files that an index of an expression rules out are not opened; where its function is not certain, all are."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.bloom import BloomFilter, BloomParameters
from drawstring.files import LogFile
from drawstring.metadata import MetadataTable
from drawstring.metadata.keys import bloom_filter_key
from drawstring.read import expression_index
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.statistics import Bounds
from drawstring.read.view import load_snapshot
from drawstring_spec.footers import BLOOM_FILTER
from unit.impl.metadata.made import MadeMetadataTable, files, stats, stats_key
from unit.impl.read.tables import HandMadeTable, avro_text

NUM_FILES = 12
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("name", pa.string()),
        ("at", pa.int64()),
        ("born", pa.date32()),
        ("day", pa.string()),
    ]
)
INDEX = "expr_index_i"
DEFINITIONS = ".hoodie/.index_defs/index.json"
MONTH = 30 * 86400


def row(i):
    """The only row of file i."""
    values = {"id": str(i), "name": f" Name{i:02} ", "at": i * MONTH, "born": dt.date(1990 + i, 5, 5), "day": "p"}
    return pa.Table.from_pylist([values], schema=SCHEMA)


def make(function, column, entry, *, kind="column_stats", **options):
    """A table of one row per file, and an index of an expression.

    `entry` makes the index's record of a file of its name and number.
    """
    table = HandMadeTable(schema=SCHEMA, properties={"hoodie.table.index.defs.path": DEFINITIONS})
    named = [table.base_file("p", f"f{i}-0", 1, row(i)) for i in range(NUM_FILES)]
    table.commit(1, 2, writes={"p": named}, schema=avro_text(SCHEMA))
    made = MadeMetadataTable(table, "files", INDEX)
    sizes = {name: len(table.storage.files[f"p/{name}"][0]) for name in named}
    made.base("files", {"p": files(**sizes), "__all_partitions__": files(p=0)})
    key_of = bloom_filter_key if kind == "bloom_filters" else lambda *file: stats_key(column, *file)
    entries = {key_of("p", name): entry(name, i) for i, name in enumerate(named)}
    made.base(INDEX, {key: one for key, one in entries.items() if one}, groups=2)
    definition = {"indexType": kind, "indexFunction": function, "sourceFields": [column], "indexOptions": options}
    table.storage.put(DEFINITIONS, json.dumps({"indexDefinitions": {INDEX: definition}}).encode())
    return made


def text_stats(column, of):
    return lambda name, i: stats(name, column, of(i), of(i), kind="StringWrapper")


def found(made, condition, slices=lambda one: one):
    """Ids of the rows that a read returns, and how many base files it opened."""
    paths = set()
    read = made.storage.read

    def count(path, *rest):
        paths.add(path)
        return read(path, *rest)

    made.storage.read = count
    context = made.table.context()
    rows = read_snapshot(context, slices(load_snapshot(context)), filter=condition)
    made.storage.read = read
    return sorted(map(int, rows["id"].to_pylist())), len([path for path in paths if path.endswith(".parquet")])


@pytest.mark.parametrize(
    ("function", "of"),
    [
        ("identity", lambda text: text),
        ("lower", str.lower),
        ("upper", str.upper),
        ("trim", str.strip),
        ("ltrim", str.lstrip),
        ("rtrim", str.rstrip),
    ],
)
def test_a_value_is_looked_for_by_the_function_of_it(function, of):
    made = make(function, "name", text_stats("name", lambda i: of(f" Name{i:02} ")), expr=function)
    assert found(made, [("name", "=", " Name03 ")]) == ([3], 1)
    assert found(made, [("name", "in", [" Name03 ", " Name05 ", "name03"]), ("at", ">", 0)]) == ([3, 5], 2)


def test_a_value_that_no_file_has_opens_none():
    made = make("lower", "name", text_stats("name", lambda i: f" name{i:02} "))
    assert found(made, [("name", "=", "Zoe")]) == ([], 0)


def test_bloom_filters_of_a_function_are_asked_for_the_function_of_a_value():
    def entry(name, i):
        bloom = BloomFilter.empty(BloomParameters(num_entries=10, false_positive_rate=1e-9))
        bloom.add(pa.array([f" NAME{i:02} "]))
        made = bloom.to_footer()
        record = {"type": "DYNAMIC_V0", "timestamp": "0", "bloomFilter": made[BLOOM_FILTER].encode()}
        return {"type": 4, "BloomFilterMetadata": {**record, "isDeleted": False}}

    made = make("upper", "name", entry, kind="bloom_filters")
    assert found(made, [("name", "=", " Name07 ")]) == ([7], 1)
    assert found(made, [("name", ">=", " Name07 ")]) == ([7, 8, 9, 10, 11], NUM_FILES)


def day_of(i):
    return dt.datetime.fromtimestamp(i * MONTH, dt.UTC).strftime("%Y-%m-%d")


def test_days_of_seconds_are_bounds_of_the_seconds():
    made = make("from_unixtime", "at", text_stats("at", day_of), expr="from_unixtime", format="yyyy-MM-dd")
    assert found(made, pc.field("at") >= 10 * MONTH) == ([10, 11], 2)
    assert found(made, [("at", "<", MONTH // 2)]) == ([0], 1)
    assert found(made, pc.field("at") == 4 * MONTH) == ([4], 1)


def test_years_of_dates_are_bounds_of_the_dates():
    def years(name, i):
        return stats(name, "born", 1990 + i, 1990 + i, kind="IntWrapper")

    made = make("year", "born", years)
    assert found(made, pc.field("born") > dt.date(1999, 12, 31)) == ([10, 11], 2)
    assert found(made, pc.field("born") == dt.date(1992, 5, 5)) == ([2], 1)


@pytest.mark.parametrize(
    ("function", "column", "options", "condition", "rows"),
    [
        ("lower", "name", {}, [("name", ">", " Name10 ")], [11]),
        ("lower", "name", {}, pc.field("name") == " Name10 ", [10]),
        ("lower", "name", {}, [("name", "=", "\u212aelvin")], []),
        ("lower", "name", {}, [[("name", "=", " Name10 ")], [("at", "=", MONTH)]], [1, 10]),
        ("trim", "name", {"trimString": "N"}, [("name", "=", " Name10 ")], [10]),
        ("reverse", "name", {}, [("name", "=", " Name10 ")], [10]),
        ("from_unixtime", "at", {"format": "dd.MM.yyyy"}, [("at", "=", MONTH)], [1]),
        ("day", "born", {}, [("born", "=", dt.date(1992, 5, 5))], [2]),
        ("lower", "name", {}, [("at", "=", MONTH)], [1]),
    ],
    ids=[
        "no value is asked for",
        "an expression",
        "a letter with several cases",
        "one or the other",
        "an option",
        "an unknown function",
        "a format that does not order",
        "a function that comes round again",
        "another column",
    ],
)
def test_what_is_not_certain_opens_every_file(function, column, options, condition, rows):
    made = make(function, column, text_stats(column, lambda i: "!"), expr=function, **options)
    assert found(made, condition) == (rows, NUM_FILES)


def test_a_file_that_the_index_does_not_know_is_opened():
    def entry(name, i):
        return stats(name, "name", "a", "b", kind="StringWrapper") if i != 6 else None

    assert found(make("lower", "name", entry), [("name", "=", " Name06 ")]) == ([6], 1)


def test_slices_with_log_files_are_read_whatever_the_index_says():
    made = make("lower", "name", text_stats("name", lambda i: "a"))
    context = made.table.context()
    snapshot = load_snapshot(context)
    log = LogFile("p/.f1.log", snapshot.slices[0].group, snapshot.as_of, 1)
    with_log = [dataclasses.replace(one, log_files=(log,)) for one in snapshot.slices[:1]]
    metadata = MetadataTable.open(context)
    condition = [("name", "=", "Zoe")]
    kept = expression_index.slices_by_expression_indexes(
        context,
        metadata,
        [*with_log, *snapshot.slices[1:]],
        [SCHEMA.field("name")],
        SCHEMA,
        pc.field("name") == "Zoe",
        condition,
    )
    assert kept == tuple(with_log)


def test_an_index_that_is_not_complete_is_not_asked():
    made = make("lower", "name", text_stats("name", lambda i: "a"))
    made.table.change_properties({"hoodie.table.metadata.partitions": "files"})
    assert found(made, [("name", "=", " Name06 ")]) == ([6], NUM_FILES)


def test_an_index_that_is_still_being_built_is_passed_over_beside_one_that_is_complete():
    made = make("lower", "name", text_stats("name", lambda i: f" name{i:02} "))
    definitions = json.loads(made.storage.files[DEFINITIONS][0])
    definitions["indexDefinitions"]["expr_index_built"] = definitions["indexDefinitions"][INDEX]
    made.storage.put(DEFINITIONS, json.dumps(definitions).encode())
    assert found(made, [("name", "=", " Name06 ")]) == ([6], 1)


def test_a_file_that_has_only_nulls_has_no_value():
    def entry(name, i):
        if i == 6:
            return stats(name, "name", None, None, kind="StringWrapper", count=3, nulls=3)
        return stats(name, "name", "x", "y", kind="StringWrapper")

    assert found(make("lower", "name", entry), [("name", "=", "b")]) == ([], 0)


TIMES = st.lists(st.integers(-2_000_000_000, 200_000_000_000), min_size=1, max_size=5)
ZONES = st.integers(-18 * 3600, 18 * 3600)


def never_loses_a_second(seconds, offset, form):
    """Whether bounds that are made of texts of some seconds, in some zone, hold for the seconds."""
    python_form, texts, lasts = expression_index._FORMATS[form]
    zone = dt.timezone(dt.timedelta(seconds=offset)) if abs(offset) < 86400 else dt.UTC
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    written = sorted((epoch + dt.timedelta(seconds=s)).astimezone(zone).strftime(python_form) for s in seconds)
    nothing = np.zeros(1, np.bool_)
    bounds = Bounds(pa.array(written[:1]), pa.array(written[-1:]), nothing, nothing)
    known = expression_index._seconds(bounds, python_form, texts, lasts)
    least, greatest = known.least[0].as_py(), known.greatest[0].as_py()
    return least is not None and least <= min(seconds) and max(seconds) <= greatest


@given(TIMES, ZONES, st.sampled_from(sorted(expression_index._FORMATS)))
def test_seconds_are_inside_of_the_bounds_that_their_texts_give_in_any_zone(seconds, offset, form):
    assert never_loses_a_second(seconds, offset, form)


@pytest.mark.parametrize("planted", ["_ZONE", "_FORMATS"])
def test_bounds_without_room_for_the_zone_or_for_the_rest_of_the_day_are_noticed(planted, monkeypatch):
    day = expression_index._FORMATS["yyyy-MM-dd"]
    bugs = {"_ZONE": dt.timedelta(0), "_FORMATS": {"yyyy-MM-dd": (*day[:2], dt.timedelta(0))}}
    monkeypatch.setattr(expression_index, planted, bugs[planted])
    assert not never_loses_a_second([36_000], -18 * 3600, "yyyy-MM-dd")


@pytest.mark.parametrize("bound", ["+10000-01-01", "10000-01-01", "-0001-01-01", "2024-1-1", ""])
def test_years_without_four_digits_are_no_bounds(bound):
    nothing = np.zeros(1, np.bool_)
    for least, greatest in [(bound, "2024-01-01"), ("2024-01-01", bound)]:
        bounds = Bounds(pa.array([least]), pa.array([greatest]), nothing, nothing)
        known = expression_index._seconds(bounds, *expression_index._FORMATS["yyyy-MM-dd"])
        assert (known.least.to_pylist(), known.greatest.to_pylist()) == ([None], [None])
