"""Files that statistics rule out are not opened, and rows that they cannot rule out are never lost."""

from __future__ import annotations

import dataclasses

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from drawstring.data.bloom import BloomFilter, BloomParameters
from drawstring.files import LogFile
from drawstring.metadata.keys import bloom_filter_key, hashed_name
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.changes import changes
from drawstring.read.index_lookup import slices_by_bloom_filters
from drawstring.read.lookup import lookup_rows
from drawstring.read.view import load_snapshot
from drawstring_spec.footers import BLOOM_FILTER
from unit.impl.metadata.made import MadeMetadataTable, files, location, stats, stats_key
from unit.impl.read.tables import HandMadeTable, a_row

NUM_FILES = 20


def make(entry=lambda name, i: stats(name, "n", i, i, kind="IntWrapper"), *, partitions=("files", "column_stats")):
    """A table of one row per file: row i has n = i and the text and the key f<i>-0."""
    table = HandMadeTable()
    named = [table.base_file("p", f"f{i}-0", 1, a_row(f"f{i}-0", i, "p")) for i in range(NUM_FILES)]
    table.commit(1, 2, writes={"p": named})
    made = MadeMetadataTable(table, *partitions)
    sizes = {name: len(table.storage.files[f"p/{name}"][0]) for name in named}
    made.base("files", {"p": files(**sizes), "__all_partitions__": files(p=0)})
    entries = {name: entry(name, i) for i, name in enumerate(named)}
    made.base("column_stats", {stats_key("n", "p", name): one for name, one in entries.items() if one}, groups=2)
    return made


def opened(made: MadeMetadataTable, ask) -> tuple[list[int], set[str]]:
    paths: set[str] = set()
    read = made.storage.read

    def count(path, *rest):
        paths.add(path)
        return read(path, *rest)

    made.storage.read = count
    rows = ask(made.table.context())
    made.storage.read = read
    return sorted(rows["n"].to_pylist()), {path for path in paths if path.endswith(".parquet")}


def ask(condition):
    return lambda context: read_snapshot(context, load_snapshot(context), filter=condition)


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (pc.field("n") >= 18, [18, 19]),
        ([("n", "=", 3)], [3]),
        ([[("n", "=", 3)], [("n", "=", 5)]], [3, 5]),
        (pc.field("n").isin([7, 99]), [7]),
        (~(pc.field("n") < 19), [19]),
        ((pc.field("n") == 4) & (pc.field("id") == "f4-0"), [4]),
        (pc.field("n") > 100, []),
        (pc.field("n").is_null(), []),
    ],
)
def test_a_filter_that_excludes_nine_files_of_ten_opens_one(condition, rows):
    found, paths = opened(make(), ask(condition))
    assert found == rows
    assert len(paths) == len(rows) <= NUM_FILES // 10


@pytest.mark.parametrize(
    "entry",
    [
        lambda name, i: None,
        lambda name, i: stats(name, "n", None, None, count=1, nulls=0),
        lambda name, i: stats(name, "n", "0", "9", kind="StringWrapper"),
        lambda name, i: stats(name, "n", 0, 2**40, kind="LongWrapper"),
    ],
    ids=["no statistics", "no bounds", "bounds of another type", "bounds that do not fit"],
)
def test_a_file_without_usable_bounds_is_read(entry):
    found, paths = opened(make(entry), ask(pc.field("n") == 3))
    assert (found, len(paths)) == ([3], NUM_FILES)


def test_a_file_of_nulls_is_left_out_unless_nulls_are_asked_for():
    made = make(lambda name, i: stats(name, "n", None, None, count=1, nulls=1))
    assert len(opened(made, ask(pc.field("n") == 3))[1]) == 0
    assert len(opened(made, ask(pc.field("n").is_null()))[1]) == NUM_FILES


def test_bounds_do_not_leave_nulls_out():
    made = make(lambda name, i: stats(name, "n", i, i, kind="IntWrapper", count=2, nulls=1))
    condition = pc.field("n").is_null() | (pc.field("n") == 3)
    assert len(opened(made, ask(condition))[1]) == NUM_FILES


