"""A process that decodes ORC, so that damaged bytes end it and not its caller.

Arrow's ORC reader believes the lengths in a stripe, and ORC has no checksums: one flipped bit may end the process. So
it runs in one of its own. Run as a script, it needs nothing but pyarrow: folders in which to look for it are the
arguments. A request on standard input is a JSON object behind its length, then the bytes of the file's pieces; an
answer on standard output is ``+`` or ``-``, a length, and an Arrow stream or the text of an error.
"""

from __future__ import annotations

import contextlib
import json
import struct
import sys
from collections.abc import Sequence
from typing import Any, BinaryIO

LENGTH = struct.Struct("<q")
FAILED, DONE = b"-", b"+"

_BASE_MEMORY_BYTES = 4 * 1024 * 1024 * 1024  # what a process with Arrow claims of addresses, many times over
_MEMORY_OF_BYTE = 128  # a stripe that has more than this decoded of each of its bytes is none


def decode(size: int, pieces: Sequence[tuple[int, Any]], stripe: int | None, columns: Sequence[str]) -> Any:
    """Return a table: no rows of all columns, or the rows of a stripe in the columns that are named.

    Args:
        size: of the file, in bytes.
        pieces: parts of the file that are there, by their positions; others are not looked at.
        stripe: number of the stripe; None for no rows.
        columns: names at the top level.

    """
    import numpy as np  # noqa: PLC0415 -- found only when the script knows where to look
    import pyarrow as pa  # noqa: PLC0415 -- as above
    from pyarrow import orc  # noqa: PLC0415 -- as above

    # Memory that is never touched is never taken from the system, so the gaps cost nothing.
    content = np.empty(size, np.uint8)
    for start, piece in pieces:
        content[start : start + len(piece)] = np.frombuffer(piece, np.uint8)
    file = orc.ORCFile(pa.BufferReader(pa.py_buffer(content)))
    schema = file.schema.remove_metadata()
    if len(set(schema.names)) != len(schema.names):
        raise ValueError("two of its columns have one name")
    if stripe is None:
        return schema.empty_table()
    # Of no columns Arrow's reader says no number of rows: one is read.
    batch = file.read_stripe(stripe, columns=list(columns) or schema.names[:1])
    batch.validate(full=True)
    return pa.Table.from_batches([batch])


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Say that all is there, then answer requests until the input ends."""
    import pyarrow as pa  # noqa: PLC0415 -- as above

    sink.write(DONE)
    sink.flush()
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        request = json.loads(source.read(LENGTH.unpack(head)[0]))
        pieces = [(start, source.read(length)) for start, length in request["pieces"]]
        try:
            _limit_memory(sum(len(piece) for _, piece in pieces))
            table = decode(request["size"], pieces, request["stripe"], request["columns"])
            buffer = pa.BufferOutputStream()
            with pa.ipc.new_stream(buffer, table.schema) as writer:
                writer.write_table(table)
            kind, answer = DONE, buffer.getvalue()
        except Exception as error:  # noqa: BLE001 -- whatever it is, the caller is told
            kind, answer = FAILED, str(error).encode("utf-8", errors="replace")
        sink.write(kind + LENGTH.pack(len(answer)))
        sink.write(answer)
        sink.flush()


def _limit_memory(num_bytes: int) -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # not everywhere are there limits
        import resource  # noqa: PLC0415 -- POSIX only

        limit = _BASE_MEMORY_BYTES + _MEMORY_OF_BYTE * num_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.getrlimit(resource.RLIMIT_AS)[1]))


if __name__ == "__main__":
    sys.path[:] = sys.argv[1:] or sys.path
    serve(sys.stdin.buffer, sys.stdout.buffer)
