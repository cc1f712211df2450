"""The metadata table's face: what counts of it, and what is refused."""

from __future__ import annotations

import pyarrow as pa
import pytest

from drawstring.errors import CorruptFileError, FormatError, UnsupportedTableError
from drawstring.metadata import MetadataTable, partition
from drawstring.metadata.partition import PartitionReader
from drawstring.options import Options
from drawstring.table_config import load_table_config
from unit.impl.metadata.made import FOLDER, INITIAL, MadeMetadataTable, files, location, stats, stats_key
from unit.impl.read.tables import HandMadeTable, at


def make(*partitions: str) -> MadeMetadataTable:
    return MadeMetadataTable(HandMadeTable(), *(partitions or ("files",)))


def names(metadata: MetadataTable, partition: str = "p") -> list[str]:
    return metadata.files([partition])["name"].to_pylist()


def test_files_of_a_partition_that_the_table_does_not_have_are_not_among_all_files():
    made = make()
    made.base("files", {"p": files(a=1), "gone": files(b=2), "__all_partitions__": files(p=0)})
    metadata = made.open()
    assert metadata.all_files().to_pylist() == [{"partition_path": "p", "name": "a", "size": 1}]
    assert names(metadata, "gone") == ["b"]


def test_a_table_without_one_has_none():
    assert MetadataTable.open(HandMadeTable().context()) is None


def test_it_is_not_used_where_the_option_says_so():
    made = make()
    context = made.table.context()
    import dataclasses

    off = dataclasses.replace(context, options=Options.parse({"hoodie.metadata.enable": "false"}))
    assert MetadataTable.open(off) is None


def test_one_that_is_named_but_not_there_is_an_error():
    table = HandMadeTable(properties={"hoodie.table.metadata.partitions": "files"})
    with pytest.raises(FormatError, match="none on storage") as caught:
        MetadataTable.open(table.context())
    assert "hoodie.metadata.enable=false" in str(caught.value)


def test_listings_of_base_and_log_files_are_joined():
    made = make()
    made.base("files", {"p": files(a=1, b=2), "__all_partitions__": files(p=0)})
    made.delta_commit(at(1))
    made.table.commit(1, 2)
    made.log("files", at(1), {"p": files(a=None, c=3), "__all_partitions__": files(q=0)})
    metadata = made.open()
    assert (names(metadata), metadata.all_partitions()) == (["b", "c"], ["p", "q"])
    assert metadata.all_files().equals(metadata.files(["p", "q"]))


def test_an_unpartitioned_table_has_the_partition_without_a_name():
    made = make()
    made.base(
        "files", {".": files(a=1), "__all_partitions__": {"filesystemMetadata": {".": {"size": 0, "isDeleted": False}}}}
    )
    assert made.open().all_partitions() == [""]
    assert made.open().files([""]).to_pylist() == [{"partition_path": "", "name": "a", "size": 1}]


@pytest.mark.parametrize(("completed", "expected"), [(None, ["a"]), (5, ["a", "b"])])
def test_files_of_a_commit_that_is_pending_in_the_table_are_not_listed(completed, expected):
    made = make()
    made.base("files", {"p": files(a=1)})
    made.table.commit(3, completed)
    made.delta_commit(at(3), completed=at(4))
    made.log("files", at(3), {"p": files(b=1)})
    assert names(made.open()) == expected


def test_files_of_a_commit_that_the_metadata_table_did_not_complete_are_not_listed():
    made = make()
    made.base("files", {"p": files(a=1)})
    made.delta_commit(at(3), completed=None)
    made.log("files", at(3), {"p": files(b=1)})
    assert names(made.open()) == ["a"]


def test_a_write_that_completed_after_a_compaction_lies_on_top_of_it():
    made = make()
    made.base("files", {"p": files(a=1)})
    made.delta_commit(at(3), completed=at(6))
    made.delta_commit(at(5), completed=at(5))  # the compaction, requested after the write
    made.base("files", {"p": files(a=1)}, instant=at(5))
    made.log("files", at(3), {"p": files(b=1)})
    assert names(made.open()) == ["a", "b"]


def test_such_a_write_stays_on_top_when_it_is_archived():
    made = make()
    made.delta_commit(at(3), completed=at(6))
    made.delta_commit(at(5), completed=at(5))
    made.delta_commit(at(8), completed=at(8))
    made.base("files", {"p": files(a=1)}, instant=at(5))
    made.log("files", at(3), {"p": files(b=1)})
    made.archive([(INITIAL, at(0)), (at(3), at(6)), (at(5), at(5))])
    assert names(made.open()) == ["a", "b"]


def test_what_a_compaction_holds_is_not_read_again():
    made = make()
    made.delta_commit(at(1), completed=at(2))
    made.log("files", at(1), {"p": files(a=1)})
    made.delta_commit(at(5), completed=at(5))
    made.base("files", {"p": files(b=1)}, instant=at(5))
    assert names(made.open()) == ["b"]


def test_a_base_file_of_a_compaction_that_failed_is_not_read():
    made = make()
    made.base("files", {"p": files(a=1)})
    made.delta_commit(at(5), completed=None)
    made.base("files", {"p": files(b=1)}, instant=at(5))
    assert names(made.open()) == ["a"]


