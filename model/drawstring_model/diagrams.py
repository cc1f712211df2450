"""State diagrams of the protocol, drawn from its rules: what was seen to happen when every state was visited.

A `Diagram` says what it is about: things (a writer, an instant, the lock) and the status of each in a state. The arrows
are collected from all steps between all states within small bounds, so a rule that changes changes its diagrams; an
arrow that is not there cannot be taken. The result is Mermaid's ``stateDiagram-v2``, which GitHub draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from drawstring_model.config import CLEANED, CLUSTERED, COPY_ON_WRITE, MERGE_ON_READ, Bounds, Config, upsert
from drawstring_model.core.module import part
from drawstring_model.core.protocol import process_moves, start, world_moves
from drawstring_model.core.state import FREE, ORPHANED, WRITER, Move, State, Time, World, Writer
from drawstring_model.modules.archival import Archival
from drawstring_model.modules.archived import Archive, archived_entries
from drawstring_model.modules.cleaning import Cleans
from drawstring_model.modules.clustering import Clusterings
from drawstring_model.modules.heartbeats import Heartbeats
from drawstring_model.modules.log_files import Plans
from drawstring_model.modules.metadata_table import MetadataFiles, MetadataTable, pending_in_table
from drawstring_model.modules.rollback import rollbacks_of
from drawstring_spec.steps import Step

Thing = tuple[str, int]
"""A process by its number, or an instant by its requested time."""
Statuses = Mapping[Thing, str]
"""The status of each thing; what is not there has none."""
Arrow = tuple[str | None, Step | None, str | None]
"""From, step, to; None for what is not there, and for the step by which a thing is there from the beginning."""


@dataclass(frozen=True, slots=True)
class Diagram:
    """What a state diagram is about.

    Attributes:
        name: by which the command and the pages ask for it.
        about: one sentence.
        config: whose states are visited.
        statuses: the status of each thing in a state.

    """

    name: str
    about: str
    config: Config
    statuses: Callable[[State], Statuses]


_PROCESS, _INSTANT = "process", "instant"


def _writers(state: State) -> Statuses:
    return {
        (_PROCESS, number): "idle" if writer.phase == 0 else writer.phase.name.lower()
        for number, writer in enumerate(state.writers)
        if writer.role == WRITER
    }


def _instants(world: World, times: set[Time]) -> Statuses:
    """How far the instants of `times` are on the timeline."""
    reached = {(_INSTANT, time): "requested" for time in world.requested if time in times}
    reached |= {(_INSTANT, time): "inflight" for time in world.inflight if time in times}
    completed = {(_INSTANT, commit.requested): "completed" for commit in world.commits if commit.requested in times}
    return reached | completed


def _services(world: World) -> set[Time]:
    compactions = {plan.requested for plan in part(world, Plans).all}
    return compactions | {plan.requested for plan in part(world, Clusterings).all}


def _writes(state: State) -> Statuses:
    world = state.world
    return _instants(world, {*world.requested, *world.inflight} - _services(world))


def _plans(state: State) -> Statuses:
    times = _services(state.world)
    return {**{(_INSTANT, time): "requested" for time in times}, **_instants(state.world, times)}


def _rollbacks(state: State) -> Statuses:
    return {(_INSTANT, each.requested): each.state.name.lower() for each in rollbacks_of(state.world)}


def _cleans(state: State) -> Statuses:
    return {(_INSTANT, clean.requested): clean.state.name.lower() for clean in part(state.world, Cleans).all}


def _blocks(state: State) -> Statuses:
    """What a reader makes of each log block of the metadata table."""
    pending = pending_in_table(state.world)
    return {
        (_INSTANT, block.requested): (
            "inflight" if block.completion is None else "passed over" if block.requested in pending else "read"
        )
        for block in part(state.world, MetadataFiles).blocks
    }


def _archived(state: State) -> Statuses:
    dropped, entries = part(state.world, Archive).dropped, archived_entries(state.world)

    def status(time: Time) -> str:
        return "archived" if time in dropped else "on both" if time in entries else "active"

    return {(_INSTANT, commit.requested): status(commit.requested) for commit in state.world.commits}


def _heartbeats(state: State) -> Statuses:
    beats = part(state.world, Heartbeats).beats
    return {(_INSTANT, beat.requested): "expired" if beat.expired else "beating" for beat in beats}


def _lock(state: State) -> Statuses:
    return {("lock", 0): {FREE: "free", ORPHANED: "held by the dead"}.get(state.world.lock, "held")}


_TWO = Config(
    bounds=Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=1, faults_until=1),
)
_ALONE = Bounds(writers=1, workload=(upsert(1),), groups=1, faults=1, renewals=1)
_SERVED = Bounds(writers=1, workload=(upsert(1), upsert(1)), groups=1, lock_expiries=0, heartbeat_expiries=0)
_CLEANED = replace(_SERVED, workload=(upsert(1),) * 3)

DIAGRAMS: Mapping[str, Diagram] = {
    diagram.name: diagram
    for diagram in (
        Diagram("writer", "a writer's phases, beside another writer, with one fault", _TWO, _writers),
        Diagram("instant", "a write's instant on the timeline", _TWO, _writes),
        Diagram("heartbeat", "a heartbeat, of a writer that may stall", Config(bounds=_ALONE), _heartbeats),
        Diagram("lock", "the table lock, a lease", _TWO, _lock),
        Diagram("rollback", "a rollback's instant", Config(bounds=_ALONE), _rollbacks),
        Diagram(
            "compaction",
            "a compaction's instant, with one crash",
            Config(modules=MERGE_ON_READ, bounds=_SERVED),
            _plans,
        ),
        Diagram(
            "clustering", "a clustering's instant, with one crash", Config(modules=CLUSTERED, bounds=_SERVED), _plans
        ),
        Diagram(
            "metadata",
            "a log block of the metadata table, with one crash",
            Config(modules=(*COPY_ON_WRITE, MetadataTable()), bounds=_SERVED),
            _blocks,
        ),
        Diagram(
            "archive",
            "a completed write on the two timelines, with one crash",
            Config(modules=(*COPY_ON_WRITE, Archival()), bounds=_SERVED),
            _archived,
        ),
        Diagram("clean", "a clean's instant, with one crash", Config(modules=CLEANED, bounds=_CLEANED), _cleans),
    )
}
"""All diagrams, by name."""


def arrows(diagram: Diagram) -> tuple[Arrow, ...]:
    """Everything that was seen to happen to one thing in one step, each once, in the order of the steps."""
    beginning = diagram.statuses(start(diagram.config))
    seen: set[Arrow] = {(None, None, status) for status in beginning.values()}
    statuses = cache(diagram.statuses)
    for before, move, after in steps(diagram.config):
        was, now = statuses(before), statuses(after)
        for thing in {*was, *now}:
            pair = was.get(thing), now.get(thing)
            if pair[0] != pair[1] or thing in ((_PROCESS, move.writer), (_INSTANT, move.target)):
                seen.add((pair[0], move.step, pair[1]))
    order: dict[Step | None, int] = {None: -1} | {step: number for number, step in enumerate(Step)}
    return tuple(sorted(seen, key=lambda arrow: (order[arrow[1]], str(arrow))))


def steps(config: Config) -> Iterator[tuple[State, Move, State]]:
    """Every step between two states within the bounds of `config`."""
    known: dict[tuple[World, Writer, int], tuple[tuple[Move, World, Writer], ...]] = {}
    first = start(config)
    seen, left = {first}, [first]
    while left:
        state = left.pop()
        following = [(move, state._replace(world=world)) for move, world in world_moves(state.world, config)]
        for number, writer in enumerate(state.writers):
            key = (state.world, writer, number)
            if key not in known:
                known[key] = tuple(process_moves(state.world, writer, number, config))
            for move, world, own in known[key]:
                writers = (*state.writers[:number], own, *state.writers[number + 1 :])
                following.append((move, State(world, writers)))
        for move, after in following:
            yield state, move, after
            if after not in seen:
                seen.add(after)
                left.append(after)


@cache
def rendered(name: str) -> str:
    """The diagram of that name as Mermaid, one arrow for all steps between two statuses."""
    labels: dict[tuple[str, str], list[str]] = {}
    for before, step, after in arrows(DIAGRAMS[name]):
        label = labels.setdefault((_node(before), _node(after)), [])
        if step is not None:
            label.append(step.value)
    lines = ["stateDiagram-v2"]
    for (before, after), names in labels.items():
        lines.append(f"    {before} --> {after}" + (f": {', '.join(names)}" if names else ""))
    return "\n".join(lines) + "\n"


def _node(status: str | None) -> str:
    return "[*]" if status is None else status.replace(" ", "_")
