"""A caller's data, whatever library it comes from, as Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from drawstring.errors import InputError, RecordKeyError

_WAY_OUT = "Pass anything that exports an Arrow stream (pyarrow, polars, DuckDB), or a pandas DataFrame."


def arrow_table(data: Any) -> pa.Table:
    """Return a caller's rows as one table. A pandas index is left out.

    Raises:
        InputError: the data is of no kind that has columns, or its columns cannot be exported.

    """
    try:
        if isinstance(data, pa.Table):
            return data
        if isinstance(data, pa.RecordBatch):
            return pa.Table.from_batches([data])
        if _is_pandas(data):
            return pa.Table.from_pandas(data, preserve_index=False)
        if hasattr(data, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"The data cannot be taken as Arrow columns: {error}.", way_out=_WAY_OUT) from error
    raise InputError(f"The data is a {type(data).__name__}, which has no columns.", way_out=_WAY_OUT)


def key_table(keys: Any, key_fields: Sequence[str]) -> pa.Table:
    """Return the keys of a deletion as columns.

    Args:
        keys: as for `arrow_table`; where the table has one key field, also a sequence or array of its values.
        key_fields: of the table's record key.

    Raises:
        InputError: the keys are of no kind that is taken.

    """
    values = _values(keys)
    if values is None:
        return arrow_table(keys)
    if len(key_fields) != 1:
        raise RecordKeyError(
            f"The record key has the fields {', '.join(key_fields)}; a plain list of values cannot hold it.",
            way_out="Pass a table with one column per field.",
        )
    return pa.table([values], names=[key_fields[0]])


def _values(keys: Any) -> pa.Array | pa.ChunkedArray | None:
    """Return a plain list of values as an array; None where the keys have columns."""
    if isinstance(keys, pa.Array | pa.ChunkedArray):
        return None if pa.types.is_struct(keys.type) else keys
    plain = isinstance(keys, list | tuple | np.ndarray) or (_is_pandas(keys) and not hasattr(keys, "columns"))
    if not plain:
        return None
    try:
        return pa.array(keys)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"The keys cannot be taken as one Arrow column: {error}.", way_out=_WAY_OUT) from error


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas"
