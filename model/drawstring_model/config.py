"""The configuration of the whole protocol on a copy-on-write table: the core's switches, and all modules that it needs.

`Config` is the implementation's protocol by default; `drawstring_model.core.config` says what each switch means.
"""

from __future__ import annotations

from dataclasses import dataclass

from drawstring_model.core import config as core
from drawstring_model.core.config import (
    Bounds,
    ClockKind,
    ConcurrencyControl,
    PlantedBug,
    RollbackPolicy,
    SnapshotTime,
    delete,
    upsert,
)
from drawstring_model.modules.cleaning import Cleaning
from drawstring_model.modules.clocks import Clocks
from drawstring_model.modules.clustering import Clustering
from drawstring_model.modules.compaction import Compaction
from drawstring_model.modules.crashes import Crashes
from drawstring_model.modules.heartbeats import HeartbeatModule
from drawstring_model.modules.locks import Locks
from drawstring_model.modules.log_files import LogFiles
from drawstring_model.modules.queries import QueryModule
from drawstring_model.modules.restores import RestoreModule
from drawstring_model.modules.rollback import RollbackModule
from drawstring_model.modules.savepoints import SavepointModule
from drawstring_model.modules.storage import StorageModule

__all__ = [
    "CLEANED",
    "CLUSTERED",
    "COPY_ON_WRITE",
    "MERGE_ON_READ",
    "RESTORED",
    "Bounds",
    "ClockKind",
    "ConcurrencyControl",
    "Config",
    "PlantedBug",
    "RollbackPolicy",
    "SnapshotTime",
    "delete",
    "upsert",
]

COPY_ON_WRITE = (StorageModule(), Clocks(), Crashes(), HeartbeatModule(), Locks(), RollbackModule())
"""The modules of the protocol on a copy-on-write table."""

MERGE_ON_READ = (*COPY_ON_WRITE, LogFiles(), Compaction())
"""The modules of the protocol on a merge-on-read table, with compaction."""

CLUSTERED = (*COPY_ON_WRITE, Clustering())
"""The modules of the protocol on a copy-on-write table, with clustering."""

CLEANED = (*COPY_ON_WRITE, QueryModule(), Cleaning())
"""The modules of the protocol on a copy-on-write table, with cleaning beside running queries."""


RESTORED = (*COPY_ON_WRITE, QueryModule(queries=0), Cleaning(cleans=0), SavepointModule(), RestoreModule())
"""The modules of the protocol on a copy-on-write table, with a savepoint and a restore to it."""


@dataclass(frozen=True, slots=True)
class Config(core.Config):
    """A configuration with all modules of a copy-on-write table, unless others are named."""

    modules: tuple[object, ...] = COPY_ON_WRITE
