"""Tables that Java writes with a bucket index: no property says so, only the ids of their file groups do.

Source: Java ``BucketIdentifier`` (format chapter "Bucket index"). The first eight characters of a file id are the
number of the bucket, and each key belongs into the bucket that its hash gives. The number of buckets is the writer's
configuration, so a writer that does not know it must not add keys: Java would look for them elsewhere, or fail on an
id that has no number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from drawstring.errors import UnsupportedTableError

_BUCKET_FILE_ID: Final = re.compile(
    r"0000[0-9]{4}-(?:[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}|0000-0000-0000-000000000000)-0"
)
"""A bucket's number below 10,000, then the rest of a random UUID, or zeros under non-blocking concurrency control."""


def refuse_bucketed(file_ids: Iterable[str]) -> None:
    """Refuse to add keys to a table all of whose file groups are buckets.

    A random id looks like a bucket once in a hundred thousand times.

    Raises:
        UnsupportedTableError: they are.

    """
    ids = sorted(file_ids)
    if ids and all(_BUCKET_FILE_ID.fullmatch(file_id) for file_id in ids):
        raise UnsupportedTableError(
            f"The table's file groups are the buckets of a bucket index ({ids[0]}): new keys cannot be added, since "
            "the table does not say how many buckets there are.",
            way_out="Add keys with Java Hudi and its bucket index; updates and deletions work.",
        )
