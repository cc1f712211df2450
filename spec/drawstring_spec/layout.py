"""Where things stand: folders and fixed file names below a table's base path.

Source: technical specification, "Storage Layout"; Java ``HoodieTableMetaClient``. All paths are relative to
the base path, with ``/`` between segments, whatever the storage.
"""

from __future__ import annotations

HOODIE_FOLDER = ".hoodie"
"""Everything that is not data; listings of partitions leave it out."""

PROPERTIES_FILE = ".hoodie/hoodie.properties"
PROPERTIES_BACKUP_FILE = ".hoodie/hoodie.properties.backup"
"""Stands in for the properties while they are replaced."""

DEFAULT_TIMELINE_PATH = "timeline"
"""Default of ``hoodie.timeline.path``: a path below `HOODIE_FOLDER`."""
DEFAULT_HISTORY_PATH = "history"
"""Default of ``hoodie.timeline.history.path``: a path below the timeline's folder."""
TIMELINE_FOLDER = f"{HOODIE_FOLDER}/{DEFAULT_TIMELINE_PATH}"
"""The active timeline, where the property does not say otherwise."""
HISTORY_FOLDER = f"{TIMELINE_FOLDER}/{DEFAULT_HISTORY_PATH}"
"""The archived timeline, where the properties do not say otherwise."""
HISTORY_VERSION_FILE = "_version_"
"""Name, in the history folder, of the file that holds the number of the current manifest."""

SCHEMA_FOLDER = ".hoodie/.schema"
AUXILIARY_FOLDER = ".hoodie/.aux"
BOOTSTRAP_PARTITIONS_FOLDER = ".hoodie/.aux/.bootstrap/.partitions"
BOOTSTRAP_FILE_IDS_FOLDER = ".hoodie/.aux/.bootstrap/.fileids"
TEMP_FOLDER = ".hoodie/.temp"
"""Markers: one folder per requested time."""
HEARTBEAT_FOLDER = ".hoodie/.heartbeat"
"""Heartbeats: one empty file per requested time."""
LOCK_FILE = ".hoodie/lock"
"""The file that the file-system lock provider creates, where its option does not say otherwise."""
METADATA_TABLE_FOLDER = ".hoodie/metadata"
"""Base path of the metadata table, a Hudi table of its own."""
INDEX_DEFINITIONS_FILE = ".hoodie/.index_defs/index.json"
CONSISTENT_HASHING_FOLDER = ".hoodie/.bucket_index/consistent_hashing_metadata"

PARTITION_METADATA_FILE = ".hoodie_partition_metadata"
"""Name of the file that makes a folder a partition."""
PARTITION_METADATA_NAMES = frozenset(
    {PARTITION_METADATA_FILE, f"{PARTITION_METADATA_FILE}.parquet", f"{PARTITION_METADATA_FILE}.orc"}
)
"""Every name that a partition metafile may have (``hoodie.partition.metafile.use.base.format``)."""

MARKERS_TYPE_FILE = "MARKERS.type"
"""Name, in a marker folder, of the file that is there if the markers are lines of `MARKERS_FILE_PREFIX`
files."""
MARKERS_FILE_PREFIX = "MARKERS"
"""Names of marker collections begin so; a number follows."""
TIMELINE_SERVER_MARKERS = "TIMELINE_SERVER_BASED"
"""What `MARKERS_TYPE_FILE` holds."""

CREATED_FOLDERS = (
    SCHEMA_FOLDER,
    TEMP_FOLDER,
    BOOTSTRAP_PARTITIONS_FOLDER,
    BOOTSTRAP_FILE_IDS_FOLDER,
    HISTORY_FOLDER,
)
"""Folders that Java makes with a new table. Object storages have no empty folders, and no reader needs
these."""
