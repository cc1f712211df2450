"""What timeline files hold: the Avro schemas, and which of them belongs to which file.

Source: technical specification, "Timeline", where it says so, otherwise bytes that Java wrote: every non-empty
timeline file of layout 2 is an Avro object container with one record, null codec, and ``avro.schema`` as its only
metadata. Whose duty: the implementation encodes and decodes (``drawstring.codec``); this module does no bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from drawstring_spec.avro_types import NAMESPACE, assemble
from drawstring_spec.data_records import DATA_RECORDS
from drawstring_spec.instants import Action, State
from drawstring_spec.timeline_records import TIMELINE_RECORDS

__all__ = ["NAMESPACE", "SCHEMAS", "payload_schema_name"]

_RECORDS = {**TIMELINE_RECORDS, **DATA_RECORDS}

SCHEMAS: Mapping[str, dict[str, Any]] = MappingProxyType({name: assemble(_RECORDS, name) for name in _RECORDS})
"""Avro schema of each record of the format, by its name. Each stands alone: the records it holds are inside."""

_REQUESTED, _INFLIGHT, _COMPLETED = State

_PAYLOADS: Mapping[tuple[Action, State], str] = MappingProxyType(
    {
        (Action.COMMIT, _INFLIGHT): "HoodieCommitMetadata",
        (Action.COMMIT, _COMPLETED): "HoodieCommitMetadata",
        (Action.DELTA_COMMIT, _INFLIGHT): "HoodieCommitMetadata",
        (Action.DELTA_COMMIT, _COMPLETED): "HoodieCommitMetadata",
        (Action.REPLACE_COMMIT, _REQUESTED): "HoodieRequestedReplaceMetadata",
        (Action.REPLACE_COMMIT, _INFLIGHT): "HoodieCommitMetadata",
        (Action.REPLACE_COMMIT, _COMPLETED): "HoodieReplaceCommitMetadata",
        (Action.CLUSTERING, _REQUESTED): "HoodieRequestedReplaceMetadata",
        (Action.COMPACTION, _REQUESTED): "HoodieCompactionPlan",
        (Action.LOG_COMPACTION, _REQUESTED): "HoodieCompactionPlan",
        (Action.CLEAN, _REQUESTED): "HoodieCleanerPlan",
        (Action.CLEAN, _INFLIGHT): "HoodieCleanerPlan",
        (Action.CLEAN, _COMPLETED): "HoodieCleanMetadata",
        (Action.ROLLBACK, _REQUESTED): "HoodieRollbackPlan",
        (Action.ROLLBACK, _COMPLETED): "HoodieRollbackMetadata",
        (Action.RESTORE, _REQUESTED): "HoodieRestorePlan",
        (Action.RESTORE, _COMPLETED): "HoodieRestoreMetadata",
        (Action.SAVEPOINT, _COMPLETED): "HoodieSavepointMetadata",
        (Action.INDEXING, _REQUESTED): "HoodieIndexPlan",
        (Action.INDEXING, _COMPLETED): "HoodieIndexCommitMetadata",
    }
)


def payload_schema_name(action: Action, state: State) -> str | None:
    """Return the key in `SCHEMAS` of the record in a timeline file; None where the file is always empty.

    A file may be empty all the same: a bulk insert's inflight file is, and an empty completed commit is read as one
    that has every default.
    """
    return _PAYLOADS.get((action, state))
