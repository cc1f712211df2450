"""Which columns the table's indexes are about. Source: Java ``HoodieIndexMetadata``, ``HoodieIndexDefinition``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from drawstring.context import TableContext
from drawstring.errors import CorruptFileError, NotFoundError

SECONDARY: Final = "secondary_index"
STATISTICS: Final = "column_stats"
BLOOM: Final = "bloom_filters"
IDENTITY: Final = "identity"

_PATH_PROPERTY: Final = "hoodie.table.index.defs.path"
_MAX_BYTES: Final = 16 * 1024 * 1024
"""No table has definitions of that size; a file that claims to is not parsed."""


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """One index.

    Attributes:
        partition: of the metadata table that holds it.
        kind: such as ``secondary_index``, ``column_stats``, ``bloom_filters``.
        function: applied to the column before it is indexed; ``identity`` for none.
        columns: that are indexed.
        options: of the function.

    """

    partition: str
    kind: str
    function: str
    columns: tuple[str, ...]
    options: dict[str, str]


def index_definitions(context: TableContext) -> tuple[IndexDefinition, ...]:
    """Read the definitions of a table's indexes, sorted by partition; none where the table has no such file.

    Raises:
        CorruptFileError: the file is no JSON of definitions.
        StorageError: the property that names it leads out of the table.

    """
    path = context.config.properties.get(_PATH_PROPERTY, "").strip()
    if not path:
        return ()
    try:
        content = context.ports.storage.read(path, 0, _MAX_BYTES + 1)
    except NotFoundError:
        return ()
    try:
        if len(content) > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES} bytes")
        entries = json.loads(bytes(content))["indexDefinitions"]
        return tuple(_definition(name, entry) for name, entry in sorted(entries.items()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFileError(
            f"The index definitions in {path} cannot be read: {error}.",
            rule="MT-002",
            way_out="Restore the file from a copy, or read with hoodie.metadata.enable=false.",
        ) from error


def _definition(name: str, entry: Any) -> IndexDefinition:
    columns = tuple(str(column) for column in entry.get("sourceFields") or ())
    options = {str(key): str(value) for key, value in (entry.get("indexOptions") or {}).items()}
    return IndexDefinition(name, str(entry["indexType"]), str(entry.get("indexFunction") or ""), columns, options)
