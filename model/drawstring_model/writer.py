"""A writer's life, in order: from its requested time to its data files; `drawstring_model.completion` has the rest.

Source: the specification's "Writer expectations", RFC-22, Java ``BaseHoodieWriteClient``. The rules for the table lock
are in `drawstring_model.lock`, giving up is in `drawstring_model.conflict`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from drawstring_model.config import ConcurrencyControl, Config, PlantedBug, RollbackPolicy, numbered
from drawstring_model.conflict import next_token
from drawstring_model.reader import apply_changes, file_slices
from drawstring_model.rule import Rule, given, later, ticked, with_item, without_item, without_live
from drawstring_model.state import (
    Changes,
    DataFile,
    Group,
    Heartbeat,
    Key,
    LiveOperation,
    Move,
    Phase,
    PlannedFile,
    Time,
    World,
    Writer,
    WrittenFile,
)
from drawstring_spec.steps import Step

_FILE_EXISTS = "the file exists, and the storage does not replace it"


class GenerateRequestedTime(Rule):
    """The writer takes the time that identifies its operation.

    Enabled: the writer is idle and, where writers lock, believes that it holds the table lock; the clocks may give
    this time out (a monotonic clock only times later than every earlier one).
    Effect: the writer has the time; the clock has shown it.
    Unchanged: all files.
    """

    step = Step.GENERATE_REQUESTED_TIME
    phases = frozenset({Phase.START})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The next tick; clocks that are not monotonic may also be behind, down to the skew of the bounds."""
        del writer
        if not may_start(world, number, config):
            return
        skew = 0 if config.clock.is_monotonic else config.bounds.clock_skew
        earliest = world.clock + 1 if config.clock.is_monotonic else max(1, world.clock + 1 - skew)
        for time in range(earliest, world.clock + 2):
            yield Move(self.step, number, time=time)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, and to a monotonic clock that would repeat itself."""
        if config.locking and not writer.has_lock:
            return "the writer does not hold the table lock"
        if move.time is None or not later(world, move.time, config):
            return f"the clock has already given out {world.clock}"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """One more operation is started."""
        del config
        time = given(move.time)
        started = world.started + 1
        world = world._replace(clock=ticked(world, time), started=started)
        return world, writer._replace(phase=Phase.TIMED, requested=time, number=started)


class StartHeartbeat(Rule):
    """The writer's heartbeat exists before its instant does, so nobody takes it for dead.

    Enabled: the writer has a requested time. (Under eager rollback nobody looks at heartbeats; the explorer leaves
    them out there.)
    Effect: a fresh heartbeat file of that time; one of an equal time is replaced.
    Unchanged: the timeline, the data files, the locks.
    """

    step = Step.START_HEARTBEAT
    phases = frozenset({Phase.TIMED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Always, where heartbeats matter."""
        del world, writer
        if config.rollback is RollbackPolicy.LAZY:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Never refused."""
        del world, writer, move, config
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The heartbeat is alive."""
        del config
        others = (beat for beat in world.heartbeats if beat.requested != writer.requested)
        beats = tuple(sorted((*others, Heartbeat(writer.requested, expired=False))))
        live = LiveOperation(writer.requested, given(move.writer), is_on_timeline=False)
        world = world._replace(heartbeats=beats, ghost_live=with_item(world.ghost_live, live))
        return world, writer._replace(phase=Phase.BEATING, beating=True)


