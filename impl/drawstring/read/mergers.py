"""Mergers of the caller's own, by the strategy id that a table's properties name.

Source: Java ``HoodieRecordMerger``. A table whose merge mode is CUSTOM names the strategy by which its rows are
merged; what Java has as a class is here a function that was registered under the same id.
"""

from __future__ import annotations

from drawstring.data.partial_merge import Merger
from drawstring.errors import InputError, UnsupportedTableError
from drawstring_spec.merge_modes import STRATEGY_IDS, MergeMode

_mergers: dict[str, Merger] = {}


def register_merger(strategy_id: str, merger: Merger) -> None:
    """Register what merges the rows of tables of one strategy.

    Args:
        strategy_id: UUID in ``hoodie.record.merge.strategy.id``.
        merger: given aligned rows, older and newer (by ordering value, the later one among equals), returns the merged
            rows, as many and in the same columns: those of the query, and what merging needs. It is called for parts of
            a table, in any number. It must be picklable for the Spark engine.

    Raises:
        InputError: another merger is registered under that id.

    """
    if _mergers.get(strategy_id, merger) is not merger:
        raise InputError(
            f"Another merger is registered for the strategy {strategy_id}.",
            way_out="Register each strategy once, at the start of the program.",
        )
    _mergers[strategy_id] = merger


def lend_merger(strategy_id: str, merger: Merger) -> None:
    """Register a merger in a process that runs tasks: it came with the task, and takes the place of an earlier one."""
    _mergers[strategy_id] = merger


def find_merger(strategy_id: str, payload_class: str = "") -> Merger:
    """Return the merger of a strategy.

    Args:
        strategy_id: of the table.
        payload_class: Java class that merges the table's rows, where the strategy is to merge by such a class.

    Raises:
        UnsupportedTableError: none is registered.

    """
    if strategy_id not in _mergers:
        by_payload = strategy_id == STRATEGY_IDS[MergeMode.CUSTOM] and payload_class
        way = f"payload class {payload_class} (strategy {strategy_id})" if by_payload else f"strategy {strategy_id}"
        raise UnsupportedTableError(
            f"The table merges its rows by the {way}, which drawstring does not know.",
            rule="MG-003",
            way_out="Register what the strategy does with drawstring.register_merger, or read the table with "
            "read_optimized=True, without its log files.",
        )
    return _mergers[strategy_id]
