"""Which promises hold in every combination of choices, and whether a planted bug would have been noticed in it.

Each of `drawstring_model.combinations.chosen_combinations` is explored twice: without a fault, and with one, within
wider bounds. Then a bug is planted in it: one of its service where it has any, else one of its control. A row whose
bounds are too small to notice a bug proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from drawstring_model.combinations import Combination, Control, Service, TableType, config_of
from drawstring_model.compact.search import Search
from drawstring_model.config import ClockKind, Config, PlantedBug
from drawstring_model.core.promises import Promise
from drawstring_model.environment import Lock
from drawstring_model.explorer import Exploration, explore

CALM_STATES = 10_000
FAULTY_STATES = 20_000
PLANTED_STATES = 40_000
"""A planted bug that is not noticed among so many states is not noticed."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The level on which there are so many states is the last one: without a fault, and with one."""

    calm_states: int = CALM_STATES
    states: int = FAULTY_STATES


Planted = tuple[PlantedBug, Promise]
Explore = Callable[[Config, int, Promise | None], Exploration]
"""Explores a configuration up to a number of states, or until a promise is broken."""

_OF_SERVICES: Mapping[Service, tuple[Planted, ...]] = {
    Service.NONE: (),
    Service.COMPACTION: (
        (PlantedBug.SKIP_DELETE_BLOCKS, Promise.NO_RESURRECTED_DELETE),
        (PlantedBug.DELETE_LATE_LOGS, Promise.NO_UNDONE_WRITE),
    ),
    Service.LOG_COMPACTION: (
        (PlantedBug.LOG_COMPACT_WITHOUT_DELETES, Promise.MERGED_LOGS_UNNEEDED),
        (PlantedBug.LOG_COMPACT_BESIDE_PENDING, Promise.LATEST_SNAPSHOT),
    ),
    Service.CLUSTERING: ((PlantedBug.REPLACE_BEFORE_COMPLETION, Promise.CLUSTERING_KEEPS_ROWS),),
    Service.CLEANING: ((PlantedBug.CLEAN_ONE_TOO_MANY, Promise.QUERIES_KEEP_FILES),),
    Service.INDEXING: ((PlantedBug.SKIP_CATCH_UP, Promise.INDEX_AGREES),),
}
_OF_CONTROLS: Mapping[Control, tuple[Planted, ...]] = {
    Control.NONE: (),
    Control.OPTIMISTIC: (
        (PlantedBug.SKIP_CONFLICT_CHECK, Promise.NO_LOST_UPDATE),
        (PlantedBug.SKIP_KEY_CHECK, Promise.NO_DUPLICATE_KEYS),
    ),
    Control.PESSIMISTIC: ((PlantedBug.SKIP_KEY_CHECK, Promise.NO_DUPLICATE_KEYS),),
    Control.NON_BLOCKING: (),
}
_OF_ALL: tuple[Planted, ...] = (
    (PlantedBug.IGNORE_HEARTBEAT, Promise.LIVE_WRITER_KEPT),
    (PlantedBug.SKIP_UPDATE_METADATA, Promise.LEGAL_TRANSITIONS),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What one exploration found; `broken` has the length of the shortest history that breaks each promise."""

    states: int
    depth: int
    exhausted: bool
    broken: dict[Promise, int]


@dataclass(frozen=True, slots=True)
class Noticed:
    """A planted bug, the promise that noticed it, and the length of the shortest history without a fault."""

    bug: PlantedBug
    promise: Promise
    length: int


@dataclass(frozen=True, slots=True)
class Row:
    """One combination: explored without a fault and with one, and the bug that is noticed in it."""

    combination: Combination
    calm: Found
    faulty: Found
    noticed: Noticed | None

    @property
    def states(self) -> int:
        """Distinct states of the larger of the two explorations: many of the smaller one's are among them."""
        return max(self.calm.states, self.faulty.states)

    def is_enough(self, limits: Limits) -> bool:
        """Whether it looked at as many states as `limits` ask for, or at all that there are."""
        calm = self.calm.exhausted or self.calm.states >= limits.calm_states
        return calm and (self.faulty.exhausted or self.faulty.states >= limits.states)


_PLAIN_STATES = 200_000


def explored_fittingly(config: Config, most: int, until: Promise | None) -> Exploration:
    """Plainly, or compactly where there may be many states."""
    if most <= _PLAIN_STATES:
        return explore(config, max_states=most, until=until)
    return Search(config, max_states=most, until=until).run()


def covered(combination: Combination, limits: Limits, by: Explore = explored_fittingly) -> Row:
    """The row of a combination."""
    calm = _found_in(by(config_of(combination, faults=False), limits.calm_states, None))
    faulty = _found_in(by(config_of(combination, faults=True), limits.states, None))
    return Row(combination, calm, faulty, noticed_bug(combination, set(calm.broken), by))


def noticed_bug(combination: Combination, broken: set[Promise], by: Explore = explored_fittingly) -> Noticed | None:
    """The first bug of the combination's that, without a fault, breaks a promise outside `broken`."""
    for bug, promise in _bugs(combination):
        if promise not in broken:
            config = replace(config_of(combination, faults=False), planted=bug)
            example = by(config, PLANTED_STATES, promise).counterexamples.get(promise)
            if example is not None:
                return Noticed(bug, promise, len(example.moves))
    return None


def _bugs(combination: Combination) -> Iterator[Planted]:
    """The bugs that may be planted, those that are most its own first."""
    yield from _OF_SERVICES[combination.service]
    yield from _OF_CONTROLS[combination.control]
    yield from _OF_ALL


def _found_in(exploration: Exploration) -> Found:
    examples = exploration.counterexamples
    lengths = {promise: len(examples[promise].moves) for promise in Promise if promise in examples}
    return Found(exploration.states, exploration.depth, exploration.exhausted, lengths)


def row_as_json(row: Row) -> dict[str, Any]:
    """A row, for a file of rows."""
    noticed = row.noticed
    return {
        "combination": [choice.value for choice in row.combination.choices],
        "calm": _found_as_json(row.calm),
        "faulty": _found_as_json(row.faulty),
        "noticed": None if noticed is None else [noticed.bug.value, noticed.promise.value, noticed.length],
    }


def _found_as_json(found: Found) -> dict[str, Any]:
    broken = {promise.value: length for promise, length in found.broken.items()}
    return {"states": found.states, "depth": found.depth, "exhausted": found.exhausted, "broken": broken}


def row_from_json(saved: Mapping[str, Any]) -> Row:
    """The row that `row_as_json` wrote. Raises `KeyError`, `TypeError` or `ValueError` for anything else."""
    kinds = (TableType, Control, ClockKind, Lock, Service)
    choices = (kind(value) for kind, value in zip(kinds, saved["combination"], strict=True))
    noticed = saved["noticed"]
    return Row(
        Combination(*choices),  # type: ignore[arg-type]  # in the order of the fields
        _found_from_json(saved["calm"]),
        _found_from_json(saved["faulty"]),
        None if noticed is None else Noticed(PlantedBug(noticed[0]), Promise(noticed[1]), int(noticed[2])),
    )


def _found_from_json(saved: Mapping[str, Any]) -> Found:
    broken = {Promise(name): int(length) for name, length in saved["broken"].items()}
    return Found(int(saved["states"]), int(saved["depth"]), saved["exhausted"] is True, broken)
