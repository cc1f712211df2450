"""What is shown of a table is what happened to it, on tables of ours and on tables of Java's."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from rich.console import Console, RenderableType

import drawstring as ds
from drawstring.commands.display import format_size, format_time, render_delays, render_file_groups, render_history
from drawstring.commands.history import FileGroupFacts, FileVersionFacts, History, load_history
from drawstring.files import FileGroupId
from drawstring.runtime import open_storage
from drawstring.table_config import load_table_config
from drawstring_conformance.vectors import load_case
from drawstring_spec.instants import State


def _history(location: str) -> History:
    storage = open_storage(location)
    return load_history(storage, load_table_config(storage))


def _shown(renderable: RenderableType) -> str:
    console = Console(width=100, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get()


@pytest.fixture
def table(table_uri: str) -> ds.Table:
    schema = pa.schema([("id", pa.string()), ("month", pa.int64()), ("n", pa.int64())])
    return ds.Table.create(
        table_uri,
        schema,
        record_key="id",
        partition_by="month",
        options={"hoodie.datasource.write.hive_style_partitioning": "true"},
    )


def _rows(*rows: tuple[str, int, int]) -> pa.Table:
    return pa.table({"id": [r[0] for r in rows], "month": [r[1] for r in rows], "n": [r[2] for r in rows]})


def test_an_operation_is_told_with_what_it_counted(table: ds.Table) -> None:
    table.bulk_insert(_rows(("a", 1, 1), ("b", 2, 1)))
    table.upsert(_rows(("a", 1, 2), ("c", 1, 1)))

    first, second = _history(table.uri).operations

    assert (first.operation, first.num_inserts, first.num_updates, first.num_files) == ("BULK_INSERT", 2, 0, 2)
    assert (second.operation, second.num_inserts, second.num_updates, second.num_files) == ("UPSERT", 1, 1, 1)


def test_a_file_group_is_told_with_the_operations_that_wrote_it(table: ds.Table) -> None:
    table.bulk_insert(_rows(("a", 1, 1), ("b", 2, 1)))
    table.upsert(_rows(("a", 1, 2), ("c", 1, 1)))

    first, second = _history(table.uri).file_groups

    assert [(v.operation, v.num_rows) for v in first.versions] == [(1, 1), (2, 2)]
    assert [(v.operation, v.num_rows) for v in second.versions] == [(1, 1)]


def test_partitions_are_shown_in_the_order_of_their_numbers(table: ds.Table) -> None:
    table.bulk_insert(_rows(("a", 10, 1), ("b", 2, 1)))

    shown = [facts.group.partition_path for facts in _history(table.uri).file_groups]

    assert shown == ["month=2", "month=10"]


def test_a_new_table_has_no_history(table: ds.Table) -> None:
    assert _history(table.uri) == History((), ())


def test_a_pending_instant_of_java_is_told_as_pending(tmp_path: Path) -> None:
    load_case("inflight_only_cow").extract(tmp_path / "table")

    pending = [o for o in _history(str(tmp_path / "table")).operations if o.instant.state is not State.COMPLETED]

    assert pending
    assert all(operation.num_files is None for operation in pending)


@pytest.mark.parametrize("name", ["cow_partitioned_hive", "rollback_restore_cow", "clean_commits", "cow_clustering"])
def test_tables_of_java_can_be_shown(name: str, tmp_path: Path) -> None:
    load_case(name).extract(tmp_path / "table")
    history = _history(str(tmp_path / "table"))

    shown = _shown(render_history(history))

    assert all(operation.operation.lower().replace("_", " ") in shown for operation in history.operations)
    assert all(facts.group.file_id[:8] in shown for facts in history.file_groups)


def test_what_a_table_calls_itself_is_shown_and_not_obeyed() -> None:
    group = FileGroupFacts(
        FileGroupId("[bold]x[/bold]", "abcdefgh-0"), (FileVersionFacts(1, "20261121000000000", 3, 1),)
    )

    assert "[bold]x[/bold]" in _shown(render_file_groups([group]))


def test_of_very_many_file_groups_the_rest_is_counted() -> None:
    version = FileVersionFacts(None, "20261121000000000", None, 1)
    groups = [FileGroupFacts(FileGroupId("p", f"{n:08}-0"), (version,)) for n in range(1_050)]

    assert "and 1,010 more" in _shown(render_file_groups(groups))


def test_the_worst_delays_come_first_with_the_longest_bar() -> None:
    lines = _shown(render_delays({"AA": 1.0, "UA": 8.0, "B6": 4.0}, most=2)).splitlines()[1:]

    assert [line.split()[0] for line in lines] == ["UA", "B6"]
    assert lines[0].count("█") == 2 * lines[1].count("█")


@pytest.mark.parametrize(
    ("num_bytes", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1023, "1.00 KiB"),
        (1024, "1.00 KiB"),
        (13 * 1024 + 500, "13.5 KiB"),
        (1_500_000, "1.43 MiB"),
        (1_048_000, "1.00 MiB"),
        (9_999 * 2**40, "9,999 TiB"),
    ],
)
def test_sizes_are_told_in_binary_units(num_bytes: int, shown: str) -> None:
    assert format_size(num_bytes) == shown


@pytest.mark.parametrize(
    ("instant_time", "shown"),
    [("20130101051702003", "2013-01-01 05:17:02.003"), ("20130101051702", "2013-01-01 05:17:02"), ("0000", "0000")],
)
def test_times_are_told_as_people_write_them(instant_time: str, shown: str) -> None:
    assert format_time(instant_time) == shown
