"""What a table on storage is made of, with what differs from run to run (times, ids, sizes) taken out.

Two tables are alike when these shapes are equal. Nothing here goes through the implementation: names are matched
with regular expressions, payloads are read with fastavro, footers with pyarrow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq

# Most specific first: a file id holds a UUID, a timeline name one time or two.
_VARIABLE = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"(?<=<uuid>-)\d+(?=_)"), "<n>"),
    (re.compile(r"\d{17}"), "<time>"),
    (re.compile(r"(?<=_)\d+-\d+-\d+(?=_)"), "<token>"),
)
METADATA_TABLE = ".hoodie/metadata"


def kind(text: str) -> str:
    """The kind of a file name: what varies from file to file is replaced by its name."""
    for pattern, replacement in _VARIABLE:
        text = pattern.sub(replacement, text)
    return text


def _paths(table: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(table.rglob("*")):
        name = path.relative_to(table).as_posix()
        if not name.startswith(METADATA_TABLE):
            yield name, path


def hoodie_file_kinds(table: Path) -> set[str]:
    """Kinds of the files below ``.hoodie``, the metadata table left out."""
    return {kind(name) for name, path in _paths(table) if path.is_file() and name.startswith(".hoodie/")}


def hoodie_folders(table: Path) -> set[str]:
    """Folders below ``.hoodie``, the metadata table left out."""
    return {name for name, path in _paths(table) if path.is_dir() and name.startswith(".hoodie/")}


def data_file_kinds(table: Path) -> set[str]:
    """Kinds of the files outside of ``.hoodie``, without their folders."""
    return {kind(path.name) for name, path in _paths(table) if path.is_file() and not name.startswith(".hoodie/")}


def base_files(table: Path) -> list[Path]:
    """The Parquet files of the partitions."""
    return [path for name, path in _paths(table) if path.suffix == ".parquet" and not name.startswith(".hoodie")]


def properties(path: Path) -> dict[str, str]:
    """A Java properties file, read the simple way that is enough for files without continued lines."""
    lines = path.read_text(encoding="latin-1").splitlines()
    pairs = [line.split("=", 1) for line in lines if line and not line.startswith("#")]
    return {key: re.sub(r"\\(.)", r"\1", value) for key, value in pairs}


def comment_lines(path: Path) -> int:
    """Number of comment lines of a properties file."""
    return sum(line.startswith("#") for line in path.read_text(encoding="latin-1").splitlines())


def without_comments(schema: Any) -> Any:
    """An Avro schema without its comments: ``doc``, whose words are our own, and what Avro ignores.

    Java's generated classes leave a ``default`` inside of array and map types, where it means nothing.
    """
    if isinstance(schema, dict):
        ignored = {"doc", "default"} if schema.get("type") in ("array", "map") else {"doc"}
        return {key: without_comments(value) for key, value in schema.items() if key not in ignored}
    return [without_comments(item) for item in schema] if isinstance(schema, list) else schema


def payload(path: Path) -> tuple[dict[str, Any], dict[str, str], list[Any]] | None:
    """Schema (no comments), container metadata and records of a timeline file; None where it is empty."""
    if path.stat().st_size == 0:
        return None
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        records = list(reader)
        schema = without_comments(json.loads(reader.metadata["avro.schema"]))
        return schema, dict(reader.metadata), records


def timeline_payloads(table: Path, suffix: str) -> list[tuple[dict[str, Any], dict[str, str], list[Any]] | None]:
    """The payloads of all timeline files whose name ends so, in order."""
    files = [path for path in (table / ".hoodie" / "timeline").iterdir() if path.is_file()]
    return [payload(path) for path in sorted(files) if path.name.endswith(suffix)]


def field_shape(value: object) -> object:
    """Which fields a record fills and how: keys of records stay, those of maps and all values give way to kinds."""
    if isinstance(value, dict):
        return {key: field_shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [field_shape(value[0])] if value else []
    if isinstance(value, str):
        return _text_shape(value)
    return type(value).__name__ if value is not None else None


def _text_shape(text: str) -> str:
    if text in {"", "null"}:
        return repr(text)
    if text.startswith(("/", "file:")):
        return "absolute path"
    if text.startswith("{"):
        return "JSON"
    return kind(text).rpartition("/")[2] if "<" in kind(text) else "text"


def write_stats(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The write statistics of a commit's metadata, over all partitions."""
    return [stat for stats in record["partitionToWriteStats"].values() for stat in stats]


def footer(path: Path) -> dict[str, str]:
    """Key-value metadata of a Parquet footer."""
    metadata = pq.ParquetFile(path).metadata.metadata or {}
    return {key.decode(): value.decode() for key, value in metadata.items()}


def leaf_columns(path: Path) -> dict[str, tuple[str, str, bool]]:
    """Physical type, logical type and whether nulls can be, of each column of a file.

    The names of a list's own levels are left out: those are the list layout.
    """
    schema = pq.ParquetFile(path).schema
    columns = {}
    for index in range(len(schema)):
        column = schema.column(index)
        name = re.sub(r"\.(list\.element|list\.item|list|array|element|bag\.array_element)(?=\.|$)", "[]", column.path)
        logical = re.sub(r", is_from_converted_type.*", ")", str(column.logical_type))
        columns[name] = (column.physical_type, f"{logical} {column.length}", column.max_definition_level > 0)
    return columns
