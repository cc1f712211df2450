"""``drawstring log`` and ``hfile``: what single files of a table hold. They change nothing."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from drawstring.codec.avro_container import decode_bare
from drawstring.commands.as_json import to_json
from drawstring.commands.display import format_size
from drawstring.errors import NotFoundError
from drawstring.hfile.reader import HFileReader
from drawstring.log_files.blocks import LogBlock, read_blocks
from drawstring.log_files.decode import DATA_BLOCKS, block_schema, data_records, delete_records, header_summary
from drawstring_spec.log_format import BlockType

FileArgument = Annotated[Path, typer.Argument(help="The file, on this machine.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
RowsOption = Annotated[int, typer.Option(min=0, help="Show so many of the first records of each block.")]
_SHOWN_KEY_CHARACTERS = 100
_METADATA_RECORD = "HoodieMetadataRecord"


def log(path: FileArgument, *, rows: RowsOption = 0, as_json: JsonOption = False) -> None:
    """List the blocks of a log file: where each begins, what it holds, who wrote it, and its other headers.

    A stretch that is no block is listed as CORRUPT, as readers take it. Example: drawstring log .f1-0_2024.log.1_0-1-2
    --rows 3
    """
    blocks = [_block(block, rows) for block in read_blocks(memoryview(_content(path)), path=path.name)]
    if as_json:
        for block in blocks:
            typer.echo(to_json(block))
        return
    console = Console()
    grid = Grid(title=escape(path.name), title_justify="left", header_style="dim", box=None, pad_edge=False)
    for heading in ("byte", "type", "size", "records", "headers"):
        grid.add_column(heading, justify="right" if heading in ("byte", "size", "records") else "left")
    for block in blocks:
        headers = "\n".join(f"{key}: {value}" for key, value in block["headers"].items())
        count = "" if block["records"] is None else f"{block['records']:,}"
        grid.add_row(f"{block['offset']:,}", block["type"], format_size(block["size"]), count, escape(headers))
    console.print(grid)
    for block in blocks:
        for row in block["rows"]:
            console.print(escape(f"{block['offset']:,}: {to_json(row)}"), highlight=False)


def hfile(path: FileArgument, *, rows: RowsOption = 20, as_json: JsonOption = False) -> None:
    """Show an HFile: how many entries it has, its file info, and its first keys.

    Example: drawstring hfile files-0000-0_0-5-4_00000000000000000.hfile --rows 5
    """
    content = _content(path)
    reader = HFileReader.from_bytes(memoryview(content), path=path.name)
    info = {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in reader.file_info.items()}
    every_key = (key for block in reader.blocks() for key in block.keys)
    keys = [key.decode("utf-8", "replace") for key in itertools.islice(every_key, rows)]
    if as_json:
        typer.echo(to_json({"entries": reader.num_entries, "file_info": info, "keys": keys}))
        return
    console = Console()
    console.print(f"[bold]{escape(path.name)}[/]  {reader.num_entries:,} entries, {format_size(len(content))}")
    grid = Grid(title="File info", title_justify="left", box=None, show_header=False, pad_edge=False)
    for key, value in info.items():
        grid.add_row(escape(key), escape(repr(value[:_SHOWN_KEY_CHARACTERS])))
    console.print(grid)
    for key in keys:
        console.print(escape(key), highlight=False)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}.", way_out="Check the path.") from error


def _block(block: LogBlock, rows: int) -> dict[str, Any]:
    count, shown = _records(block, rows)
    return {
        "offset": block.offset,
        "size": block.size,
        "type": block.type.name,
        "headers": header_summary(block),
        "records": count,
        "rows": shown,
    }


def _records(block: LogBlock, rows: int) -> tuple[int | None, list[dict[str, Any]]]:
    """Count the records of a block, and return the first of them; None where it is of a kind that has none."""
    if block.type is BlockType.DELETE:
        table = delete_records(block)
    elif block.type not in DATA_BLOCKS:
        return None, []
    elif block.type is BlockType.HFILE_DATA and block_schema(block).get("name") == _METADATA_RECORD:
        return _metadata_records(block, rows)
    else:
        table = data_records(block)
    return table.num_rows, table.slice(0, rows).to_pylist()


def _metadata_records(block: LogBlock, rows: int) -> tuple[int, list[dict[str, Any]]]:
    """Records of the metadata table, whose unions of many types no column has: those that are shown, one by one."""
    keys, values = HFileReader.from_bytes(block.content, path=block.path).entries()
    schema = block_schema(block)
    shown = zip(keys.slice(0, rows).to_pylist(), values.slice(0, rows).to_pylist(), strict=True)
    records = [(key, decode_bare(schema, value, path=block.path)) for key, value in shown]
    return len(keys), [record | {"key": key.decode("utf-8", "replace")} for key, record in records]
