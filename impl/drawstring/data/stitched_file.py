"""A skeleton file and its source file as one: the meta columns of the first, the other columns of the second.

Source: Java ``HoodieBootstrapRecordIterator``, ``HoodieFileGroupReader``; requirement RD-025. Whose duty: rows belong
together by their positions, so both files must have the same number of them. The source file is opened when one of its
columns is asked for, and only where the user said where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from drawstring.data.base_file_reader import BaseFileReader
from drawstring.data.paged_file import PagedFile
from drawstring.data.parquet_pages import Numbers
from drawstring.data.row_files import RowFile, open_row_file
from drawstring.errors import CorruptFileError, NotFoundError, UnsupportedTableError
from drawstring.files import BaseFile, SourceFile
from drawstring.ports import Storage
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY

_RULE = "RD-025"


class StitchedFile:
    """An open skeleton file, with what its source file has; see `drawstring.data.row_files.RowFile`.

    Args:
        skeleton: the open skeleton file.
        file: the same, as a snapshot has it.
        source: its source file.

    """

    def __init__(self, skeleton: RowFile, file: BaseFile, source: SourceFile) -> None:
        self._skeleton = skeleton
        self._file = file
        self._where = source

    @property
    def num_rows(self) -> int:
        """Rows in the file, as the footer of the skeleton file says."""
        return self._skeleton.num_rows

    @property
    def footer(self) -> Mapping[str, bytes]:
        """Key/value entries of the skeleton file's footer: what it says of keys holds for the rows."""
        return self._skeleton.footer

    def schema(self) -> pa.Schema:
        """Return the columns of both files. Raises as `read`."""
        own = self._skeleton.schema()
        return pa.schema([*own, *(field for field in self._source.schema() if field.name not in own.names)])

    def read(self, columns: Sequence[str] | None = None, *, dictionary_columns: Sequence[str] = ()) -> pa.Table:
        """Return all rows.

        Raises:
            UnsupportedTableError: nobody said where the source file is.
            CorruptFileError: the source file is gone, is not as it was, or has another number of rows; or one of the
                two cannot be read.

        """
        names = self.schema().names if columns is None else list(columns)
        own, others = self._split(names)
        parts = [self._skeleton.read(own, dictionary_columns=dictionary_columns)] if own else []
        if others:
            parts.append(self._source.read(others, dictionary_columns=dictionary_columns))
        return _side_by_side(parts, names)

    def batches(
        self, columns: Sequence[str], batch_rows: int, *, dictionary_columns: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows, a batch at a time; a batch ends where one of either file does. Raises as `read`."""
        own, others = self._split(columns)
        files = [(self._skeleton, own)] if own or not others else []
        files += [(self._source, others)] if others else []
        streams = [file.batches(names, batch_rows, dictionary_columns=dictionary_columns) for file, names in files]
        if len(streams) == 1:
            yield from streams[0]
            return
        left, right = (_next(stream) for stream in streams)
        while left is not None and right is not None:
            count = min(left.num_rows, right.num_rows)
            parts = [pa.Table.from_batches([head.slice(0, count)]) for head in (left, right)]
            yield from _side_by_side(parts, columns).to_batches()
            left = left.slice(count) if left.num_rows > count else _next(streams[0])
            right = right.slice(count) if right.num_rows > count else _next(streams[1])

    def take(self, rows: Numbers, columns: Sequence[str], paged: PagedFile) -> pa.Table:
        """Return some rows, fetching only the pages that hold them.

        Args:
            rows: their positions, ascending.
            columns: as in `read`.
            paged: the skeleton file, open for reading single rows.

        Raises as `read`.

        """
        own, others = self._split(columns)
        parts = [paged.read(rows, own)] if own else []
        if others and isinstance(self._source, BaseFileReader):
            source = self._source
            parts.append(PagedFile(source.storage, source.path, source.size).read(rows, others))
        elif others:
            parts.append(self._source.read(others).take(pa.array(rows)))
        return _side_by_side(parts, columns)

    def _split(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Names of columns of the skeleton file, and the others."""
        own = set(self._skeleton.schema().names)
        return [name for name in names if name in own], [name for name in names if name not in own]

    @cached_property
    def _source(self) -> RowFile:
        where, skeleton = self._where, self._file.path
        if where.storage is None:
            raise UnsupportedTableError(
                f"The rows of {skeleton!r} go on in a file that the table was made of, {where.path!r} below "
                f"{where.base_path!r}, and files outside of a table are not opened on its word alone.",
                rule="RD-024",
                way_out=f"Say where those files are by the option {BASE_PATH_PROPERTY!r}.",
            )
        name = f"{where.storage.uri}/{where.path}"
        try:
            status = where.storage.head(where.path)
        except NotFoundError as error:
            raise _wrong(f"The rows of {skeleton!r} go on in the source file {name}, which is gone.") from error
        if status.size != where.size:
            raise _wrong(
                f"The source file {name} has {status.size} bytes, and had {where.size} when the table was made: the "
                f"rows of {skeleton!r} go on in it."
            )
        file = open_row_file(where.storage, where.path, status.size)
        if file.num_rows != self.num_rows:
            raise _wrong(
                f"The source file {name} has {file.num_rows} rows, and its skeleton file {skeleton!r} {self.num_rows}."
            )
        return file


def open_rows(storage: Storage, file: BaseFile) -> RowFile:
    """Open a base file, whether it has its rows' columns itself or not. Raises as `open_row_file`."""
    opened = open_row_file(storage, file.path, file.size)
    return opened if file.source is None else StitchedFile(opened, file, file.source)


def take_rows(storage: Storage, file: BaseFile, paged: PagedFile, rows: Numbers, columns: Sequence[str]) -> pa.Table:
    """Return some rows of a file that may be a skeleton file; arguments and errors as `StitchedFile.take`."""
    opened = open_rows(storage, file)
    return opened.take(rows, columns, paged) if isinstance(opened, StitchedFile) else paged.read(rows, columns)


def _side_by_side(parts: Sequence[pa.Table], names: Sequence[str]) -> pa.Table:
    """Return columns of several tables as one table; those that none of them has are left out."""
    columns = {name: part.column(name) for part in parts for name in part.column_names}
    return pa.table({name: columns[name] for name in names if name in columns})


def _next(stream: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
    """The next batch that has rows."""
    return next((batch for batch in stream if batch.num_rows), None)


def _wrong(what: str) -> CorruptFileError:
    return CorruptFileError(
        what, rule=_RULE, way_out="Restore the source files as they were, or bootstrap the table again."
    )
