"""Merge modes: which version of a row wins.

Source: technical specification, "Merge mode"; Java ``HoodieTableConfig.inferCorrectMergingBehavior``,
``HoodieRecordMerger``. Three properties say the same thing, and tables where they contradict each other are
refused by Java; merging itself is written in the model and in the implementation.
"""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType


class MergeMode(StrEnum):
    """Value of ``hoodie.record.merge.mode``."""

    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    """The version that was committed last wins."""
    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    """The version with the greatest ordering value wins, the later one among equals."""
    CUSTOM = "CUSTOM"
    """A class of the user's decides."""


STRATEGY_IDS = MappingProxyType(
    {
        MergeMode.COMMIT_TIME_ORDERING: "ce9acb64-bde0-424c-9b91-f6ebba25356d",
        MergeMode.EVENT_TIME_ORDERING: "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
        MergeMode.CUSTOM: "00000000-0000-0000-0000-000000000000",
    }
)
"""``hoodie.record.merge.strategy.id`` of each mode; for CUSTOM the one of tables that merge by payload
class."""

PAYLOAD_CLASSES = MappingProxyType(
    {
        MergeMode.COMMIT_TIME_ORDERING: "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload",
        MergeMode.EVENT_TIME_ORDERING: "org.apache.hudi.common.model.DefaultHoodieRecordPayload",
    }
)
"""``hoodie.compaction.payload.class`` of the modes that fix it."""


def default_merge_mode(ordering_field: str | None) -> MergeMode:
    """Return the mode of a table that names none: by event time where there is an ordering field."""
    return MergeMode.EVENT_TIME_ORDERING if ordering_field else MergeMode.COMMIT_TIME_ORDERING
