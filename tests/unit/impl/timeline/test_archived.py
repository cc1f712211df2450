"""The archived timeline: the one that Java wrote, and what writers and damage can make of it."""

from __future__ import annotations

import json
import random

import pyarrow as pa
import pytest

from drawstring.codec import avro_container
from drawstring.errors import CorruptFileError, NotFoundError
from drawstring.table_config import TableConfig, load_table_config
from drawstring.timeline import archived as module
from drawstring.timeline.archived import has_archive, history_folder, load_archived, read_archived_payloads
from drawstring.timeline.load import load_timeline
from drawstring_conformance.vectors import load_case
from drawstring_spec.instants import Action
from unit.impl.protocol.world import ManualClock, MemoryStorage
from unit.impl.read.tables import HandMadeTable, at, parquet

HISTORY = ".hoodie/timeline/history"
VERSION_FILE = f"{HISTORY}/_version_"


@pytest.fixture(scope="module")
def golden_files():
    case = load_case("archival_lsm")
    return {p: case.read_file(p) for p in case.file_names if p.startswith((HISTORY, ".hoodie/hoodie.properties"))}


@pytest.fixture
def java(golden_files) -> MemoryStorage:
    storage = MemoryStorage(ManualClock())
    for path, content in golden_files.items():
        storage.put(path, content)
    return storage


def config_of(storage) -> TableConfig:
    return load_table_config(storage)


def newest_manifest(storage) -> str:
    return f"{HISTORY}/manifest_{bytes(storage.read(VERSION_FILE)).decode()}"


def listed(storage) -> list[str]:
    return [f["fileName"] for f in json.loads(bytes(storage.read(newest_manifest(storage))))["files"]]


def commit_payload() -> bytes:
    return avro_container.encode("HoodieCommitMetadata", {"operationType": "UPSERT"}, sync_marker=b"0" * 16)


def archive(storage, version, rows, *, names=None, level=0):
    """Write one file of instants (requested moment, completed moment, action) and a manifest of it and `names`."""
    name = f"{at(rows[0][0])}_{at(rows[-1][0])}_{level}.parquet"
    columns = {
        "instantTime": [at(r[0]) for r in rows],
        "completionTime": [None if r[1] is None else at(r[1]) for r in rows],
        "action": [r[2] for r in rows],
        "metadata": [commit_payload() for _ in rows],
        "plan": pa.nulls(len(rows), pa.binary()),
        "version": pa.array([1] * len(rows), pa.int32()),
    }
    storage.put(f"{HISTORY}/{name}", parquet(pa.table(columns)))
    files = [*(names or []), name]
    storage.put(f"{HISTORY}/manifest_{version}", manifest(files))
    storage.put(VERSION_FILE, str(version).encode())
    return name


def manifest(names) -> bytes:
    return json.dumps({"files": [{"fileName": name, "fileLen": 1} for name in names]}).encode()


def times(timeline) -> list[str]:
    return [instant.requested_time for instant in timeline.instants]


@pytest.fixture
def table():
    return HandMadeTable()


def loaded(table, **query):
    return load_archived(table.storage, config_of(table.storage), **query)


def test_what_java_archived_is_what_java_says(java):
    found = load_archived(java, config_of(java)).instants
    stated = load_case("archival_lsm").details["archived_instants"]
    assert {(i.requested_time, i.completion_time, i.action.value) for i in found} == {
        (i["begin"], i["completion"], i["action"]) for i in stated
    }
    assert [i.requested_time for i in found] == sorted(i.requested_time for i in found)


def test_what_is_on_storage_but_not_in_the_manifest_is_not_read(java):
    files = {path for path in java.files if path.endswith(".parquet")}
    superseded = files - {f"{HISTORY}/{name}" for name in listed(java)}
    assert superseded
    for path in superseded:
        java.put(path, b"not even Parquet")
    assert load_archived(java, config_of(java)).instants


def test_payloads_are_what_the_files_on_the_timeline_held(java):
    history = load_archived(java, config_of(java))
    payloads = read_archived_payloads(java, history, history.completed_writes)
    assert set(payloads) == set(history.completed_writes)
    assert {payload["operationType"] for payload in payloads.values()} == {"INSERT", "UPSERT", "DELETE"}


