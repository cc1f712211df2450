"""Partition columns take their values from the partition path.

Source: Java ``HoodieSparkUtils``, ``HoodieHadoopFsRelationFactory``.

Whose duty: say for each partition column of a file which one value its rows have, or that they are read from the
file. It matters where a file's own values are null or differ from its path.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.errors import CorruptFileError
from drawstring.table_config import TableConfig
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY
from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.partition_paths import DEFAULT_PARTITION, unescape

_TIMESTAMP: Final = "TIMESTAMP"


def fields_as_text(config: TableConfig) -> tuple[str, ...]:
    """Return the partition columns that come back as text, whatever type they have.

    Java's readers make them so of a timestamp key generator's columns, not of those that a custom one formats.
    """
    return config.partition_fields if config.key_generator.base is KeyGenerator.TIMESTAMP else ()


def fields_from_file(config: TableConfig) -> tuple[str, ...]:
    """Return the partition columns whose values the path does not give: formatted timestamps, and the ordering field.

    None are where writers leave partition columns out of the files: not even those that a file has, nor formatted ones.
    Java looks into the path for those of a custom key generator, as well, and cannot read the table where it is
    formatted in a way that the column's type does not understand.

    Source: Java ``HoodieBaseHadoopFsRelationFactory.partitionColumnsToRead``.
    """
    if config.drop_partition_columns or config.properties.get(BASE_PATH_PROPERTY):
        return ()
    fields = config.partition_fields
    untyped = config.key_generator.base is KeyGenerator.CUSTOM and not config.partition_types
    if config.key_generator.base is KeyGenerator.TIMESTAMP or untyped:
        return fields
    pairs = zip(fields, config.partition_types, strict=False)
    formatted = {field for field, kind in pairs if kind == _TIMESTAMP}
    return tuple(field for field in fields if field in formatted or field == config.ordering_field)


def partition_values(config: TableConfig, schema: pa.Schema, partition_path: str) -> dict[str, pa.Scalar]:
    """Return the value of each partition column that the path decides; other columns are read from the file.

    Args:
        config: of the table.
        schema: the table's columns, for their types.
        partition_path: relative to the base path.

    Raises:
        CorruptFileError: a folder's name is no value of its column.

    """
    fields = config.partition_fields
    if not fields or not partition_path:
        return {}
    texts = dict.fromkeys(fields, partition_path) if _is_whole_path(config) else _texts(fields, partition_path)
    from_file, as_text = fields_from_file(config), fields_as_text(config)
    kinds = {f: pa.string() if f in as_text else schema.field(f).type for f in fields if f in schema.names}
    return {
        field: _scalar(text, kinds[field], field, partition_path)
        for field, text in texts.items()
        if field not in from_file and field in kinds and _has_text_form(kinds[field])
    }


def _is_whole_path(config: TableConfig) -> bool:
    """Whether each partition column has the path itself: times that were no texts, formatted by a key generator."""
    kind = config.properties.get("hoodie.keygen.timebased.timestamp.type")
    return config.key_generator.base is KeyGenerator.TIMESTAMP and kind not in (None, "DATE_STRING")


def _texts(fields: tuple[str, ...], partition_path: str) -> dict[str, str | None]:
    folders = partition_path.split("/")
    if len(folders) == len(fields):
        texts = [unescape(folder.partition("=")[2] if "=" in folder else folder) for folder in folders]
        return {f: None if t == DEFAULT_PARTITION else t for f, t in zip(fields, texts, strict=True)}
    if len(fields) == 1:
        # One column and several folders: the whole path is the value, as it stands.
        return {fields[0]: partition_path.removeprefix(f"{fields[0]}=")}
    return {}


def _has_text_form(kind: pa.DataType) -> bool:
    return bool(
        pat.is_string(kind)
        or pat.is_boolean(kind)
        or pat.is_integer(kind)
        or pat.is_floating(kind)
        or pat.is_decimal(kind)
        or pat.is_date32(kind)
    )


def _scalar(text: str | None, kind: pa.DataType, field: str, partition_path: str) -> pa.Scalar:
    if text is None:
        return pa.scalar(None, kind)
    try:
        return pc.cast(pa.scalar(text), kind)
    except pa.ArrowInvalid as error:
        raise CorruptFileError(
            f"The partition {partition_path!r} has {text!r} for the column {field!r}, which is no {kind}.",
            way_out="The folder was not made by a writer of this table; move it away.",
        ) from error