def test_what_is_older_than_the_timeline_counts_only_if_something_is_archived():
    made = make()
    made.base("files", {"p": files(a=1)})
    for name in [n for n in made.storage.files if INITIAL in n and "timeline" in n]:
        del made.storage.files[name]
    made.delta_commit(at(9), completed=at(9))
    assert names(made.open()) == []
    made.storage.put(f"{FOLDER}/.hoodie/timeline/history/manifest_1", b"{}")
    assert names(made.open()) == ["a"]


def test_a_partition_that_the_table_does_not_have_is_refused():
    made = make("files")
    made.base("column_stats", {})
    with pytest.raises(UnsupportedTableError, match="column_stats"):
        made.open().column_stats(["n"])


@pytest.mark.parametrize("name", ["../files", "a/b", ".hoodie", "", "\\x"])
def test_a_partition_whose_name_leaves_its_folder_is_refused(name):
    made = make("files")
    metadata = made.open()
    with pytest.raises(FormatError, match="no partition"):
        PartitionReader(metadata._storage, name, metadata._instants, metadata._tasks)


def test_a_partition_of_a_kind_that_is_not_known_is_refused_by_name():
    made = make("files", "surprise")
    made.base("surprise", {})
    with pytest.raises(UnsupportedTableError, match="surprise"):
        made.open().records("surprise")


def test_a_look_up_opens_the_file_groups_of_its_keys_only():
    made = make("files", "record_index")
    records = {f"k{i}": location("p", f"f{i}") for i in range(40)}
    made.base("record_index", records, groups=8)
    metadata = made.open()
    opened = []
    read = made.storage.read
    made.storage.read = lambda path, *rest: opened.append(path) or read(path, *rest)
    found = metadata.record_index(pa.array(["k7", "no such key"]))
    assert [(r["record_key"], r["file_id"]) for r in found.to_pylist()] == [("k7", "f7")]
    assert len(set(opened)) <= 2


def test_the_file_groups_of_a_partition_share_what_is_kept_of_them(monkeypatch):
    monkeypatch.setattr(partition, "CACHE_BYTES", 4_000)
    made = make("files", "record_index")
    made.base("record_index", {f"k{i}": location("p", "f-0") for i in range(10)}, groups=4)
    limits = []
    open_hfile = partition.open_hfile
    monkeypatch.setattr(
        partition, "open_hfile", lambda *a, **k: (limits.append(k["cache_bytes"]), open_hfile(*a, **k))[1]
    )
    assert made.open().records("record_index").num_rows == 10
    assert limits == [1_000] * 4


def test_statistics_come_with_the_hash_of_their_partition():
    made = make("files", "column_stats")
    entries = {stats_key(c, "p", f): stats(f, c, 1, 2) for c in ("n", "m") for f in ("f1", "f2")}
    made.base("column_stats", entries, groups=2)
    rows = made.open().column_stats(["n"]).to_pylist()
    assert sorted(row["fileName"] for row in rows) == ["f1", "f2"]
    assert {row["columnName"] for row in rows} == {"n"}
    assert {row["partition_hash"] for row in rows} == {stats_key("n", "p", "f1")[12:24]}


def test_a_log_block_of_another_kind_is_refused():
    from drawstring_spec.log_format import BlockType, HeaderKey
    from unit.impl.log_files.test_blocks import block

    made = make()
    made.delta_commit(at(1))
    content = block(BlockType.AVRO_DATA, {HeaderKey.INSTANT_TIME: at(1)}, b"")
    made.storage.put(f"{FOLDER}/files/.files-0000-0_{at(1)}.log.1_0-0-0", content)
    with pytest.raises(CorruptFileError, match="AVRO_DATA"):
        made.open().files(["p"])


def test_the_table_lists_its_files_through_it():
    from drawstring.read.view import load_snapshot

    made = make()
    table = made.table
    name = table.base_file("p", "f1-0", 1)
    table.base_file("p", "f2-0", 1)  # not in the metadata table
    table.commit(1, 2)
    made.base("files", {"p": files(**{name: 10}), "__all_partitions__": files(p=0)})
    slices = load_snapshot(table.context()).slices
    assert [(one.group.file_id, one.base_file.size) for one in slices] == [("f1-0", 10)]
    assert load_table_config(table.storage).metadata_partitions == ("files",)


@pytest.mark.parametrize("name", ["../x/f1-0_0-0-0_20240101000000001.parquet", "/f1-0_0-0-0_20240101000000001.parquet"])
def test_a_file_name_that_leaves_its_partition_is_refused(name):
    from drawstring.read.view import load_snapshot

    made = make()
    made.table.commit(1, 2)
    made.base("files", {"p": files(**{name: 10}), "__all_partitions__": files(p=0)})
    with pytest.raises(CorruptFileError, match="no place for data"):
        load_snapshot(made.table.context())


@pytest.mark.parametrize("partition", ["..", "../outside", "p/../../outside", "/etc", "p//q", ".hoodie", ".hoodie/x"])
def test_a_partition_that_is_not_in_the_table_is_refused(partition):
    from drawstring.read.view import load_snapshot

    made = make()
    made.table.commit(1, 2)
    listed = files(**{"f1-0_0-0-0_20240101000000001.parquet": 10})
    made.base("files", {partition: listed, "__all_partitions__": files(**{partition: 0})})
    with pytest.raises(CorruptFileError, match="no place for data"):
        load_snapshot(made.table.context())
