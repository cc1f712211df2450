"""The body of a deletion by keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from drawstring.context import TableContext
from drawstring.data.merge import Rows
from drawstring.engine.file_tasks import DeleteFromFile, write_file
from drawstring.engine.lookup import find_in_files
from drawstring.engine.preparation import TableShape, check_same_shape
from drawstring.files import BaseFile, Snapshot
from drawstring.write_stats import GroupWorkload, Operation, Workload, WriteStat


class DeleteBody:
    """A `drawstring.write_stats.WriteBody` that removes rows, whatever their ordering values, as Java's does.

    Args:
        context: of the table.
        shape: the table's schema and how its files are written.
        keys: record keys by partition path, each once; None as a path stands for every partition.
        use_threads: whether Arrow may decode in parallel.

    """

    operation = Operation.DELETE

    def __init__(
        self, context: TableContext, shape: TableShape, keys: Mapping[str | None, pa.Array], *, use_threads: bool
    ) -> None:
        self.schema_json = shape.schema_json
        self._context = context
        self._shape = shape
        self._keys = dict(keys)
        self._use_threads = use_threads
        self._found: dict[BaseFile, pa.Array] = {}

    def lookup_keys(self, snapshot: Snapshot) -> Workload:
        """See `WriteBody.lookup_keys`."""
        check_same_shape(self._context, self._shape, snapshot.timeline)
        files = snapshot.base_files()
        everywhere = self._keys.get(None)
        keys = {path: held for path, held in self._keys.items() if path is not None}
        if everywhere is not None:
            keys = {file.group.partition_path: everywhere for file in files}
        found: dict[BaseFile, Rows] = find_in_files(
            self._context.ports.tasks, files, keys, use_threads=self._use_threads
        )
        self._found = {file: pc.take(keys[file.group.partition_path], pa.array(found[file])) for file in sorted(found)}
        return Workload(
            tuple(GroupWorkload(file.group, file.requested_time, len(held), 0) for file, held in self._found.items())
        )

    def write_files(self, requested_time: str) -> Sequence[WriteStat]:
        """See `WriteBody.write_files`."""
        settings = self._shape.settings(self._context, requested_time, use_threads=self._use_threads)
        items = [DeleteFromFile(settings, file, held) for file, held in self._found.items()]
        return self._context.ports.tasks.run(write_file, items, label="write base files")

    def find_key_conflicts(self, concurrent: Sequence[BaseFile]) -> Sequence[str]:
        """See `WriteBody.find_key_conflicts`: a deletion inserts nothing."""
        del concurrent
        return ()

    def discard(self) -> None:
        """See `WriteBody.discard`."""
        self._keys, self._found = {}, {}
