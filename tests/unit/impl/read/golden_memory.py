"""Golden tables in memory, so that a test can take files away from them, damage them, and count what is read."""

from __future__ import annotations

from functools import cache

from drawstring.codec import avro_container
from drawstring.context import TableContext
from drawstring.options import Options
from drawstring.ports import Ports
from drawstring.table_config import load_table_config
from drawstring.timeline.load import load_timeline
from drawstring_conformance.vectors import load_case
from unit.impl.protocol.world import CountingEntropy, InlineTasks, ManualClock, MemoryStorage, NoBackground

TIMELINE = ".hoodie/timeline"


@cache
def _files(name: str) -> tuple[tuple[str, bytes], ...]:
    return tuple(load_case(name).read_files())


class GoldenTable:
    """One golden table."""

    def __init__(self, name: str) -> None:
        self.case = load_case(name)
        self.clock = ManualClock()
        self.storage = MemoryStorage(self.clock)
        for path, content in _files(name):
            self.storage.put(path, content)

    def context(self, options: dict[str, object] | None = None) -> TableContext:
        ports = Ports(
            self.storage,
            self.clock,
            None,
            CountingEntropy(),
            NoBackground(),
            InlineTasks(self.storage, lambda event: None),
        )
        return TableContext(ports, load_table_config(self.storage), Options.parse(options))

    def writes(self):
        """Completed writes on the active timeline."""
        return load_timeline(self.storage, load_table_config(self.storage)).completed_writes

    def paths(self, ending: str, *, without: str = "\0") -> list[str]:
        """Data files whose names end so, sorted."""
        found = (p for p in self.storage.files if not p.startswith(".hoodie/") and p.endswith(ending))
        return sorted(path for path in found if without not in path)

    def rewrite_commit(self, instant, change) -> None:
        """Let a completed commit say something else: `change` gets its payload, and changes it."""
        action = instant.action.value
        path = f"{TIMELINE}/{instant.requested_time}_{instant.completion_time}.{action}"
        record = avro_container.decode(self.storage.read(path), path=path)
        change(record)
        schema = "HoodieReplaceCommitMetadata" if action == "replacecommit" else "HoodieCommitMetadata"
        self.storage.put(path, avro_container.encode(schema, record, sync_marker=b"0" * 16))