class RequestInstant(Rule):
    """The requested file of the instant appears on the timeline.

    Enabled: the writer's heartbeat beats, where heartbeats matter; where writers lock, it believes that it still
    holds the lock under which it took its time; a storage with put-if-absent has no such file yet.
    Effect: the file exists; the operation lives.
    Unchanged: the data files, the heartbeats, the locks.
    """

    step = Step.REQUEST_INSTANT
    phases = frozenset({Phase.TIMED, Phase.BEATING})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Always."""
        del world, writer, config
        yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused before the heartbeat, without the lock, and where the file exists."""
        del move
        if writer.phase is Phase.TIMED and config.rollback is RollbackPolicy.LAZY:
            return "the heartbeat does not beat yet"
        if config.locking and not writer.has_lock:
            return "the writer does not hold the table lock"
        if writer.requested in world.requested and not adopts_files(config):
            return _FILE_EXISTS
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The instant is pending. A writer whose heartbeat expired before counts as dead already."""
        live = LiveOperation(writer.requested, given(move.writer), is_on_timeline=False)
        if live in world.ghost_live or config.rollback is RollbackPolicy.EAGER:
            others = without_live(world, writer.requested, move.writer)
            world = world._replace(ghost_live=with_item(others, live._replace(is_on_timeline=True)))
        world = world._replace(requested=with_item(world.requested, writer.requested))
        return world, writer._replace(phase=Phase.REQUESTED)


class LookupKeys(Rule):
    """The writer fixes its snapshot, finds each key's file group in it, and merges.

    The snapshot holds what is completed now *and was requested before the writer's own operation*. Without the
    second half a writer could build on a version that readers of its own time never see, and would hide behind a
    version with a greater requested time when it completes.

    Enabled: the instant is requested and the table lock was given back; each key that the snapshot does not hold is
    placed in a file group.
    Effect: the writer knows its snapshot, its changes and the data files that it is going to write; deletes of keys
    that are not there are dropped.
    Unchanged: the world.
    """

    step = Step.LOOKUP_KEYS
    phases = frozenset({Phase.REQUESTED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The operation of the workload, with every placement of the keys that are new."""
        changes = numbered(config.bounds.workload[writer.number - 1], writer.number)
        known = _known_keys(world, lookup_basis(world, writer, config))
        new = [key for key, value in changes if value is not None and key not in known]
        for groups in product(range(1, config.bounds.groups + 1), repeat=len(new)):
            if writer.number == 1 and groups[:1] > (1,):
                continue  # File groups are alike: call the one that the first operation chooses first 1.
            yield Move(self.step, number, changes=changes, placement=tuple(zip(new, groups, strict=True)))

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and where a new key has no file group or a known one has one given."""
        if writer.has_lock:
            return "the writer still holds the table lock"
        known = _known_keys(world, lookup_basis(world, writer, config))
        new = {key for key, value in move.changes or () if value is not None and key not in known}
        if move.changes is None or {key for key, _ in move.placement or ()} != new:
            return f"the keys to place are {sorted(new)}"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The merge is planned."""
        basis = lookup_basis(world, writer, config)
        known = _known_keys(world, basis)
        placement = move.placement or ()
        found = tuple((key, value) for key, value in move.changes or () if key in known or value is not None)
        homes = {**known, **dict(placement)}
        return world, writer._replace(
            phase=Phase.LOOKED_UP,
            snapshot=writer_snapshot(world, writer, config),
            changes=found,
            new_keys=tuple(key for key, _ in placement),
            plan=_merged(world, basis, found, homes),
        )


