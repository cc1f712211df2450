"""Errors of the implementation, all below `drawstring_spec.errors.DrawstringError`.

Bad input never changes the table; a failed write is never visible. Each class says which of the two it is.
"""

from __future__ import annotations

from drawstring_spec.errors import DrawstringError, FormatError, IllegalTransitionError

__all__ = [
    "AlreadyExistsError",
    "ConcurrencyError",
    "ConflictError",
    "CorruptFileError",
    "DeadlineExceededError",
    "DrawstringError",
    "DuplicateKeyError",
    "EngineError",
    "FormatError",
    "HeartbeatExpiredError",
    "IllegalTransitionError",
    "InputError",
    "KeyConflictError",
    "LockTimeoutError",
    "LostLockError",
    "NotFoundError",
    "OptionError",
    "PreconditionFailedError",
    "RecordKeyError",
    "SchemaError",
    "StorageError",
    "TableExistsError",
    "TableNotFoundError",
    "TimeTravelError",
    "UnsupportedTableError",
    "WriterFencedError",
]


class InputError(DrawstringError):
    """What the caller gave cannot be used; the table is as it was."""


class OptionError(InputError):
    """An option is unknown, not honoured, or has a value that is not allowed."""


class SchemaError(InputError):
    """The data's schema does not fit the table's, or has a type that Hudi has no mapping for."""


class RecordKeyError(InputError):
    """A record key or partition value is missing, null or empty."""


class DuplicateKeyError(InputError):
    """An insert brings a key that the table holds already."""


class TimeTravelError(InputError):
    """The snapshot time asked for is malformed, or lies where the table no longer has a history."""


class TableNotFoundError(InputError):
    """The location holds no Hudi table."""


class TableExistsError(InputError):
    """The location holds a Hudi table already."""


class UnsupportedTableError(DrawstringError):
    """The table has a version or a feature that drawstring does not handle; it is left as it is."""


class CorruptFileError(FormatError):
    """A file of the table cannot be read as what its name says it is."""


class EngineError(DrawstringError):
    """An engine cannot run here, or what it ran failed (no Java, a failed Spark job)."""


class StorageError(DrawstringError):
    """The storage failed, and it is not known whether the call took effect."""


class NotFoundError(StorageError):
    """There is no file at the path."""


class AlreadyExistsError(StorageError):
    """A file that was to be created exists; it is left as it was."""


class PreconditionFailedError(StorageError):
    """A file that was to be replaced is no longer the version that was named; it is left as it is."""


class DeadlineExceededError(StorageError):
    """The call's deadline passed before it could take effect: it had none, and it never will."""


class ConcurrencyError(DrawstringError):
    """Another writer stood in the way; nothing of this operation is visible, and it can be tried again."""


class ConflictError(ConcurrencyError):
    """An operation that completed since this one took its snapshot touched the same file groups."""


class KeyConflictError(ConflictError):
    """An operation that completed since this one took its snapshot inserted the same new keys."""


class LockTimeoutError(ConcurrencyError):
    """The table lock was not to be had in the time allowed."""


class LostLockError(ConcurrencyError):
    """The table lock expired or was taken away while it was held."""


class HeartbeatExpiredError(ConcurrencyError):
    """The operation's heartbeat was not renewed in time: others may regard it as failed."""


class WriterFencedError(ConcurrencyError):
    """The operation's pending instant is gone from the timeline: another writer rolled it back."""
