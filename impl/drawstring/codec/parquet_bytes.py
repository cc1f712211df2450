"""Parquet files that are untrusted, given to Arrow so that damage is told.

Source: Apache Parquet specification, "Checksumming": Java Hudi's writer puts a CRC-32 into the header of each page, and
Arrow compares it only where it is asked to. Whose duty: every reader of Parquet in drawstring opens files here, and
lets what was decoded through `checked`: Arrow decodes texts that are no UTF-8 and decimals beyond their precision
without a word, and other libraries read beyond buffers when they meet them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from drawstring.errors import CorruptFileError

Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)


def open_parquet(
    content: pa.Buffer, *, metadata: pq.FileMetaData | None = None, dictionary_columns: Sequence[str] = ()
) -> pq.ParquetFile:
    """Open a Parquet file that is in memory; pages whose checksum is wrong raise `OSError` when they are read.

    Args:
        content: as long as the file; what is not going to be read need not be filled in.
        metadata: the footer, where it was read before.
        dictionary_columns: text columns that are to be read as dictionary arrays.

    Raises:
        pyarrow.ArrowException, OSError: it is no Parquet file.

    """
    return pq.ParquetFile(
        pa.BufferReader(content),
        metadata=metadata,
        read_dictionary=list(dictionary_columns),
        page_checksum_verification=True,
        # Times of Spark's older form reach farther than nanoseconds do, and Hudi's have no more digits.
        coerce_int96_timestamp_unit="us",
    )


def checked(rows: Rows) -> Rows:
    """Return rows that any kernel may touch. Raises `pyarrow.ArrowInvalid` where a value is none of its type's."""
    rows.validate(full=True)
    return rows


@contextmanager
def parsing(corrupt: Callable[[str], CorruptFileError]) -> Iterator[None]:
    """Turn what Arrow raises about damaged bytes into the error that `corrupt` makes of the reason.

    No storage call goes inside: what a storage raises is no damage.
    """
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError, MemoryError) as error:
        raise corrupt(str(error)) from error
