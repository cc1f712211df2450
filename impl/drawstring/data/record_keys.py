"""Record keys of whole columns, exactly the texts that Java's key generators make.

Source: Java ``KeyGenUtils``, ``SimpleKeyGenerator``, ``ComplexKeyGenerator``, ``NonpartitionedKeyGenerator`` (format
chapter "Record keys"). One key field makes the plain value; several make ``f1:v1,f2:v2``, where null and empty
values have place holders. Keys are not escaped, as Java's are not: ``a:b,c`` can be told apart only by the stored key.
"""

from __future__ import annotations

from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.data.key_texts import field_column, key_texts
from drawstring.errors import RecordKeyError, UnsupportedTableError
from drawstring_spec.key_generators import KeyGenerator

NULL_PLACEHOLDER: Final = "__null__"
"""Stands for null where a key has several fields."""
EMPTY_PLACEHOLDER: Final = "__empty__"
"""Stands for the empty text where a key has several fields."""

_SUPPORTED: Final = (KeyGenerator.SIMPLE, KeyGenerator.COMPLEX, KeyGenerator.NON_PARTITION)


class KeyConfig(Protocol):
    """What key kernels need of a table's configuration (`drawstring.table_config.TableConfig` has it)."""

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        """Fields of the record key, in order."""
        ...

    @property
    def key_generator(self) -> KeyGenerator:
        """How keys and paths are made."""
        ...


def check_key_generator(config: KeyConfig) -> None:
    """Refuse a table whose keys cannot be made here. Raises `UnsupportedTableError`."""
    if config.key_generator.base not in _SUPPORTED:
        raise UnsupportedTableError(
            f"The table's key generator {config.key_generator.value} is not supported for writing.",
            way_out=f"Write it with Java Hudi; drawstring writes {', '.join(g.value for g in _SUPPORTED)}.",
        )
    if not config.record_key_fields:
        raise UnsupportedTableError(
            "The table has no record key fields: its keys were made up by the writer.",
            way_out="Write it with Java Hudi.",
        )


def record_keys(table: pa.Table, config: KeyConfig) -> pa.Array:
    """Return the record key of each row (``pa.string()``, no nulls).

    Args:
        table: rows that have the key fields.
        config: the table's key fields and generator.

    Raises:
        RecordKeyError: a key field is missing or of a type that makes no key, or keys are null or empty.
        UnsupportedTableError: the key generator is not supported.

    """
    check_key_generator(config)
    fields = config.record_key_fields
    texts = [key_texts(field_column(table, field), field) for field in fields]
    if len(fields) == 1:
        _refuse_missing(pc.or_kleene(pc.is_null(texts[0]), pc.equal(texts[0], "")), fields)
        return texts[0]
    missing = None
    parts: list[pa.Array | pa.Scalar] = []
    for field, text in zip(fields, texts, strict=True):
        is_null, is_empty = pc.is_null(text), pc.fill_null(pc.equal(text, ""), False)
        absent = pc.or_(is_null, is_empty)
        missing = absent if missing is None else pc.and_(missing, absent)
        value = pc.if_else(is_null, NULL_PLACEHOLDER, pc.if_else(is_empty, EMPTY_PLACEHOLDER, text))
        parts.append(pc.binary_join_element_wise(pa.scalar(field), value, ":"))
    _refuse_missing(missing, fields)
    return pc.binary_join_element_wise(*parts, ",")


def _refuse_missing(missing: pa.Array, fields: tuple[str, ...]) -> None:
    count = pc.sum(pc.cast(missing, pa.int64())).as_py() or 0
    if count:
        row = pc.index(missing, True).as_py()
        raise RecordKeyError(
            f"The record key ({', '.join(fields)}) of {count} rows is null or empty; the first is row {row}.",
            way_out="Every row needs a key; nothing was written.",
        )
