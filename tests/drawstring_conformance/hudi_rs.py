"""hudi-rs as a target: the Rust implementation, through its Python package ``hudi``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from drawstring_conformance.vectors import QueryType
from drawstring_spec.errors import DrawstringError, UnsupportedQueryError
from drawstring_spec.times import format_instant_time, is_instant_time, parse_instant_time

_READ_OPTIMIZED: Final = "hoodie.read.use.read_optimized.mode"
_NOT_SUPPORTED: Final = "is not supported"
"""hudi-rs has one class of errors; with these words it says that it lacks a feature."""


class HudiRsError(DrawstringError):
    """hudi-rs panicked: an error of Rust's that no ordinary handler sees."""


class HudiRsTarget:
    """The reader of hudi-rs. Making one raises `ImportError` where the package is not installed."""

    def __init__(self) -> None:
        import hudi

        self._hudi = hudi
        self.name = "hudi-rs"
        self.version = str(hudi.__version__)

    def answer(self, base_path: str, query: Mapping[str, Any]) -> pa.Table:
        """As `drawstring_conformance.targets.Target.answer`. Change data is not what hudi-rs answers."""
        options = self._options(query)
        try:
            table = self._hudi.HudiTableBuilder.from_base_uri(base_path).build()
            batches = table.read(options)
            if batches:
                return pa.Table.from_batches(batches)
            return table.get_schema_with_meta_fields().empty_table()
        except Exception as error:
            if _NOT_SUPPORTED in str(error):
                raise UnsupportedQueryError(f"hudi-rs says: {error}") from error
            raise
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            raise HudiRsError(f"hudi-rs panicked: {error}") from None

    def _options(self, query: Mapping[str, Any]) -> Any:
        options = self._hudi.HudiReadOptions().with_hudi_options(dict(query["read_options"]))
        kind = query["type"]
        if kind == QueryType.CDC:
            raise UnsupportedQueryError("hudi-rs has no queries for change data.")
        if kind == QueryType.READ_OPTIMIZED:
            return options.with_hudi_option(_READ_OPTIMIZED, "true")
        if kind == QueryType.TIME_TRAVEL:
            return options.with_as_of_timestamp(query["as_of"])
        if kind == QueryType.INCREMENTAL:
            options = options.with_query_type(self._hudi.HudiQueryType.Incremental)
            options = options.with_start_timestamp(_before(query["start"]))
            return options if query["end"] is None else options.with_end_timestamp(query["end"])
        return options


def _before(instant_time: str) -> str:
    """Return the millisecond before: ranges of the vectors include their start, those of hudi-rs do not."""
    if not is_instant_time(instant_time):
        return format_instant_time(0)  # "000", from the beginning
    return format_instant_time(parse_instant_time(instant_time) - 1)
