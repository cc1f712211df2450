"""What the options of ``format("drawstring")`` ask for when they are those of a read: Hudi's own keys.

Whose duty: Spark hands options over with their keys in lower case; here they get their names back. Options that
contradict each other are refused by name, where Java Hudi ignores one of them. What an option may be by itself says
`drawstring.format_options`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from drawstring.context import TableContext
from drawstring.errors import OptionError
from drawstring.options import OPTIONS, Options
from drawstring.read.ranges import EARLIEST, parse_range
from drawstring.runtime import production_ports
from drawstring.table_arguments import check_source_files
from drawstring.table_config import load_table_config

PATH: Final = "path"
AS_OF: Final = "as.of.instant"
QUERY_TYPE: Final = "hoodie.datasource.query.type"
CHANGE_FORMAT: Final = "hoodie.datasource.query.incremental.format"
BEGIN: Final = "hoodie.datasource.read.begin.instanttime"
END: Final = "hoodie.datasource.read.end.instanttime"
START_OFFSET: Final = "hoodie.datasource.streaming.startOffset"
DATA_SKIPPING: Final = "hoodie.enable.data.skipping"
FILTER: Final = "drawstring.read.filter"

LATEST: Final = "latest"
"""A stream that begins with what completes from now on."""

_NAMES: Final = {key.lower(): key for spec in OPTIONS.values() for key in (spec.key, *spec.aliases)}
_ONLY_OF_CHANGES: Final = (BEGIN, END, CHANGE_FORMAT)


class Kind(StrEnum):
    """What a read returns."""

    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    ROWS = "incremental"
    """Rows that changed, in their last state."""
    CHANGES = "cdc"
    """Every single change."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A read that was asked for by options.

    Attributes:
        location: of the table.
        options: all of them, checked.
        kind: what is returned.

    """

    location: str
    options: Options
    kind: Kind

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> ReadRequest:
        """Check what is the same for a batch and for a stream.

        Args:
            given: options as Spark has them, the path among them.

        Raises:
            OptionError: an option is unknown, not honoured, contradicts another, or there is no path.
            InputError: the start or end of a range has no form that is known.

        """
        location, raw = table_location(given)
        options = Options.parse(raw)
        kind = Kind(options[QUERY_TYPE])
        if kind is Kind.ROWS:
            _refuse(options, (AS_OF,), "the query type 'incremental'", f"Give the range with {BEGIN!r} and {END!r}.")
            if options[CHANGE_FORMAT] == "cdc":
                kind = Kind.CHANGES
        else:
            _refuse(
                options, _ONLY_OF_CHANGES, f"the query type {kind.value!r}", f"Set {QUERY_TYPE!r} to 'incremental'."
            )
        if kind is Kind.READ_OPTIMIZED:
            _refuse(options, (START_OFFSET,), "the query type 'read_optimized'", "Leave it out.")
        _refuse_two_starts(options)
        parse_range(options[BEGIN], options[END])
        if options[START_OFFSET].lower() != LATEST:
            parse_range(options[START_OFFSET], None)
        return cls(location, options, kind)

    def for_batch(self) -> ReadRequest:
        """Return the same, as a batch. Raises `OptionError` where an option is missing, or is one of streams."""
        _refuse(self.options, (START_OFFSET,), "a batch", f"Give the range with {BEGIN!r}, or use spark.readStream.")
        if self.kind in {Kind.ROWS, Kind.CHANGES} and self.options[BEGIN] is None:
            raise OptionError(
                f"An incremental read needs the option {BEGIN!r}.",
                way_out=f"Give a completion time, or {EARLIEST!r} for all changes.",
            )
        return self

    def for_stream(self) -> ReadRequest:
        """Return the same, as a stream of changes. Raises `OptionError` where an option is none of streams."""
        way_out = f"A stream begins at {START_OFFSET!r}, or where its checkpoint says, and has no end."
        _refuse(self.options, (BEGIN, END, AS_OF), "a stream", way_out)
        if QUERY_TYPE in self.options.given and self.kind not in {Kind.ROWS, Kind.CHANGES}:
            raise OptionError(
                f"Option {QUERY_TYPE!r} is {self.kind.value!r}, and a stream reads changes.",
                rule="WR-012",
                way_out="Leave it out, or set it to 'incremental'; read snapshots with spark.read.",
            )
        return self if self.kind is Kind.CHANGES else ReadRequest(self.location, self.options, Kind.ROWS)

    def open(self) -> TableContext:
        """Open the table. Raises `TableNotFoundError`, `UnsupportedTableError`, `CorruptFileError` or `OptionError`."""
        ports = production_ports(self.location, self.options)
        config = load_table_config(ports.storage)
        check_source_files(config, self.options)
        return TableContext(ports, config, self.options)


def table_location(given: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the table's location, and the other options under their own names.

    Raises:
        OptionError: there is no path, or several.

    """
    raw = {_NAMES.get(key.lower(), key): value for key, value in given.items()}
    location = raw.pop(PATH, None)
    if "paths" in raw:
        raise OptionError("Several paths are given.", way_out="Load one table at a time, and union the DataFrames.")
    if not location:
        raise OptionError("No path is given.", way_out="Say load(path), save(path) or option('path', ...).")
    return location, raw


def _refuse(options: Options, keys: tuple[str, ...], where: str, way_out: str) -> None:
    for key in keys:
        if key in options.given:
            raise OptionError(f"Option {key!r} is not honoured for {where}.", rule="WR-012", way_out=way_out)


def _refuse_two_starts(options: Options) -> None:
    if START_OFFSET in options.given and BEGIN in options.given:
        raise OptionError(
            f"Options {BEGIN!r} and {START_OFFSET!r} are both given.",
            rule="WR-012",
            way_out="The first is of batches, the second of streams.",
        )
