"""Which blocks of a slice's log files a query sees, in the order in which they are merged.

Source: Java ``BaseHoodieLogRecordReader``, first version of the scan. Visibility goes by requested time: a block is
seen if its action is completed and was requested at or before the query's time. Order is that of the files, then of
the blocks in them; completion times play no part here (they have decided which slice a file belongs to).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from drawstring.errors import CorruptFileError
from drawstring.log_files.blocks import LogBlock
from drawstring_spec.log_format import ROLLBACK_COMMAND, BlockType, HeaderKey


@dataclass(frozen=True, slots=True)
class Visible:
    """Which actions a query sees; picklable.

    Attributes:
        completed: requested times of completed writes on the timeline.
        start: requested time from which the timeline knows everything; what is older is archived and completed. None
            where nothing is archived.
        latest: the query's time; what was requested later is not seen.
        only: further restricts to these requested times (an incremental range); None for no restriction.

    """

    completed: frozenset[str]
    start: str | None
    latest: str
    only: frozenset[str] | None = None

    def holds(self, requested_time: str) -> bool:
        """Whether the query sees the blocks of that action."""
        if requested_time > self.latest or (self.only is not None and requested_time not in self.only):
            return False
        return requested_time in self.completed or (self.start is not None and requested_time < self.start)


def visible_blocks(blocks: Iterable[LogBlock], visible: Visible) -> list[LogBlock]:
    """Data and delete blocks that a query sees.

    A rollback command takes away what its target wrote before it. Blocks that a log compaction merged are read as
    well: the merged block comes later, so the result is the same. So are those of all attempts of a task that ran
    twice, where they say which attempt wrote them: Java's reader looks for such blocks and removes none.

    Args:
        blocks: of a slice's log files, files in their order.
        visible: what the query sees.

    Returns:
        The blocks, oldest first.

    Raises:
        CorruptFileError: a block does not say which action wrote it, or a command is none that is known.

    """
    queue: list[LogBlock] = []
    for block in blocks:
        if block.type is BlockType.CORRUPT:
            continue  # What a crash cut off was never acknowledged; its action was rolled back or written again.
        if block.instant_time is None:
            raise CorruptFileError(
                f"The block at byte {block.offset} of {block.path} does not say which action wrote it.", rule="LF-006"
            )
        if block.type is BlockType.COMMAND:
            queue = _without_target(queue, block)
        elif visible.holds(block.instant_time):
            queue.append(block)
    return queue


def _without_target(queue: list[LogBlock], command: LogBlock) -> list[LogBlock]:
    kind = command.header.get(HeaderKey.COMMAND_BLOCK_TYPE)
    target = command.header.get(HeaderKey.TARGET_INSTANT_TIME)
    if kind != ROLLBACK_COMMAND or target is None:
        raise CorruptFileError(
            f"The block at byte {command.offset} of {command.path} is a command {kind!r}, which nobody knows.",
            rule="LF-006",
        )
    return [block for block in queue if block.instant_time != target]
