"""Making a new table: its folders and its ``hoodie.properties``. Source: Java ``HoodieTableMetaClient``.

Whose duty: a table of ours has the properties that a Java DataFrame writer gives a new table, the create
schema that SQL gives it, and instant times in UTC. The table exists from the moment in which the properties
file does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drawstring.errors import (
    AlreadyExistsError,
    InputError,
    OptionError,
    TableExistsError,
    UnsupportedTableError,
)
from drawstring.options import Options
from drawstring.ports import Storage
from drawstring.table_config import TableConfig, TableType, infer_key_generator
from drawstring.table_properties import CHECKSUM, checksum, comments, table_exists
from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.layout import CREATED_FOLDERS, PROPERTIES_FILE
from drawstring_spec.merge_modes import PAYLOAD_CLASSES, STRATEGY_IDS, MergeMode
from drawstring_spec.properties import format_properties

_FOLDER_MAKER: Final = ".folder"
_WRITABLE_GENERATORS: Final = (KeyGenerator.SIMPLE, KeyGenerator.COMPLEX, KeyGenerator.NON_PARTITION)


def create_table(
    storage: Storage,
    *,
    name: str,
    record_key: Sequence[str],
    partition_by: Sequence[str],
    ordering: str | None,
    create_schema: str,
    options: Options,
    now_ms: int,
    table_type: TableType = TableType.COPY_ON_WRITE,
) -> TableConfig:
    """Make a new, empty table.

    Args:
        storage: of the location.
        name: of the table.
        record_key: fields of the record key.
        partition_by: partition columns, outermost first; empty for an unpartitioned table.
        ordering: ordering field; None for commit-time ordering.
        create_schema: Avro JSON of the table's columns, without meta fields.
        options: those that are used while a table is created.
        now_ms: wall clock, epoch milliseconds.
        table_type: copy-on-write.

    Returns:
        The configuration of the new table.

    Raises:
        TableExistsError: the location holds a table; it is left as it was.
        OptionError: an option does not fit the fields.
        InputError: no key fields, or a field is named twice.
        UnsupportedTableError: a table of that type cannot be written.

    """
    if table_type is not TableType.COPY_ON_WRITE:
        raise UnsupportedTableError(
            f"A table of type {table_type.value} cannot be made: drawstring does not write log files yet.",
            way_out="Make it COPY_ON_WRITE.",
        )
    _check_fields(record_key, partition_by)
    values = _properties(name, record_key, partition_by, ordering, create_schema, options, table_type)
    config = TableConfig.from_properties(values)
    if table_exists(storage):
        raise _exists(storage)
    _make_folders(storage)
    content = format_properties(values, comments=comments("Properties saved on", now_ms))
    try:
        storage.put_if_absent(PROPERTIES_FILE, content)
    except AlreadyExistsError as error:
        raise _exists(storage) from error
    return config


def _exists(storage: Storage) -> TableExistsError:
    return TableExistsError(
        f"There is a Hudi table at {storage.uri} already.",
        rule="PR-013",
        way_out="Open it with Table.open; it was not touched.",
    )


def _check_fields(record_key: Sequence[str], partition_by: Sequence[str]) -> None:
    if not record_key:
        raise InputError("A table needs at least one record key field.", way_out="Pass record_key.")
    for what, fields in (("record_key", record_key), ("partition_by", partition_by)):
        for field in fields:
            if not field or field != field.strip() or any(c in field for c in ",:/\0"):
                raise InputError(
                    f"{what} names the field {field!r}: hoodie.properties cannot hold that name.",
                    way_out="Rename the column.",
                )
        if len(set(fields)) != len(fields):
            raise InputError(f"{what} names a field twice: {', '.join(fields)}.", way_out="Name each field once.")


def _make_folders(storage: Storage) -> None:
    """Make the empty folders that Java makes; an object store has no folders and keeps nothing of this."""
    makers = [f"{folder}/{_FOLDER_MAKER}" for folder in CREATED_FOLDERS]
    for maker in makers:
        storage.put(maker, b"")
    storage.delete(makers)


def _properties(
    name: str,
    record_key: Sequence[str],
    partition_by: Sequence[str],
    ordering: str | None,
    create_schema: str,
    options: Options,
    table_type: TableType,
) -> dict[str, str]:
    mode = _merge_mode(ordering, options)
    values = {
        "hoodie.table.name": name,
        "hoodie.table.type": table_type.value,
        "hoodie.table.version": "8",
        "hoodie.table.initial.version": "8",
        "hoodie.timeline.layout.version": "2",
        "hoodie.timeline.path": "timeline",
        "hoodie.timeline.history.path": "history",
        "hoodie.archivelog.folder": "history",
        "hoodie.table.recordkey.fields": ",".join(record_key),
        "hoodie.table.keygenerator.type": _key_generator(record_key, partition_by, options).value,
        "hoodie.table.create.schema": create_schema,
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.table.multiple.base.file.formats.enable": "false",
        "hoodie.record.merge.mode": mode.value,
        "hoodie.record.merge.strategy.id": STRATEGY_IDS[mode],
        "hoodie.compaction.payload.class": PAYLOAD_CLASSES[mode],
        "hoodie.populate.meta.fields": "true",
        "hoodie.datasource.write.hive_style_partitioning": _text(
            value=options["hoodie.datasource.write.hive_style_partitioning"]
        ),
        "hoodie.datasource.write.partitionpath.urlencode": _text(
            value=options["hoodie.datasource.write.partitionpath.urlencode"]
        ),
        "hoodie.datasource.write.drop.partition.columns": "false",
        "hoodie.table.cdc.enabled": "false",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.partition.metafile.use.base.format": "false",
    }
    if options["hoodie.database.name"]:
        values["hoodie.database.name"] = options["hoodie.database.name"]
    if partition_by:
        values["hoodie.table.partition.fields"] = ",".join(partition_by)
    if ordering is not None:
        values["hoodie.table.precombine.field"] = ordering
    values[CHECKSUM] = checksum(values)
    return values


def _text(*, value: bool) -> str:
    return "true" if value else "false"


def _merge_mode(ordering: str | None, options: Options) -> MergeMode:
    key = "hoodie.write.record.merge.mode"
    if options[key] is None:
        return MergeMode.EVENT_TIME_ORDERING if ordering else MergeMode.COMMIT_TIME_ORDERING
    mode = MergeMode(options[key])
    if mode is MergeMode.EVENT_TIME_ORDERING and not ordering:
        raise OptionError(
            f"Option {key!r} is EVENT_TIME_ORDERING, but the table has no ordering field.",
            way_out="Pass ordering, or leave the option out.",
        )
    return mode


def _key_generator(record_key: Sequence[str], partition_by: Sequence[str], options: Options) -> KeyGenerator:
    key = "hoodie.datasource.write.keygenerator.type"
    inferred = infer_key_generator(len(record_key), len(partition_by))
    if options[key] is None:
        return inferred
    wanted = KeyGenerator(options[key])
    fits = {
        KeyGenerator.NON_PARTITION: not partition_by,
        KeyGenerator.SIMPLE: len(record_key) == 1 and len(partition_by) == 1,
        KeyGenerator.COMPLEX: bool(partition_by),
    }
    if wanted not in _WRITABLE_GENERATORS or not fits[wanted]:
        raise OptionError(
            f"Option {key!r} is {wanted.value}, which does not fit {len(record_key)} record key fields and "
            f"{len(partition_by)} partition fields.",
            way_out=f"Leave it out: {inferred.value} is taken.",
        )
    return wanted
