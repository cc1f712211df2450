"""Running queries: a reader lists the files of its snapshot, and opens them one by one.

`drawstring_model.core.reader` says what a snapshot is; where a table never deletes a file that was visible, it does not
matter how long a query takes. Where files go (`drawstring_model.modules.cleaning`), it does: a query that has planned
its file slices has no lock, and nobody knows of it. A file that is gone ends it with an error, never with fewer rows.
The module promises nothing by itself; it gives other modules something to lose.
Source: Java ``HoodieFileIndex``, ``AbstractTableFileSystemView``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from drawstring_model.core.config import Config
from drawstring_model.core.invariants import snapshot_times
from drawstring_model.core.module import Module, Rule, given, modules_of, part, with_part
from drawstring_model.core.reader import pending_instants, snapshot_slices, visible_commits
from drawstring_model.core.state import FileName, Move, Phase, Time, World, Writer
from drawstring_model.modules.log_files import LogFiles, read_slice
from drawstring_spec.steps import Step

READER = "reader"


class Query(NamedTuple):
    """A running query: its snapshot time, and the files that it has not opened yet."""

    as_of: Time
    left: tuple[FileName, ...]


class Queries(NamedTuple):
    """How many queries were planned, and the one that runs."""

    planned: int = 0
    running: Query | None = None


def running_query(world: World) -> Query | None:
    """The query that runs."""
    return part(world, Queries).running


def names_on_storage(world: World) -> frozenset[FileName]:
    """The names of all data files."""
    return frozenset(file[:3] for file in world.files)


def files_read(world: World, as_of: Time, config: Config) -> tuple[FileName, ...]:
    """The files of all slices of a snapshot as of `as_of`, base files and log files."""
    if not any(isinstance(module, LogFiles) for module in config.modules):
        return tuple(sorted(file[:3] for file in snapshot_slices(world, as_of, config).values()))
    visible = {commit.requested for commit in visible_commits(world, as_of, config)}
    visible |= {time for time in pending_instants(world, config) if time <= as_of}
    names: list[FileName] = []
    for group in sorted({file.group for file in world.files}):
        chosen = read_slice(world, group, visible, config)
        if chosen is not None:
            names += [file[:3] for file in (*((chosen.base,) if chosen.base else ()), *chosen.logs)]
    return tuple(sorted(names))


class PlanQuery(Rule):
    """A query lists the files of its snapshot.

    Enabled: the query is a reader's that runs no other; its snapshot time is not refused.
    Effect: the query runs; it has all files of its slices to open.
    Unchanged: everything else; nobody knows of the query.
    """

    step = Step.PLAN_QUERY
    phases = frozenset({Phase.START})
    roles = frozenset({READER})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """As of each commit, within the module's bounds."""
        del writer
        bound = next(module.queries for module in config.modules if isinstance(module, QueryModule))
        if part(world, Queries).planned < bound:
            for time in snapshot_times(world, config):
                yield Move(self.step, number, time=time)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused beside another query, and for a time that is not kept."""
        del writer
        if running_query(world):
            return "the reader runs another query"
        time = given(move.time)
        if any(module.refuses(world, time) for module in modules_of(config)):
            return f"the table has no answer as of {time} any more"
        return None if files_read(world, time, config) else f"there is nothing to read as of {time}"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The query runs."""
        time, planned = given(move.time), part(world, Queries).planned + 1
        return with_part(world, Queries(planned, Query(time, files_read(world, time, config)))), writer


class OpenFile(Rule):
    """A query opens the next of its files; where it is gone, the query fails and says so.

    Enabled: the query has files left.
    Effect: the file is no longer left; with the last one, and with one that is gone, the query is over.
    Unchanged: everything else.
    """

    step = Step.OPEN_FILE
    phases = frozenset({Phase.START})
    roles = frozenset({READER})

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without a query."""
        del writer, move, config
        return None if running_query(world) else "no query runs"

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """One file fewer."""
        del move, config
        planned, query = part(world, Queries)
        gone = query is None or query.left[0] not in names_on_storage(world)
        rest = None if query is None or gone or not query.left[1:] else query._replace(left=query.left[1:])
        return with_part(world, Queries(planned, rest)), writer


@dataclass(frozen=True, slots=True)
class QueryModule(Module):
    """One reader, which the explorer lets run `queries` queries, one after the other."""

    name = "queries"
    roles = (READER,)
    rules = (PlanQuery(), OpenFile())
    queries: int = 1
