"""The caller's side of `drawstring.data.orc_decoder`: processes that are started when ORC is read, and kept.

Whose duty: as many processes as threads that read ORC at once; one that dies over a file is not used again, and the
file is damaged. They end with their parent, whose end of the pipe closes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from drawstring.data import orc_decoder
from drawstring.data.orc_decoder import DONE, LENGTH
from drawstring.errors import EngineError

_SCRIPT: Final = str(Path(orc_decoder.__file__))
_idle: list[subprocess.Popen[bytes]] = []
_lock = threading.Lock()


def decode(size: int, pieces: Sequence[tuple[int, Any]], stripe: int | None, columns: Sequence[str]) -> pa.Table:
    """As `drawstring.data.orc_decoder.decode`, in another process.

    Raises:
        ValueError: it fails.
        EngineError: no process can be started.

    """
    process = _take()
    try:
        kind, answer = _ask(process, size, pieces, stripe, columns)
    except OSError as error:
        process.kill()
        process.wait()
        raise ValueError("its bytes ended the process that decoded them") from error
    except BaseException:
        process.kill()  # a request that was broken off leaves half of its answer in the pipe
        raise
    with _lock:
        _idle.append(process)
    if kind != DONE:
        raise ValueError(answer.decode("utf-8", errors="replace"))
    with pa.ipc.open_stream(pa.py_buffer(answer)) as reader:
        return reader.read_all()


def _take() -> subprocess.Popen[bytes]:
    with _lock:
        while _idle:
            process = _idle.pop()
            if process.poll() is None:
                return process
    # This package's own file, by this program's own interpreter; -P: its folder's modules are not those of Python.
    command = [sys.executable, "-P", _SCRIPT, *sys.path]
    process = subprocess.Popen(  # noqa: S603 -- the package's own file, by this interpreter
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    if process.stdout is None or process.stdout.read(len(DONE)) != DONE:
        process.kill()
        raise EngineError(
            "The process that decodes ORC files does not start.",
            way_out=f"It is run as {' '.join(command[:3])} ...; see what it says.",
        )
    return process


def _ask(
    process: subprocess.Popen[bytes],
    size: int,
    pieces: Sequence[tuple[int, Any]],
    stripe: int | None,
    columns: Sequence[str],
) -> tuple[bytes, bytes]:
    if process.stdin is None or process.stdout is None:
        raise OSError("the process has no pipes")
    places = [(start, len(piece)) for start, piece in pieces]
    request = json.dumps({"size": size, "pieces": places, "stripe": stripe, "columns": list(columns)}).encode()
    process.stdin.write(LENGTH.pack(len(request)) + request)
    for _, piece in pieces:
        process.stdin.write(piece)
    process.stdin.flush()
    head = process.stdout.read(1 + LENGTH.size)
    if len(head) <= LENGTH.size:
        raise OSError("the process has ended")
    (length,) = LENGTH.unpack(head[1:])
    answer = process.stdout.read(length)
    if len(answer) < length:
        raise OSError("the process has ended")
    return head[:1], answer
