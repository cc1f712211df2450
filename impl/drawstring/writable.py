"""Which tables drawstring can write rightly. Everything else is refused by name before anything is touched.

Whose duty: `check_writable` knows every property that asks something of a writer which the engines do not do. A
table that is refused here can still be read. The metadata table has a check of its own, under the table lock
(`drawstring.protocol.metadata_table`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from drawstring.errors import UnsupportedTableError
from drawstring.table_config import TableConfig, TableType
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY
from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.merge_modes import PAYLOAD_CLASSES, STRATEGY_IDS, MergeMode

WRITABLE_KEY_GENERATORS: Final = frozenset({KeyGenerator.SIMPLE, KeyGenerator.COMPLEX, KeyGenerator.NON_PARTITION})


def check_writable(config: TableConfig) -> None:
    """Refuse a table that drawstring cannot write rightly.

    Raises:
        UnsupportedTableError: names the property; the table is left as it is.

    """
    for problem in _problems(config):
        raise UnsupportedTableError(
            f"The table {config.name!r} cannot be written by drawstring: {problem}.",
            rule="PR-014",
            way_out="Write it with Java Hudi; reading it works.",
        )


def _problems(config: TableConfig) -> Iterator[str]:
    if config.table_type is not TableType.COPY_ON_WRITE:
        yield f"its hoodie.table.type is {config.table_type.value}, and log files are not written yet"
    yield from _file_problems(config)
    if config.cdc_enabled:
        yield "its hoodie.table.cdc.enabled is true, and changes are not logged yet"
    if not config.populate_meta_fields:
        yield "its hoodie.populate.meta.fields is false, so its rows have no record keys to find them by"
    if config.drop_partition_columns:
        yield "its hoodie.datasource.write.drop.partition.columns is true"
    if config.key_generator.base not in WRITABLE_KEY_GENERATORS:
        yield f"its hoodie.table.keygenerator.type is {config.key_generator.value}"
    if not config.record_key_fields:
        yield "it has no hoodie.table.recordkey.fields: its keys are made up by the writer"
    yield from _merge_problems(config)


def _file_problems(config: TableConfig) -> Iterator[str]:
    source = config.properties.get(BASE_PATH_PROPERTY)
    if source:
        yield f"its {BASE_PATH_PROPERTY} is {source}, and rows may lie in files there"
    if config.base_file_format != "PARQUET":
        yield f"its hoodie.table.base.file.format is {config.base_file_format}"
    if len(config.base_file_extensions) > 1:
        yield "its hoodie.table.multiple.base.file.formats.enable is true"
    if config.properties.get("hoodie.partition.metafile.use.base.format", "false").lower() == "true":
        yield "its hoodie.partition.metafile.use.base.format is true"


def _merge_problems(config: TableConfig) -> Iterator[str]:
    if config.merge_mode is MergeMode.CUSTOM:
        yield f"its hoodie.record.merge.mode is CUSTOM ({config.payload_class or 'no payload class'})"
        return
    strategy = config.properties.get("hoodie.record.merge.strategy.id", STRATEGY_IDS[config.merge_mode])
    if strategy != STRATEGY_IDS[config.merge_mode]:
        yield f"its hoodie.record.merge.strategy.id {strategy} is not that of {config.merge_mode.value}"
    if config.payload_class and config.payload_class != PAYLOAD_CLASSES[config.merge_mode]:
        yield f"its hoodie.compaction.payload.class {config.payload_class} is not that of {config.merge_mode.value}"
