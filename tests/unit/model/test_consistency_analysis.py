"""The findings of the published analysis of Hudi's consistency model, asked of this model.

Vanlightly, "Understanding Apache Hudi's consistency model", parts 1 to 3, and the TLA+ specification to it.
``docs/explanation/consistency-analysis.md`` tells them, and where this model differs.
"""

from __future__ import annotations

import pytest

from drawstring_model.core.promises import Promise
from drawstring_model.verdicts import ANALYSIS, judged

READS = {Promise.CONSISTENT_READ, Promise.NO_LOST_UPDATE, Promise.NO_DUPLICATE_KEYS, Promise.NO_UNDONE_WRITE}


def broken(name):
    return set(judged(ANALYSIS[name]).shortest) & READS


def test_without_control_writers_lose_updates_and_reads_are_inconsistent():
    assert broken("without control") >= {Promise.CONSISTENT_READ, Promise.NO_LOST_UPDATE}


@pytest.mark.parametrize("control", ["optimistic", "pessimistic"])
def test_under_control_with_the_key_check_reads_are_consistent(control):
    assert broken(control) == set()


@pytest.mark.parametrize("control", ["optimistic without keys", "pessimistic without keys"])
def test_without_the_key_check_two_inserts_of_one_key_are_in_two_file_groups(control):
    assert broken(control) == {Promise.CONSISTENT_READ, Promise.NO_DUPLICATE_KEYS}


def test_times_that_collide_do_no_harm_where_the_storage_refuses_to_replace():
    assert broken("colliding, refused") == set()


@pytest.mark.parametrize("name", ["colliding", "colliding in one file group"])
def test_times_that_collide_undo_a_completed_write_where_the_storage_replaces(name):
    assert broken(name) == {Promise.CONSISTENT_READ, Promise.NO_UNDONE_WRITE}


def test_salted_file_names_keep_the_files_apart_but_not_the_instants():
    salted, plain = judged(ANALYSIS["colliding, salted"]), judged(ANALYSIS["colliding"])

    # The file is replaced before the second write completes; the instant is shared only once it has.
    assert salted.shortest[Promise.NO_UNDONE_WRITE] > plain.shortest[Promise.NO_UNDONE_WRITE]
    assert broken("colliding, salted") == {Promise.CONSISTENT_READ, Promise.NO_UNDONE_WRITE}
