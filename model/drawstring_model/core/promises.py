"""The names of what the protocol promises; `drawstring_model.core.invariants` and the modules say what they mean."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from drawstring_model.core.config import Config
from drawstring_model.core.state import World

Check = Callable[[World, Config], str | None]
"""What is wrong with a world, in one sentence; None where nothing is."""
StepCheck = Callable[[World, World, Config], str | None]
"""What is wrong with how one world became another."""


class Promise(StrEnum):
    """The promises, by the names under which verdicts are reported."""

    CONSISTENT_READ = "consistent read"
    """A snapshot at T equals the serial result of the commits visible at T."""
    NO_LOST_UPDATE = "no lost update"
    """Each version of a file group was merged from the version right before it."""
    NO_DUPLICATE_KEYS = "no duplicate keys"
    """In no snapshot is a key in two file groups."""
    NO_UNDONE_WRITE = "completed writes stay"
    """A completed write's instant is its alone, and its files are as it wrote them."""
    LIVE_WRITER_KEPT = "live writers are let be"
    """No operation is rolled back while its writer lives and its heartbeat has not expired."""
    LEGAL_TRANSITIONS = "legal transitions"
    """An instant was requested, then inflight, then completed, in the metadata table too; or rolled back, once."""
    LATEST_SNAPSHOT = "latest snapshot"
    """A snapshot of now equals the serial result of all completed commits."""
    NO_RESURRECTED_DELETE = "deletes stay"
    """A key whose last completed change deletes it is in no snapshot of now."""
    PLANNED_FILES_STAY = "planned files stay"
    """What a pending compaction is going to read is there, as it was when it was planned."""
    INCREMENTAL_READS = "incremental reads"
    """A reader that reads on from where it stopped gets every write that completed since."""
    MERGED_LOGS_UNNEEDED = "merged logs are not needed"
    """A snapshot of now is the same without the log files that completed log compactions merged."""
    INDEX_AGREES = "index agrees"
    """A completed index says of each key of the table which file group it is in, and of no other key."""
    METADATA_AGREES = "metadata table agrees"
    """The metadata table lists the files of completed writes that are on storage, and no others."""
    CLUSTERING_KEEPS_ROWS = "clustering keeps rows"
    """A snapshot at a clustering's requested time holds the rows of the snapshot right before it, each once."""
    APPLIED_ONCE = "operations are applied once"
    """No operation is in two completed writes, however often it is tried."""
    TRUE_OUTCOMES = "outcomes are true"
    """No write is complete that its writer gave up, and reported as failed."""
    QUERIES_KEEP_FILES = "running queries keep files"
    """A query loses no file while no more writes later than its snapshot completed than the cleaner tolerates."""
    CAPTURED_CHANGES = "captured changes"
    """A query of changes gives of each write the values before and after it, as the table had them."""
    READ_OPTIMIZED = "read-optimized reads"
    """A read-optimized query reads each file group as it was when its newest base file was begun."""
    SAVEPOINTS_STAY = "savepoints stay"
    """The files that a savepoint names are there as long as it stands."""
    RESTORES_ARE_EXACT = "restores are exact"
    """After a restore, until a write completes, a snapshot of now has the savepoint's files; no later write is left."""
    HISTORY_IS_WHOLE = "history stays whole"
    """A completed instant is on the active timeline or in the archive, as it was, and there is no other in it."""
    TIME_TRAVEL_STABILITY = "time-travel stability"
    """A snapshot at T, once T was the snapshot time of a query, never changes."""
