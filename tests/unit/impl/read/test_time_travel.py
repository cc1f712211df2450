"""The forms of a snapshot time, and where a table has no answer any more."""

from __future__ import annotations

import pytest

from drawstring.errors import TimeTravelError
from drawstring.read.time_travel import check_as_of, parse_as_of
from drawstring.read.view import load_snapshot
from drawstring.timeline.load import load_timeline
from unit.impl.read.tables import HandMadeTable, at


@pytest.mark.parametrize(
    ("text", "requested_time"),
    [
        ("20240229123456789", "20240229123456789"),
        ("20240229123456", "20240229123456"),
        ("2024-02-29 12:34:56.789", "20240229123456789"),
        ("2024-02-29 12:34:56", "20240229123456999"),
        ("2024-02-29", "20240229000000000"),
    ],
)
def test_a_snapshot_time_has_the_forms_that_java_takes(text, requested_time):
    assert parse_as_of(text) == requested_time


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024",
        "yesterday",
        "2024-02-30",
        "20240230123456789",
        "20241301000000",
        "2024-02-29T12:34:56",
        "2024-02-29 12:34",
        "2024-02-29 25:00:00",
        "٢٠٢٤٠٢٢٩١٢٣٤٥٦",
        " 20240229123456789",
        "9" * 30,
    ],
)
def test_anything_else_is_refused_with_the_forms_there_are(text):
    with pytest.raises(TimeTravelError) as caught:
        parse_as_of(text)
    assert repr(text) in caught.value.message
    assert "yyyyMMddHHmmssSSS" in caught.value.way_out


def test_a_snapshot_time_of_14_digits_is_before_every_instant_of_that_second():
    table = HandMadeTable()
    table.base_file("a", "f-0", 1)
    table.commit(1, 2)
    assert load_snapshot(table.context(), as_of="20240101000000").slices == ()
    assert len(load_snapshot(table.context(), as_of="20240101000001").slices) == 1


def test_a_time_from_the_first_pending_write_on_is_refused():
    table = HandMadeTable()
    table.commit(1, 2)
    table.commit(3)
    table.commit(4, 5)
    for moment in (3, 4, 9):
        with pytest.raises(TimeTravelError, match=at(3)):
            load_snapshot(table.context(), as_of=at(moment))


def test_a_time_before_the_first_pending_write_is_answered():
    table = HandMadeTable()
    table.commit(1, 2)
    table.commit(3)
    assert load_snapshot(table.context(), as_of=at(2)).as_of == at(2)


@pytest.mark.parametrize("action", ["clean", "compaction", "clustering", "rollback", "indexing"])
def test_a_pending_service_does_not_hinder_time_travel(action):
    table = HandMadeTable()
    table.commit(1, 2)
    table.storage.put(f".hoodie/timeline/{at(3)}.{action}.requested", b"")
    assert load_snapshot(table.context(), as_of=at(4)).as_of == at(4)


def test_a_time_before_what_the_cleaner_kept_is_refused():
    table = HandMadeTable()
    for moment in (1, 3, 5):
        table.commit(moment, moment + 1)
    table.clean(10, earliest_retained=3)
    with pytest.raises(TimeTravelError, match=at(3)):
        load_snapshot(table.context(), as_of=at(2))
    assert load_snapshot(table.context(), as_of=at(3)).as_of == at(3)


def test_the_newest_clean_says_what_was_kept():
    table = HandMadeTable()
    for moment in (1, 3, 5):
        table.commit(moment, moment + 1)
    table.clean(10, earliest_retained=3)
    table.clean(20, earliest_retained=5)
    with pytest.raises(TimeTravelError, match=at(5)):
        load_snapshot(table.context(), as_of=at(4))


def test_what_a_running_clean_is_not_going_to_keep_is_refused():
    table = HandMadeTable()
    for moment in (1, 3, 5):
        table.commit(moment, moment + 1)
    table.clean(10, earliest_retained=3)
    table.plan_clean(20, earliest_retained=5)
    with pytest.raises(TimeTravelError, match=at(5)):
        load_snapshot(table.context(), as_of=at(4))
    assert load_snapshot(table.context(), as_of=at(5)).as_of == at(5)


def test_a_running_clean_that_names_no_time_refuses_nothing_more_than_the_one_before():
    table = HandMadeTable()
    for moment in (1, 3, 5):
        table.commit(moment, moment + 1)
    table.clean(10, earliest_retained=3)
    table.plan_clean(20, earliest_retained=None)
    assert load_snapshot(table.context(), as_of=at(4)).as_of == at(4)


def test_where_the_cleaner_counts_file_versions_times_before_the_active_timeline_are_refused():
    """The cleaner names no time then: what it deleted of older writes nothing tells any more."""
    table = HandMadeTable()
    table.commit(3, 4)
    table.commit(5, 6)
    table.clean(10, earliest_retained=None)
    assert load_snapshot(table.context(), as_of=at(3)).as_of == at(3)
    with pytest.raises(TimeTravelError, match=f"{at(2)} lies before {at(3)}"):
        load_snapshot(table.context(), as_of=at(2))


def test_a_clean_that_is_archived_meanwhile_refuses_nothing():
    table = HandMadeTable()
    table.commit(1, 2)
    table.clean(10, earliest_retained=5)
    context = table.context()
    timeline = load_timeline(table.storage, context.config)
    table.storage.delete([s.path for s in table.storage.list(".hoodie/timeline") if s.path.endswith(".clean")])
    check_as_of(context, timeline, at(1))


def test_what_an_archived_clean_did_not_keep_is_refused():
    table = HandMadeTable()
    for moment in (1, 3, 5, 20):
        table.commit(moment, moment + 1)
    table.clean(10, earliest_retained=5)
    payload = bytes(table.storage.read(f".hoodie/timeline/{at(10)}_{at(11)}.clean"))
    table.archive(1, [(1, 2, "commit"), (3, 4, "commit"), (5, 6, "commit"), (10, 11, "clean")], payload)
    with pytest.raises(TimeTravelError, match=at(5)):
        load_snapshot(table.context(), as_of=at(4))
    assert load_snapshot(table.context(), as_of=at(6)).as_of == at(6)