def test_text_whose_order_java_sees_differently_is_no_bound():
    late = lambda name, i: stats(name, "id", "a", "\uffff", kind="StringWrapper")  # noqa: E731 -- as short as the others
    table = make(lambda name, i: None)
    names = [p.removeprefix("p/") for p in table.storage.files if p.startswith("p/f")]
    table.base("column_stats", {stats_key("id", "p", name): late(name, 0) for name in names})
    assert len(opened(table, ask(pc.field("id") > "\U0001f600"))[1]) == NUM_FILES
    assert len(opened(table, ask(pc.field("id") < "Z"))[1]) == 0


def test_a_filter_on_a_column_without_statistics_reads_everything():
    found, paths = opened(make(), ask(pc.field("id") == "f3-0"))
    assert (found, len(paths)) == ([3], NUM_FILES)


def test_without_the_metadata_table_everything_is_read():
    made = make()
    made.table.change_properties({"hoodie.table.metadata.partitions": None})
    found, paths = opened(made, ask(pc.field("n") == 3))
    assert (found, len(paths)) == ([3], NUM_FILES)


def keyed() -> MadeMetadataTable:
    """As `make`, with the record key k<i> in file i and a record index."""
    made = make(partitions=("files", "record_index"))
    made.base("record_index", {f"f{i}-0": location("p", f"f{i}-0") for i in range(NUM_FILES)}, groups=4)
    for path in [p for p in made.storage.files if p.startswith("p/f")]:
        import io

        import pyarrow.parquet as pq

        rows = pq.read_table(io.BytesIO(made.storage.files[path][0]))
        sink = io.BytesIO()
        pq.write_table(rows.set_column(2, "_hoodie_record_key", rows["id"]), sink)
        made.storage.put(path, sink.getvalue())
    sizes = {p.removeprefix("p/"): len(b[0]) for p, b in made.storage.files.items() if p.startswith("p/f")}
    made.base("files", {"p": files(**sizes), "__all_partitions__": files(p=0)})
    return made


def look_up(keys, **query):
    return lambda context: lookup_rows(context, load_snapshot(context), keys, **query)


@pytest.mark.parametrize(
    "keys", [["f3-0", "f9-0", "no such key"], pa.array(["f3-0", "f9-0"]), pa.table({"id": ["f3-0", "f9-0"]})]
)
def test_a_look_up_opens_the_file_groups_of_its_keys_and_no_others(keys):
    found, paths = opened(keyed(), look_up(keys))
    assert found == [3, 9]
    assert {path.split("-")[0] for path in paths} == {"p/f3", "p/f9"}


def test_a_look_up_of_nothing_opens_nothing():
    assert opened(keyed(), look_up([])) == ([], set())


def test_a_look_up_without_an_index_finds_the_same_rows():
    made = keyed()
    made.table.change_properties({"hoodie.table.metadata.partitions": None})
    found, paths = opened(made, look_up(["f3-0", "f9-0"]))
    assert (found, len(paths)) == ([3, 9], NUM_FILES)


def test_a_look_up_trusts_no_index_that_is_ahead_of_the_snapshot():
    made = keyed()
    made.delta_commit("20240101000000003")
    made.log("record_index", "20240101000000003", {"f3-0": location("p", "a-new-one-0")}, group=java_group("f3-0", 4))
    found, paths = opened(made, look_up(["f3-0"]))
    assert (found, len(paths)) == ([3], NUM_FILES)


def java_group(key: str, groups: int) -> int:
    from unit.impl.metadata.made import java_hash

    return java_hash(key) % groups


@pytest.mark.parametrize("query", [ask(pc.field("n") == 3), look_up(["f3-0"]), ask(None)])
def test_a_query_opens_the_metadata_table_once(query):
    made = make()
    reads = []
    read = made.storage.read
    made.storage.read = lambda path, *rest: (reads.append(path), read(path, *rest))[1]
    query(made.table.context())
    assert reads.count(".hoodie/metadata/.hoodie/hoodie.properties") == 1


