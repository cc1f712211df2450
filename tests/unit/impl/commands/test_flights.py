"""The demo's data are the real flights, and the batches add up to them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from drawstring.commands import flights
from drawstring.commands.flights import Feed, load_flights, make_feed, revise

pytest.importorskip("pandas", reason="the demo's extra is not installed")


@pytest.fixture(scope="module")
def year() -> pa.Table:
    return load_flights()


@pytest.fixture(scope="module")
def feed(year: pa.Table) -> Feed:
    return make_feed(year)


def test_all_flights_of_the_year_are_there(year: pa.Table) -> None:
    assert year.num_rows == 336_776


def test_no_two_flights_share_the_record_key(year: pa.Table) -> None:
    keys = year.group_by(list(flights.RECORD_KEY)).aggregate([])

    assert keys.num_rows == year.num_rows


def test_the_first_load_and_the_new_months_are_the_whole_year(year: pa.Table, feed: Feed) -> None:
    assert feed.first_load.num_rows + feed.new_months.num_rows == year.num_rows
    assert pc.max(feed.first_load["month"]).as_py() < pc.min(feed.new_months["month"]).as_py()


def test_the_corrections_bring_what_the_first_load_does_not_know(year: pa.Table, feed: Feed) -> None:
    known_first = feed.first_load["arr_time"].null_count
    known_in_truth = year.filter(pc.less_equal(year["month"], 6))["arr_time"].null_count

    assert known_first - known_in_truth == feed.corrections.num_rows > 0
    assert feed.corrections["arr_time"].null_count == 0


def test_cancelled_flights_are_named_by_their_key_alone(year: pa.Table, feed: Feed) -> None:
    assert feed.cancelled.column_names == list(flights.RECORD_KEY)
    assert feed.cancelled.num_rows == year["dep_time"].null_count


def test_a_revision_changes_the_departure_delay_and_nothing_else(year: pa.Table) -> None:
    before = revise(year, month=7, carrier="UA", delay_min=0, revision=0)

    after = revise(year, month=7, carrier="UA", delay_min=5, revision=2)

    assert pc.all(pc.equal(pc.subtract(after["dep_delay"], before["dep_delay"]), 5)).as_py()
    assert after.drop_columns(["dep_delay", "revision"]).equals(before.drop_columns(["dep_delay", "revision"]))
    assert pc.unique(after["revision"]).to_pylist() == [2]
