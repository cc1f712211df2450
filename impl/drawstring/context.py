"""What every operation on one table works with."""

from __future__ import annotations

from dataclasses import dataclass

from drawstring.events import Listener, ignore
from drawstring.options import Options
from drawstring.ports import Ports
from drawstring.table_config import TableConfig


@dataclass(frozen=True, slots=True)
class TableContext:
    """One handle's view of one table.

    Attributes:
        ports: the outside world.
        config: the table's properties, as loaded when the handle was opened.
        options: the handle's options, checked.
        emit: hears each step of the protocol.

    """

    ports: Ports
    config: TableConfig
    options: Options
    emit: Listener = ignore
