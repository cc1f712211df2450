"""The partition metafile: what makes a folder a partition.

Source: technical specification, "Storage Layout"; Java ``HoodiePartitionMetadata``. Whose duty: whoever writes the
first data file into a partition creates it before; listings without a metadata table find partitions by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from drawstring_spec.errors import FormatError
from drawstring_spec.properties import format_properties, parse_properties

_COMMIT_TIME = "commitTime"
_PARTITION_DEPTH = "partitionDepth"
_COMMENT = "partition metadata"
_MAX_DEPTH_DIGITS = 9


@dataclass(frozen=True)
class PartitionMetadata:
    """Content of a partition metafile.

    Attributes:
        commit_time: requested time of the operation that first wrote to the partition.
        partition_depth: folders between the base path and the partition; 0 for an unpartitioned table.

    """

    commit_time: str
    partition_depth: int

    @classmethod
    def parse(cls, text: bytes) -> Self:
        """Read the content. Raises `FormatError` where either value is missing or is no number."""
        values = parse_properties(text)
        commit_time = values.get(_COMMIT_TIME, "")
        depth = values.get(_PARTITION_DEPTH, "")
        if not _is_number(commit_time):
            raise FormatError(f"The partition metafile says {_COMMIT_TIME}={commit_time[:40]!r}.", rule="SL-011")
        if not _is_number(depth) or len(depth) > _MAX_DEPTH_DIGITS:
            raise FormatError(f"The partition metafile says {_PARTITION_DEPTH}={depth[:40]!r}.", rule="SL-011")
        return cls(commit_time, int(depth))

    def format(self) -> bytes:
        """Write the content, without the date that Java puts into a second comment."""
        return format_properties(
            {_COMMIT_TIME: self.commit_time, _PARTITION_DEPTH: str(self.partition_depth)}, [_COMMENT]
        )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