def test_only_the_wanted_columns_of_a_large_file_are_fetched(java, monkeypatch):
    whole = load_archived(java, config_of(java))
    monkeypatch.setattr(module, "_WHOLE_BYTES", 0)
    fetched = []
    read = java.read
    monkeypatch.setattr(
        java, "read", lambda path, *range_: (fetched.append((path, len(content := read(path, *range_)))), content)[1]
    )
    assert load_archived(java, config_of(java)) == whole
    assert sum(n for path, n in fetched if path.endswith(".parquet")) < sum(
        len(java.files[f"{HISTORY}/{name}"][0]) for name in listed(java)
    )


def test_files_that_end_too_early_are_passed_over(table):
    first = archive(table.storage, 1, [(1, 2, "commit"), (3, 4, "commit")])
    archive(table.storage, 2, [(5, 6, "commit"), (7, 8, "clean")], names=[first])
    table.storage.put(f"{HISTORY}/{first}", b"damaged, and not looked at")
    assert times(loaded(table, since=at(4))) == [at(5), at(7)]


def test_an_instant_without_a_completion_time_completed_when_it_was_requested(table):
    archive(table.storage, 1, [(1, None, "commit")])
    assert loaded(table).instants[0].completion_time == at(1)


@pytest.mark.parametrize("version", [None, b"", b"two", b"7", b"\xff\xfe"])
def test_without_a_usable_version_file_the_greatest_manifest_counts(table, version):
    first = archive(table.storage, 2, [(1, 2, "commit")])
    archive(table.storage, 10, [(3, 4, "commit")], names=[first])
    table.storage.put(f"{HISTORY}/manifest_11.tmp", b"cut off")
    table.storage.delete([VERSION_FILE]) if version is None else table.storage.put(VERSION_FILE, version)
    assert times(loaded(table)) == [at(1), at(3)]


def test_the_version_file_decides_which_manifest_counts(table):
    first = archive(table.storage, 1, [(1, 2, "commit")])
    archive(table.storage, 2, [(3, 4, "commit")], names=[first])
    table.storage.put(VERSION_FILE, b"1")
    assert times(loaded(table)) == [at(1)]


def test_a_table_that_archived_nothing_has_an_empty_archive(table):
    assert loaded(table).instants == ()
    assert not has_archive(table.storage, config_of(table.storage))
    archive(table.storage, 1, [(1, 2, "commit")])
    assert has_archive(table.storage, config_of(table.storage))


def test_an_instant_that_is_in_both_timelines_is_seen_once_and_as_the_active_one(table):
    archive(table.storage, 1, [(1, 2, "commit"), (3, 9, "commit"), (4, 5, "clean")])
    table.commit(3, 4)
    table.commit(6)
    active = load_timeline(table.storage, config_of(table.storage))
    whole = loaded(table).before(active)
    assert [(i.requested_time, i.action) for i in whole] == [
        (at(1), Action.COMMIT),
        (at(3), Action.COMMIT),
        (at(4), Action.CLEAN),
        (at(6), Action.COMMIT),
    ]
    assert whole.completion_time(at(3)) == at(4)


def test_a_file_that_is_merged_while_it_is_read_makes_the_manifest_be_read_again(table, monkeypatch):
    first = archive(table.storage, 1, [(1, 2, "commit")])
    read = table.storage.read

    def merge_first(path, *range_):
        if path.endswith(first):
            table.storage.delete([path])
            monkeypatch.setattr(table.storage, "read", read)
            archive(table.storage, 2, [(1, 2, "commit"), (3, 4, "commit")], level=1)
            raise NotFoundError(path)
        return read(path, *range_)

    monkeypatch.setattr(table.storage, "read", merge_first)
    assert times(loaded(table)) == [at(1), at(3)]


def refused(storage) -> CorruptFileError:
    with pytest.raises(CorruptFileError) as caught:
        load_archived(storage, config_of(storage))
    assert caught.value.way_out
    assert HISTORY in caught.value.message
    return caught.value


