"""A table that Java Hudi wrote, kept with every query that was asked of Java and what it answered: a case.

Whose duty: which queries there are, and the folder's form (that of `drawstring_conformance.vectors`, with what Java
refused beside it). A case is judged later, without Java: `wrong_answers` for the embedded engine, `tests.spark.golden`
for Spark.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

import drawstring as ds
from drawstring_conformance.compare import difference
from drawstring_conformance.compare_changes import change_difference
from drawstring_conformance.vectors import Case, Query, QueryType, load_case
from drawstring_spec.bootstrap import BASE_PATH_PROPERTY
from interop.java.client import JavaHudi, JavaHudiError

TYPE: Final = "hoodie.datasource.query.type"
BEGIN: Final = "hoodie.datasource.read.begin.instanttime"
END: Final = "hoodie.datasource.read.end.instanttime"
_WRITES: Final = frozenset({"commit", "deltacommit", "replacecommit"})
_MOST_RANGES: Final = 9
_SOURCE: Final = "source.zip"
"""What a bootstrap table was made of, beside it in the case's folder."""


@dataclass
class Recorder:
    """Writes a table by Java, and keeps what Java answers.

    Attributes:
        java: who writes and reads.
        path: of the table.
        options: of every write.
        read_options: of every query.
        queries: that were asked so far, as a case has them.
        answers: of those queries.
        refused: what Java could not answer.
        filtered: queries with conditions, beside the others.
        facts: what was noted while the story was told.

    """

    java: JavaHudi
    path: Path
    options: Mapping[str, str]
    read_options: Mapping[str, str] = field(default_factory=dict)
    queries: list[dict[str, Any]] = field(default_factory=list)
    answers: dict[str, pa.Table] = field(default_factory=dict)
    refused: list[dict[str, Any]] = field(default_factory=list)
    filtered: list[dict[str, Any]] = field(default_factory=list)
    facts: list[Any] = field(default_factory=list)

    def write(self, operation: str, rows: pa.Table, **options: str) -> str:
        """Write rows; the names of `options` have ``__`` for a point. Returns the requested time."""
        more = {name.replace("__", "."): value for name, value in options.items()}
        return self.java.write(self.path, operation, rows, options={**self.options, **more})

    def bootstrap(self, files: Mapping[str, pa.Table], mode: str, **options: str) -> None:
        """Make a table of Parquet files, which are written first: rows by path; `mode` selects how it is done."""
        for path, rows in files.items():
            file = self.source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, file)
        more = {name.replace("__", "."): value for name, value in options.items()}
        selector = f"org.apache.hudi.client.bootstrap.selector.{mode}Selector"
        self.java.bootstrap(
            self.path, self.source, {**self.options, "hoodie.bootstrap.mode.selector": selector, **more}
        )

    @property
    def source(self) -> Path:
        """Folder of the files that a table is made of by bootstrapping."""
        return self.path.with_name(f"{self.path.name}_source")

    def service(self, name: str, operation: str = "scheduleAndExecute", **options: str) -> None:
        """Run ``compaction`` or ``clustering``."""
        more = {"hoodie.compact.inline.max.delta.commits": "1", "hoodie.embed.timeline.server": "false"}
        more |= {key.replace("__", "."): value for key, value in options.items()}
        text = ",".join(f"{key}={value}" for key, value in more.items())
        self.java.call(self.path, f"run_{name}", f"op => '{operation}', options => '{text}'")

    def sql(self, *statements: str, **settings: str) -> None:
        """Run SQL under the options of the table's writes."""
        plain = {key: value for key, value in self.options.items() if key != "hoodie.table.name"}
        more = {name.replace("__", "."): value for name, value in settings.items()}
        self.java.sql(self.path, *statements, settings={**plain, **more})

    def together(self, *writes: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Run requests of the driver's side by side; writes have the table's options, and their own."""
        requests = []
        for write in writes:
            own = {"options": {**self.options, **write.get("options", {})}} if write["verb"] == "write" else {}
            requests.append({**write, "path": str(self.path), **own})
        return self.java.together(requests)

    def ask_filtered(self, where: str, conditions: list[Any], columns: list[str] | None = None) -> None:
        """Ask Java for the rows for which `where` holds, which is what the conditions say (see `unseen_filters`)."""
        name = f"filtered_{len(self.filtered)}"
        entry = {"id": name, "expect": f"expected/{name}.parquet", "where": where}
        try:
            answer = self.java.read(self.path, options=self.read_options, where=where)
        except JavaHudiError as error:
            self.refused.append({**entry, "type": "filtered", "error": error.root[:300]})
            return
        self.answers[name] = answer.select(columns) if columns else answer
        self.filtered.append({**entry, "conditions": conditions, "columns": columns})

    def ask(self, **query: Any) -> None:
        """Ask Java one query, as a case describes it: ``type``, and ``as_of`` or ``start`` and ``end``."""
        name = f"{query['type']}_{len(self.queries) + len(self.refused)}"
        entry = {"id": name, "expect": f"expected/{name}.parquet", **query}
        if self.read_options:
            entry["read_options"] = dict(self.read_options)
        try:
            answer = self.java.read(self.path, options={**self.read_options, **java_options(query)})
        except JavaHudiError as error:
            self.refused.append({**entry, "error": error.root[:300]})
            return
        self.answers[name] = answer
        self.queries.append({**entry, "rows": answer.num_rows})

    def ask_all(self, *, cdc: bool = False) -> None:
        """Ask every kind of query, of all times or a sample of them."""
        for query in every_query(self.java.timeline(self.path), self.properties, cdc=cdc):
            self.ask(**query)

    @property
    def properties(self) -> dict[str, str]:
        """The table's properties."""
        return self.java.properties(self.path)

    def keep(self, folder: Path, description: str) -> Case:
        """Keep table, queries and answers as a case; its name is the folder's."""
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "expected").mkdir(parents=True)
        _pack(self.path, folder / "table.zip")
        if self.source.is_dir():
            _pack(self.source, folder / _SOURCE)
        for name, answer in self.answers.items():
            pq.write_table(answer, folder / "expected" / f"{name}.parquet", compression="zstd")
        details = {
            "name": folder.name,
            "description": description,
            "hudi_version": "1.0.2",
            "table_type": self.properties["hoodie.table.type"],
            "options": dict(self.options),
            # Where the source files lay is a path of the machine that recorded the case.
            "table_properties": {k: v for k, v in self.properties.items() if k != BASE_PATH_PROPERTY},
            "queries": self.queries,
            "failed_queries": self.refused,
            **({"filtered_queries": self.filtered} if self.filtered else {}),
            **({"facts": self.facts} if self.facts else {}),
        }
        (folder / "case.json").write_text(json.dumps(details, indent=1) + "\n", encoding="utf-8")
        return load_case(folder.name, folder.parent)


