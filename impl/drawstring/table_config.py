"""The table's configuration: ``hoodie.properties`` as typed, checked values.

Source: Java ``HoodieTableConfig``. Whose duty: `load_table_config` refuses what is no table of version 8 that we
understand. Reading and changing the file itself is `drawstring.table_properties`', making a new table is
`drawstring.table_creation`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self, TypeVar

from drawstring.errors import FormatError, UnsupportedTableError
from drawstring.ports import Storage
from drawstring.table_properties import modify_properties, read_properties
from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.merge_modes import MergeMode

__all__ = [
    "SUPPORTED_VERSION",
    "TableConfig",
    "TableType",
    "load_table_config",
    "modify_properties",
    "read_properties",
]

SUPPORTED_VERSION: Final = 8
READABLE_FORMATS: Final = frozenset({"parquet", "orc"})
"""Formats of base files that are read, as their extensions name them."""
_LAYOUT_VERSION: Final = "2"
_GENERATORS_BY_CLASS: Final = {
    "SimpleKeyGenerator": "SIMPLE",
    "ComplexKeyGenerator": "COMPLEX",
    "NonpartitionedKeyGenerator": "NON_PARTITION",
    "TimestampBasedKeyGenerator": "TIMESTAMP",
    "CustomKeyGenerator": "CUSTOM",
    "GlobalDeleteKeyGenerator": "GLOBAL_DELETE",
}
_Member = TypeVar("_Member", bound=StrEnum)


class TableType(StrEnum):
    """How updates are stored."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


@dataclass(frozen=True, slots=True)
class TableConfig:
    """A table's properties.

    Attributes:
        name: of the table.
        database: ``""`` where it has none.
        table_type: copy-on-write or merge-on-read.
        version: of the table format, 8.
        record_key_fields: fields of the record key, in their order; empty where keys are generated.
        partition_fields: partition columns, in the order of the path's segments; empty if unpartitioned.
        partition_types: with the CUSTOM key generator one of ``SIMPLE``, ``TIMESTAMP`` per partition field, where the
            property has them; else empty.
        ordering_field: decides which of two records with one key stays; None if none is set.
        key_generator: how keys and partition paths are built.
        hive_style: partition folders are called ``field=value``.
        url_encode: partition values are escaped in folder names.
        populate_meta_fields: rows carry the five ``_hoodie_`` columns.
        drop_partition_columns: partition columns are not in the data files.
        base_file_format: ``PARQUET``, ``ORC`` or ``HFILE``.
        timeline_path: folder of the active timeline, relative to ``.hoodie``.
        history_path: folder of the archived timeline, relative to the active one.
        timeline_zone: zone of instant times, ``UTC`` or ``LOCAL`` (of the machine that writes).
        merge_mode: which of two records with one key stays.
        payload_class: Java class that CUSTOM merging uses; ``""`` if not recorded.
        create_schema: Avro JSON that the table was created with; None if not recorded.
        metadata_partitions: complete partitions of the metadata table, sorted; empty where it has none.
        cdc_enabled: change data is logged.
        properties: all of them, raw.

    """

    name: str
    database: str
    table_type: TableType
    version: int
    record_key_fields: tuple[str, ...]
    partition_fields: tuple[str, ...]
    partition_types: tuple[str, ...]
    ordering_field: str | None
    key_generator: KeyGenerator
    hive_style: bool
    url_encode: bool
    populate_meta_fields: bool
    drop_partition_columns: bool
    base_file_format: str
    timeline_path: str
    history_path: str
    timeline_zone: str
    merge_mode: MergeMode
    payload_class: str
    create_schema: str | None
    metadata_partitions: tuple[str, ...]
    cdc_enabled: bool
    properties: Mapping[str, str]

    @property
    def base_file_extensions(self) -> frozenset[str]:
        """Extensions of the table's base files: others in its folders are none, as in Java."""
        if self.properties.get("hoodie.table.multiple.base.file.formats.enable", "").lower() == "true":
            return READABLE_FORMATS
        return frozenset({self.base_file_format.lower()})

    @classmethod
    def from_properties(cls, values: Mapping[str, str]) -> Self:
        """Check and convert properties.

        Raises:
            UnsupportedTableError: a version, layout or feature that drawstring does not handle.
            FormatError: a property that must be there is not, or has a value that the format does not know.

        """
        _check_supported(values)
        entries = _list(values, "hoodie.table.partition.fields")
        key_generator = _key_generator(values)
        custom = key_generator.value.startswith("CUSTOM")
        typed = custom and ":" in "".join(entries[:1])
        ordering_field = values.get("hoodie.table.precombine.field") or None
        default_mode = MergeMode.EVENT_TIME_ORDERING if ordering_field else MergeMode.COMMIT_TIME_ORDERING
        return cls(
            name=_required(values, "hoodie.table.name"),
            database=values.get("hoodie.database.name", ""),
            table_type=_member(TableType, values, "hoodie.table.type", TableType.COPY_ON_WRITE),
            version=SUPPORTED_VERSION,
            record_key_fields=_list(values, "hoodie.table.recordkey.fields"),
            partition_fields=tuple(e.partition(":")[0] for e in entries) if custom else entries,
            partition_types=tuple(e.partition(":")[2].upper() for e in entries) if typed else (),
            ordering_field=ordering_field,
            key_generator=key_generator,
            hive_style=_flag(values, "hoodie.datasource.write.hive_style_partitioning"),
            url_encode=_flag(values, "hoodie.datasource.write.partitionpath.urlencode"),
            populate_meta_fields=_flag(values, "hoodie.populate.meta.fields", default=True),
            drop_partition_columns=_flag(values, "hoodie.datasource.write.drop.partition.columns"),
            base_file_format=values.get("hoodie.table.base.file.format", "PARQUET").upper(),
            timeline_path=_folder(values, "hoodie.timeline.path", "timeline"),
            history_path=_folder(values, "hoodie.timeline.history.path", "history"),
            timeline_zone=_zone(values),
            merge_mode=_member(MergeMode, values, "hoodie.record.merge.mode", default_mode),
            payload_class=values.get("hoodie.compaction.payload.class", ""),
            create_schema=values.get("hoodie.table.create.schema") or None,
            metadata_partitions=tuple(sorted(set(_list(values, "hoodie.table.metadata.partitions")))),
            cdc_enabled=_flag(values, "hoodie.table.cdc.enabled"),
            properties=dict(values),
        )


