"""File ids as the record index packs them. Source: Java ``HoodieTableMetadataUtil.getLocationFromRecordIndexInfo``."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

RAW: Final = 1
"""Encoding of an id that is no UUID with a number: it stands there as it is."""

_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_CHARS: Final = 36
_HYPHENS: Final = (8, 13, 18, 23)


def file_ids(rows: pa.Table) -> pa.Array:
    """Return the file ids of records of the record index: UUIDs from their halves, others as they stand there."""
    uuids = _uuids(rows.column("fileIdHighBits"), rows.column("fileIdLowBits"))
    index = pc.fill_null(rows.column("fileIndex"), -1)
    numbered = pc.binary_join_element_wise(uuids, pc.cast(index, pa.string()), "-")
    packed = pc.if_else(pc.less(index, 0), uuids, numbered)
    return pc.if_else(pc.equal(rows.column("fileIdEncoding"), RAW), rows.column("fileId"), packed)


def _uuids(high: pa.ChunkedArray, low: pa.ChunkedArray) -> pa.Array:
    halves = [pc.fill_null(half, 0).to_numpy() for half in (high, low)]
    raw = np.stack(halves, axis=1).astype(">i8").view(np.uint8).reshape(-1, 16)
    digits = np.stack([_HEX[raw >> 4], _HEX[raw & 15]], axis=2).reshape(-1, 32)
    text = np.full((len(raw), _UUID_CHARS), ord("-"), np.uint8)
    places = [i for i in range(_UUID_CHARS) if i not in _HYPHENS]
    text[:, places] = digits
    offsets = np.arange(0, _UUID_CHARS * (len(raw) + 1), _UUID_CHARS, dtype=np.int32)
    return pa.StringArray.from_buffers(len(raw), pa.py_buffer(offsets), pa.py_buffer(text.tobytes()))
