"""Configurations of version 8 in which every possible pair of choices occurs, generated the same way every time.

A `Combination` chooses a table type, a control, a clock, a lock and a table service. Faults tend to come from two
choices that meet, so each pair that is possible is in a row at least (pairwise coverage); those that are not possible
are in `IMPOSSIBLE`, each with its reason. Rows beyond the pairs are chosen for the triples that they add.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from itertools import combinations, product

from drawstring_model.catalogue import Settings, assembled
from drawstring_model.config import Bounds, ClockKind, ConcurrencyControl, Config, delete, upsert
from drawstring_model.environment import Lock


class TableType(StrEnum):
    """What updates are written as."""

    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class Control(StrEnum):
    """What keeps writers apart: `ConcurrencyControl`, and the one in which nobody gives way."""

    NONE = "NONE"
    OPTIMISTIC = "OPTIMISTIC"
    PESSIMISTIC = "PESSIMISTIC"
    NON_BLOCKING = "NON_BLOCKING"


class Service(StrEnum):
    """The table service that runs beside the writers; each is a module of the same name, but for none."""

    NONE = "none"
    COMPACTION = "compaction"
    LOG_COMPACTION = "log_compaction"
    CLUSTERING = "clustering"
    CLEANING = "cleaning"
    INDEXING = "indexing"


@dataclass(frozen=True, slots=True)
class Combination:
    """One choice of each kind."""

    table: TableType
    control: Control
    clock: ClockKind
    lock: Lock
    service: Service

    @property
    def choices(self) -> tuple[StrEnum, ...]:
        """The choices in the order of the fields."""
        return (self.table, self.control, self.clock, self.lock, self.service)


Pair = frozenset[StrEnum]

_NEEDS_LOGS = "there are log files on merge-on-read tables only"
_NOBODY_LOCKS = "writers without any control take no lock"
_NEEDS_A_LOCK = "this control completes writes under the table lock"

IMPOSSIBLE: dict[Pair, str] = {
    Pair({TableType.COPY_ON_WRITE, Service.COMPACTION}): _NEEDS_LOGS,
    Pair({TableType.COPY_ON_WRITE, Service.LOG_COMPACTION}): _NEEDS_LOGS,
    Pair({TableType.COPY_ON_WRITE, Control.NON_BLOCKING}): "non-blocking writers write log files, and nothing else",
    Pair({Control.NONE, Lock.CORRECT}): _NOBODY_LOCKS,
    Pair({Control.NONE, Lock.EXPIRES}): _NOBODY_LOCKS,
    Pair({Control.OPTIMISTIC, Lock.NONE}): _NEEDS_A_LOCK,
    Pair({Control.PESSIMISTIC, Lock.NONE}): _NEEDS_A_LOCK,
    Pair({Control.NON_BLOCKING, Lock.NONE}): _NEEDS_A_LOCK,
    Pair({Control.NON_BLOCKING, Service.CLUSTERING}): "a clustering moves keys to other file groups than their buckets",
    Pair({Control.NON_BLOCKING, Service.INDEXING}): "writers of buckets look no key up in an index",
}
"""The pairs of choices that no table has, each with the reason."""

FEWEST = 28
"""So many configurations at least; the pairs alone take fewer."""

WORKLOAD = (upsert(1), upsert(1, 2), delete(1))
"""An insert, an update with an insert, a delete: two keys."""
CALM = Bounds(workload=WORKLOAD, faults=0, crashes=0, heartbeat_expiries=0, lock_expiries=0)
"""Two writers, two file groups, no fault."""


def _tuples(combination: Combination, size: int) -> set[frozenset[StrEnum]]:
    return {frozenset(chosen) for chosen in combinations(combination.choices, size)}


def pairs_of(combination: Combination) -> set[Pair]:
    """The pairs of choices that meet in a combination."""
    return _tuples(combination, 2)


def possible() -> list[Combination]:
    """All combinations without an impossible pair."""
    kinds = (TableType, Control, ClockKind, Lock, Service)
    every = (Combination(*chosen) for chosen in product(*kinds))
    return [each for each in every if not pairs_of(each) & IMPOSSIBLE.keys()]


def all_pairs() -> set[Pair]:
    """Every pair of choices of two kinds, possible or not."""
    kinds = (TableType, Control, ClockKind, Lock, Service)
    return {Pair(pair) for one, other in combinations(kinds, 2) for pair in product(one, other)}


def chosen_combinations() -> list[Combination]:
    """The fixed set: greedily the combination with most new pairs, then with most new triples; earlier ones first.

    Raises `ValueError` where a pair that is not named impossible is in no combination.
    """
    candidates = possible()
    lonely = all_pairs() - IMPOSSIBLE.keys() - set().union(*map(pairs_of, candidates))
    if lonely:
        raise ValueError(f"neither possible nor named impossible: {sorted(map(sorted, lonely))}")
    chosen: list[Combination] = []
    for size in (2, 3):
        covered: set[frozenset[StrEnum]] = set().union(*(_tuples(each, size) for each in chosen))
        while size == 2 or len(chosen) < FEWEST:
            best = max(candidates, key=lambda each: len(_tuples(each, size) - covered))
            if not _tuples(best, size) - covered:
                break
            chosen.append(best)
            covered |= _tuples(best, size)
    return sorted(chosen, key=candidates.index)


def config_of(combination: Combination, *, faults: bool) -> Config:
    """The protocol of a combination, without a fault or with one of any kind that its lock allows.

    With a fault there are three writers on a copy-on-write table; the states of merge-on-read tables are dearer.
    """
    names, settings = _modules(combination)
    bounds = CALM
    if faults:
        bounds = Bounds(
            writers=3 if combination.table is TableType.COPY_ON_WRITE else 2,
            workload=WORKLOAD,
            faults=1,
            faults_until=2,
            lock_expiries=int(combination.lock is Lock.EXPIRES),
        )
    return Config(
        clock=combination.clock,
        concurrency=_concurrency(combination.control),
        modules=assembled(names, settings=settings),
        bounds=bounds,
    )


def _concurrency(control: Control) -> ConcurrencyControl:
    """Non-blocking writers take the table lock as optimistic ones do; a module lets them all complete."""
    return ConcurrencyControl.OPTIMISTIC if control is Control.NON_BLOCKING else ConcurrencyControl(control.value)


def _modules(combination: Combination) -> tuple[list[str], Settings]:
    names: list[str] = [] if combination.service is Service.NONE else [combination.service.value]
    if combination.table is TableType.MERGE_ON_READ:
        names.append("log_files")
    if combination.control is Control.NON_BLOCKING:
        return [*names, "non_blocking"], {"log_files": {"order": "COMPLETION", "begun_by_pending": False}}
    return names, {}


def uncovered(chosen: Iterable[Combination]) -> set[Pair]:
    """The possible pairs that are in none of `chosen`."""
    return all_pairs() - IMPOSSIBLE.keys() - set().union(*map(pairs_of, chosen))


NAMES = tuple(field.name for field in fields(Combination))
"""The kinds of choices."""
