"""Judges the demo's answers with pandas, which knows nothing of tables, commits or file groups.

Whose duty: keep, in a plain data frame, what the table ought to hold after each step, and compare a whole answer
with it, every cell. Nothing of drawstring is used to work out what is right.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
from pandas.testing import assert_frame_equal

from drawstring.commands.flights import ORDERING, RECORD_KEY

_KEY = list(RECORD_KEY)
_MOST_CHARACTERS = 500


class Expected:
    """What the table ought to hold, as a pandas frame that is indexed by the record key."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    @classmethod
    def of(cls, rows: pa.Table) -> Expected:
        """Start with `rows`."""
        return cls(_indexed(rows))

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self._frame)

    def after_upsert(self, rows: pa.Table) -> Expected:
        """Return what an upsert of `rows` makes of it: of two rows with one key the greater revision stays."""
        both = pd.concat([self._frame, _indexed(rows)])
        # Stable: of two equal revisions the later one stays.
        both = both.sort_values(ORDERING, kind="stable")
        return Expected(both[~both.index.duplicated(keep="last")])

    def after_delete(self, keys: pa.Table) -> Expected:
        """Return what is left without `keys`; keys that are not there are passed over."""
        gone = pd.MultiIndex.from_frame(keys.select(_KEY).to_pandas())
        return Expected(self._frame[~self._frame.index.isin(gone)])

    def mean_delay_by_carrier(self) -> dict[str, float]:
        """Mean arrival delay in minutes per carrier, of the flights whose arrival is known."""
        means = self._frame.reset_index().groupby("carrier")["arr_delay"].mean()
        return {str(carrier): float(mean) for carrier, mean in means.items()}

    def difference(self, answer: pa.Table) -> str | None:
        """Say what differs between an answer without meta columns and what it ought to be; None if nothing does."""
        frame = answer.to_pandas()
        if not set(_KEY) < set(frame.columns):
            return f"the answer has the columns {', '.join(map(str, frame.columns))}"
        found, wanted = frame.set_index(_KEY).sort_index(), self._frame.sort_index()
        if set(found) != set(wanted):
            return f"the answer has the columns {', '.join(map(str, frame.columns))}"
        try:
            # Whole numbers are floats in pandas where one of them is unknown, in the answer or in what it ought to be.
            assert_frame_equal(found[list(wanted)], wanted, check_dtype=False, check_exact=True)
        except AssertionError as error:
            return str(error)[:_MOST_CHARACTERS]
        return None


def _indexed(rows: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = rows.to_pandas()
    return frame.set_index(_KEY)
