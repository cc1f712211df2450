"""Runs one upsert in a process that dies right before it completes: `python crash.py PATH ROWS.parquet`.

What is left is what a killed writer leaves: an inflight instant, data files and their markers.
"""

from __future__ import annotations

import os
import sys

import pyarrow.parquet as pq

import drawstring as ds
from drawstring.events import Event
from drawstring_spec.steps import Step

EXIT_STATUS = 9


def die_before_completion(event: Event) -> None:
    """Leave no time for any clean-up."""
    if event.step is Step.CHECK_CONFLICTS:
        os._exit(EXIT_STATUS)


if __name__ == "__main__":
    ds.Table.open(sys.argv[1], emit=die_before_completion).upsert(pq.read_table(sys.argv[2]))
