"""Bootstrap tables: rows of two files, and what is refused of a source file or of the index that names it."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import drawstring as ds
from drawstring.data import stitched_file
from drawstring.data.stitched_file import open_rows
from drawstring.errors import CorruptFileError, InputError, OptionError, StorageError, UnsupportedTableError
from drawstring.read import bootstrap
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.lookup import lookup_rows
from drawstring.read.stream import scan_snapshot
from drawstring.read.view import load_snapshot
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY, INDEX_FILE, INDEX_INFO, SKELETON_TIME, WHOLE_TIME
from unit.impl.read.bootstrapped import OLD_PLACE, BootstrapTable
from unit.impl.read.tables import a_row


def source_rows(*ids: str, first: int = 0) -> pa.Table:
    return pa.table({"id": list(ids), "n": pa.array(range(first, first + len(ids)), pa.int32())})


@pytest.fixture
def table():
    """Two skeleton files, the first of five rows in row groups of two."""
    made = BootstrapTable()
    made.skeleton("x", "f1", source_rows("a", "b", "c", "d", "e"), group_rows=2)
    made.skeleton("y", "f2", source_rows("g", "h", first=10))
    made.complete()
    return made


def read(table, *, with_source=True, as_of=None, **query):
    context = table.context(with_source=with_source)
    return read_snapshot(context, load_snapshot(context, as_of=as_of), **query)


def own(rows):
    return [tuple(row.values()) for row in rows.select(["id", "n", "day"]).to_pylist()]


ALL = [("a", 0, "x"), ("b", 1, "x"), ("c", 2, "x"), ("d", 3, "x"), ("e", 4, "x"), ("g", 10, "y"), ("h", 11, "y")]


def test_rows_have_the_meta_columns_of_one_file_and_the_columns_of_another(table):
    rows = read(table)
    assert own(rows) == ALL
    assert rows["_hoodie_record_key"].to_pylist() == [row[0] for row in ALL]
    assert set(rows["_hoodie_commit_time"].to_pylist()) == {SKELETON_TIME}
    assert rows["id"].to_pylist() == rows["_hoodie_record_key"].to_pylist()
    assert rows.column_names[5:] == ["id", "n", "day"]


def test_the_time_of_a_bootstrap_is_a_snapshot_time(table):
    table.commit(5, 6)
    table.base_file("x", "f1", 5, a_row("z", 9, "x"))
    assert own(read(table, as_of=SKELETON_TIME)) == ALL
    assert own(read(table)) == [("z", 9, "x"), *ALL[5:]]


def test_columns_and_conditions_are_those_of_both_files(table):
    query = {"columns": ["n", "_hoodie_record_key"], "filter": [("n", ">", 3), ("_hoodie_record_key", "!=", "g")]}
    assert read(table, **query).to_pylist() == [
        {"n": 4, "_hoodie_record_key": "e"},
        {"n": 11, "_hoodie_record_key": "h"},
    ]


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_batches_have_the_rows_in_their_order_wherever_row_groups_end(table, batch_rows):
    context = table.context()
    batches = list(scan_snapshot(context, load_snapshot(context), batch_rows=batch_rows))
    assert own(pa.Table.from_batches(batches)) == ALL
    assert max(batch.num_rows for batch in batches) <= batch_rows


def test_meta_columns_alone_open_no_source_file(table):
    rows = read(table, with_source=False, columns=["_hoodie_record_key"])
    assert rows.num_rows == len(ALL)
    assert read(table, columns=["_hoodie_record_key", "day"]).num_rows == len(ALL)
    assert table.source.opened == []


def test_rows_are_looked_up_by_their_keys(table):
    context = table.context()
    assert own(lookup_rows(context, load_snapshot(context), ["d", "g", "nobody"])) == [ALL[3], ALL[5]]
    assert lookup_rows(context, load_snapshot(context), ["nobody"]).num_rows == 0


def test_a_source_file_is_opened_only_where_the_user_said_that_it_is(table):
    with pytest.raises(UnsupportedTableError, match=OLD_PLACE) as caught:
        read(table, with_source=False)
    assert BASE_PATH_PROPERTY in caught.value.way_out
    assert caught.value.rule == "RD-024"


def test_whole_files_need_no_source():
    table = BootstrapTable()
    table.whole_file("x", "f9", a_row("a", 1, "x"))
    table.complete(time=WHOLE_TIME)
    assert own(read(table, with_source=False)) == [("a", 1, "x")]


def test_files_that_replaced_all_skeleton_files_need_no_source(table):
    table.commit(5, 6)
    for partition, file_id in (("x", "f1"), ("y", "f2")):
        table.base_file(partition, file_id, 5, a_row(file_id, 7, partition))
    assert own(read(table, with_source=False)) == [("f1", 7, "x"), ("f2", 7, "y")]


def test_a_file_slice_says_where_its_rows_go_on(table):
    first, second = (one.base_file for one in load_snapshot(table.context()).slices)
    assert (first.source.base_path, first.source.path) == (OLD_PLACE, "x/f1.parquet")
    assert first.source.size == len(table.source.files["x/f1.parquet"][0])
    assert second.source.path == "y/f2.parquet"


def test_another_number_of_rows_is_refused(table):
    table.skeleton("x", "f1", source_rows("a", "b", "c", "d", "e"))
    shorter = BootstrapTable()
    shorter.skeleton("x", "f1", source_rows("a", "b", "c"))
    table.source.files["x/f1.parquet"] = shorter.source.files["x/f1.parquet"]
    table.name_source("x", "f1", f"{OLD_PLACE}/x/f1.parquet", len(shorter.source.files["x/f1.parquet"][0]))
    table.complete()
    with pytest.raises(CorruptFileError, match=r"3 rows, and its skeleton file 'x/f1_.*' 5"):
        read(table)


def test_a_source_file_that_is_gone_is_named(table):
    table.source.delete(["y/f2.parquet"])
    with pytest.raises(CorruptFileError, match=r"file:///source/y/f2.parquet, which is gone"):
        read(table)
    assert own(read(table, filter=[("day", "=", "x")])) == ALL[:5]


def test_a_source_file_that_was_written_anew_is_refused(table):
    table.source.put("y/f2.parquet", table.source.files["x/f1.parquet"][0])
    with pytest.raises(CorruptFileError, match="bytes, and had"):
        read(table)


def test_a_damaged_source_file_is_named(table):
    content = table.source.files["y/f2.parquet"][0]
    table.source.put("y/f2.parquet", b"x" * len(content))
    with pytest.raises(CorruptFileError, match=r"y/f2\.parquet"):
        read(table)


def test_a_table_without_its_index_is_refused(table):
    table.storage.delete([INDEX_FILE])
    with pytest.raises(CorruptFileError, match="no bootstrap index"):
        read(table)


def test_a_skeleton_file_that_the_index_lacks_is_named(table):
    del table.entries[next(iter(table.entries))]
    table.complete()
    with pytest.raises(CorruptFileError, match=r"no entry for the skeleton file 'x/f1_"):
        read(table)


@pytest.mark.parametrize(("key", "value"), [("type", "NO_OP"), ("class", "com.example.Index")])
def test_an_index_of_another_kind_is_refused(table, key, value):
    table.change_properties({f"hoodie.bootstrap.index.{key}": value})
    with pytest.raises(UnsupportedTableError, match=value):
        read(table)


@pytest.mark.parametrize("package", ["index", "index.hfile"])
def test_the_class_of_the_index_has_either_name(table, package):
    name = f"org.apache.hudi.common.bootstrap.{package}.HFileBootstrapIndex"
    table.change_properties({"hoodie.bootstrap.index.class": name, "hoodie.bootstrap.index.type": None})
    assert own(read(table)) == ALL


@pytest.mark.parametrize("value", [b"", b"Obj\x01\x02", b"\x00" * 99])
def test_a_damaged_entry_of_the_index_is_named(table, value):
    table.entries[next(iter(table.entries))] = value
    table.complete()
    with pytest.raises(CorruptFileError, match="hfile"):
        read(table)


@pytest.mark.parametrize(("uri", "size"), [(None, 5), ("file:/old/place/x/f1.parquet", None), ("x", -1)])
def test_an_entry_that_names_no_file_is_refused(table, uri, size):
    table.name_source("x", "f1", uri, size)
    table.complete()
    with pytest.raises(CorruptFileError, match="names no source file"):
        read(table)


@pytest.mark.parametrize("info", [{}, {INDEX_INFO: b"no container"}], ids=["none", "damaged"])
def test_an_index_that_does_not_say_where_source_files_were_is_refused(table, info):
    table.complete(info=info)
    with pytest.raises(CorruptFileError, match="hfile"):
        read(table)


def test_a_damaged_index_is_refused_or_says_the_same(table):
    content = table.storage.files[INDEX_FILE][0]
    refused = 0
    for position in range(0, len(content), 41):
        table.storage.put(INDEX_FILE, content[:position] + bytes([content[position] ^ 0x41]) + content[position + 1 :])
        try:
            assert own(read(table)) == ALL
        except (CorruptFileError, UnsupportedTableError):
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    "uri",
    [
        "file:/old/place/../secret.parquet",
        "/old/place/x/./f1.parquet",
        "/old/place//x/f1.parquet",
        "/old/place",
        "/old/placebo/x/f1.parquet",
        "/etc/passwd",
        "x/f1.parquet",
        "file:///etc/passwd",
        "/old/place/x\\..\\f1.parquet",
        "/old/place/x\0/f1.parquet",
        "",
    ],
)
def test_a_path_of_the_index_that_leaves_its_base_path_is_refused(table, uri):
    table.name_source("x", "f1", uri, 1)
    table.complete()
    with pytest.raises(CorruptFileError, match="does not lie below its base path"):
        read(table)
    assert table.source.opened == []


@pytest.mark.parametrize("start", ["/old/place", "file:/old/place", "file:///old/place", "hdfs://name:8020/old/place"])
def test_paths_of_the_index_may_have_a_scheme(table, start):
    table.name_source("x", "f1", f"{start}/x/f1.parquet", len(table.source.files["x/f1.parquet"][0]))
    table.complete()
    assert own(read(table)) == ALL


def test_a_link_that_leads_out_of_the_source_folder_is_not_followed(table, tmp_path):
    path, source = table.on_disk(tmp_path)
    secret = tmp_path / "secret.parquet"
    (tmp_path / "source" / "y" / "f2.parquet").rename(secret)
    (tmp_path / "source" / "y" / "f2.parquet").symlink_to(secret)
    with pytest.raises(StorageError, match="symbolic link"):
        ds.Table.open(path, options={BASE_PATH_PROPERTY: source}).read()


def test_the_option_says_where_source_files_are_now(table, tmp_path):
    path, source = table.on_disk(tmp_path)
    opened = ds.Table.open(path, options={BASE_PATH_PROPERTY: source})
    assert own(opened.read()) == ALL
    assert own(opened.changes("earliest")) == ALL
    assert own(opened.lookup(["b"])) == ALL[1:2]
    assert opened.schema.names == ["id", "n", "day"]
    with pytest.raises(UnsupportedTableError):
        ds.Table.open(path).read()


def test_the_option_is_refused_of_a_table_that_was_not_bootstrapped(tmp_path):
    ds.Table.create(str(tmp_path / "t"), pa.schema([("id", pa.string())]), record_key="id")
    with pytest.raises(OptionError, match="was not made of other files"):
        ds.Table.open(str(tmp_path / "t"), options={BASE_PATH_PROPERTY: str(tmp_path)})


def test_a_table_is_not_made_of_other_files(tmp_path):
    schema = pa.schema([("id", pa.string())])
    with pytest.raises(OptionError, match="makes no table"):
        ds.Table.create(str(tmp_path / "t"), schema, record_key="id", options={BASE_PATH_PROPERTY: str(tmp_path)})
    assert not (tmp_path / "t").exists()


def test_a_place_where_nothing_is_has_no_source_files(table, tmp_path):
    path, _ = table.on_disk(tmp_path)
    with pytest.raises(CorruptFileError, match="is gone"):
        ds.Table.open(path, options={BASE_PATH_PROPERTY: str(tmp_path / "elsewhere")}).read()
    with pytest.raises(InputError):
        ds.Table.open(path, options={BASE_PATH_PROPERTY: "file://machine/x"})


def test_a_skeleton_file_goes_to_a_task_with_its_source(table, tmp_path):
    path, source = table.on_disk(tmp_path)
    slices = ds.Table.open(path, options={BASE_PATH_PROPERTY: source}).file_slices()
    sent = pickle.loads(pickle.dumps(slices[0].base_file))
    assert sent.source.storage.read(sent.source.path) == table.source.files["x/f1.parquet"][0]


def test_statistics_count_the_rows_of_both_files(table):
    file = load_snapshot(table.context()).slices[0].base_file
    opened = open_rows(table.storage, file)
    assert opened.num_rows == 5
    assert opened.schema().names == [*read(table).column_names[:5], "id", "n"]
    assert opened.read().num_columns == 7
    assert pc.sum(opened.read(["n"])["n"]).as_py() == 10


def test_rows_that_are_stitched_one_row_off_would_be_noticed(table, monkeypatch):
    inner = stitched_file._side_by_side
    monkeypatch.setattr(
        stitched_file, "_side_by_side", lambda parts, names: inner([parts[0], parts[1].take([1, 2, 3, 4, 0])], names)
    )
    rows = read(table, filter=[("day", "=", "x")])
    assert own(rows) != ALL[:5]
    assert rows["_hoodie_record_key"].to_pylist() != rows["id"].to_pylist()


def test_a_base_path_that_is_not_looked_at_would_be_noticed(table, monkeypatch):
    monkeypatch.setattr(bootstrap, "_below", lambda _, uri: uri.rpartition(":")[2].lstrip("/"))
    table.name_source("x", "f1", "file:/old/place/../secret.parquet", 1)
    table.complete()
    with pytest.raises(Exception, match="is gone"):
        read(table)
    assert table.source.opened == ["old/place/../secret.parquet"]
