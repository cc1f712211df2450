"""The step `UpdateMetadata`: what the metadata table has to learn of a write before the write is complete.

drawstring does not write metadata tables yet. A table that has one is therefore refused for writing: a commit that
the metadata table does not know of would be invisible to Java's readers. With ``hoodie.metadata.enable=false`` the
metadata table is removed instead, as Java does it (``HoodieTableMetadataUtil.deleteMetadataTable``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from drawstring.context import TableContext
from drawstring.errors import UnsupportedTableError
from drawstring.protocol.critical_section import critical_section
from drawstring.table_config import load_table_config, modify_properties
from drawstring_spec.layout import METADATA_TABLE_FOLDER

METADATA_PARTITIONS = "hoodie.table.metadata.partitions"
METADATA_PARTITIONS_INFLIGHT = "hoodie.table.metadata.partitions.inflight"


def refuse_metadata_table(context: TableContext) -> None:
    """Raise `UnsupportedTableError` where the table, as its properties stand on storage now, has a metadata table."""
    config = load_table_config(context.ports.storage)
    partitions = _partitions(config.properties)
    if partitions:
        raise UnsupportedTableError(
            f"The table {config.name!r} has a metadata table ({METADATA_PARTITIONS}={','.join(partitions)}), which "
            "drawstring cannot write yet; a commit that it does not know of would be invisible to its readers.",
            rule="WR-040",
            way_out="Give the option hoodie.metadata.enable=false: the metadata table is then removed, and Java Hudi "
            "builds it again at its next write.",
        )


def prepare_metadata_table(context: TableContext) -> TableContext:
    """Before a write: refuse a metadata table, or remove it where the options say so.

    Args:
        context: of the table.

    Returns:
        The context with the table's properties as they are now.

    Raises:
        UnsupportedTableError: there is a metadata table, and the options do not say to remove it.

    """
    if not context.options["hoodie.metadata.enable"]:
        disable_metadata_table(context)
    else:
        refuse_metadata_table(context)
    return dataclasses.replace(context, config=load_table_config(context.ports.storage))


def disable_metadata_table(context: TableContext) -> None:
    """Under the table lock, take the metadata table out of the properties, then delete its files.

    In this order: readers go by the property, so a crash in between leaves files that nobody reads.
    """
    storage = context.ports.storage
    has_property = bool(_partitions(load_table_config(storage).properties))
    if not has_property and not storage.list_folders(METADATA_TABLE_FOLDER):
        return
    with critical_section(context, purpose="metadata", requested_time=None) as section:
        if _partitions(load_table_config(storage).properties):
            modify_properties(
                storage,
                now_ms=context.ports.clock.wall_ms(),
                remove=(METADATA_PARTITIONS, METADATA_PARTITIONS_INFLIGHT),
            )
        files = [status.path for status in storage.list(METADATA_TABLE_FOLDER, recursive=True)]
        storage.delete(files, not_after_ms=section.deadline_ms())


def _partitions(properties: Mapping[str, str]) -> tuple[str, ...]:
    text = f"{properties.get(METADATA_PARTITIONS, '')},{properties.get(METADATA_PARTITIONS_INFLIGHT, '')}"
    return tuple(sorted({part.strip() for part in text.split(",") if part.strip()}))
