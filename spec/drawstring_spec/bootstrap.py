"""The vocabulary of bootstrap tables: tables made of Parquet files that were there before.

Source: Java ``HFileBootstrapIndex``, ``HoodieTimeline``. A file of the source becomes a *skeleton file*, which has
the meta columns alone, or it is copied whole. The bootstrap index says which source file each skeleton file stands for.
"""

from __future__ import annotations

from typing import Final

from drawstring_spec.layout import BOOTSTRAP_FILE_IDS_FOLDER

BASE_PATH_PROPERTY: Final = "hoodie.bootstrap.base.path"
"""Of the table: where the source files were when it was made. Of a query: where they are now."""

SKELETON_TIME: Final = "00000000000001"
"""Requested time of the commit that writes skeleton files: nothing else has it."""
WHOLE_TIME: Final = "00000000000002"
"""Requested time of the commit that copies source files whole."""
BOOTSTRAP_TIMES: Final = frozenset({SKELETON_TIME, WHOLE_TIME})

INDEX_FILE: Final = f"{BOOTSTRAP_FILE_IDS_FOLDER}/00000000-0000-0000-0000-000000000000-0_1-0-1_{SKELETON_TIME}.hfile"
"""The index by file group, an HFile; another one, by partition, says the same."""
INDEX_INFO: Final = b"INDEX_INFO"
"""Entry of the index's file info: an Avro container with a ``HoodieBootstrapIndexInfo``."""


def index_key(partition_path: str, file_id: str) -> bytes:
    """Return the key of a file group in the index."""
    return f"part={partition_path};fileid={file_id}".encode()
