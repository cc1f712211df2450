"""Every golden query, asked of both engines, and told in one table: ``make golden``.

Queries of one table whose answers have the same columns are one job on Spark: their rows carry the query's number, and
are told apart again before each answer is compared, row by row, with the one that Java gave. What Java answers wrongly
is listed by name, beside what fails.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 -- as everybody calls it
from rich.console import Console
from rich.progress import track
from rich.table import Table as Lines

import drawstring as ds
from drawstring.errors import DrawstringError
from drawstring_conformance.compare import difference
from drawstring_conformance.vectors import Case, Query, QueryType, load_cases
from interop.test_golden_changes import LOST_BY_JAVA, counted

from .golden_changes import KINDS as CHANGES
from .golden_changes import ask as ask_changes
from .golden_changes import judge as judge_changes

NUMBER = "_golden_query"
NUM_QUERIES, NUM_REFUSALS = 885, 37
"""Counted in the case files, so that a loader that finds less is noticed."""


@dataclass
class Verdicts:
    """What one engine's answers came to.

    Attributes:
        passed: right answers, by kind of query.
        lost_by_java: names of queries that Java is known to answer wrongly.
        failed: what is wrong, by name.
        refused: queries that Java refused and the engine too.

    """

    passed: Counter[QueryType] = field(default_factory=Counter)
    lost_by_java: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    refused: int = 0

    def add(self, case: Case, query: Query, wrong: str) -> None:
        """Count one answer."""
        name = f"{case.name}/{query.id}"
        if wrong:
            self.failed[name] = wrong
        elif (case.name, query.id) in LOST_BY_JAVA:
            self.lost_by_java.append(name)
        else:
            self.passed[query.type] += 1


def sample(case: Case) -> list[Query]:
    """Choose the queries of a case that every test run asks on Spark: each kind, the newest and one other time."""
    chosen: list[Query] = []
    for kind in QueryType:
        found = [query for query in case.queries if query.type is kind]
        chosen += found[len(found) // 2 :][:1]
    return chosen


def ask_spark(spark: SparkSession, table: ds.Table, queries: Sequence[Query]) -> list[pa.Table]:
    """Ask queries of one table on Spark, in as few jobs as their columns allow; answers in the order of the queries."""
    groups: dict[str, list[tuple[int, DataFrame]]] = {}
    for number, query in enumerate(queries):
        frame = frame_of(spark, table, query)
        groups.setdefault(frame.schema.json(), []).append((number, frame))
    answers: dict[int, pa.Table] = {}
    for members in groups.values():
        numbered = [frame.withColumn(NUMBER, F.lit(number)) for number, frame in members]
        rows = reduce(DataFrame.union, numbered).toArrow()
        for number, _ in members:
            answers[number] = rows.filter(pc.equal(rows[NUMBER], number)).drop_columns([NUMBER])
    return [answers[number] for number in range(len(queries))]


def frame_of(spark: SparkSession, table: ds.Table, query: Query) -> DataFrame:
    """Ask one query on Spark."""
    if query.type in CHANGES:
        return ask_changes(spark, table, query)
    return table.to_spark(spark, as_of=query.as_of, read_optimized=query.type is QueryType.READ_OPTIMIZED)


def judge_spark(query: Query, table: ds.Table, answer: pa.Table) -> str:
    """Say how an answer of Spark's differs from the right one; the empty text where it does not."""
    if query.type in CHANGES:
        return judge_changes(query, table, answer)
    expected = pq.read_table(query.expected)
    return difference(in_types(answer, expected.schema), expected)


