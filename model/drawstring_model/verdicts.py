"""Which guarantee holds under which switches: one row per protocol, each with all promises of its modules.

The rows are small, so that a test can make each of them again; ``docs/reference/model-verdicts.md`` is the page. Those
of `ANALYSIS` are the questions of a published analysis of Hudi's consistency model, asked of this model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from drawstring_model.catalogue import BASE, Settings, assembled, settings_of, switches_of
from drawstring_model.config import (
    Bounds,
    ClockKind,
    ConcurrencyControl,
    Config,
    RollbackPolicy,
    SnapshotTime,
    delete,
    upsert,
)
from drawstring_model.core.config import Config as AnyConfig
from drawstring_model.core.invariants import STEP_PROPERTIES
from drawstring_model.core.module import modules_of
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import protocol_of
from drawstring_model.explorer import Exploration, explore


@dataclass(frozen=True, slots=True)
class Case:
    """A row: what it asks, in words, and the protocol that answers."""

    question: str
    config: Config


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the exploration of a case found; `shortest` has the length of the shortest history that breaks each."""

    case: Case
    states: int
    shortest: dict[Promise, int]

    @property
    def kept(self) -> tuple[Promise, ...]:
        """The promises that no state breaks."""
        return tuple(promise for promise in promises_of(self.case.config) if promise not in self.shortest)


def promises_of(config: AnyConfig) -> tuple[Promise, ...]:
    """All that a configuration promises: the core and every module that is on, in the order of `Promise`."""
    made = {*protocol_of(config).invariants(), *STEP_PROPERTIES}
    return tuple(promise for promise in Promise if promise in made)


SAME_KEY = Bounds(workload=(upsert(1), upsert(1)), faults=0)
TWO_KEYS = Bounds(workload=(upsert(1), upsert(2)), faults=0)
_ONE_GROUP = replace(SAME_KEY, groups=1)
_THEN_DELETED = replace(_ONE_GROUP, workload=(upsert(1), upsert(1), delete(1)))
_ONE_FAULT = replace(_ONE_GROUP, faults=1)
_FREE_CLOCK = Config(clock=ClockKind.NON_MONOTONIC, bounds=TWO_KEYS)
_OPTIMISTIC = Config(bounds=SAME_KEY)
_PESSIMISTIC = Config(concurrency=ConcurrencyControl.PESSIMISTIC, bounds=SAME_KEY)


def _with(bounds: Bounds, *names: str, settings: Settings | None = None) -> Config:
    return Config(modules=assembled(names, settings=settings), bounds=bounds)


ANALYSIS: dict[str, Case] = {
    "without control": Case(
        "Two writers without any control", Config(concurrency=ConcurrencyControl.NONE, bounds=SAME_KEY)
    ),
    "optimistic": Case("Optimistic control with the comparison of keys", _OPTIMISTIC),
    "optimistic without keys": Case("Optimistic control without it", replace(_OPTIMISTIC, key_check=False)),
    "pessimistic": Case("Pessimistic control with the comparison of keys", _PESSIMISTIC),
    "pessimistic without keys": Case("Pessimistic control without it", replace(_PESSIMISTIC, key_check=False)),
    "colliding, refused": Case("Times that collide, on storage that refuses", _FREE_CLOCK),
    "colliding, salted": Case(
        "Times that collide, on storage that replaces; salted file names", replace(_FREE_CLOCK, put_if_absent=False)
    ),
    "colliding": Case(
        "Times that collide, on storage that replaces; plain file names",
        replace(_FREE_CLOCK, put_if_absent=False, salt=False),
    ),
    "colliding in one file group": Case(
        "The same with one file group",
        replace(_FREE_CLOCK, put_if_absent=False, salt=False, bounds=replace(TWO_KEYS, groups=1)),
    ),
}
"""The published analysis' questions, by short names."""

FAULTS: dict[str, Case] = {
    "one fault": Case("One crash, hang or lost lease", Config(bounds=_ONE_FAULT)),
    "comes back": Case("A writer that hangs and comes back", Config(bounds=replace(_ONE_FAULT, renewals=1, crashes=0))),
    "eager": Case(
        "Eager rollback beside another writer", Config(rollback=RollbackPolicy.EAGER, bounds=replace(_ONE_GROUP))
    ),
    "completion snapshots": Case(
        "Snapshot times are completion times", Config(snapshot_time=SnapshotTime.COMPLETION, bounds=TWO_KEYS)
    ),
}
"""Failures, and what snapshot times are."""

SERVICES: dict[str, Case] = {
    "compaction": Case("Compaction beside writers", _with(_THEN_DELETED, "compaction")),
    "slices by requested times": Case(
        "Log files belong to slices by requested times",
        _with(_THEN_DELETED, "compaction", settings={"log_files": {"slice_by": "REQUESTED"}}),
    ),
    "clustering": Case("Clustering; the writer gives way", _with(_ONE_GROUP, "clustering")),
    "clustering gives way": Case(
        "Clustering; it gives way to updates",
        _with(_ONE_GROUP, "clustering", settings={"clustering": {"update": "ALLOW"}}),
    ),
    "clustering hides the past": Case(
        "Clustering; what it replaced is hidden at all times",
        _with(_ONE_GROUP, "clustering", settings={"clustering": {"hides_the_past": True}}),
    ),
    "cleaning": Case("Cleaning beside running queries", _with(_ONE_GROUP, "cleaning")),
    "non-blocking": Case(
        "Non-blocking writers; log files in order of completion",
        _with(
            _ONE_GROUP,
            "compaction",
            "non_blocking",
            settings={"log_files": {"order": "COMPLETION", "begun_by_pending": False}},
        ),
    ),
    "non-blocking, requested": Case(
        "Non-blocking writers; log files in order of requests",
        _with(_ONE_GROUP, "compaction", "non_blocking", settings={"log_files": {"begun_by_pending": False}}),
    ),
    "non-blocking, read by requests": Case(
        "Non-blocking writers; changes read on by requested times",
        _with(
            _ONE_GROUP,
            "compaction",
            "non_blocking",
            settings={
                "log_files": {"order": "COMPLETION", "begun_by_pending": False},
                "non_blocking": {"checkpoint": "REQUESTED"},
            },
        ),
    ),
}
"""Table services and non-blocking control."""

