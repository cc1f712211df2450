"""Tables in an object store: what a local folder would hold, and no write lost."""

from __future__ import annotations

import json
import threading

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import drawstring as ds
from drawstring.errors import ConflictError, TableNotFoundError
from drawstring.runtime.object_storage import ObjectStorage
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import QueryType, load_cases
from drawstring_spec.cli import application

SCHEMA = pa.schema([("id", pa.string()), ("part", pa.string()), ("n", pa.int64())])
CASES = {case.name: case for case in load_cases()}


def rows(first, last, n):
    ids = [str(number) for number in range(first, last)]
    return pa.table({"id": ids, "part": [f"p{int(i) % 3}" for i in ids], "n": [n] * len(ids)}, SCHEMA)


def create(location):
    return ds.Table.create(location, SCHEMA, record_key="id", partition_by="part", ordering="n")


def live(location):
    """Write a table's life; return what it holds after each step, and the changes of all of it."""
    table = create(location)
    held = []
    for step in (
        lambda: table.insert(rows(0, 30, 1)),
        lambda: table.upsert(rows(20, 50, 2)),
        lambda: table.delete(["3", "25"]),
    ):
        step()
        held.append(plain(table.read(meta_columns=False)))
    again = ds.Table.open(location)
    first = again.timeline().completed_writes[0].requested_time
    assert plain(again.read(as_of=first, meta_columns=False)) == held[0]
    return [*held, plain(again.changes("earliest", meta_columns=False))]


def plain(table):
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def test_a_table_s_life_is_that_of_one_in_a_local_folder(new_location, tmp_path):
    assert live(new_location()) == live(str(tmp_path / "table"))


@pytest.mark.parametrize("name", ["index_record_mor", "mor_event_time_ordering", "archival_lsm"])
def test_a_table_of_java_s_reads_as_java_read_it(name, new_location, tmp_path):
    case, location = CASES[name], new_location()
    folder, storage = case.extract(tmp_path / name), ObjectStorage(location)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        storage.put(path.relative_to(folder).as_posix(), path.read_bytes())
    table = ds.Table.open(location)
    queries = [query for query in case.queries if query.type in (QueryType.SNAPSHOT, QueryType.TIME_TRAVEL)]
    assert queries
    for query in queries:
        assert difference(table.read(as_of=query.as_of), pq.read_table(query.expected)) == "", query.id


def test_of_writers_at_once_none_is_lost(new_location):
    location = new_location()
    create(location)
    options = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
    lost = []

    def write(number):
        for attempt in range(8):
            try:
                ds.Table.open(location, options=options).upsert(rows(10 * number, 10 * number + 10, number))
                return
            except ConflictError:
                if attempt == 7:
                    lost.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = ds.Table.open(location).read()
    assert not lost
    assert sorted(int(i) for i in held.column("id").to_pylist()) == list(range(40))


def test_scans_and_look_ups_read_parts_of_files(new_location):
    table = create(new_location())
    table.bulk_insert(rows(0, 300_000, 1))
    wanted = ds.Table.open(table.uri).lookup(["7", "299999", "no"])
    assert sorted(wanted.column("id").to_pylist()) == ["299999", "7"]
    with table.scan(columns=["n"]) as batches:
        assert pc.sum(batches.read_all().column("n")).as_py() == 300_000


def test_a_table_that_is_not_there_is_named(new_location):
    with pytest.raises(TableNotFoundError, match="/table-"):
        ds.Table.open(new_location())


def test_the_command_line_takes_a_location(new_location):
    table = create(new_location())
    table.insert(rows(0, 3, 1))
    shown = CliRunner().invoke(application, ["timeline", table.uri, "--json"])
    assert shown.exit_code == 0, shown.output
    assert [instant["action"] for instant in json.loads(shown.output)] == ["commit"]
