"""Reading an ORC base file: the footer first, then one stripe at a time.

Source: Java ``HoodieAvroOrcWriter``, ``AvroOrcUtils``. Whose duty: what `drawstring.data.base_file_reader` does for
Parquet, behind the same members; Arrow decodes in a process of its own. A timestamp of the table is an instant, and
Java writes it as the wall clock of its own time zone, which the file names: it is turned back here. Where Java's writer
lost something (it drops the milliseconds of a timestamp), the file does not have it any more.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.codec.parquet_bytes import checked
from drawstring.data.key_texts import single_chunk
from drawstring.data.orc_footer import MAGIC, Footer, Tail, parse_footer, parse_tail, parse_time_zone
from drawstring.data.orc_process import decode
from drawstring.errors import CorruptFileError, UnsupportedTableError
from drawstring.ports import Storage

_END_BYTES: Final = 256
_BEYOND: Final = "out of range for nanosecond"  # as Arrow says it
_UTC: Final = frozenset({"UTC", "GMT", "Etc/UTC"})
_UNKNOWN_FROM: Final = dt.datetime(2100, 1, 1)  # noqa: DTZ001 -- a wall-clock time has no zone


@dataclass(frozen=True, slots=True)
class OrcFileReader:
    """An open ORC file: its footer is read, its stripes are not.

    Attributes:
        path: relative to the table's base path.
        size: in bytes.
        tail: the postscript.
        contents: the footer.
        end: the bytes from the statistics on.
        storage: where it is.

    """

    path: str
    size: int
    tail: Tail
    contents: Footer
    end: memoryview
    storage: Storage

    @property
    def num_rows(self) -> int:
        """Rows in the file, as its footer says."""
        return self.contents.rows

    @property
    def group_rows(self) -> tuple[int, ...]:
        """Rows of each stripe."""
        return tuple(stripe.rows for stripe in self.contents.stripes)

    @property
    def footer(self) -> Mapping[str, bytes]:
        """Key/value entries of the footer."""
        return self.contents.metadata

    def schema(self) -> pa.Schema:
        """Return the file's own columns as Arrow types. Raises `CorruptFileError`."""
        with _parsing(self.path):
            found = decode(self.size, self._pieces(), None, ()).schema
            return pa.schema([field.with_type(_instants(field.type)) for field in found])

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        row_groups: Sequence[int] | None = None,
        dictionary_columns: Sequence[str] = (),  # noqa: ARG002 -- of Parquet; ORC's texts come as they are
    ) -> pa.Table:
        """Return rows, in the file's own types.

        Args:
            columns: names at the top level, in the order that is wanted; all where None. Names that the file does not
                have are left out.
            row_groups: positions of the stripes to read; all where None.
            dictionary_columns: passed over.

        Raises:
            CorruptFileError: the file is no ORC, or damaged.
            UnsupportedTableError: a timestamp lies outside of the years 1677 to 2262 (2099 where it is not in UTC).
            NotFoundError: it is gone.

        """
        schema = self.schema()
        wanted = schema.names if columns is None else [name for name in columns if name in set(schema.names)]
        chosen = range(len(self.contents.stripes)) if row_groups is None else row_groups
        batches = [self._stripe(index, wanted) for index in chosen]
        target = pa.schema([schema.field(name) for name in wanted])
        return pa.Table.from_batches(batches, schema=target)

    def batches(
        self,
        columns: Sequence[str],
        batch_rows: int,
        *,
        dictionary_columns: Sequence[str] = (),  # noqa: ARG002 -- of Parquet
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows, a batch at a time; what is fetched and decoded at once is one stripe.

        Arguments and errors as `drawstring.data.base_file_reader.BaseFileReader.batches`.
        """
        names = set(self.schema().names)
        wanted = [name for name in columns if name in names]
        for index in range(len(self.contents.stripes)):
            stripe = self._stripe(index, wanted)
            for start in range(0, stripe.num_rows, batch_rows):
                yield stripe.slice(start, batch_rows)

    def _stripe(self, index: int, wanted: Sequence[str]) -> pa.RecordBatch:
        stripe = self.contents.stripes[index]
        content = self.storage.read(self.path, stripe.offset, stripe.size)
        with _parsing(self.path):
            zone = parse_time_zone(bytes(content[stripe.size - stripe.footer_bytes :]), self.tail)
            rows = decode(self.size, [*self._pieces(), (stripe.offset, content)], index, wanted)
            if rows.num_rows != stripe.rows:
                raise ValueError(f"a stripe of {stripe.rows} rows has {rows.num_rows}")
            columns = [_as_instants(single_chunk(rows.column(name)), zone) for name in wanted]
            if not columns:
                return rows.combine_chunks().to_batches()[0].select([])
            schema = pa.schema([pa.field(name, c.type) for name, c in zip(wanted, columns, strict=True)])
            return checked(pa.RecordBatch.from_arrays(columns, schema=schema))

    def _pieces(self) -> list[tuple[int, memoryview | bytes]]:
        """What of the file is needed to open it."""
        return [(0, MAGIC), (self.size - len(self.end), self.end)]


def open_orc_file(storage: Storage, path: str, size: int) -> OrcFileReader:
    """Read an ORC file's footer.

    Args:
        storage: of the table.
        path: relative to the table's base path.
        size: of the file, in bytes, as the storage says.

    Raises:
        CorruptFileError: the file has no ORC footer.
        NotFoundError: it is gone.

    """
    last = bytes(storage.read(path, max(0, size - _END_BYTES)))
    with _parsing(path):
        tail = parse_tail(last, size)
    end = storage.read(path, size - tail.size)
    with _parsing(path):
        if len(end) != tail.size:
            raise ValueError(f"{len(end)} bytes come where {tail.size} are")
        footer = bytes(end[tail.metadata_bytes : tail.size - tail.behind_bytes])
        contents = parse_footer(footer, tail, size)
    return OrcFileReader(path, size, tail, contents, end, storage)


def _instants(kind: pa.DataType) -> pa.DataType:
    """Return a type in which timestamps without a zone are instants, in nested types too."""
    if pat.is_timestamp(kind):
        return pa.timestamp("ns", "UTC")
    if pat.is_struct(kind):
        return pa.struct([_instant_field(kind.field(i)) for i in range(kind.num_fields)])
    if pat.is_map(kind):
        return pa.map_(_instant_field(kind.key_field), _instant_field(kind.item_field))
    if pat.is_list(kind):
        return pa.list_(_instant_field(kind.value_field))
    return kind


def _instant_field(field: pa.Field) -> pa.Field:
    return field.with_type(_instants(field.type))


def _as_instants(array: pa.Array, zone: str | None) -> pa.Array:
    """Turn the wall-clock times of a zone into instants, in nested values too."""
    kind = array.type
    target = _instants(kind)
    if target == kind:
        return array
    if pat.is_timestamp(kind):
        return _instants_of(array, zone) if zone and zone not in _UTC else array.cast(target)
    if pat.is_struct(kind):
        members = [_as_instants(array.field(index), zone) for index in range(kind.num_fields)]
        fields = [target.field(index) for index in range(kind.num_fields)]
        return pa.StructArray.from_arrays(members, fields=fields, mask=array.is_null())
    if pat.is_map(kind):
        parts = [_as_instants(array.keys, zone), _as_instants(array.items, zone)]
        values = pa.StructArray.from_arrays(parts, fields=[target.key_field, target.item_field])
    else:
        values = _as_instants(array.values, zone)
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], -1, array.offset, [values])


def _instants_of(wall: pa.Array, zone: str) -> pa.Array:
    """Turn one array of wall-clock times into instants: of two, where the clock was put back, the earlier one."""
    # Arrow's own conversion knows no daylight saving after 2037.
    if pc.any(pc.greater_equal(wall, pa.scalar(_UNKNOWN_FROM, wall.type))).as_py():
        raise ValueError(f"when it is what time in {zone} after 2099 is not known: {_BEYOND}")
    series = pl.Series(wall).dt.replace_time_zone(zone, ambiguous="earliest")
    return series.dt.convert_time_zone("UTC").to_arrow().cast(pa.timestamp("ns", "UTC"))


@contextmanager
def _parsing(path: str) -> Iterator[None]:
    """Turn what Arrow raises about damaged bytes into a `CorruptFileError`. No storage call goes inside."""
    try:
        yield
    except (
        pa.ArrowException,
        pl.exceptions.PolarsError,
        OSError,
        ValueError,
        KeyError,
        OverflowError,
        MemoryError,
    ) as error:
        if _BEYOND in str(error):
            raise UnsupportedTableError(
                f"The base file {path} has a timestamp that cannot be told: {error}.",
                way_out="Leave the column out (columns=...), or read it with Java Hudi.",
            ) from error
        raise CorruptFileError(
            f"The base file {path} cannot be read as ORC: {error}.",
            way_out="Restore the file from a copy, or roll the table back to an instant before it.",
        ) from error
