"""What Hudi's users have suffered from once instants were archived (S09, S26, S28, S29).

The numbers in front are those of issues and pull requests of apache/hudi, where each was reported. Each has two sides:
with the faulty rule the explorer finds the failure, and as we do it no state within the same bounds has it.
"""

from __future__ import annotations

from dataclasses import replace

from drawstring_model.config import COPY_ON_WRITE, MERGE_ON_READ, Bounds, Config, PlantedBug, upsert
from drawstring_model.core.module import part, with_part
from drawstring_model.core.state import Commit, DataFile, World, WrittenFile
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.archival import Archival
from drawstring_model.modules.archived import Archive, ArchivedFile
from drawstring_model.modules.cleaning import Cleaning
from drawstring_model.modules.compaction import candidates
from drawstring_model.modules.log_files import Input
from drawstring_model.modules.queries import QueryModule
from drawstring_model.narrate import narrate

TWO = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)
THREE = replace(TWO, workload=(upsert(1),) * 3)


def archived(bounds, *, modules=COPY_ON_WRITE, planted=None, **switches):
    return Config(modules=(*modules, Archival(**switches)), bounds=bounds, planted=planted)


def story(config, promise):
    example = explore(config, until=promise).counterexamples[promise]
    return len(example.moves), narrate(example, config)


def of_log_files(completions):
    """A file group with a base file of 1 and log files of 3 and 5; 1 and 3 are archived, with these completions."""
    files = (DataFile(1, 1, 0, ((1, 1),)), DataFile(1, 3, 0, ((1, 2),), True), DataFile(1, 5, 0, ((1, 3),), True))
    commits = tuple(
        Commit(file.requested, file.requested + 1, (WrittenFile(1, 0, None, file.rows, file.is_log),), file.rows, ())
        for file in files
    )
    times = (1, 3, 5)
    world = World(requested=times, inflight=times, commits=commits, files=files, metadata=times, clock=90)
    file = ArchivedFile(tuple(zip((1, 3), completions, strict=True)))
    return with_part(world, Archive((file,), 1, (file.name,), (1, 3), (1, 3)))


class TestS09TheCompletionTimeOfAnArchivedInstantIsLost:
    """14365: a log file whose instant is archived has no completion time, and is left out of a compaction's plan."""

    CONFIG = archived(TWO, modules=MERGE_ON_READ)

    def test_without_its_completion_time_a_log_file_is_not_read(self):
        config = replace(self.CONFIG, planted=PlantedBug.LOSE_COMPLETION_TIMES)

        length, sentences = story(config, Promise.CONSISTENT_READ)

        assert length == 43
        assert "DropCompletedFile: the archiver deletes the completed file of 3" in sentences[-2]
        assert "a snapshot at 3 reads {k1: 1}, but its commits give {k1: 2} one by one" in sentences[-1]

    def test_without_its_completion_time_a_log_file_is_in_no_plan(self):
        assert candidates(of_log_files((2, 0)), self.CONFIG) == (Input(1, 1, ((5, 0),)),)

    def test_with_it_the_log_file_is_in_the_plan(self):
        assert candidates(of_log_files((2, 4)), self.CONFIG) == (Input(1, 1, ((3, 0), (5, 0))),)

    def test_an_archive_with_completion_times_keeps_every_log_file_on_its_slice(self):
        exploration = explore(self.CONFIG, witnesses={"dropped": lambda world: len(part(world, Archive).dropped) > 1})

        assert exploration.exhausted
        assert exploration.witnesses["dropped"] > 0
        assert not exploration.counterexamples


class TestS26ReadersBetweenTheDeletes:
    """10325: completed files are dropped by several tasks at once, and readers find a hole in the timeline."""

    def test_dropped_in_any_order_a_younger_write_is_missing_before_an_older_one(self):
        length, sentences = story(archived(THREE, in_order=False), Promise.CONSISTENT_READ)

        assert length == 46
        assert "DropCompletedFile: the archiver deletes the completed file of 3" in sentences[-2]
        assert "a snapshot at 3 reads {k1: 1}, but its commits give {k1: 2} one by one" in sentences[-1]

    def test_dropped_completed_file_first_an_instant_looks_pending(self):
        config = archived(TWO, planted=PlantedBug.DROP_COMPLETED_FIRST)

        length, sentences = story(config, Promise.HISTORY_IS_WHOLE)

        assert length == 30
        assert "is archived, and looks like a pending one on the active timeline" in sentences[-1]

    def test_dropped_one_by_one_in_ascending_order_there_is_never_a_hole(self):
        def between(world):
            archive = part(world, Archive)
            return len(archive.no_pending) > len(archive.dropped) > 0

        exploration = explore(archived(THREE), witnesses={"between": between})

        assert exploration.exhausted
        assert exploration.witnesses["between"] > 0
        assert not exploration.counterexamples


class TestS28AReaderThatCannotReadTheArchive:
    """13994: a table whose archive is not empty cannot be read: there an error, in the model missing rows."""

    def test_a_reader_of_the_active_timeline_alone_loses_what_is_archived(self):
        length, sentences = story(archived(TWO, planted=PlantedBug.IGNORE_ARCHIVED), Promise.CONSISTENT_READ)

        assert length == 31
        assert "a snapshot at 1 reads {}, but its commits give {k1: 1} one by one" in sentences[-1]

    def test_every_snapshot_is_answered_and_whole_whatever_is_archived(self):
        config = archived(TWO)

        exploration = explore(config, witnesses={"archived": lambda world: bool(part(world, Archive).dropped)})

        assert exploration.witnesses["archived"] > 0
        assert not exploration.counterexamples


class TestS29QueriesIntoWhatIsArchived:
    """9666, 11684: time travel and ranges of changes into what is cleaned or archived give some of the rows."""

    CLEANED = archived(
        Bounds(writers=1, workload=(upsert(1),) * 5, groups=1, faults=0),
        modules=(*COPY_ON_WRITE, QueryModule(queries=0), Cleaning()),
    )

    def test_changes_of_the_active_timeline_alone_are_some_of_them(self):
        length, sentences = story(archived(TWO, planted=PlantedBug.CHANGES_OF_ACTIVE), Promise.INCREMENTAL_READS)

        assert length == 31
        assert "a reader of changes behind 0 gets 3, where 1, 3 completed" in sentences[-1]

    def test_changes_of_both_timelines_are_all_of_them(self):
        assert explore(archived(TWO)).holds(Promise.INCREMENTAL_READS)

    def test_who_does_not_ask_the_archive_for_cleans_reads_the_past_without_its_rows(self):
        config = replace(self.CLEANED, modules=(*self.CLEANED.modules[:-1], Archival(asks_for_cleans=False)))

        length, sentences = story(config, Promise.CONSISTENT_READ)

        assert length == 89
        assert "a snapshot at 1 reads {}, but its commits give {k1: 1} one by one" in sentences[-1]

    def test_what_an_archived_clean_did_not_keep_is_refused(self):
        exploration = explore(self.CLEANED, witnesses={"clean": lambda world: bool(part(world, Archive).cleans)})

        assert exploration.witnesses["clean"] == 89
        assert exploration.holds(Promise.CONSISTENT_READ)
