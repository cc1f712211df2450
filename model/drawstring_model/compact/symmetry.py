"""What is alike: writers, and keys that every operation of the workload treats the same.

Two states of which one is the other with writers or keys renamed have futures that are each other's, renamed; one of
them is enough. Of a state's digests under all renamings the least is taken, so alike states have one digest. No state
is renamed for real: histories are those of writers and keys as they are.

Whoever writes a module says here (`_LIKE_WRITERS`, `_LIKE_KEYS`) that its parts name no writer or no key, or how they
are renamed. For a module of which nothing is said symmetry is refused. Numbers of states under symmetry are not those
that TLC counts without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations
from typing import Any

from drawstring_model.compact.encoding import Codes
from drawstring_model.core.config import Config
from drawstring_model.core.module import modules_of
from drawstring_model.core.state import Commit, Parts, World, Writer
from drawstring_model.modules.heartbeats import Heartbeats
from drawstring_spec.errors import DrawstringError

Change = Callable[[Any], Any]
"""How the value of a field is rewritten."""
_OF_NEITHER = {"clocks", "locks", "rollback", "log_files", "compaction", "log_compaction", "clustering", "cleaning"}
_OF_NEITHER |= {"queries", "indexing", "task_retries", "crashes", "savepoints", "restores", "metadata_table"}
_OF_NEITHER |= {"storage", "early_detection", "incremental", "query_types", "retries"}
_LIKE_WRITERS = frozenset(_OF_NEITHER | {"heartbeats", "non_blocking"})
"""Modules under which writers are alike: their parts name none, but for the heartbeats'."""
_LIKE_KEYS = frozenset(_OF_NEITHER | {"heartbeats"})
"""Modules under which keys are alike. Those of non-blocking writers are not: each has its bucket."""


class NoSymmetryError(DrawstringError):
    """Writers or keys are not alike in this configuration; the message says why."""


class Alike(StrEnum):
    """What may be taken for alike."""

    WRITERS = "WRITERS"
    KEYS = "KEYS"


@dataclass(frozen=True, slots=True)
class Symmetry:
    """What is taken for alike."""

    writers: bool = False
    keys: bool = False


@dataclass(frozen=True, slots=True)
class Renaming:
    """One way to rename: digests of what is renamed, and the order in which processes stand then."""

    codes: Codes
    order: tuple[int, ...]


def renamings(config: Config, symmetry: Symmetry) -> tuple[Renaming, ...]:
    """All ways to rename what is alike, the one that changes nothing first. Raises `NoSymmetryError`."""
    writers, processes = config.bounds.writers, _processes(config)
    orders = [tuple(range(writers))]
    renamed_keys: list[Mapping[int, int]] = [{}]
    if symmetry.writers:
        _refuse_unknown(config, _LIKE_WRITERS, "writers")
        if writers < 2:
            raise NoSymmetryError("there is one writer.", way_out="Leave the symmetry of writers out.")
        orders = list(permutations(range(writers)))
    if symmetry.keys:
        _refuse_unknown(config, _LIKE_KEYS, "keys")
        renamed_keys = _alike_keys(config)
        if len(renamed_keys) < 2:
            raise NoSymmetryError(
                "each key is in other operations than the next.", way_out="Leave the symmetry of keys out."
            )
    rest = tuple(range(writers, processes))
    return tuple(Renaming(_codes(order, keys), (*_inverse(order), *rest)) for order in orders for keys in renamed_keys)


def _processes(config: Config) -> int:
    return config.bounds.writers + sum(len(module.roles) for module in modules_of(config))


def _refuse_unknown(config: Config, known: frozenset[str], what: str) -> None:
    unknown = [module.name for module in modules_of(config) if module.name not in known]
    if unknown:
        raise NoSymmetryError(
            f"{what} are not known to be alike in the module {unknown[0]}.",
            way_out=f"Leave the symmetry of {what} out.",
        )


def _alike_keys(config: Config) -> list[Mapping[int, int]]:
    """The renamings of keys that leave every operation as it is."""
    workload = config.bounds.workload
    keys = sorted({key for operation in workload for key, _ in operation})
    found: list[Mapping[int, int]] = []
    for names in permutations(keys):
        renamed = dict(zip(keys, names, strict=True))
        if all({(renamed[key], written) for key, written in each} == set(each) for each in workload):
            found.append(renamed)
    return found


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """Which writer stands where after renaming writer i to ``order[i]``."""
    return tuple(order.index(position) for position in range(len(order)))


def _codes(order: tuple[int, ...], keys: Mapping[int, int]) -> Codes:
    """Digests after renaming writer i to ``order[i]`` and key k to ``keys[k]``."""
    of_world: dict[str, Change] = {}
    of_memory: dict[str, Change] = {}
    if order != tuple(range(len(order))):
        of_world |= {"lock": lambda lock: _renamed_writer(lock, order), "parts": lambda parts: _beats(parts, order)}
    if any(key != name for key, name in keys.items()):

        def rows(changes: tuple[tuple[int, Any], ...]) -> tuple[tuple[int, Any], ...]:
            return tuple(sorted((keys.get(key, key), value) for key, value in changes))

        def new_keys(given: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(sorted(keys.get(key, key) for key in given))

        def files(given: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(file._replace(rows=rows(file.rows)) for file in given)

        def commits(given: tuple[Commit, ...]) -> tuple[Commit, ...]:
            return tuple(
                each._replace(files=files(each.files), changes=rows(each.changes), new_keys=new_keys(each.new_keys))
                for each in given
            )

        of_world |= {"commits": commits, "files": files}
        of_memory |= {"changes": rows, "new_keys": new_keys, "plan": files, "written": files}
    return Codes(_by_position(World._fields, of_world), _by_position(Writer._fields, of_memory))


def _by_position(
    names: tuple[str, ...], changes: Mapping[str, Callable[[Any], Any]]
) -> dict[int, Callable[[Any], Any]]:
    return {names.index(name): change for name, change in changes.items()}


def _renamed_writer(number: int, order: tuple[int, ...]) -> int:
    """Numbers that are no writer's, as a service's process or nobody's, stay."""
    return order[number] if 0 <= number < len(order) else number


def _beats(parts: Parts, order: tuple[int, ...]) -> Parts:
    """The parts of a world with the writers of running operations renamed."""
    return tuple((kind, _renamed_beats(part, order) if kind is Heartbeats else part) for kind, part in parts)


def _renamed_beats(part: tuple[Any, ...], order: tuple[int, ...]) -> tuple[Any, ...]:
    if not isinstance(part, Heartbeats):
        raise TypeError(f"{part!r} are no heartbeats")
    live = (each._replace(writer=_renamed_writer(each.writer, order)) for each in part.ghost_live)
    return part._replace(ghost_live=tuple(sorted(live)))
