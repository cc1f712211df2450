"""Partition paths of whole columns, exactly the texts that Java's key generators make.

Source: Java ``KeyGenUtils.getPartitionPath``, ``PartitionPathEncodeUtils`` (format chapter "Partition path"). The
grammar of one segment is `drawstring_spec.partition_paths`; here are columns, and what a hostile value must not do.
"""

from __future__ import annotations

from functools import reduce
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.key_texts import field_column, key_texts
from drawstring.errors import RecordKeyError
from drawstring_spec.layout import HOODIE_FOLDER
from drawstring_spec.partition_paths import partition_segment


class PartitionConfig(Protocol):
    """What partition kernels need of a table's configuration (`drawstring.table_config.TableConfig` has it)."""

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """Partition columns, outermost first; empty where the table is not partitioned."""
        ...

    @property
    def hive_style(self) -> bool:
        """Whether folders are called ``field=value``."""
        ...

    @property
    def url_encode(self) -> bool:
        """Whether values are escaped."""
        ...


def partition_paths(table: pa.Table, config: PartitionConfig) -> pa.DictionaryArray:
    """Return the partition path of each row as a dictionary array (int32 to string, no nulls).

    Each distinct path is in the dictionary once, in the order of first appearance. Work on text grows with the
    distinct values, not with the rows.

    Args:
        table: rows that have the partition columns.
        config: the table's partition fields and style.

    Raises:
        RecordKeyError: a partition column is missing or of a type that makes no path, or a value would lead out
            of the table or into its metadata.

    """
    if not config.partition_fields:
        indices = pa.repeat(pa.scalar(0, pa.int32()), table.num_rows)
        return pa.DictionaryArray.from_arrays(indices, pa.array([""], pa.string()))
    levels = [_segments(field_column(table, field), field, config) for field in config.partition_fields]
    joined = reduce(_join, levels)
    paths = joined.dictionary.to_pylist()
    for path in paths:
        _check_path(path)
    _refuse_nested(set(paths))
    return joined


def _refuse_nested(paths: set[str]) -> None:
    """A partition inside another one is never listed, by Java's readers as by ours: its rows would be lost."""
    for path in sorted(path for path in paths if "/" in path):
        segments = path.split("/")
        for depth in range(1, len(segments)):
            outer = "/".join(segments[:depth])
            if outer in paths:
                raise RecordKeyError(
                    f"The partition {path!r} lies inside the partition {outer!r}: readers would see the rows of only "
                    "one of them.",
                    rule="SL-011",
                    way_out="Give all partition values the same depth, or create the table with "
                    "hoodie.datasource.write.partitionpath.urlencode.",
                )


def _segments(column: pa.Array, field: str, config: PartitionConfig) -> pa.DictionaryArray:
    """Return one level's folders, made once per distinct value."""
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    values = key_texts(encoded.dictionary, field).to_pylist()
    folders = [
        partition_segment(field, value, hive_style=config.hive_style, url_encode=config.url_encode)
        for value in [*values, None]
    ]
    indices = pc.fill_null(pc.cast(encoded.indices, pa.int32()), len(values))
    return _encode(pc.take(pc.dictionary_encode(pa.array(folders, pa.string())), indices))


def _encode(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """Drop what no row refers to from a dictionary, and order the rest by first appearance."""
    used = pc.unique(array.indices)
    indices = pc.cast(pc.index_in(array.indices, value_set=used), pa.int32())
    return pa.DictionaryArray.from_arrays(indices, pc.take(array.dictionary, used))


def _join(outer: pa.DictionaryArray, inner: pa.DictionaryArray) -> pa.DictionaryArray:
    """Combine two levels; each combination that occurs is joined once."""
    width = max(len(inner.dictionary), 1)
    pairs = pc.add(pc.multiply(pc.cast(outer.indices, pa.int64()), width), pc.cast(inner.indices, pa.int64()))
    encoded = pc.dictionary_encode(pairs)
    combined = encoded.dictionary.to_numpy()
    left = pc.take(outer.dictionary, pa.array(combined // width))
    right = pc.take(inner.dictionary, pa.array(combined % width))
    return pa.DictionaryArray.from_arrays(encoded.indices, pc.binary_join_element_wise(left, right, "/"))


def _check_path(path: str) -> None:
    """Refuse a path that leaves the table, enters its metadata or cannot be told from another one."""
    segments = path.split("/")
    if any(segment in {"", ".", ".."} for segment in segments) or "\0" in path:
        raise RecordKeyError(
            f"The partition path {path!r} is no path below the table.",
            way_out="Segments that are empty, '.' or '..' are refused; set "
            "hoodie.datasource.write.partitionpath.urlencode when the table is created to keep '/' in values.",
        )
    if any(character < " " or character == "\x7f" for character in path):
        raise RecordKeyError(
            f"The partition path {path!r} has a control character, which storage does not take in names.",
            way_out="Set hoodie.datasource.write.partitionpath.urlencode when the table is created.",
        )
    if ":" in segments[0]:
        raise RecordKeyError(
            f"The partition path {path!r} has a ':' in its first folder, which Java takes for a URI's scheme: no "
            "Java reader could open the table any more.",
            way_out="Set hoodie.datasource.write.partitionpath.urlencode when the table is created.",
        )
    if segments[0] == HOODIE_FOLDER:
        raise RecordKeyError(
            f"The partition path {path!r} leads into the table's metadata.",
            way_out="Rename the value, or make the table with hoodie.datasource.write.hive_style_partitioning.",
        )
