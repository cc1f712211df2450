"""The meta fields: five columns that stand before the user's in every data file.

Source: technical specification, "Meta Fields"; Java ``HoodieRecord``. All are strings, and null only where a
    table
says ``hoodie.populate.meta.fields=false``.
"""

from __future__ import annotations

COMMIT_TIME = "_hoodie_commit_time"
"""Requested time of the operation that last wrote the row."""
COMMIT_SEQNO = "_hoodie_commit_seqno"
"""``<requested time>_<task partition>_<row number>``: unique per row in an operation."""
RECORD_KEY = "_hoodie_record_key"
PARTITION_PATH = "_hoodie_partition_path"
"""As on storage, escaped; the empty text where the table is not partitioned."""
FILE_NAME = "_hoodie_file_name"
"""Name of the base file; in log records the file id."""

META_FIELDS = (COMMIT_TIME, COMMIT_SEQNO, RECORD_KEY, PARTITION_PATH, FILE_NAME)
"""The five, in their order in every file."""

OPERATION = "_hoodie_operation"
"""A sixth field, behind the five, of tables that keep the kind of change."""
IS_DELETED = "_hoodie_is_deleted"
"""A user's boolean column; true asks for the row's deletion with its ordering value."""
