"""A target in any language: a program that is asked in JSON lines and answers with files.

The suite starts the program once, and writes one JSON object a line to its standard input; for each the program
writes one JSON object a line to its standard output. What it writes to standard error goes to that of the suite. The
first line is a greeting, ``{"protocol": 1}``; the program answers with its ``name`` and ``version``. Each further line
is a request:

- ``id``: a number, to be given back;
- ``base_path``: folder of the table;
- ``query``: ``type``, ``as_of``, ``start``, ``end``, ``read_options``, as in ``case.json``;
- ``answer_path``: where the rows go.

and its answer has the ``id`` and a ``status``:

- ``answered``: the rows are at ``answer_path``, as Parquet, as an Arrow IPC file, or as an Arrow IPC stream;
- ``refused``: the query cannot be answered rightly, and ``reason`` says why;
- ``unsupported``: the program does not do such queries; ``reason`` says so.

A program that ends, says something else or takes too long has failed that query; it is started again for the next.
Its standard input ends when the suite is done.
"""

from __future__ import annotations

import contextlib
import json
import select
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from drawstring_spec.errors import DrawstringError, UnsupportedQueryError

PROTOCOL_VERSION: Final = 1
MAX_ANSWER_BYTES: Final = 1024 * 1024
"""A line is short: rows go to a file."""
_PARQUET: Final = b"PAR1"
_ARROW_FILE: Final = b"ARROW1"
_CHUNK: Final = 65536
_SECONDS_TO_END: Final = 10.0


class ExecTargetError(DrawstringError):
    """The program failed: it did not start, ended, took too long, or did not keep to the protocol."""


class QueryRefusedError(DrawstringError):
    """The program refused a query; the message has its reason."""


class ExecTarget:
    """A program that is judged. Made by `ExecTarget.start`.

    Attributes:
        name: as the program says.
        version: as the program says.

    """

    def __init__(self, command: str, *, timeout_s: float = 300.0) -> None:
        self._command = command
        self._timeout_s = timeout_s
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._requests = 0
        self._folder = tempfile.TemporaryDirectory(prefix="drawstring-answers-")
        self.name = ""
        self.version = ""

    @classmethod
    def start(cls, command: str, *, timeout_s: float = 300.0) -> Self:
        """Start a program.

        Args:
            command: with its arguments, as a shell takes it; no shell is used.
            timeout_s: seconds that one answer may take.

        Raises:
            ExecTargetError: it does not start, or gives no greeting.

        """
        target = cls(command, timeout_s=timeout_s)
        try:
            target._greet()
        except DrawstringError:
            target.close()
            raise
        return target

    def answer(self, base_path: str, query: Mapping[str, Any]) -> pa.Table:
        """As `drawstring_conformance.targets.Target.answer`."""
        if self._process is None:
            self._greet()
        self._requests += 1
        answer_path = Path(self._folder.name) / f"answer-{self._requests}"
        request = {"id": self._requests, "base_path": base_path, "query": dict(query), "answer_path": str(answer_path)}
        try:
            reply = self._exchange(request)
            if reply.get("id") != self._requests:
                raise self._failed(f"answered the request {reply.get('id')!r} instead of {self._requests}")
            return self._rows(reply, answer_path)
        except ExecTargetError:
            # It is not known what it is doing; the next query finds it started anew.
            self._stop(0.0)
            raise
        finally:
            answer_path.unlink(missing_ok=True)

    def close(self) -> None:
        """End the program: its input ends, and after a while it is killed."""
        self._stop()
        self._folder.cleanup()

    def _greet(self) -> None:
        self._stop()
        try:
            self._process = subprocess.Popen(shlex.split(self._command), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except (OSError, ValueError, IndexError) as error:
            raise ExecTargetError(
                f"{self._command!r} does not start: {error}.", way_out="Check the command."
            ) from error
        reply = self._exchange({"protocol": PROTOCOL_VERSION})
        self.name, self.version = str(reply.get("name") or self._command), str(reply.get("version") or "")

    def _stop(self, patience_s: float = _SECONDS_TO_END) -> None:
        process, self._process, self._buffer = self._process, None, b""
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _exchange(self, message: Mapping[str, Any]) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None:
            raise self._failed("is not running")
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise self._failed(f"does not listen: {error}") from error
        line = self._line(process)
        try:
            reply = json.loads(line)
        except ValueError as error:
            raise self._failed(f"wrote no JSON: {line[:200]!r}") from error
        if not isinstance(reply, dict):
            raise self._failed(f"wrote no JSON object: {line[:200]!r}")
        return reply

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        output = process.stdout
        if output is None:
            raise self._failed("has no output")
        deadline = time.monotonic() + self._timeout_s
        while b"\n" not in self._buffer:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0 or not select.select([output], [], [], remaining_s)[0]:
                raise self._failed(f"gave no answer in {self._timeout_s:g} seconds")
            chunk = output.read1(_CHUNK)  # type: ignore[attr-defined]  # it is a BufferedReader
            if not chunk:
                raise self._failed(f"ended with status {process.wait(_SECONDS_TO_END)}")
            self._buffer += chunk
            if len(self._buffer) > MAX_ANSWER_BYTES:
                raise self._failed(f"wrote a line of more than {MAX_ANSWER_BYTES} bytes")
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _rows(self, reply: Mapping[str, Any], answer_path: Path) -> pa.Table:
        status, reason = reply.get("status"), str(reply.get("reason") or "no reason given")
        if status == "unsupported":
            raise UnsupportedQueryError(reason)
        if status == "refused":
            raise QueryRefusedError(reason)
        if status != "answered":
            raise self._failed(f"answered with the status {status!r} ({reason})")
        try:
            return read_answer(answer_path)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise self._failed(f"left no rows that can be read: {error}") from error

    def _failed(self, what: str) -> ExecTargetError:
        return ExecTargetError(f"{self._command!r} {what}.", way_out="See the protocol: docs/how-to/judge-a-reader.md.")


def read_answer(path: Path) -> pa.Table:
    """Read rows from a Parquet file, an Arrow IPC file or an Arrow IPC stream. Raises what Arrow raises."""
    with path.open("rb") as file:
        magic = file.read(len(_ARROW_FILE))
    if magic.startswith(_PARQUET):
        return pq.ParquetFile(path).read()
    with pa.OSFile(str(path)) as source:
        opened = pa.ipc.open_file(source) if magic == _ARROW_FILE else pa.ipc.open_stream(source)
        return opened.read_all()