def test_a_file_that_the_manifest_names_and_is_not_there_is_an_error(table):
    name = archive(table.storage, 1, [(1, 2, "commit")])
    table.storage.delete([f"{HISTORY}/{name}"])
    assert name in refused(table.storage).message


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"files": 3}',
        b'{"files": [{}]}',
        b'{"files": [null]}',
        b"[" * 100_000,
        manifest(["../../../etc/passwd"]),
        manifest(["/20240101000000001_20240101000000001_0.parquet"]),
        manifest(["x/20240101000000001_20240101000000001_0.parquet"]),
    ],
)
def test_what_is_no_manifest_is_refused(table, content):
    archive(table.storage, 1, [(1, 2, "commit")])
    table.storage.put(f"{HISTORY}/manifest_1", content)
    refused(table.storage)


def test_sizes_beyond_any_archive_are_refused_unread(table, monkeypatch):
    archive(table.storage, 1, [(1, 2, "commit")])
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 10)
    refused(table.storage)
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 10**9)
    monkeypatch.setattr(module, "MAX_MANIFEST_BYTES", 10)
    refused(table.storage)


@pytest.mark.parametrize(("moment", "action"), [("x1", "commit"), ("1", "merge"), (None, "commit"), ("1", None)])
def test_an_instant_that_cannot_be_is_refused(table, moment, action):
    name = archive(table.storage, 1, [(1, 2, "commit")])
    columns = {"instantTime": [moment], "completionTime": [at(2)], "action": [action]}
    rows = pa.table({key: pa.array(values, pa.string()) for key, values in columns.items()})
    table.storage.put(f"{HISTORY}/{name}", parquet(rows))
    refused(table.storage)


@pytest.mark.parametrize("whole_bytes", [0, 1 << 20])
def test_a_damaged_file_is_named_or_read_rightly(java, monkeypatch, whole_bytes):
    """Bit flips, cuts and noise in each file that counts: a named error, or instants, but never anything else."""
    monkeypatch.setattr(module, "_WHOLE_BYTES", whole_bytes)
    config = config_of(java)
    paths = [VERSION_FILE, newest_manifest(java), *(f"{HISTORY}/{name}" for name in listed(java))]
    originals = {path: bytes(java.read(path)) for path in paths}
    random_ = random.Random(7)
    outcomes = set()
    for _ in range(250):
        path = random_.choice(paths)
        content = bytearray(originals[path])
        how = random_.randrange(3)
        if how == 0:
            content[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
        elif how == 1:
            del content[random_.randrange(len(content)) :]
        else:
            start = random_.randrange(len(content))
            content[start : start + 8] = random_.randbytes(8)
        java.put(path, bytes(content))
        try:
            history = load_archived(java, config)
            read_archived_payloads(java, history, history.completed_writes)
            outcomes.add("read")
        except CorruptFileError:
            outcomes.add("named")
        java.put(path, originals[path])
    assert outcomes == {"read", "named"}


def test_the_history_lies_where_the_properties_say():
    table = HandMadeTable(properties={"hoodie.timeline.path": "tl", "hoodie.timeline.history.path": "old"})
    assert history_folder(config_of(table.storage)) == ".hoodie/tl/old"


def test_a_manifest_that_names_another_file_of_the_folder_is_refused(table):
    archive(table.storage, 1, [(1, 2, "commit")])
    table.storage.put(f"{HISTORY}/manifest_1", manifest(["_version_"]))
    with pytest.raises(CorruptFileError, match="manifest_1"):
        loaded(table, since=at(0))


@pytest.mark.parametrize("length", [2**31 - 1, 1_000_000])
def test_a_footer_that_claims_more_than_the_file_is_refused(table, monkeypatch, length):
    monkeypatch.setattr(module, "_WHOLE_BYTES", 0)
    name = archive(table.storage, 1, [(1, 2, "commit")])
    content = bytes(table.storage.read(f"{HISTORY}/{name}"))
    table.storage.put(f"{HISTORY}/{name}", content[:-8] + length.to_bytes(4, "little") + b"PAR1")
    assert "footer claims" in refused(table.storage).message
