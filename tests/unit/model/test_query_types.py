"""Queries of changes and read-optimized queries: what each says of a table whose writes and services go on.

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import (
    CLUSTERED,
    COPY_ON_WRITE,
    MERGE_ON_READ,
    Bounds,
    Config,
    PlantedBug,
    SnapshotTime,
    delete,
    upsert,
)
from drawstring_model.core.module import with_part
from drawstring_model.core.state import Commit, DataFile, World, WrittenFile
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.compaction import Compaction
from drawstring_model.modules.log_files import Input, LogFiles, Plan, Plans
from drawstring_model.modules.non_blocking import NonBlocking
from drawstring_model.modules.query_types import QueryTypes, captured, read_optimized
from drawstring_model.narrate import narrate

CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
BOTH = {Promise.CAPTURED_CHANGES, Promise.READ_OPTIMIZED}
ON_LOGS = Config(modules=(*MERGE_ON_READ, QueryTypes()))


def buckets(images=SnapshotTime.COMPLETION):
    log_files = LogFiles(order=SnapshotTime.COMPLETION, begun_by_pending=False)
    return Config(modules=(*COPY_ON_WRITE, log_files, Compaction(), NonBlocking(), QueryTypes(images)), bounds=CALM)


def write(requested, completion, *changes, is_log=True):
    return Commit(requested, completion, (WrittenFile(1, 0, None, changes, is_log),), changes, ())


def on_storage(*commits, **others):
    files = sorted(DataFile(f.group, c.requested, f.token, f.rows, f.is_log) for c in commits for f in c.files)
    return World(commits=commits, files=tuple(files), **others)


INSERT = write(1, 2, (1, 10), (2, 20), is_log=False)
UPDATE = write(3, 4, (1, 11), (2, None))


@pytest.mark.parametrize(
    "config",
    [
        Config(modules=(*COPY_ON_WRITE, QueryTypes()), bounds=replace(CALM, workload=(upsert(1), delete(1)))),
        Config(modules=(*MERGE_ON_READ, QueryTypes()), bounds=CALM),
        Config(modules=(*CLUSTERED, QueryTypes()), bounds=CALM),
        buckets(),
    ],
    ids=["copy on write", "merge on read", "beside a clustering", "non-blocking"],
)
def test_images_are_what_the_table_was_and_base_files_what_it_was_when_they_began(config):
    exploration = explore(config)

    assert exploration.exhausted
    assert not exploration.counterexamples.keys() & BOTH


def test_an_update_has_the_value_before_it_and_a_delete_has_none_after():
    world = on_storage(INSERT, UPDATE)

    assert captured(world, INSERT, ON_LOGS) == {(1, None, 10), (2, None, 20)}
    assert captured(world, UPDATE, ON_LOGS) == {(1, 10, 11), (2, 20, None)}


def test_a_write_that_changes_nothing_gives_nothing():
    same = write(3, 4, (1, 10))

    assert captured(on_storage(INSERT, same), same, ON_LOGS) == set()


def test_a_compaction_gives_no_changes_and_those_of_later_writes_stay_what_they_were():
    compaction = Commit(5, 6, (WrittenFile(1, 0, 1, ((1, 11),)),), (), ())
    later = write(7, 8, (1, 12))
    world = with_part(on_storage(INSERT, UPDATE, compaction, later), Plans((Plan(5, (Input(1, 1, ((3, 0),)),)),)))

    assert captured(world, compaction, ON_LOGS) == set()
    assert captured(world, UPDATE, ON_LOGS) == {(1, 10, 11), (2, 20, None)}
    assert captured(world, later, ON_LOGS) == {(1, 11, 12)}


def test_a_read_optimized_query_reads_no_log_file_until_it_is_compacted():
    compaction = Commit(5, 6, (WrittenFile(1, 0, 1, ((1, 11),)),), (), ())
    plans = Plans((Plan(5, (Input(1, 1, ((3, 0),)),)),))

    before = read_optimized(on_storage(INSERT, UPDATE), ON_LOGS)
    after = read_optimized(with_part(on_storage(INSERT, UPDATE, compaction), plans), ON_LOGS)

    assert before[1].rows == ((1, 10), (2, 20))
    assert after[1].rows == ((1, 11),)


class TestRightBeforeAWrite:
    """Where writers of one bucket all complete, requested times do not tell what a write changed."""

    def test_by_requested_times_a_late_write_is_given_images_that_never_were(self):
        config = buckets(SnapshotTime.REQUESTED)

        example = explore(config, until=Promise.CAPTURED_CHANGES).counterexamples[Promise.CAPTURED_CHANGES]

        assert len(example.moves) == 25
        assert example.finding == "the changes of 2 read {}, but it made {k1: None -> 2}"

        assert example.finding in narrate(example, config)[-1]


@pytest.mark.parametrize(
    ("bug", "length"),
    [
        (PlantedBug.CAPTURE_SERVICES, 35),
        (PlantedBug.CAPTURE_WITHOUT_LOGS, 39),
        (PlantedBug.READ_PENDING_BASE_FILES, 8),
    ],
)
def test_a_broken_rule_takes_so_many_steps_to_show(bug, length):
    bounds = replace(CALM, workload=(upsert(1), upsert(1), delete(1)))
    config = replace(ON_LOGS, planted=bug, bounds=bounds)

    found = explore(config).counterexamples.keys() & BOTH
    lengths = {len(explore(config, until=promise).counterexamples[promise].moves) for promise in found}

    assert lengths == {length}
