"""``drawstring show``, ``timeline`` and ``slices``: what a table is and how it came to be, for people and for scripts.

Whose duty: read only. Everything shown comes from the timeline, the commits' metadata, the properties and a listing.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import pyarrow as pa
import typer
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

import drawstring as ds
from drawstring.commands.as_json import to_json
from drawstring.commands.display import format_size, format_time, render_history, render_timeline, short_file_id
from drawstring.commands.history import OperationFacts, load_history
from drawstring.errors import SchemaError
from drawstring.files import BaseFile, FileSlice
from drawstring.runtime import open_storage
from drawstring.table_config import TableConfig

PathArgument = Annotated[str, typer.Argument(help="The table: a folder, or a URI such as s3://bucket/table.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
AsOfOption = Annotated[
    str | None,
    typer.Option(help="Look at the table as it was: 17 digits, 'yyyy-MM-dd HH:mm:ss' or yyyy-MM-dd, in its zone."),
]
SourceFilesOption = Annotated[
    str | None,
    typer.Option(help="Where the files are that a bootstrap table was made of: a folder or URI; it is read there."),
]

_SHOWN_PROPERTIES: Final = (
    ("type", "hoodie.table.type"),
    ("record key", "hoodie.table.recordkey.fields"),
    ("partitioned by", "hoodie.table.partition.fields"),
    ("key generator", "hoodie.table.keygenerator.type"),
    ("ordering field", "hoodie.table.precombine.field"),
    ("merge mode", "hoodie.record.merge.mode"),
    ("metadata table", "hoodie.table.metadata.partitions"),
    ("bootstrapped from", "hoodie.bootstrap.base.path"),
    ("version", "hoodie.table.version"),
)


def show(path: PathArgument, *, as_json: JsonOption = False) -> None:
    """Show a table: what it is, its columns, its timeline and its file groups.

    Nothing is changed. Example: drawstring show /data/trips
    """
    table = ds.Table.open(path)
    history = load_history(open_storage(path), table.config)
    if as_json:
        _print_json(
            {
                "uri": table.uri,
                "properties": dict(sorted(table.config.properties.items())),
                "schema": {field.name: str(field.type) for field in _schema(table)},
                "timeline": [_operation(facts) for facts in history.operations],
                "slices": [_slice(one) for one in table.file_slices()],
            }
        )
        return
    Console().print(Group(_properties(table.uri, table.config), _columns(table), Text(), render_history(history)))


def timeline(path: PathArgument, *, as_json: JsonOption = False) -> None:
    """List the instants of a table's active timeline, in the order of their requested times.

    Nothing is changed. Example: drawstring timeline /data/trips --json
    """
    table = ds.Table.open(path)
    operations = load_history(open_storage(path), table.config).operations
    if as_json:
        _print_json([_operation(facts) for facts in operations])
    else:
        Console().print(render_timeline(operations))


def slices(path: PathArgument, *, as_of: AsOfOption = None, as_json: JsonOption = False) -> None:
    """List the file slices that a query reads: of each file group, one base file and the log files on top of it.

    Nothing is changed. Example: drawstring slices /data/trips --as-of 2024-01-31
    """
    found = ds.Table.open(path).file_slices(as_of=as_of)
    if as_json:
        _print_json([_slice(one) for one in found])
        return
    grid = Grid(title=f"{len(found):,} file slices", title_justify="left", header_style="dim", box=None, pad_edge=False)
    for heading in ("partition", "file group", "base instant", "base file", "log files"):
        grid.add_column(heading, no_wrap=True, justify="right" if heading.endswith("file") else "left")
    for one in found:
        logs = sum(log.size for log in one.log_files)
        grid.add_row(
            escape(one.group.partition_path or "(not partitioned)"),
            short_file_id(one.group.file_id),
            format_time(one.base_instant_time),
            "" if one.base_file is None else _sizes(one.base_file),
            f"{len(one.log_files)}, {format_size(logs)}" if one.log_files else "",
        )
    Console().print(grid)


def _properties(uri: str, config: TableConfig) -> Grid:
    grid = Grid(
        title=escape(f"{config.name}  {uri}"), title_justify="left", title_style="bold", box=None, show_header=False
    )
    grid.add_column(style="dim")
    grid.add_column()
    for label, key in _SHOWN_PROPERTIES:
        if config.properties.get(key):
            grid.add_row(label, escape(config.properties[key]))
    return grid


def _schema(table: ds.Table) -> pa.Schema:
    """The table's columns; none where it has none yet: the rest can be shown all the same."""
    try:
        return table.schema
    except SchemaError:
        return pa.schema([])


def _columns(table: ds.Table) -> Text:
    columns = Text("\n")
    for field in _schema(table):
        columns.append(f"{field.name} ", style="cyan").append(f"{field.type}  ", style="dim")
    return columns


def _operation(facts: OperationFacts) -> dict[str, Any]:
    instant = facts.instant
    return {
        "requested_time": instant.requested_time,
        "completion_time": instant.completion_time,
        "action": instant.action.value,
        "state": instant.state.label,
        "operation": facts.operation,
        "inserts": facts.num_inserts,
        "updates": facts.num_updates,
        "deletes": facts.num_deletes,
        "files": facts.num_files,
        "bytes": facts.written_bytes,
    }


def _slice(one: FileSlice) -> dict[str, Any]:
    return {
        "partition_path": one.group.partition_path,
        "file_id": one.group.file_id,
        "base_instant_time": one.base_instant_time,
        "base_file": None if one.base_file is None else _base_file(one.base_file),
        "log_files": [{"path": log.path, "size": log.size} for log in one.log_files],
    }


def _sizes(file: BaseFile) -> str:
    """The size of a base file, and of the source file that its rows go on in."""
    text = format_size(file.size)
    return text if file.source is None else f"{text} + {format_size(file.source.size)}"


def _base_file(file: BaseFile) -> dict[str, Any]:
    source = {} if file.source is None else {"source": {"path": file.source.path, "size": file.source.size}}
    return {"path": file.path, "size": file.size, **source}


def _print_json(value: Any) -> None:
    typer.echo(to_json(value, indent=1))