def load_table_config(storage: Storage) -> TableConfig:
    """Load a table's properties.

    Raises:
        TableNotFoundError: the location holds no table.
        CorruptFileError: the properties cannot be read, or their checksum is wrong.
        UnsupportedTableError: the table's version or a feature is not handled.
        FormatError: a property is missing or has an unknown value.

    """
    return TableConfig.from_properties(read_properties(storage))


def _check_supported(values: Mapping[str, str]) -> None:
    version = values.get("hoodie.table.version", "")
    if version != str(SUPPORTED_VERSION):
        raise UnsupportedTableError(
            f"The table has version {version or 'none'}; drawstring handles version {SUPPORTED_VERSION} only.",
            rule="PR-004",
            way_out="Upgrade or downgrade it with Java Hudi 1.0 (procedures upgrade_table, downgrade_table).",
        )
    layout = values.get("hoodie.timeline.layout.version", _LAYOUT_VERSION)
    if layout != _LAYOUT_VERSION:
        raise UnsupportedTableError(
            f"The table's timeline has layout version {layout}; tables of version 8 have {_LAYOUT_VERSION}.",
            rule="PR-005",
            way_out="The properties may be damaged; Java Hudi's upgrade sets both versions.",
        )


def _required(values: Mapping[str, str], key: str) -> str:
    value = values.get(key, "")
    if not value:
        raise FormatError(f"The table's properties have no {key!r}.", way_out="Restore hoodie.properties from a copy.")
    return value


def _flag(values: Mapping[str, str], key: str, *, default: bool = False) -> bool:
    value = values.get(key)
    return default if value is None else value.strip().lower() == "true"


def _list(values: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in values.get(key, "").split(",") if part.strip())


def _member(kind: type[_Member], values: Mapping[str, str], key: str, default: _Member) -> _Member:
    text = values.get(key)
    if text is None:
        return default
    try:
        return kind(text.strip().upper())
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise FormatError(
            f"The table's property {key!r} has the value {text!r}, which is none of: {known}.",
            way_out="Correct it in hoodie.properties; nothing was changed.",
        ) from None


def _folder(values: Mapping[str, str], key: str, default: str) -> str:
    text = values.get(key) or default
    if "\\" in text or "\0" in text or any(part in {"", ".", ".."} for part in text.split("/")):
        raise FormatError(
            f"The table's property {key!r} has the value {text!r}, which is no folder below its parent.",
            rule="TL-014",
            way_out="Correct it in hoodie.properties; nothing was read from there.",
        )
    return text


def _zone(values: Mapping[str, str]) -> str:
    key = "hoodie.table.timeline.timezone"
    zone = values.get(key, "LOCAL").strip().upper()
    if zone not in {"LOCAL", "UTC"}:
        raise FormatError(
            f"The table's property {key!r} has the value {values[key]!r}, which is none of: LOCAL, UTC.",
            way_out="Correct it in hoodie.properties; nothing was changed.",
        )
    return zone


def _key_generator(values: Mapping[str, str]) -> KeyGenerator:
    """Return the key generator by its recorded type or class, or the one that Java infers from the fields."""
    class_name = values.get("hoodie.table.keygenerator.class", "")
    if class_name and "hoodie.table.keygenerator.type" not in values:
        simple_name = class_name.rpartition(".")[2].replace("AvroKeyGenerator", "KeyGenerator")
        type_name = _GENERATORS_BY_CLASS.get(simple_name)
        if type_name is None or not class_name.startswith("org.apache.hudi.keygen."):
            raise UnsupportedTableError(
                f"The table builds its keys with {class_name}, which drawstring does not know.",
                way_out="Read and write it with Java Hudi and that class.",
            )
        return KeyGenerator(type_name)
    keys = len(_list(values, "hoodie.table.recordkey.fields"))
    partitions = len(_list(values, "hoodie.table.partition.fields"))
    inferred = infer_key_generator(keys, partitions)
    return _member(KeyGenerator, values, "hoodie.table.keygenerator.type", inferred)


def infer_key_generator(num_key_fields: int, num_partition_fields: int) -> KeyGenerator:
    """Return the key generator that Java takes where none is named."""
    if num_partition_fields == 0:
        return KeyGenerator.NON_PARTITION
    return KeyGenerator.SIMPLE if num_key_fields == num_partition_fields == 1 else KeyGenerator.COMPLEX