_THREE_WRITES = replace(_ONE_GROUP, workload=(upsert(1),) * 3)
_INDEXED = replace(TWO_KEYS, groups=1)

MORE_SERVICES: dict[str, Case] = {
    "log compaction": Case("Log compaction beside writers", _with(_THEN_DELETED, "log_compaction")),
    "indexing": Case("An index that is built beside writers", _with(_INDEXED, "indexing")),
    "metadata table": Case("The metadata table, with a crash, hang or lost lease", _with(_ONE_FAULT, "metadata_table")),
    "metadata table as the text": Case(
        "The metadata table, read without a look at the timeline",
        _with(_ONE_GROUP, "metadata_table", settings={"metadata_table": {"leaves_out_pending": False}}),
    ),
    "restore": Case("A savepoint, and a restore to it, beside writers", _with(_ONE_GROUP, "restores")),
    "restore unheeded": Case(
        "The same; writers do not look at restores",
        _with(_ONE_GROUP, "restores", settings={"restores": {"heeded": False}}),
    ),
    "archival": Case("Archival beside writers", _with(_THREE_WRITES, "archival")),
    "archival in any order": Case(
        "Archival; completed files are dropped in any order",
        _with(_THREE_WRITES, "archival", settings={"archival": {"in_order": False}}),
    ),
}
"""Table services of the second line, and what the table keeps of its past."""

WRITERS: dict[str, Case] = {
    "lost answers": Case("A put takes effect, and its answer is lost", _with(_ONE_GROUP, "lost_answers")),
    "retries": Case("An operation that gave way is tried again", _with(_ONE_GROUP, "retries")),
    "early detection": Case("Conflicts are looked for early, too", _with(_ONE_GROUP, "early_detection")),
    "incremental": Case("A consumer reads on by requested times, up to a fence", _with(_ONE_GROUP, "incremental")),
}
"""What writers do beside writing, and consumers of changes."""

CASES: dict[str, dict[str, Case]] = {
    "Concurrent writers": ANALYSIS,
    "Failures and snapshots": FAULTS,
    "Table services and non-blocking control": SERVICES,
    "Indexes, the metadata table, savepoints, the archive": MORE_SERVICES,
    "Lost answers, retries, consumers": WRITERS,
}


def judged(case: Case) -> Verdict:
    """Explore every state of a case."""
    exploration = explore(case.config)
    return Verdict(case, exploration.states, _lengths(exploration))


def _lengths(exploration: Exploration) -> dict[Promise, int]:
    found = exploration.counterexamples
    return {promise: len(found[promise].moves) for promise in Promise if promise in found}


def told_switches(config: Config) -> str:
    """How a configuration differs from the default, bounds apart."""
    told = [
        f"{field.name} {_word(getattr(config, field.name))}"
        for field in fields(Config)
        if field.compare
        and field.name not in {"modules", "bounds"}
        and getattr(config, field.name) != getattr(Config(), field.name)
    ]
    for module in modules_of(config):
        defaults = {switch.name: switch.default for switch in switches_of(type(module))}
        own = [f"{module.name}.{name} {_word(v)}" for name, v in settings_of(module).items() if v != defaults[name]]
        told += own or ([module.name] if module.name not in BASE else [])
    return ", ".join(told) or "the defaults"


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value.value if isinstance(value, StrEnum) else str(value)


def rendered_row(verdict: Verdict) -> str:
    """One row as Markdown."""
    broken = ", ".join(f"**{promise.value}** ({length})" for promise, length in verdict.shortest.items()) or "nothing"
    kept = ", ".join(promise.value for promise in verdict.kept) or "nothing"
    case = verdict.case
    return f"| {case.question} | {told_switches(case.config)} | {kept} | {broken} | {verdict.states:,} |"


def rendered_page(verdicts: Iterable[Verdict]) -> str:
    """The whole page ``docs/reference/model-verdicts.md``; the verdicts come in the order of `CASES`."""
    rows = iter(verdicts)
    lines = [_INTRODUCTION]
    for title, cases in CASES.items():
        lines += [
            f"## {title}",
            "",
            "| protocol | switches | kept | broken (steps) | states |",
            "|---|---|---|---|---|",
        ]
        lines += [rendered_row(next(rows)) for _ in cases] + [""]
    return "\n".join(lines)


_INTRODUCTION = """# Which guarantee holds under which switches

Generated by `drawstring model verdicts`; tests keep every row current.

Each row is a protocol, explored to its last state within small bounds: two writers; two operations (in rows with
compaction three: an insert, an update, a delete) that write one key, or in rows with colliding times two keys; no
fault where none is named. *Broken* names the promises that some history contradicts, with the number of steps of the
shortest; `drawstring model check` with the same switches tells it. All other promises of the modules that are on are
*kept*: that is a proof for these bounds, and evidence beyond. [The table of configurations](model-configurations.md)
has larger bounds. Columns name what differs from the protocol as drawstring follows it.

Snapshot times are requested times unless a row says otherwise, as in Java Hudi. Time travel is then not stable: what
was requested earlier and completes later appears in the past. Where a row keeps it, its bounds are too small for that.
"""
