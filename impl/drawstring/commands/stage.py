"""Where the demo plays: on Spark, or in this process where there is no Java."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import pyarrow as pa

from drawstring.engine import Engine
from drawstring.engine.embedded import EmbeddedEngine
from drawstring.errors import DrawstringError, EngineError
from drawstring.table import Table

QUIET: Final = {
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings of a session that is started for one program: little work, little talk."""

_SHORT_LIVED: Final = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""A JVM that lives for a minute: compiling its code to the utmost costs more than it gains."""


class Stage(Protocol):
    """An engine, and how one brings data to it and asks it questions."""

    @property
    def title(self) -> str:
        """The engine's name, for people."""
        ...

    @property
    def engine(self) -> Engine:
        """What `Table.create` and `Table.open` take."""
        ...

    def frame(self, rows: pa.Table) -> Any:
        """`rows` as a user of the engine would have them."""
        ...

    def rows(self, table: Table, *, as_of: str | None = None) -> pa.Table:
        """All rows of a snapshot, without meta columns."""
        ...

    def mean_delay_by_carrier(self, table: Table) -> dict[str, float]:
        """Mean arrival delay in minutes per carrier, as the engine's own aggregation works it out."""
        ...

    def close(self) -> None:
        """Stop what was started."""
        ...


class EmbeddedStage:
    """In this process, with pyarrow."""

    title = "the embedded engine (pyarrow, in this process)"

    def __init__(self) -> None:
        self.engine: Engine = EmbeddedEngine()

    def frame(self, rows: pa.Table) -> Any:
        """Arrow tables are what it takes."""
        return rows

    def rows(self, table: Table, *, as_of: str | None = None) -> pa.Table:
        """Through `Table.read`."""
        return table.read(as_of=as_of, meta_columns=False)

    def mean_delay_by_carrier(self, table: Table) -> dict[str, float]:
        """By Arrow's group-by."""
        grouped = table.read(columns=["carrier", "arr_delay"]).group_by("carrier").aggregate([("arr_delay", "mean")])
        return dict(zip(grouped["carrier"].to_pylist(), grouped["arr_delay_mean"].to_pylist(), strict=True))

    def close(self) -> None:
        """Nothing was started."""


class SparkStage:
    """On a local Spark session. Raises `EngineError` where it cannot start.

    Args:
        log: file for what the JVM and its workers print.

    """

    def __init__(self, log: Path) -> None:
        from drawstring.spark import SparkEngine  # noqa: PLC0415 -- pyspark is an extra
        from drawstring.spark.session import local_session  # noqa: PLC0415 -- as above

        with standard_error_to(log):
            self._session = local_session("drawstring demo", config={**QUIET, **_SHORT_LIVED})
        self.engine: Engine = SparkEngine(self._session)
        self.title = f"Spark {self._session.version} ({self._session.sparkContext.master})"

    def frame(self, rows: pa.Table) -> Any:
        """A Spark DataFrame."""
        return self._session.createDataFrame(rows)

    def rows(self, table: Table, *, as_of: str | None = None) -> pa.Table:
        """Through `Table.to_spark`."""
        return table.to_spark(self._session, as_of=as_of, meta_columns=False).toArrow()

    def mean_delay_by_carrier(self, table: Table) -> dict[str, float]:
        """By Spark's group-by on the executors."""
        frame = table.to_spark(self._session, columns=["carrier", "arr_delay"])
        grouped = frame.groupBy("carrier").agg({"arr_delay": "avg"}).collect()
        return {row[0]: row[1] for row in grouped}

    def close(self) -> None:
        """Stop the session."""
        self._session.stop()


def why_no_spark() -> DrawstringError | None:
    """Why the demo cannot play on Spark; None where it can."""
    try:
        from drawstring.spark.session import require_java  # noqa: PLC0415 -- pyspark is an extra

        require_java()
    except EngineError as error:
        return error
    return None


def open_stage(engine: str, log: Path) -> Stage:
    """Open the stage that `engine` names: ``spark`` or ``embedded``; `log` as in `SparkStage`. Raises `EngineError`."""
    return EmbeddedStage() if engine == "embedded" else SparkStage(log)


@contextlib.contextmanager
def standard_error_to(log: Path) -> Iterator[None]:
    """Let processes that are started meanwhile print to a file, for their whole life: a JVM has a lot to say."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