def changes_with(condition):
    return lambda context: changes(context, "earliest", filter=condition)


@pytest.mark.parametrize(("condition", "rows"), [(pc.field("n") >= 18, [18, 19]), ([("n", "in", [3, 99])], [3])])
def test_changes_of_files_that_a_filter_excludes_are_not_opened(condition, rows):
    found, paths = opened(make(), changes_with(condition))
    assert found == rows
    assert len(paths) == len(rows)


def test_changes_without_a_filter_are_those_of_all_files():
    found, paths = opened(make(), changes_with(None))
    assert (len(found), len(paths)) == (NUM_FILES, NUM_FILES)


def test_changes_do_not_trust_the_statistics_of_partitions():
    """Those are of the files of now; a commit of the range may have written others."""
    made = make(partitions=("files", "column_stats", "partition_stats"))
    key = hashed_name("n") + hashed_name("p")
    made.base("partition_stats", {key: stats("p", "n", 0, 5, kind="IntWrapper", tight=True)})
    assert opened(made, ask(pc.field("n") >= 18))[0] == []
    assert opened(made, changes_with(pc.field("n") >= 18))[0] == [18, 19]


def filtered(*, code="DYNAMIC_V0") -> MadeMetadataTable:
    """As `keyed`, with the files' bloom filters in the metadata table in place of the record index."""
    made = keyed()
    names = [path.removeprefix("p/") for path in made.storage.files if path.startswith("p/f")]
    records = {}
    for name in names:
        bloom = BloomFilter.empty(BloomParameters(num_entries=100))
        bloom.add(pa.array([name.split("_")[0]]))
        content = bloom.to_footer()[BLOOM_FILTER].encode()
        payload = {"type": code, "timestamp": "", "bloomFilter": content, "isDeleted": False}
        records[bloom_filter_key("p", name)] = {"BloomFilterMetadata": payload}
    made.base("bloom_filters", records, groups=4)
    made.table.change_properties({"hoodie.table.metadata.partitions": "bloom_filters,files"})
    return made


def test_a_look_up_asks_the_bloom_filters_where_there_is_no_record_index():
    found, paths = opened(filtered(), look_up(["f3-0", "f9-0", "no such key"]))
    assert found == [3, 9]
    assert {path.split("-")[0] for path in paths} == {"p/f3", "p/f9"}


def test_a_bloom_filter_of_a_kind_that_is_not_known_rules_nothing_out():
    found, paths = opened(filtered(code="OF_TOMORROW"), look_up(["f3-0"]))
    assert (found, len(paths)) == ([3], NUM_FILES)


def test_a_slice_with_log_files_is_not_ruled_out_by_the_filter_of_its_base_file():
    made = filtered()
    context = made.table.context()
    metadata = made.open()
    (one,) = [s for s in load_snapshot(context).slices if s.group.file_id == "f4-0"]
    with_log = dataclasses.replace(one, log_files=(LogFile("p/.f4-0_9.log.1_0-0-0", one.group, "9", 1),))
    assert slices_by_bloom_filters(metadata, [one], pa.array(["f3-0"])) == ()
    assert slices_by_bloom_filters(metadata, [with_log], pa.array(["f3-0"])) == (with_log,)


def test_a_look_up_returns_the_columns_that_are_asked_for():
    made = keyed()
    context = made.table.context()
    rows = lookup_rows(context, load_snapshot(context), ["f3-0"], columns=["n"])
    assert rows.to_pylist() == [{"n": 3}]


@pytest.mark.parametrize("keys", [[1, 2], 5, [["a"]]])
def test_keys_that_are_no_texts_are_refused(keys):
    from drawstring.errors import InputError

    with pytest.raises(InputError):
        opened(keyed(), look_up(keys))
