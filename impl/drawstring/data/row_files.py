"""Base files of either format, behind the members that a query needs.

Source: Java ``HoodieFileFormat``, ``HoodieFileReaderFactory``. Whose duty: tell formats apart, by the file's extension
as Java does. Look-ups of keys and writers need Parquet, and open it themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Protocol

import pyarrow as pa

from drawstring.data.base_file_reader import open_base_file
from drawstring.data.orc_reader import open_orc_file
from drawstring.ports import Storage

ORC_EXTENSION: Final = ".orc"


class RowFile(Protocol):
    """An open base file; see `drawstring.data.base_file_reader.BaseFileReader`."""

    @property
    def num_rows(self) -> int:
        """Rows in the file, as its footer says."""
        ...

    @property
    def footer(self) -> Mapping[str, bytes]:
        """Key/value entries of the footer."""
        ...

    def schema(self) -> pa.Schema:
        """Return the file's own columns as Arrow types. Raises `CorruptFileError`."""
        ...

    def read(self, columns: Sequence[str] | None = None, *, dictionary_columns: Sequence[str] = ()) -> pa.Table:
        """Return all rows."""
        ...

    def batches(
        self, columns: Sequence[str], batch_rows: int, *, dictionary_columns: Sequence[str] = ()
    ) -> Iterator[pa.RecordBatch]:
        """Yield all rows, a batch at a time."""
        ...


def open_row_file(storage: Storage, path: str, size: int) -> RowFile:
    """Read a base file's footer.

    Args:
        storage: of the table.
        path: relative to the table's base path; its extension says which format it has.
        size: of the file, in bytes, as the storage says.

    Raises:
        CorruptFileError: the file has no footer of its format.
        NotFoundError: it is gone.

    """
    if path.endswith(ORC_EXTENSION):
        return open_orc_file(storage, path, size)
    return open_base_file(storage, path, size)
