"""Finding keys in base files.

Source: Java ``HoodieBloomIndex``, ``HoodieSimpleIndex``. A file is passed over where its key range or its bloom filter
rules the keys out; what is left is looked up in its key column. Keys belong to a partition: the same key in two
partitions is two rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.base_file_reader import BaseFileReader, open_base_file
from drawstring.data.key_order import same_order
from drawstring.data.key_texts import single_chunk
from drawstring.data.merge import Rows
from drawstring.errors import CorruptFileError
from drawstring.files import BaseFile
from drawstring.ports import TaskContext, Tasks
from drawstring_spec.meta_fields import RECORD_KEY

_WORTH_A_FILTER: Final = 20
"""A bloom filter is asked where the file has at least this many rows per key: else reading its keys is as cheap."""


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """Keys that are looked for in one file.

    Attributes:
        file: the base file.
        keys: record keys, no nulls, each once.
        use_threads: whether Arrow may decode in parallel.

    """

    file: BaseFile
    keys: pa.Array
    use_threads: bool


def find_keys(context: TaskContext, lookup: KeyLookup) -> Rows:
    """Return the positions (ascending) of the keys that a file holds; a task of `drawstring.ports.Tasks`.

    Raises:
        CorruptFileError: the file cannot be read, or has no record keys.

    """
    reader = open_base_file(context.storage, lookup.file.path, lookup.file.size)
    candidates = _candidates(reader, lookup.keys)
    if len(candidates) == 0:
        return candidates
    keys = lookup.keys if len(candidates) == len(lookup.keys) else pc.take(lookup.keys, pa.array(candidates))
    held = read_keys(reader, use_threads=lookup.use_threads)
    found = pc.index_in(held, value_set=keys).drop_null()
    positions: Rows = candidates[np.unique(np.asarray(found))]
    return positions


def read_keys(reader: BaseFileReader, *, use_threads: bool) -> pa.Array:
    """Return the record keys of a file. Raises `CorruptFileError`."""
    table = reader.read([RECORD_KEY], use_threads=use_threads)
    if table.num_columns == 0:
        raise CorruptFileError(
            f"The base file {reader.path} has no column {RECORD_KEY}.",
            way_out="Its rows cannot be found by key; write the table with Java Hudi.",
        )
    column = single_chunk(table.column(0))
    return column if column.type == pa.string() else pc.cast(column, pa.string())


def _candidates(reader: BaseFileReader, keys: pa.Array) -> Rows:
    """Return the positions of the keys that key range and bloom filter do not rule out."""
    possible: Rows = np.arange(len(keys), dtype=np.int64)
    if reader.num_rows == 0:
        return possible[:0]
    limits = reader.key_range()
    if limits is not None and same_order(limits[0]) and same_order(limits[1]):
        within = pc.and_(pc.greater_equal(keys, limits[0]), pc.less_equal(keys, limits[1]))
        possible = np.flatnonzero(np.asarray(within))
    if len(possible) and len(possible) * _WORTH_A_FILTER <= reader.num_rows:
        bloom = reader.bloom_filter()
        if bloom is not None:
            possible = possible[bloom.might_contain(pc.take(keys, pa.array(possible)))]
    return possible


def find_in_files(
    tasks: Tasks, files: Sequence[BaseFile], keys: Mapping[str, pa.Array], *, use_threads: bool
) -> dict[BaseFile, Rows]:
    """Look the keys of each partition up in its files.

    Args:
        tasks: files are read side by side.
        files: base files; those of partitions without keys are passed over.
        keys: record keys by partition path.
        use_threads: whether Arrow may decode in parallel.

    Returns:
        Per file that holds some, the positions of its keys among those of its partition.

    """
    lookups = [
        KeyLookup(file, keys[file.group.partition_path], use_threads)
        for file in files
        if len(keys.get(file.group.partition_path, ()))
    ]
    answers = tasks.run(find_keys, lookups, label="look keys up")
    return {lookup.file: found for lookup, found in zip(lookups, answers, strict=True) if len(found)}


def by_partition(files: Iterable[BaseFile]) -> dict[str, list[BaseFile]]:
    """Group base files by partition path."""
    groups: dict[str, list[BaseFile]] = {}
    for file in files:
        groups.setdefault(file.group.partition_path, []).append(file)
    return groups
