"""Runs one upsert in a process that dies right before it completes: `python crash.py PATH ROWS.parquet`.

What is left is what a killed writer leaves: an inflight instant, data files and their markers.
"""

from __future__ import annotations

import os
import sys

import pyarrow.parquet as pq

import drawstring as ds
from drawstring.timeline import transitions

EXIT_STATUS = 9


def die(*_arguments: object, **_options: object) -> None:
    """In place of the step that completes an instant."""
    os._exit(EXIT_STATUS)


if __name__ == "__main__":
    transitions.complete = die  # type: ignore[assignment]  # a killed process returns nothing
    ds.Table.open(sys.argv[1]).upsert(pq.read_table(sys.argv[2]))
