"""Arguments of the public face, brought into one form and checked against each other.

Whose duty: everything here is refused before a location is touched, or left exactly as it was.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from drawstring.data.key_texts import key_texts
from drawstring.data.merge import ordering_values
from drawstring.data.schema import arrow_to_avro, record_name
from drawstring.errors import InputError, OptionError, SchemaError
from drawstring.options import Options
from drawstring.table_config import TableConfig, TableType
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY
from drawstring_spec.meta_fields import META_FIELDS

_SAID_BY_CALLS: Final = {
    "hoodie.datasource.query.type": "Call read(), read(read_optimized=True) or changes().",
    "as.of.instant": "Pass it to the call: read(as_of=...).",
    "hoodie.datasource.query.incremental.format": "Call changes(cdc=True).",
    "hoodie.datasource.read.begin.instanttime": "Pass it to the call: changes(start).",
    "hoodie.datasource.read.end.instanttime": "Pass it to the call: changes(start, end).",
    "hoodie.datasource.streaming.startOffset": 'Pass it to the call: changes(start, bounds="(]").',
    "drawstring.read.filter": "Pass it to the call: read(filter=...).",
    "hoodie.enable.data.skipping": "Leave it out; hoodie.metadata.enable=false reads without the metadata table.",
    "hoodie.datasource.write.operation": "Call upsert, insert, bulk_insert or delete.",
    "drawstring.spark.staged.max.bytes": "Leave it out: a handle stages nothing.",
}
"""Options of ``format("drawstring")`` that a handle has calls and arguments for, with these."""


@dataclass(frozen=True, slots=True)
class CreationArguments:
    """What a new table is made from.

    Attributes:
        name: of the table.
        record_key: fields of the record key.
        partition_by: partition columns.
        avro_json: the schema, without meta fields.

    """

    name: str
    record_key: tuple[str, ...]
    partition_by: tuple[str, ...]
    avro_json: str


def parse_table_type(text: str) -> TableType:
    """Return a table type by its name. Raises `InputError`."""
    try:
        return TableType(str(text).upper())
    except ValueError:
        raise InputError(f"There is no table type {text!r}.", way_out=f"There are: {', '.join(TableType)}.") from None


def field_names(fields: str | Sequence[str], argument: str) -> tuple[str, ...]:
    """Return one name or several as a tuple. Raises `InputError`."""
    names = (fields,) if isinstance(fields, str) else tuple(fields) if isinstance(fields, Iterable) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise InputError(f"{argument} is {fields!r}.", way_out="It must be a column's name or a list of names.")
    return names


def creation_arguments(
    uri: str,
    schema: Any,
    record_key: tuple[str, ...],
    partition_by: tuple[str, ...],
    ordering: str | None,
    options: Options,
) -> CreationArguments:
    """Check the arguments of a new table.

    Raises:
        SchemaError: the schema is none, or has a column that Hudi cannot hold.
        InputError: a field is not in the schema.
        RecordKeyError: a key or partition field has a type that makes no text.
        OptionError: an option contradicts an argument.

    """
    if options[BASE_PATH_PROPERTY]:
        raise OptionError(
            f"Option {BASE_PATH_PROPERTY!r} is {options[BASE_PATH_PROPERTY]!r}, and drawstring makes no table of files "
            "that are there already.",
            rule="CC-036",
            way_out="Bootstrap it with Java Hudi, or leave the option out and insert the rows.",
        )
    columns = _arrow_schema(schema)
    reserved = [name for name in columns.names if name in META_FIELDS]
    if reserved:
        raise SchemaError(
            f"Column {reserved[0]!r} has the name of a meta column, which every row gets.",
            rule="DF-010",
            way_out="Leave it out.",
        )
    wanted = (("record_key", record_key), ("partition_by", partition_by), ("ordering", (ordering,) if ordering else ()))
    for argument, names in wanted:
        for name in names:
            if name not in columns.names:
                raise InputError(
                    f"{argument} names {name!r}, which is no column of the schema.",
                    way_out=f"Its columns are: {', '.join(columns.names)}.",
                )
    _check_types(columns, (*record_key, *partition_by), ordering)
    _check_same(options, ",".join(record_key), ",".join(partition_by), ordering)
    name = options["hoodie.table.name"] or _last_segment(uri)
    avro_name, namespace = record_name(name)
    avro = arrow_to_avro(columns, name=avro_name, namespace=namespace)
    return CreationArguments(name, record_key, partition_by, json.dumps(avro, separators=(",", ":")))


def _check_types(columns: pa.Schema, key_fields: Sequence[str], ordering: str | None) -> None:
    """Refuse now what every write would refuse: types that make no key, or that have no order."""
    for name in key_fields:
        key_texts(pa.array([], columns.field(name).type), name)
    if ordering is not None:
        ordering_values(columns.empty_table(), ordering)


def _arrow_schema(schema: Any) -> pa.Schema:
    try:
        return schema if isinstance(schema, pa.Schema) else pa.schema(schema)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise SchemaError(
            f"The schema is a {type(schema).__name__}, which cannot be taken as an Arrow schema: {error}",
            way_out="Pass a pyarrow.Schema, or anything that exports one.",
        ) from error


def _last_segment(uri: str) -> str:
    path = urllib.parse.urlsplit(uri).path if "://" in uri else uri
    segment = urllib.parse.unquote(path).rstrip("/").rpartition("/")[2]
    if not segment or segment in {".", ".."}:
        raise InputError(
            f"The table's name cannot be taken from its location {uri!r}.",
            way_out="Give it as the option hoodie.table.name.",
        )
    return segment


def check_options_of_a_handle(options: Options) -> None:
    """Refuse options that say what one read or write does: a handle has methods and arguments for it.

    Raises:
        OptionError: one of them is given; nothing would honour it.

    """
    for key, way_out in _SAID_BY_CALLS.items():
        if key in options.given:
            raise OptionError(
                f'Option {key!r} is one of format("drawstring"), and a table\'s handle does not honour it.',
                rule="WR-012",
                way_out=way_out,
            )


def check_options_fit(config: TableConfig, options: Options) -> None:
    """Refuse options that say something else about a table than its properties. Raises `OptionError`."""
    facts = {
        "hoodie.table.name": config.name,
        "hoodie.database.name": config.database,
        "hoodie.datasource.write.hive_style_partitioning": config.hive_style,
        "hoodie.datasource.write.partitionpath.urlencode": config.url_encode,
        "hoodie.write.record.merge.mode": config.merge_mode.value,
        "hoodie.datasource.write.keygenerator.type": config.key_generator.base.value,
        "hoodie.datasource.write.table.type": config.table_type.value,
        "hoodie.populate.meta.fields": config.populate_meta_fields,
        "hoodie.datasource.write.drop.partition.columns": config.drop_partition_columns,
        "hoodie.table.cdc.enabled": config.cdc_enabled,
        "hoodie.table.base.file.format": config.base_file_format,
        "hoodie.table.timeline.timezone": config.timeline_zone,
    }
    for key, fact in facts.items():
        if key in options.given and options[key] != fact:
            raise OptionError(
                f"Option {key!r} is {options[key]!r}, but the table {config.name!r} has {fact!r}.",
                way_out="Leave it out: it is decided when a table is created.",
            )
    _check_same(options, ",".join(config.record_key_fields), ",".join(config.partition_fields), config.ordering_field)
    check_source_files(config, options)


def check_source_files(config: TableConfig, options: Options) -> None:
    """Refuse the option that says where source files are, of a table that has none. Raises `OptionError`."""
    if options[BASE_PATH_PROPERTY] and not config.properties.get(BASE_PATH_PROPERTY):
        raise OptionError(
            f"Option {BASE_PATH_PROPERTY!r} is {options[BASE_PATH_PROPERTY]!r}, but the table {config.name!r} was not "
            "made of other files by bootstrapping.",
            way_out="Leave it out.",
        )


def _check_same(options: Options, record_key: str, partition_by: str, ordering: str | None) -> None:
    facts = {
        "hoodie.datasource.write.recordkey.field": record_key,
        "hoodie.datasource.write.partitionpath.field": partition_by,
        "hoodie.datasource.write.precombine.field": ordering or "",
    }
    for key, fact in facts.items():
        if key in options.given and _without_blanks(options[key]) != fact:
            raise OptionError(
                f"Option {key!r} is {options[key]!r}, but the table has {fact!r}.", way_out="Leave it out."
            )


def _without_blanks(fields: str) -> str:
    return ",".join(part.strip() for part in fields.split(","))