def in_types(answer: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast timestamps, which Spark labels with the session's zone and makes microseconds; nothing else."""
    if answer.column_names != schema.names:
        return answer
    columns = [
        c.cast(f.type) if pa.types.is_timestamp(f.type) and pa.types.is_timestamp(c.type) else c
        for c, f in zip(answer.columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=answer.column_names)


def wrong_on_spark(spark: SparkSession, table: ds.Table, queries: Sequence[Query]) -> dict[str, str]:
    """Say what is wrong with Spark's answers, by the query's id; an empty text where nothing is."""
    answers = ask_spark(spark, table, queries)
    return {query.id: judge_spark(query, table, answer) for query, answer in zip(queries, answers, strict=True)}


def judge_embedded(case: Case, table: ds.Table, query: Query) -> str:
    """Ask one query of the embedded engine, and say how the answer differs from Java's."""
    expected = pq.read_table(query.expected)
    if query.type is QueryType.INCREMENTAL:
        return difference(table.changes(query.start, query.end), expected)
    if query.type is QueryType.CDC:
        same = counted(table.changes(query.start, query.end, cdc=True)) == counted(expected)
        # An answer that Java gives wrongly must not be ours.
        return "" if same is ((case.name, query.id) not in LOST_BY_JAVA) else "other changes than expected"
    read_optimized = query.type is QueryType.READ_OPTIMIZED
    return difference(table.read(as_of=query.as_of, read_optimized=read_optimized), expected)


def refusals(case: Case) -> list[Mapping[str, Any]]:
    """Snapshots of a case that Java refused."""
    kinds = {QueryType.SNAPSHOT, QueryType.TIME_TRAVEL, QueryType.READ_OPTIMIZED}
    return [query for query in case.details.get("failed_queries", ()) if query["type"] in kinds]


def is_refused(table: ds.Table, query: Mapping[str, Any], spark: SparkSession | None) -> bool:
    """Whether an engine refuses a query: the embedded one where there is no session."""
    asked = {"as_of": query.get("as_of"), "read_optimized": query["type"] == QueryType.READ_OPTIMIZED}
    try:
        if spark is None:
            table.read(**asked)
        else:
            table.to_spark(spark, **asked)
    except DrawstringError:
        return True
    return False


def sweep(spark: SparkSession, cases: Iterable[Case], folder: Path) -> dict[str, Verdicts]:
    """Ask every query of some cases of both engines."""
    verdicts = {"embedded": Verdicts(), "Spark": Verdicts()}
    for case in cases:
        table = ds.Table.open(str(case.extract(folder / case.name)))
        for query in case.queries:
            verdicts["embedded"].add(case, query, judge_embedded(case, table, query))
        on_spark = wrong_on_spark(spark, table, case.queries) if case.queries else {}
        for query in case.queries:
            verdicts["Spark"].add(case, query, on_spark[query.id])
        for refused in refusals(case):
            for name, session in (("embedded", None), ("Spark", spark)):
                if is_refused(table, refused, session):
                    verdicts[name].refused += 1
                else:
                    verdicts[name].failed[f"{case.name}/{refused['id']}"] = "answered, where Java refuses"
    return verdicts


def render(verdicts: Mapping[str, Verdicts], num_tables: int) -> Lines:
    """Tell what the engines' answers came to."""
    lines = Lines(title=f"Golden queries of {num_tables} tables", title_justify="left", header_style="dim", box=None)
    lines.add_column("")
    for name in verdicts:
        lines.add_column(name, justify="right")
    for kind in QueryType:
        lines.add_row(kind.value, *(str(v.passed[kind]) for v in verdicts.values()))
    lines.add_row("refused, as Java does", *(str(v.refused) for v in verdicts.values()))
    lines.add_row("answered wrongly by Java", *(str(len(v.lost_by_java)) for v in verdicts.values()))
    lines.add_row("failed", *(f"[red]{len(v.failed)}[/]" if v.failed else "0" for v in verdicts.values()))
    return lines


def _told(cases: Sequence[Case], console: Console) -> Iterator[Case]:
    """Yield the cases with a bar on a terminal, and a line for each elsewhere."""
    if console.is_terminal:
        yield from track(cases, "Asking", console=console)
        return
    for number, case in enumerate(cases, 1):
        console.print(f"{number}/{len(cases)} {case.name}: {len(case.queries)} queries", highlight=False)
        yield case


def main() -> int:
    """Ask all of them; 0 only if nothing fails and none is left out."""
    from drawstring.spark import local_session

    console = Console()
    started = time.monotonic()
    quiet = {"spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF"}
    spark = local_session("drawstring golden", config={**quiet, "spark.sql.session.timeZone": "America/New_York"})
    cases = load_cases()
    with tempfile.TemporaryDirectory() as folder:
        verdicts = sweep(spark, _told(cases, console), Path(folder))
    spark.stop()
    console.print(render(verdicts, len(cases)))
    for name in sorted({name for v in verdicts.values() for name in v.lost_by_java}):
        console.print(f"[yellow]answered wrongly by Java: {name}[/]")
    for engine, found in verdicts.items():
        for name, text in found.failed.items():
            console.print(f"[red]failed, {engine}: {name}[/]: {text[:300]}", highlight=False)
    counts = [(sum(v.passed.values()) + len(v.lost_by_java) + len(v.failed), v.refused) for v in verdicts.values()]
    console.print(f"{time.monotonic() - started:.0f} s; {counts[0][0]} queries each")
    complete = all(count == (NUM_QUERIES, NUM_REFUSALS) for count in counts)
    return 0 if complete and not any(v.failed for v in verdicts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
