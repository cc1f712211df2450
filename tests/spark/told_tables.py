"""Every query of recorded cases, asked of all engines: ``PYTHONPATH=tests python -m spark.told_tables --help``.

A case is what `interop.unseen_tables` keeps of a table that Java Hudi wrote. Asked are the embedded engine,
``Table.to_spark`` and ``changes_to_spark``, ``format("drawstring")`` with the options that Java was asked with, and
streams from the earliest commit on, which give what an incremental query of all times gives.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import drawstring as ds
from drawstring.errors import DrawstringError
from drawstring.spark import local_session
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case, Query, load_cases
from interop.unseen_filters import expression, filtered_queries, option_text, wrong_filtered
from interop.unseen_recording import java_options, unpack, wrong_answers
from spark.golden import in_types, judge_spark, wrong_on_spark
from spark.golden_changes import KINDS

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.log.level": "OFF",
}
_LONGEST_LINE = 900


@dataclass(frozen=True)
class Asked:
    """A case on Spark; `options` are those that its table is opened with."""

    spark: SparkSession
    case: Case
    table: ds.Table
    options: Mapping[str, str] = field(default_factory=dict)

    def by_format(self, query: Query) -> str:
        """How the format's answer differs from Java's, asked with the options that Java was asked with."""
        asked = {"type": str(query.type), "as_of": query.as_of, "start": query.start, "end": query.end}
        frame = self._load({**query.read_options, **java_options(asked)})
        return judge_spark(query, self.table, frame.toArrow())

    def filtered_by_format(self) -> dict[str, str]:
        """How answers to queries with conditions differ from Java's, through the format's option and ``to_spark``."""
        found = {}
        for query in filtered_queries(self.case):
            expected = pq.read_table(self.case.folder / query["expect"])
            condition = expression(query["conditions"], expected_schema(self.table))
            ways: dict[str, Callable[[], DataFrame]] = {
                "to_spark": lambda query=query, condition=condition: self.table.to_spark(
                    self.spark, filter=condition, columns=query["columns"]
                ),
                "where": lambda query=query: self._chosen(self._load({}).where(query["where"]), query["columns"]),
            }
            text = option_text(query)
            if text is not None:
                ways["option"] = lambda query=query, text=text: self._chosen(
                    self._load({"drawstring.read.filter": text}), query["columns"]
                )
            for name, ask in ways.items():
                wrong = _told(lambda ask=ask, expected=expected: _difference(ask().toArrow(), expected))
                if wrong:
                    found[f"{name} {query['where']}"] = wrong
        return found

    def streamed(self) -> str:
        """How the rows of a stream from the earliest commit on differ from those of a range of all times."""
        batches: list[pa.Table] = []
        with tempfile.TemporaryDirectory() as checkpoint:
            frame = self.spark.readStream.format("drawstring").options(**self.options).load(self.table.uri)
            writer = frame.writeStream.foreachBatch(lambda batch, _: batches.append(batch.toArrow()))
            writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination(300)
        expected = self.table.changes("000")
        streamed = pa.concat_tables(batches) if batches else expected.schema.empty_table()
        return _difference(streamed, expected)

    def _load(self, options: Mapping[str, str]) -> DataFrame:
        return self.spark.read.format("drawstring").options(**self.options, **options).load(self.table.uri)

    @staticmethod
    def _chosen(frame: DataFrame, columns: list[str] | None) -> DataFrame:
        return frame.select(*columns) if columns else frame


def expected_schema(table: ds.Table) -> pa.Schema:
    """Columns that a query of a table returns."""
    return table.read().schema


def _difference(answer: pa.Table, expected: pa.Table) -> str:
    return difference(in_types(answer, expected.schema), expected)


def _told(ask: Callable[[], str]) -> str:
    try:
        return ask()
    except (DrawstringError, PySparkException) as error:
        return f"{type(error).__name__}: {str(error)[:400]}"


def wrong_of(asked: Asked, folder: Path, ways: Iterable[str]) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Yield way, number of queries, and what is wrong by query."""
    case, filters = asked.case, len(filtered_queries(asked.case))
    if "embedded" in ways:
        wrong = {**wrong_answers(case, folder / "e"), **wrong_filtered(case, folder / "f")}
        yield "embedded", len(case.queries) + filters, wrong
    if "spark" in ways:
        try:
            answers = wrong_on_spark(asked.spark, asked.table, case.queries)
        except (DrawstringError, PySparkException):  # One by one, then.
            answers = {
                q.id: _told(lambda q=q: wrong_on_spark(asked.spark, asked.table, [q])[q.id]) for q in case.queries
            }
        yield "spark", len(case.queries), {name: text for name, text in answers.items() if text}
    if "format" in ways:
        answers = {q.id: _told(lambda q=q: asked.by_format(q)) for q in case.queries}
        yield "format", len(case.queries), {name: text for name, text in answers.items() if text}
    if "filters" in ways and filters:
        yield "filters", filters, asked.filtered_by_format()
    if "stream" in ways and any(query.type is KINDS[0] for query in case.queries):
        text = _told(asked.streamed)
        yield "stream", 1, {"all times": text} if text else {}


def main() -> int:
    """Ask every query of all cases in some folders; 1 where answers differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of cases")
    parser.add_argument("--names", nargs="*", default=[""], help="cases, or how their names begin (default: all)")
    parser.add_argument("--ways", nargs="*", default=["embedded", "spark", "format", "filters", "stream"])
    arguments = parser.parse_args()
    spark = local_session("told tables", cores=2, config=SETTINGS)
    spark.sparkContext.setLogLevel("OFF")
    different = 0
    cases = [case for folder in arguments.folders for case in load_cases(folder)]
    for case in (case for case in cases if case.name.startswith(tuple(arguments.names))):
        with tempfile.TemporaryDirectory() as folder:
            path, options = unpack(case, Path(folder) / "t")
            asked = Asked(spark, case, ds.Table.open(str(path), options=options), options)
            for way, number, wrong in wrong_of(asked, Path(folder), arguments.ways):
                _say(f"{case.name} {way}: {number} asked, {len(wrong)} different")
                different += len(wrong)
                for name, text in wrong.items():
                    _say(f"  {name}: {text[:_LONGEST_LINE]}")
    _say(f"{different} answers differ")
    return 1 if different else 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