class StartInflight(Rule):
    """The inflight file of the instant appears on the timeline.

    Enabled: the keys are looked up; under pessimistic control the file groups are locked; a storage with
    put-if-absent has no such file yet.
    Effect: the file exists.
    Unchanged: the data files, the heartbeats, the locks.
    """

    step = Step.START_INFLIGHT
    phases = frozenset({Phase.LOOKED_UP})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Always."""
        del world, writer, config
        yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused before the file groups are locked, and where the file exists."""
        del move
        if config.concurrency is ConcurrencyControl.PESSIMISTIC:
            mine = {lock.group for lock in world.group_locks if lock.owner == writer.number}
            if any(file.group not in mine for file in writer.plan):
                return "the writer does not hold the locks of its file groups"
        if writer.requested in world.inflight and not adopts_files(config):
            return _FILE_EXISTS
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The instant is inflight."""
        del move, config
        inflight = with_item(world.inflight, writer.requested)
        return world._replace(inflight=inflight), writer._replace(phase=Phase.INFLIGHT)


class WriteFile(Rule):
    """One data file of the operation is on storage, not yet visible to anybody.

    Enabled: the instant is inflight, the file is planned and not written; a storage with put-if-absent has no such
    file yet.
    Effect: the file exists; without put-if-absent one of the same name is replaced.
    Unchanged: the timeline, the heartbeats, the locks.
    """

    step = Step.WRITE_FILE
    phases = frozenset({Phase.INFLIGHT})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The planned files in their order: nobody sees a pending operation's files, so no other order matters."""
        if writer.plan:
            group = writer.plan[0].group
            yield Move(self.step, number, group=group, token=next_token(world, group, writer.requested, config))

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused for files that are not planned, and where the file exists."""
        if move.group not in {file.group for file in writer.plan}:
            return f"file group {move.group} is not one that is left to write"
        name = (move.group, writer.requested, move.token)
        if any(file[:3] == name for file in world.files) and not config.replaces_files():
            return _FILE_EXISTS
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The planned rows are in the file."""
        del config
        planned = next(file for file in writer.plan if file.group == move.group)
        token = given(move.token)
        written = WrittenFile(planned.group, token, planned.base, planned.rows)
        file = DataFile(planned.group, writer.requested, token, planned.rows)
        others = (other for other in world.files if other[:3] != file[:3])
        return world._replace(files=tuple(sorted((*others, file)))), writer._replace(
            plan=without_item(writer.plan, planned), written=with_item(writer.written, written)
        )


def may_start(world: World, number: int, config: Config) -> bool:
    """Whether the explorer lets writer `number` start an operation: writers are alike, so writer 0 starts the first."""
    return world.started < len(config.bounds.workload) and (world.started > 0 or number == 0)


def adopts_files(config: Config) -> bool:
    """Whether a writer goes on where its timeline file exists: replaced unseen, or taken for its own by mistake."""
    return config.planted is PlantedBug.ADOPT_COLLIDING_TIME or config.replaces_files()


def writer_snapshot(world: World, writer: Writer, config: Config) -> tuple[tuple[Time, Time], ...]:
    """(requested, completion) of the commits that a writer that looks keys up now builds on."""
    ahead = config.planted is PlantedBug.SNAPSHOT_AHEAD_OF_TIME
    return tuple(
        (commit.requested, commit.completion)
        for commit in world.commits
        if ahead or commit.requested < writer.requested
    )


def lookup_basis(world: World, writer: Writer, config: Config) -> tuple[tuple[Time, Time], ...]:
    """The commits that keys are looked up in: the snapshot, unless that rule is broken."""
    if config.planted is PlantedBug.LOOKUP_AHEAD_OF_TIME:
        return tuple((commit.requested, commit.completion) for commit in world.commits)
    return writer_snapshot(world, writer, config)


def _known_keys(world: World, snapshot: tuple[tuple[Time, Time], ...]) -> dict[Key, Group]:
    """The file group of each key in `snapshot`; of a key in several the first."""
    slices = file_slices(world, {requested for requested, _ in snapshot})
    return {key: file.group for file in reversed(slices.values()) for key, _ in file.rows}


def _merged(
    world: World, snapshot: tuple[tuple[Time, Time], ...], changes: Changes, homes: dict[Key, Group]
) -> tuple[PlannedFile, ...]:
    """The files that `changes` make of the slices of `snapshot`, one for each file group that is touched."""
    slices = file_slices(world, {requested for requested, _ in snapshot})
    planned = []
    for group in sorted({homes[key] for key, _ in changes}):
        base = slices.get(group)
        table = dict(base.rows) if base else {}
        apply_changes(table, tuple(change for change in changes if homes[change[0]] == group))
        planned.append(PlannedFile(group, base.requested if base else None, tuple(sorted(table.items()))))
    return tuple(planned)
