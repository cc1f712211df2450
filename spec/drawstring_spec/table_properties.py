"""The properties of a table: keys, kinds and defaults of ``hoodie.properties``.

Source: technical specification, "Table Properties"; Java ``HoodieTableConfig``, read off tables of version 8.
Whose duty: `drawstring.table_config` gives them types and refuses what it cannot honour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from drawstring_spec.key_generators import KeyGenerator
from drawstring_spec.layout import DEFAULT_HISTORY_PATH, DEFAULT_TIMELINE_PATH
from drawstring_spec.merge_modes import MergeMode

TABLE_VERSION = 8
"""The table version that this specification describes."""
TIMELINE_LAYOUT_VERSION = 2
"""Its layout of the timeline."""


class PropertyKind(StrEnum):
    """How a property's text is read."""

    TEXT = "text"
    BOOLEAN = "boolean"
    """``true`` or ``false``, in any case."""
    INTEGER = "integer"
    LIST = "list"
    """Separated by commas; the empty text is the empty list."""
    CHOICE = "choice"
    """One of `TableProperty.choices`."""


@dataclass(frozen=True)
class TableProperty:
    """One property of a table.

    Attributes:
        key: in ``hoodie.properties``.
        kind: how its text is read.
        default: the text that holds where the key is absent; None where there is no value then.
        required: whether every table of version 8 has it.
        doc: what it says.
        choices: the values of a CHOICE.

    """

    key: str
    kind: PropertyKind
    default: str | None
    required: bool
    doc: str
    choices: tuple[str, ...] = ()


def _of(
    key: str,
    kind: PropertyKind,
    doc: str,
    *,
    default: str | None = None,
    required: bool = False,
    choices: tuple[str, ...] = (),
) -> TableProperty:
    return TableProperty(key, kind, default, required, doc, choices)


_TEXT, _BOOLEAN, _INTEGER = PropertyKind.TEXT, PropertyKind.BOOLEAN, PropertyKind.INTEGER
_LIST, _CHOICE = PropertyKind.LIST, PropertyKind.CHOICE

_IDENTITY = (
    _of("hoodie.table.name", _TEXT, "Name of the table.", required=True),
    _of("hoodie.database.name", _TEXT, "Database of the table, where it has one.", default=""),
    _of(
        "hoodie.table.type",
        _CHOICE,
        "Whether changes rewrite base files or go to log files.",
        required=True,
        default="COPY_ON_WRITE",
        choices=("COPY_ON_WRITE", "MERGE_ON_READ"),
    ),
    _of("hoodie.table.version", _INTEGER, "Version of the table format.", required=True),
    _of("hoodie.table.initial.version", _INTEGER, "Version with which the table was made.", required=True),
    _of("hoodie.timeline.layout.version", _INTEGER, "Version of the timeline's layout.", required=True),
    _of(
        "hoodie.timeline.path",
        _TEXT,
        "Folder of the active timeline, below .hoodie.",
        default=DEFAULT_TIMELINE_PATH,
        required=True,
    ),
    _of(
        "hoodie.timeline.history.path",
        _TEXT,
        "Folder of the archived timeline, below the active one.",
        default=DEFAULT_HISTORY_PATH,
        required=True,
    ),
    _of(
        "hoodie.archivelog.folder",
        _TEXT,
        "Archive folder of older layouts; written, never used.",
        default="archived",
        required=True,
    ),
    _of("hoodie.table.checksum", _INTEGER, "CRC-32 of database and table name.", required=True),
    _of(
        "hoodie.table.timeline.timezone",
        _CHOICE,
        "Zone of the digits of instant times.",
        default="LOCAL",
        choices=("LOCAL", "UTC"),
    ),
)

