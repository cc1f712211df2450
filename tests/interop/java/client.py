"""Java Hudi from a test: `JavaHudi` starts ``driver.py`` in its environment and asks it, one verb a method.

Rows travel as Parquet through a temporary folder; paths are local. One process serves many requests: starting
the JVM is what costs. Used by the interoperability tests and by the benchmark.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from .environment import Environment

DRIVER = Path(__file__).with_name("driver.py")


class JavaHudiError(Exception):
    """Java Hudi refused or failed; the message has what it said, and the root cause behind it."""

    def __init__(self, verb: str, error: str, root: str) -> None:
        super().__init__(f"{verb}: {error}" + (f" (root cause: {root})" if root and root != error else ""))
        self.error = error
        self.root = root


class JavaHudi:
    """A running Java Hudi. Use as a context manager, or call `close`."""

    def __init__(self, environment: Environment, *, log: Path | None = None) -> None:
        """Start the process and wait until it is ready.

        Args:
            environment: from `environment.find_environment`.
            log: file for what the JVM prints; a temporary one where it is None.

        """
        self._folder = tempfile.TemporaryDirectory(prefix="java_hudi_")
        self._num_files = 0
        self._log = log or Path(self._folder.name) / "java.log"
        with self._log.open("ab") as sink:
            self._process = subprocess.Popen(
                [environment.python, DRIVER, environment.bundle],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                text=True,
                env=_process_environment(environment),
            )
        self._receive("start")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process: its input ends, so it stops by itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._folder.cleanup()

    def read(
        self,
        path: Path,
        *,
        as_of: str | None = None,
        options: Mapping[str, str] | None = None,
        where: str | None = None,
    ) -> pa.Table:
        """The rows of a snapshot query, or of a time-travel query where `as_of` is given; `where` is SQL."""
        out = self._new_path("read")
        self._ask("read", path=str(path), out=str(out), as_of=as_of, options=dict(options or {}), where=where)
        return pq.read_table(out)

    def write(self, path: Path, operation: str, rows: pa.Table, *, options: Mapping[str, str] | None = None) -> str:
        """Write `rows` by an operation such as ``upsert``; the requested time of the new commit."""
        source = self._new_path("rows").with_suffix(".parquet")
        pq.write_table(rows, source)
        return self.write_files(path, operation, source, options=options)

    def write_files(self, path: Path, operation: str, source: Path, *, options: Mapping[str, str] | None = None) -> str:
        """As `write`, with rows that lie in a Parquet file or folder already."""
        answer = self._ask("write", path=str(path), operation=operation, rows=str(source), options=dict(options or {}))
        actions = ("commit", "deltacommit", "replacecommit")
        commits = [i for i in answer["timeline"] if i["action"] in actions and i["state"] == "COMPLETED"]
        return str(commits[-1]["requested_time"])

    def bootstrap(self, path: Path, source: Path, options: Mapping[str, str]) -> None:
        """Make a table of the Parquet files below a folder."""
        self._ask("bootstrap", path=str(path), source=str(source), options=dict(options))

    def scan(self, path: Path) -> None:
        """Read all rows of a snapshot, and put them nowhere."""
        self._ask("scan", path=str(path))

    def sum_of(self, path: Path, column: str) -> float:
        """Add up one column of a snapshot."""
        return float(self._ask("sum_of", path=str(path), column=column)["sum"])

    def timeline(self, path: Path) -> list[dict[str, Any]]:
        """The active timeline as Java parses it."""
        return list(self._ask("timeline", path=str(path))["timeline"])

    def properties(self, path: Path) -> dict[str, str]:
        """``hoodie.properties`` as Java reads it; Java checks the checksum."""
        return dict(self._ask("properties", path=str(path))["properties"])

    def commit_metadata(self, path: Path, requested_time: str) -> dict[str, Any]:
        """The metadata of a completed commit, as Java decodes it."""
        return dict(self._ask("commit_metadata", path=str(path), requested_time=requested_time)["metadata"])

    def validate(self, path: Path) -> dict[str, Any]:
        """What is wrong between the metadata table and the files: ``problems`` is empty when nothing is."""
        return self._ask("validate", path=str(path))

    def call(self, path: Path, procedure: str, arguments: str = "") -> list[dict[str, Any]]:
        """Run a Hudi SQL procedure on the table."""
        return list(self._ask("call", path=str(path), procedure=procedure, arguments=arguments)["rows"])

    def sql(self, path: Path, *statements: str, settings: Mapping[str, str] | None = None) -> None:
        """Run SQL statements in which ``{table}`` is the table, under `settings` of the session."""
        self._ask("sql", path=str(path), statements=statements, settings=dict(settings or {}))

    def together(self, requests: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Answers to several requests of the driver's that run side by side; what failed has ``ok`` false.

        A request is the driver's, but for ``rows``, which are rows. It begins ``after_ms`` from now.
        """
        return list(self._ask("together", requests=[self._with_file(request) for request in requests])["answers"])

    def schedule_index(self, path: Path, kinds: Sequence[str], options: Mapping[str, str]) -> str:
        """Plan the building of indexes, ``MetadataPartitionType`` by name; the plan's requested time."""
        return str(self._ask("schedule_index", path=str(path), kinds=kinds, options=dict(options))["planned"])

    def _with_file(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        if "rows" not in request:
            return request
        source = self._new_path("rows").with_suffix(".parquet")
        pq.write_table(request["rows"], source)
        return {**request, "rows": str(source)}

    def _new_path(self, name: str) -> Path:
        self._num_files += 1
        return Path(self._folder.name) / f"{name}_{self._num_files}"

    def _ask(self, verb: str, **arguments: object) -> dict[str, Any]:
        if self._process.stdin is None:
            raise JavaHudiError(verb, "the process is closed", "")
        self._process.stdin.write(json.dumps({"verb": verb, **arguments}) + "\n")
        self._process.stdin.flush()
        return self._receive(verb)

    def _receive(self, verb: str) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            last_lines = "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
            raise JavaHudiError(verb, f"the process ended with status {self._process.wait()}", last_lines)
        answer: dict[str, Any] = json.loads(line)
        if not answer["ok"]:
            raise JavaHudiError(verb, answer["error"], answer["root"])
        return answer


def _process_environment(environment: Environment) -> dict[str, str]:
    """UTC, that interpreter and that Java; nothing of a Spark installation of ours leaks in."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    return {
        **kept,
        "TZ": "UTC",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(environment.python),
        "JAVA_HOME": str(environment.java.resolve().parents[1]),
    }
