"""The demo's story in chapters. Each changes the table, and in the same breath what pandas says it must hold."""

from __future__ import annotations

import math
from typing import Final

import pyarrow as pa
from rich.markup import escape

from drawstring.commands import flights
from drawstring.commands.display import render_delays, render_history, render_race
from drawstring.commands.flights import Feed
from drawstring.commands.history import load_history
from drawstring.commands.judge import Expected
from drawstring.commands.narrator import Narrator
from drawstring.commands.stage import Stage
from drawstring.commands.two_writers import CONCURRENT, WriterStory, race
from drawstring.protocol.write import WriteResult
from drawstring.runtime import open_storage
from drawstring.table import Table

_CONTESTED_MONTH: Final = 7
_CONTESTED_CARRIER: Final = "UA"
_SHOWN_CARRIERS: Final = 5


class Story:
    """One telling of the story on one stage."""

    def __init__(self, stage: Stage, location: str, feed: Feed, narrator: Narrator) -> None:
        self._stage = stage
        self._location = location
        self._feed = feed
        self._narrator = narrator
        self._table = Table.create(
            location,
            feed.first_load.schema,
            record_key=flights.RECORD_KEY,
            partition_by=flights.PARTITION,
            ordering=flights.ORDERING,
            engine=stage.engine,
            options={"hoodie.datasource.write.hive_style_partitioning": "true"},
            emit=narrator.listen,
        )
        # What the table held after each write, by the write's requested time.
        self._moments: dict[str, tuple[str, Expected]] = {}

    def tell(self) -> None:
        """All chapters, in order."""
        self._first_load()
        self._corrections_and_new_months()
        self._cancelled_flights()
        self._answers()
        self._two_writers()
        self._narrator.chapter("6. What is on storage now")
        self._narrator.show(render_history(load_history(open_storage(self._location), self._table.config)))

    @property
    def _now(self) -> Expected:
        return list(self._moments.values())[-1][1]

    def _first_load(self) -> None:
        narrator, rows = self._narrator, self._feed.first_load
        narrator.chapter("1. January to June")
        narrator.say(f"Key: {', '.join(flights.RECORD_KEY)}. Partitioned by {flights.PARTITION}.")
        with narrator.doing(f"Bulk insert of {rows.num_rows:,} flights") as step:
            result = self._table.bulk_insert(self._stage.frame(rows))
            step.done(_told(result))
        self._moments[result.requested_time] = ("after the first load", Expected.of(rows))

    def _corrections_and_new_months(self) -> None:
        narrator, feed = self._narrator, self._feed
        narrator.chapter("2. Corrections, and July to December")
        narrator.say(f"{feed.corrections.num_rows:,} flights had landed after midnight: only now we know when.")
        rows = pa.concat_tables([feed.corrections, feed.new_months])
        with narrator.doing(f"Upsert of {rows.num_rows:,} flights, old and new") as step:
            result = self._table.upsert(self._stage.frame(rows))
            step.done(_told(result))
        self._moments[result.requested_time] = ("after the corrections", self._now.after_upsert(rows))

    def _cancelled_flights(self) -> None:
        narrator, keys = self._narrator, self._feed.cancelled
        narrator.chapter("3. Cancelled flights")
        with narrator.doing(f"Delete of {keys.num_rows:,} flights that never left") as step:
            result = self._table.delete(self._stage.frame(keys))
            step.done(_told(result))
        self._moments[result.requested_time] = ("now", self._now.after_delete(keys))

    def _answers(self) -> None:
        narrator = self._narrator
        narrator.chapter("4. Answers, now and as of earlier")
        *earlier, newest = self._moments
        self._check(None, *self._moments[newest])
        for requested_time in earlier:
            self._check(requested_time, *self._moments[requested_time])
        delays = self._stage.mean_delay_by_carrier(self._table)
        wanted = self._now.mean_delay_by_carrier()
        same = delays.keys() == wanted.keys() and all(
            math.isclose(delays[carrier], wanted[carrier], rel_tol=1e-9) for carrier in wanted
        )
        narrator.verdict(
            "Mean delay per carrier", None if same else f"{delays}\n{wanted}", size=f"{len(delays)} carriers"
        )
        narrator.show(render_delays(delays, most=_SHOWN_CARRIERS))

    def _check(self, as_of: str | None, moment: str, wanted: Expected) -> None:
        with self._narrator.waiting(f"Reading the table {moment}"):
            answer = self._stage.rows(self._table, as_of=as_of)
        question = f"The table {moment}" if as_of is None else f"As of {as_of}, {moment}"
        size = f"{answer.num_rows:,} rows of {answer.num_columns} columns"
        self._narrator.verdict(question, wanted.difference(answer), size=size)

    def _two_writers(self) -> None:
        narrator = self._narrator
        narrator.chapter("5. Two writers, the same flights, the same moment")
        batches = {
            "tower": self._revision(delay_min=5, revision=2),
            "airline": self._revision(delay_min=-5, revision=2),
        }
        count = batches["tower"].num_rows
        narrator.say(f"Both correct the {count:,} flights of {_CONTESTED_CARRIER} in July, under optimistic control.")
        with narrator.waiting("Both upsert at once"):
            stories = race(
                lambda listener: Table.open(
                    self._location, engine=self._stage.engine, options=CONCURRENT, emit=listener
                ),
                {name: self._stage.frame(rows) for name, rows in batches.items()},
            )
        narrator.show(render_race(stories))
        self._settle(stories, batches)

    def _settle(self, stories: list[WriterStory], batches: dict[str, pa.Table]) -> None:
        """Check who won, and let the loser try again."""
        narrator = self._narrator
        winners = [s for s in stories if s.result is not None]
        losers = [s for s in stories if s.error is not None]
        one_each = len(winners) == len(losers) == 1
        narrator.expect("One of the two completed, the other was refused", holds=one_each)
        for loser in losers:
            narrator.say(f"[bold]{loser.name}[/] was told: [yellow]{escape(str(loser.error))}[/]")
        for winner in winners:
            self._remember(winner.result, "with the winner's work alone", batches[winner.name])
            self._check(None, *list(self._moments.values())[-1])
        table = Table.open(self._location, engine=self._stage.engine, options=CONCURRENT, emit=narrator.listen)
        for loser in losers:
            with narrator.doing(f"{loser.name} tries again") as step:
                result = table.upsert(self._stage.frame(batches[loser.name]))
                step.done(_told(result))
            self._remember(result, "with both writers' work", batches[loser.name])
            self._check(None, *list(self._moments.values())[-1])

    def _remember(self, result: WriteResult | None, moment: str, rows: pa.Table) -> None:
        if result is not None:
            self._moments[result.requested_time] = (moment, self._now.after_upsert(rows))

    def _revision(self, *, delay_min: int, revision: int) -> pa.Table:
        return flights.revise(
            self._feed.new_months,
            month=_CONTESTED_MONTH,
            carrier=_CONTESTED_CARRIER,
            delay_min=delay_min,
            revision=revision,
        )


def _told(result: WriteResult) -> str:
    counts = {"inserted": result.num_inserts, "updated": result.num_updates, "deleted": result.num_deletes}
    rows = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"{rows or 'nothing to do'}, {result.num_files} files"