def _pack(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and not file.name.endswith(".crc"):
                archive.write(file, file.relative_to(folder).as_posix())


def unpack(case: Case, folder: Path) -> tuple[Path, dict[str, str]]:
    """Unpack a case's table; where it is, and the options that it is opened with: where its source files are."""
    path = case.extract(folder / case.name)
    if not (case.folder / _SOURCE).is_file():
        return path, {}
    source = folder / f"{case.name}_source"
    with zipfile.ZipFile(case.folder / _SOURCE) as archive:
        archive.extractall(source)
    return path, {BASE_PATH_PROPERTY: str(source)}


def java_options(query: Mapping[str, Any]) -> dict[str, str]:
    """Options by which Java is asked a query."""
    kind = query["type"]
    if kind == QueryType.READ_OPTIMIZED:
        return {TYPE: "read_optimized", **({"as.of.instant": query["as_of"]} if query.get("as_of") else {})}
    if kind == QueryType.TIME_TRAVEL:
        return {"as.of.instant": query["as_of"]}
    if kind in (QueryType.INCREMENTAL, QueryType.CDC):
        options = {TYPE: "incremental", BEGIN: query["start"], **({END: query["end"]} if query.get("end") else {})}
        more = {"hoodie.datasource.query.incremental.format": "cdc"} if kind == QueryType.CDC else {}
        return options | more
    return {}


def every_query(
    timeline: list[dict[str, Any]], properties: Mapping[str, str], *, cdc: bool = False
) -> Iterator[dict[str, Any]]:
    """Queries of every kind: all snapshots, and ranges between all completion times, or a dozen of them."""
    yield {"type": "snapshot"}
    if properties["hoodie.table.type"] == "MERGE_ON_READ":
        yield {"type": "read_optimized"}
    writes = [i for i in timeline if i["completion_time"] and i["action"] in _WRITES]
    for time in sorted({i["requested_time"] for i in writes} | {i["completion_time"] for i in writes[-1:]}):
        yield {"type": "time_travel", "as_of": time}
    ends = sorted(i["completion_time"] for i in writes)
    ranges = [(start, end) for start in ends for end in ends if start <= end]
    step = -(-len(ranges) // _MOST_RANGES) if ranges else 1
    for start, end in [*ranges[::step], ("000", None)]:
        yield {"type": "incremental_completion", "start": start, "end": end}
        if cdc:
            yield {"type": "cdc", "start": start, "end": end}


def wrong_answer(table: ds.Table, query: Query) -> str:
    """How the embedded engine's answer to a query differs from Java's; empty where it does not."""
    expected = pq.read_table(query.expected)
    if query.type is QueryType.INCREMENTAL:
        return difference(table.changes(query.start, query.end), expected)
    if query.type is QueryType.CDC:
        return change_difference(table.changes(query.start, query.end, cdc=True), expected)
    read_optimized = query.type is QueryType.READ_OPTIMIZED
    return difference(table.read(as_of=query.as_of, read_optimized=read_optimized), expected)


def wrong_answers(case: Case, folder: Path) -> dict[str, str]:
    """Queries of a case that the embedded engine answers otherwise than Java, or refuses, and how."""
    path, options = unpack(case, folder)
    table = ds.Table.open(str(path), options=options)
    found: dict[str, str] = {}
    for query in case.queries:
        try:
            text = wrong_answer(table, query)
        except Exception as error:  # noqa: BLE001 -- what no error of ours tells is a finding, too
            text = f"{type(error).__name__}: {error}"
        if text:
            found[query.id] = text
    return found
