"""What merges the rows of a table whose merge mode is CUSTOM: a payload class, or a merger of the caller's own.

Source: Java ``HoodieRecordMerger``, ``HoodieReaderContext.getRecordMerger``. Such a table names the strategy by which
its rows are merged. One strategy is to merge by a payload class, which the table names, too: those of Hudi's own are
known. What Java has as a class for any other strategy is here a function that was registered under the same id.
"""

from __future__ import annotations

from drawstring.data.partial_merge import Merger
from drawstring.data.payloads.classes import PAYLOAD_CLASSES, PayloadClass
from drawstring.errors import InputError, UnsupportedTableError
from drawstring_spec.merge_modes import STRATEGY_IDS, MergeMode

_mergers: dict[str, Merger] = {}


def register_merger(strategy_id: str, merger: Merger) -> None:
    """Register what merges the rows of tables of one strategy.

    Args:
        strategy_id: UUID in ``hoodie.record.merge.strategy.id``.
        merger: given aligned rows, older and newer (by ordering value, the later one among equals), returns the merged
            rows, as many and in the same columns: those of the query, and what merging needs. A row that it gives a
            true ``_hoodie_is_deleted``, in a column that may be one more, is deleted. It is called for parts of a
            table, in any number. It must be picklable for the Spark engine.

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


def known_payload(strategy_id: str, payload_class: str) -> PayloadClass | None:
    """Return the payload class of Hudi's own by which a table of mode CUSTOM merges; None where something else does.

    Arguments as `find_merger`.
    """
    if strategy_id in _mergers or strategy_id != STRATEGY_IDS[MergeMode.CUSTOM]:
        return None
    return PAYLOAD_CLASSES.get(payload_class)


def find_merger(strategy_id: str, payload_class: str = "") -> Merger | PayloadClass:
    """Return the merger of a strategy: the one that was registered, or else the rule of a payload class of Hudi's own.

    Args:
        strategy_id: of the table.
        payload_class: Java class that merges the table's rows, where the strategy is to merge by such a class.

    Raises:
        UnsupportedTableError: there is none.

    """
    known = known_payload(strategy_id, payload_class)
    if known is not None:
        return known
    if strategy_id in _mergers:
        return _mergers[strategy_id]
    by_payload = strategy_id == STRATEGY_IDS[MergeMode.CUSTOM] and payload_class
    way = f"payload class {payload_class} (strategy {strategy_id})" if by_payload else f"strategy {strategy_id}"
    raise UnsupportedTableError(
        f"The table merges its rows by the {way}, which drawstring does not know.",
        rule="MG-003",
        way_out="Register what the strategy does with drawstring.register_merger, or read the table with "
        "read_optimized=True, without its log files.",
    )