_KEYS = (
    _of("hoodie.table.recordkey.fields", _LIST, "Fields of the record key."),
    _of("hoodie.table.partition.fields", _LIST, "Fields of the partition path; field:TYPE for CUSTOM generators."),
    _of("hoodie.table.precombine.field", _TEXT, "Ordering field: the greater value wins."),
    _of(
        "hoodie.table.keygenerator.type",
        _CHOICE,
        "How rows make keys and partition paths.",
        choices=tuple(KeyGenerator),
    ),
    _of("hoodie.table.keygenerator.class", _TEXT, "Class of a key generator that has no type."),
    _of(
        "hoodie.datasource.write.hive_style_partitioning",
        _BOOLEAN,
        "Whether partition folders are field=value.",
        default="false",
    ),
    _of(
        "hoodie.datasource.write.partitionpath.urlencode",
        _BOOLEAN,
        "Whether partition values are escaped.",
        default="false",
    ),
    _of(
        "hoodie.datasource.write.drop.partition.columns",
        _BOOLEAN,
        "Whether data files leave partition columns out.",
        default="false",
        required=True,
    ),
    _of("hoodie.keygen.timebased.timestamp.type", _TEXT, "Unit or format of a TIMESTAMP generator's input."),
    _of("hoodie.keygen.timebased.timestamp.scalar.time.unit", _TEXT, "Unit of SCALAR input."),
    _of("hoodie.keygen.timebased.input.dateformat", _TEXT, "Patterns of text input."),
    _of("hoodie.keygen.timebased.input.dateformat.list.delimiter.regex", _TEXT, "What separates those patterns."),
    _of("hoodie.keygen.timebased.input.timezone", _TEXT, "Zone of text input."),
    _of("hoodie.keygen.timebased.output.dateformat", _TEXT, "Pattern of the partition folder."),
    _of("hoodie.keygen.timebased.output.timezone", _TEXT, "Zone of the partition folder."),
    _of("hoodie.keygen.timebased.timezone", _TEXT, "Zone of both, where they are not given."),
    _of("hoodie.keygen.datetime.parser.class", _TEXT, "Class that reads text input."),
)

_DATA = (
    _of("hoodie.table.create.schema", _TEXT, "Avro schema, without meta fields, with which the table was made."),
    _of(
        "hoodie.table.base.file.format",
        _CHOICE,
        "Format of base files.",
        default="PARQUET",
        choices=("PARQUET", "ORC", "HFILE"),
    ),
    _of(
        "hoodie.table.log.file.format",
        _CHOICE,
        "Format of log files.",
        default="HOODIE_LOG",
        choices=("HOODIE_LOG",),
    ),
    _of(
        "hoodie.table.multiple.base.file.formats.enable",
        _BOOLEAN,
        "Whether base files of several formats stand side by side.",
        default="false",
    ),
    _of("hoodie.populate.meta.fields", _BOOLEAN, "Whether rows have the meta fields.", default="true"),
    _of(
        "hoodie.record.merge.mode",
        _CHOICE,
        "Which version of a row wins.",
        required=True,
        choices=tuple(MergeMode),
    ),
    _of("hoodie.record.merge.strategy.id", _TEXT, "Id of the merger that goes with the mode.", required=True),
    _of("hoodie.compaction.payload.class", _TEXT, "Payload class that goes with the mode.", required=True),
    _of("hoodie.table.cdc.enabled", _BOOLEAN, "Whether writers keep change data.", default="false"),
    _of(
        "hoodie.table.cdc.supplemental.logging.mode",
        _CHOICE,
        "What they keep of a change.",
        default="DATA_BEFORE_AFTER",
        choices=("OP_KEY_ONLY", "DATA_BEFORE", "DATA_BEFORE_AFTER"),
    ),
    _of(
        "hoodie.partition.metafile.use.base.format",
        _BOOLEAN,
        "Whether partition metafiles are files of the base format.",
        default="false",
    ),
)

_INDEXES = (
    _of("hoodie.table.metadata.partitions", _LIST, "Complete partitions of the metadata table, as a set.", default=""),
    _of(
        "hoodie.table.metadata.partitions.inflight",
        _LIST,
        "Partitions of the metadata table that are being built.",
        default="",
    ),
    _of("hoodie.table.index.defs.path", _TEXT, "File of index definitions, below the base path."),
    _of("hoodie.table.secondary.indexes.metadata", _TEXT, "Secondary indexes of older tables."),
    _of("hoodie.bootstrap.index.enable", _BOOLEAN, "Whether a bootstrap table has an index.", default="true"),
    _of("hoodie.bootstrap.index.class", _TEXT, "Class of that index."),
    _of("hoodie.bootstrap.index.type", _TEXT, "Type of that index."),
    _of("hoodie.bootstrap.base.path", _TEXT, "Where a bootstrap table's original files are."),
)

TABLE_PROPERTIES: Mapping[str, TableProperty] = MappingProxyType(
    {entry.key: entry for entry in (*_IDENTITY, *_KEYS, *_DATA, *_INDEXES)}
)
"""Every property of a table, by key."""
