"""The golden tables, as values: what Java Hudi left on storage, and the rows that it returned.

The format of the folders is written down in ``vectors/README.md``, for readers in any language. This module opens
them for Python. A zip is data from outside: its member names are checked before anything is written.
"""

from __future__ import annotations

import json
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from drawstring_spec.errors import FormatError

VECTORS = Path(__file__).parent / "vectors"
"""The folder of all cases, one folder each."""

MAX_MEMBER_BYTES = 64 * 1024 * 1024
"""No file of a golden table is nearly as large: a larger one is refused, not unpacked."""


class QueryType(StrEnum):
    """What a query asks for."""

    SNAPSHOT = "snapshot"
    """The table as it is."""
    READ_OPTIMIZED = "read_optimized"
    """Base files only."""
    TIME_TRAVEL = "time_travel"
    """The table as of an instant time."""
    INCREMENTAL = "incremental_completion"
    """Rows of commits completed between two times, both ends inclusive."""
    CDC = "cdc"
    """Changes between two times, the start exclusive, the end inclusive."""


@dataclass(frozen=True)
class Query:
    """One query, and what Java answered.

    Attributes:
        id: unique in its case.
        type: what is asked for.
        expected: Parquet file of the rows; compare as multisets, over all columns.
        rows: how many they are.
        as_of: instant time of a TIME_TRAVEL query.
        start: of a range; "000" is from the beginning.
        end: of a range; None is up to now.
        read_options: options that the reader was given beside.
        read_with: version of Java Hudi that answered, where it is not the one that wrote.

    """

    id: str
    type: QueryType
    expected: Path
    rows: int
    as_of: str | None = None
    start: str | None = None
    end: str | None = None
    read_options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    read_with: str | None = None


@dataclass(frozen=True)
class Case:
    """One golden table.

    Attributes:
        name: of its folder.
        folder: that holds it.
        details: what its ``case.json`` says.

    """

    name: str
    folder: Path
    details: Mapping[str, Any] = field(repr=False, compare=False)

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """Queries that Java answered, in the order of the file."""
        return tuple(self._query(entry) for entry in self.details["queries"])

    def _query(self, entry: Mapping[str, Any]) -> Query:
        return Query(
            id=entry["id"],
            type=QueryType(entry["type"]),
            expected=self.folder / entry["expect"],
            rows=entry["rows"],
            as_of=entry.get("as_of"),
            start=entry.get("start"),
            end=entry.get("end"),
            read_options=MappingProxyType(entry.get("read_options") or {}),
            read_with=entry.get("read_with"),
        )

    @property
    def table_type(self) -> str:
        """COPY_ON_WRITE or MERGE_ON_READ."""
        return str(self.details["table_type"])

    @property
    def table_properties(self) -> Mapping[str, str]:
        """The table's properties, as Java read them."""
        return MappingProxyType(self.details["table_properties"])

    @cached_property
    def file_names(self) -> tuple[str, ...]:
        """Paths of the table's files, below its base path, sorted."""
        with self._open() as archive:
            return tuple(sorted(entry.filename for entry in archive.infolist() if not entry.is_dir()))

    def read_file(self, path: str) -> bytes:
        """Return one file's bytes. Raises `KeyError` where the table has no such file."""
        with self._open() as archive:
            return archive.read(_checked(archive.getinfo(path)))

    def read_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield path and bytes of each file, in the order of the archive, one at a time."""
        with self._open() as archive:
            for entry in archive.infolist():
                if not entry.is_dir():
                    yield entry.filename, archive.read(_checked(entry))

    def extract(self, destination: Path) -> Path:
        """Unpack the table into a folder, which is made, and return the folder: the table's base path."""
        destination.mkdir(parents=True, exist_ok=True)
        with self._open() as archive:
            for entry in archive.infolist():
                path = destination.joinpath(*PurePosixPath(_checked(entry).filename).parts)
                if entry.is_dir():
                    path.mkdir(parents=True, exist_ok=True)
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(entry) as source, path.open("wb") as target:
                    shutil.copyfileobj(source, target)
        return destination

    def _open(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(self.folder / "table.zip")


def _checked(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """Return an archive's entry if it stays below the folder it is unpacked to, and is of a decent size."""
    name = entry.filename
    parts = PurePosixPath(name).parts
    is_link = stat.S_ISLNK(entry.external_attr >> 16)
    if not parts or name.startswith("/") or ".." in parts or "\\" in name or ":" in parts[0] or is_link:
        raise FormatError(f"{name[:120]!r} in a table's archive does not stay below the table.")
    if entry.file_size > MAX_MEMBER_BYTES:
        raise FormatError(f"{name[:120]!r} in a table's archive claims {entry.file_size} bytes.")
    return entry


def load_case(name: str, vectors: Path = VECTORS) -> Case:
    """Load one case by the name of its folder. Raises `FormatError` where there is none."""
    details_file = vectors / name / "case.json"
    if PurePosixPath(name).name != name or not details_file.is_file():
        raise FormatError(f"There is no case {name!r}.", way_out="See load_cases() for those there are.")
    return Case(name, details_file.parent, json.loads(details_file.read_text(encoding="utf-8")))


def load_cases(vectors: Path = VECTORS) -> tuple[Case, ...]:
    """Load all cases, sorted by name."""
    return tuple(load_case(details_file.parent.name, vectors) for details_file in sorted(vectors.glob("*/case.json")))
