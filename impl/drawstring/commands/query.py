"""``drawstring read`` and ``changes``: rows of a table on a terminal, or as JSON, CSV or Parquet for other programs."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import drawstring as ds
from drawstring.commands.as_json import to_json
from drawstring.commands.look import AsOfOption, PathArgument, SourceFilesOption
from drawstring.errors import InputError
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY


class Format(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    PARQUET = "parquet"


ColumnOption = Annotated[list[str] | None, typer.Option("--column", "-c", help="A column that is wanted; repeat it.")]
WhereOption = Annotated[
    list[str] | None,
    typer.Option("--where", "-w", help="A condition, such as 'month >= 6' or \"name == 'x'\"; all of them must hold."),
]
LimitOption = Annotated[int, typer.Option(min=0, help="So many rows at most; 0 for all.")]
FormatOption = Annotated[Format, typer.Option("--format", "-f", help="How rows are printed; Parquet only into a pipe.")]
_OPERATORS = ("==", "!=", ">=", "<=", ">", "<")


def read(
    path: PathArgument,
    *,
    column: ColumnOption = None,
    where: WhereOption = None,
    as_of: AsOfOption = None,
    read_optimized: Annotated[bool, typer.Option(help="Read base files only, which is faster and may lag.")] = False,
    meta: Annotated[bool, typer.Option(help="With the five _hoodie_ columns in front.")] = False,
    source_files: SourceFilesOption = None,
    limit: LimitOption = 20,
    output: FormatOption = Format.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json: an object per line.")] = False,
) -> None:
    """Print rows of a table: a snapshot of now, or as of an earlier time.

    Nothing is changed. Example: drawstring read /data/trips -c id -c fare -w 'fare > 100' --as-of 2024-01-31
    """
    opened = _open(path, source_files)
    table = opened.read(
        as_of=as_of,
        columns=column or None,
        filter=_conditions(opened, where),
        read_optimized=read_optimized,
        meta_columns=meta,
    )
    shown = table if limit == 0 else table.slice(0, limit)
    print_rows(shown, Format.JSON if as_json else output, total=table.num_rows)


def changes(
    path: PathArgument,
    start: Annotated[
        str, typer.Argument(help="Completion time from which on; 'earliest' for the beginning.")
    ] = "earliest",
    end: Annotated[str | None, typer.Argument(help="Completion time up to which, inclusive.")] = None,
    *,
    cdc: Annotated[bool, typer.Option(help="Every single change, with images before and after it.")] = False,
    after: Annotated[bool, typer.Option(help="Leave out what completed at START itself, to go on from there.")] = False,
    column: ColumnOption = None,
    where: WhereOption = None,
    meta: Annotated[bool, typer.Option(help="With the five _hoodie_ columns in front.")] = False,
    source_files: SourceFilesOption = None,
    limit: LimitOption = 20,
    output: FormatOption = Format.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json: an object per line.")] = False,
) -> None:
    """Print what changed in a table between two completion times, and where to go on from.

    Nothing is changed. Example: drawstring changes /data/trips 20240131000000000 --after -c id -c fare
    """
    opened = _open(path, source_files)
    table = opened.changes(
        start,
        end,
        bounds="(]" if after else "[]",
        cdc=cdc,
        columns=column or None,
        filter=_conditions(opened, where),
        meta_columns=meta,
    )
    shown = table if limit == 0 else table.slice(0, limit)
    print_rows(shown, Format.JSON if as_json else output, total=table.num_rows)
    Console(stderr=True).print(f"[dim]Go on with: drawstring changes {escape(path)} {ds.checkpoint(table)} --after[/]")


def _open(path: str, source_files: str | None) -> ds.Table:
    return ds.Table.open(path, options={BASE_PATH_PROPERTY: source_files} if source_files else {})


def _conditions(table: ds.Table, where: list[str] | None) -> list[tuple[str, str, Any]] | None:
    """Return conditions whose values are of their columns' types where these are dates or times."""
    if not where:
        return None
    kinds = {field.name: field.type for field in table.schema}
    parsed = [parse_condition(text) for text in where]
    return [(name, operator, _in_time(value, kinds.get(name), name)) for name, operator, value in parsed]


def _in_time(value: Any, kind: pa.DataType | None, name: str) -> Any:
    """Return a text as the date or time that it stands for; one without an offset is UTC's."""
    if not isinstance(value, str) or kind is None or not pa.types.is_temporal(kind):
        return value
    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    for way in (pa.timestamp(kind.unit), kind) if zoned else (kind,):
        try:
            return pa.scalar(value).cast(way).cast(kind)
        except pa.ArrowException:
            continue
    raise InputError(
        f"The value {value!r} is none of column {name!r}, whose type is {kind}.",
        way_out="Write it as 2024-01-31, or as '2024-01-31 08:00:00'.",
    )


def parse_condition(text: str) -> tuple[str, str, Any]:
    """Return column, operator and value of a condition. The value is JSON, or text without quotes.

    Raises:
        InputError: there is no operator in it.

    """
    for operator in _OPERATORS:
        name, found, value = text.partition(operator)
        if found and name.strip():
            return name.strip(), operator, _value(value.strip())
    raise InputError(
        f"The condition {text!r} has no operator.", way_out=f"Write: column {' | '.join(_OPERATORS)} value."
    )


def _value(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


def print_rows(table: pa.Table, output: Format, *, total: int) -> None:
    """Print rows in a format; `total` tells how many there are besides those shown."""
    if output is Format.JSON:
        for line in _json_lines(table):
            typer.echo(line)
    elif output is Format.CSV:
        pyarrow.csv.write_csv(_flat(table), sys.stdout.buffer)
    elif output is Format.PARQUET:
        if sys.stdout.isatty():
            raise InputError("Parquet is no text for a terminal.", way_out="Send it to a file: ... > rows.parquet")
        pyarrow.parquet.write_table(table, sys.stdout.buffer)
    else:
        grid = Grid(header_style="bold", box=None, pad_edge=False)
        for name in table.column_names:
            grid.add_column(escape(name), no_wrap=True)
        for row in table.to_pylist():
            grid.add_row(*("" if value is None else escape(str(value)) for value in row.values()))
        Console().print(grid)
        Console().print(f"[dim]{table.num_rows:,} of {total:,} rows[/]")


def _flat(table: pa.Table) -> pa.Table:
    """Return the rows with structs, lists and maps as JSON and bytes as base64, since CSV has no form for them."""
    for index, field in enumerate(table.schema):
        values = table.column(index)
        if pa.types.is_nested(field.type):
            texts = [None if value is None else to_json(value) for value in values.to_pylist()]
        elif pa.types.is_binary(field.type) or pa.types.is_fixed_size_binary(field.type):
            texts = [None if value is None else base64.b64encode(value).decode("ascii") for value in values.to_pylist()]
        else:
            continue
        table = table.set_column(index, field.name, pa.array(texts, pa.string()))
    return table


def _json_lines(table: pa.Table) -> Iterator[str]:
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield to_json(row)
