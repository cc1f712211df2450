"""Engines: how the rows of a write are looked up, merged and written.

Whose duty: an engine turns a caller's data into a `drawstring.write_stats.WriteBody`, checking everything that can
be checked before the table is touched; the protocol calls the body's steps and makes the result visible.
"""

from __future__ import annotations

from typing import Any, Protocol

from drawstring.context import TableContext
from drawstring.write_stats import Operation, WriteBody

__all__ = ["Engine"]


class Engine(Protocol):
    """What does the work of writes."""

    def prepare_write(self, context: TableContext, operation: Operation, data: Any) -> WriteBody:
        """Check rows against the table and return the write's body.

        Args:
            context: of the table; it can be written (`drawstring.writable.check_writable`).
            operation: insert, upsert or bulk insert.
            data: what the engine takes for rows.

        Raises:
            InputError: the data cannot be written (`SchemaError`, `RecordKeyError`, `OptionError`); nothing was.

        """
        ...

    def prepare_delete(self, context: TableContext, keys: Any) -> WriteBody:
        """Check keys against the table and return the deletion's body. Arguments and errors as `prepare_write`."""
        ...
