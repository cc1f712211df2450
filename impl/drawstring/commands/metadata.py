"""``drawstring metadata``: what a table's metadata table holds, for people and for scripts; it changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import pyarrow as pa
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import drawstring as ds
from drawstring.commands.as_json import to_json
from drawstring.commands.display import format_size
from drawstring.commands.doctor import report_as_json, show_report
from drawstring.commands.look import PathArgument
from drawstring.doctor import Report, examine
from drawstring.errors import FormatError, InputError
from drawstring.metadata import MetadataTable
from drawstring.metadata.file_ids import file_ids
from drawstring.metadata.records import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX_PREFIX,
)
from drawstring.options import Options
from drawstring.runtime import open_storage, production_ports
from drawstring_spec.layout import METADATA_TABLE_FOLDER
from drawstring_spec.names import LogFileName, parse_data_file_name

VERIFIED: Final = frozenset(
    {
        "metadata-partitions",
        "metadata-readable",
        "metadata-forgotten",
        "metadata-partition-list",
        "metadata-files",
        "column-stats",
        "record-index",
    }
)
"""Checks of ``drawstring doctor`` that compare the metadata table with the table."""

_SHOWN_CHARACTERS: Final = 100

PartitionOption = Annotated[
    str | None, typer.Option("--partition", "-p", help="Show the records of this partition, such as files.")
]
KeyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--key",
        "-k",
        help="Look up: a partition path (files), a column (column_stats, partition_stats), a record key "
        "(record_index), a value (secondary_index_...), or partition/file (bloom_filters). Repeat it for more.",
    ),
]
RowsOption = Annotated[int, typer.Option("--rows", "-n", min=0, help="Show so many records at most; 0 for all.")]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Compare it with the table: listings, statistics and keys. Reads rows.")
]
CountOption = Annotated[bool, typer.Option("--count", help="Count the records of each partition. Reads all of them.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def metadata(
    path: PathArgument,
    *,
    partition: PartitionOption = None,
    key: KeyOption = None,
    rows: RowsOption = 20,
    count: CountOption = False,
    verify: VerifyOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show a table's metadata table: its partitions and their sizes, records, and look-ups.

    Nothing is changed. With --verify the exit status is 1 if the metadata table and the table do not agree.

    For instance:

    - `drawstring metadata /data/trips --count`
    - `drawstring metadata /data/trips -p files -k city=oslo`
    - `drawstring metadata /data/trips -p record_index -k trip-17 --json`
    - `drawstring metadata /data/trips --verify`
    """
    if key and partition is None:
        raise InputError("A key is looked up in a partition.", way_out="Add --partition, such as --partition files.")
    table = ds.Table.open(path).metadata()
    shown: dict[str, Any] = {}
    if partition is None:
        shown["partitions"] = [] if table is None else _partitions(path, table, count=count)
    elif table is None:
        raise InputError(f"The table at {path} has no metadata table.", way_out="drawstring show says what it is.")
    else:
        found = _look_up(table, partition, key) if key else _every_record(table, partition)
        chosen = found if rows == 0 else found.slice(0, rows)
        shown |= {"partition": partition, "records": found.num_rows, "rows": [_plain(r) for r in chosen.to_pylist()]}
    report = None
    if verify:
        report = examine(production_ports(path, Options.parse({})), deep=True, only=VERIFIED)
        shown["verify"] = report_as_json(report)
    if as_json:
        typer.echo(to_json(shown, indent=1))
    else:
        _show(shown, report)
    if report is not None and not report.is_healthy:
        raise typer.Exit(1)


