"""What the errata say of the model's switches, asked of the model."""

from __future__ import annotations

from dataclasses import replace

from drawstring_model.config import COPY_ON_WRITE
from drawstring_model.core.config import SnapshotTime
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.log_files import LogFiles
from unit.model.test_merge_on_read import APPENDED


def broken(order: SnapshotTime) -> tuple[set[Promise], int]:
    """The promises that break under one order of log files, and how many states there are."""
    found = explore(replace(APPENDED, modules=(*COPY_ON_WRITE, LogFiles(order=order))))
    assert found.exhausted
    return {Promise(promise) for promise in found.counterexamples}, found.states


def test_the_order_of_log_files_breaks_no_promise_where_writers_of_one_file_group_conflict():
    by_request, by_completion = broken(SnapshotTime.REQUESTED), broken(SnapshotTime.COMPLETION)

    assert by_request == by_completion
    assert Promise.LATEST_SNAPSHOT not in by_request[0]
    assert by_request[1] > 1000
