"""Operations on small tables, and what they mean when they are carried out one after the other.

Whose duty: the serial meaning is the yardstick of every history. It is written over plain dictionaries, apart from
the implementation and from the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

Key = tuple[str, str]
"""Partition path and record key."""

Content = Mapping[Key, int]
"""What a table holds: the value of each key."""


class Kind(Enum):
    """Kind of an operation."""

    BULK_INSERT = "bulk_insert"
    INSERT = "insert"
    UPSERT = "upsert"
    DELETE = "delete"


class SerialError(Exception):
    """An operation that cannot be carried out on this content: an insert of a key that is there."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation.

    Attributes:
        kind: what it does.
        rows: value by key; a delete's values mean nothing.

    """

    kind: Kind
    rows: tuple[tuple[Key, int], ...]

    @classmethod
    def of(cls, kind: Kind, rows: Mapping[Key, int]) -> Operation:
        """Make an operation; the order of the rows is that of the keys."""
        return cls(kind, tuple(sorted(rows.items())))

    def apply(self, content: Content) -> Content:
        """Return the content after the operation.

        Raises:
            SerialError: it inserts a key that is there.

        """
        after = dict(content)
        for key, value in self.rows:
            if self.kind is Kind.DELETE:
                after.pop(key, None)
            elif self.kind in (Kind.INSERT, Kind.BULK_INSERT) and key in content:
                raise SerialError(f"{self} inserts {key}, which is there.")
            else:
                after[key] = value
        return after

    def __str__(self) -> str:
        shown = ", ".join(
            f"{day}/{key}" if self.kind is Kind.DELETE else f"{day}/{key}={value}" for (day, key), value in self.rows
        )
        return f"{self.kind.value}({shown})"