def _partitions(path: str, table: MetadataTable, *, count: bool) -> list[dict[str, Any]]:
    """Count the files of each partition by a listing."""
    storage = open_storage(path)
    found = []
    for name in table.partitions:
        groups: set[str] = set()
        sizes: dict[bool, list[int]] = {True: [], False: []}
        for status in storage.list(f"{METADATA_TABLE_FOLDER}/{name}"):
            try:
                file = parse_data_file_name(status.path.rpartition("/")[2])
            except FormatError:
                continue  # The partition's metafile.
            groups.add(file.file_id)
            sizes[isinstance(file, LogFileName)].append(status.size)
        found.append(
            {
                "partition": name,
                "file_groups": len(groups),
                "base_files": len(sizes[False]),
                "base_bytes": sum(sizes[False]),
                "log_files": len(sizes[True]),
                "log_bytes": sum(sizes[True]),
                "records": table.records(name).num_rows if count else None,
            }
        )
    return found


def _every_record(table: MetadataTable, partition: str) -> pa.Table:
    records = table.records(partition)
    if partition != RECORD_INDEX:
        return records
    # A file id is packed into five fields there.
    names = ["key", "partition_path", "file_id", "instant_time_ms"]
    columns = [records.column("key"), records.column("partitionName"), file_ids(records), records.column("instantTime")]
    return pa.table(columns, names=names)


def _look_up(table: MetadataTable, partition: str, keys: Sequence[str]) -> pa.Table:
    """Ask the metadata table as a reader does: only the file groups that may hold the keys are opened."""
    if partition == FILES:
        return table.files(keys)
    if partition == COLUMN_STATS:
        return table.column_stats(keys)
    if partition == PARTITION_STATS:
        return table.partition_stats(keys)
    if partition == RECORD_INDEX:
        return table.record_index(pa.array(keys, pa.string()))
    if partition == BLOOM_FILTERS:
        return table.bloom_filters([(folder, name) for folder, _, name in (key.rpartition("/") for key in keys)])
    if partition.startswith(SECONDARY_INDEX_PREFIX):
        return table.secondary_index(partition, keys)
    raise InputError(
        f"Keys of the partition {partition!r} cannot be looked up.", way_out="Leave --key out to see its records."
    )


def _plain(value: Any) -> Any:
    """Return a value as people write it: a union of types is the one member that is set."""
    if isinstance(value, Mapping):
        members = [member for member in value.values() if member is not None]
        if len(members) == 1 and isinstance(members[0], Mapping) and set(members[0]) == {"value"}:
            return members[0]["value"]
        return {name: _plain(member) for name, member in value.items()}
    # Filters are base64 as bytes already.
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _show(shown: Mapping[str, Any], report: Report | None) -> None:
    console = Console()
    if "partitions" in shown:
        console.print(_overview(shown["partitions"]) if shown["partitions"] else "The table has no metadata table.")
    else:
        console.print(_records(shown["rows"]))
        console.print(f"[dim]{len(shown['rows']):,} of {shown['records']:,} records of {escape(shown['partition'])}[/]")
    if report is not None:
        console.print()
        show_report(report)


def _overview(partitions: Sequence[Mapping[str, Any]]) -> Grid:
    grid = Grid(title="Metadata table", title_justify="left", title_style="bold", header_style="dim", box=None)
    grid.add_column("partition", no_wrap=True)
    for heading in ("file groups", "base files", "log files", "records"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for one in partitions:
        grid.add_row(
            escape(one["partition"]),
            f"{one['file_groups']:,}",
            f"{one['base_files']:,}, {format_size(one['base_bytes'])}",
            f"{one['log_files']:,}, {format_size(one['log_bytes'])}",
            "" if one["records"] is None else f"{one['records']:,}",
        )
    return grid


def _records(rows: Sequence[Mapping[str, Any]]) -> Grid:
    grid = Grid(header_style="bold", box=None, pad_edge=False)
    # A column in which no row has a value says nothing on a terminal.
    names = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    for name in names:
        grid.add_column(escape(name), overflow="fold")
    for row in rows:
        grid.add_row(*("" if row[name] is None else escape(_shortened(str(row[name]))) for name in names))
    return grid


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
