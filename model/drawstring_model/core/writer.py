"""A writer's life, in order: from its requested time to its completion.

Source: the specification's "Writer expectations", RFC-22, Java ``BaseHoodieWriteClient``. The rules for the table lock
are in `drawstring_model.core.lock`, giving up is in `drawstring_model.core.conflict`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from drawstring_model.core.config import Config, PlantedBug, numbered
from drawstring_model.core.conflict import conflict_reason, fenced
from drawstring_model.core.lock import locked, may_start
from drawstring_model.core.module import Rule, Snapshot, given, later, modules_of, ticked, with_item, without_item
from drawstring_model.core.reader import apply_changes, file_slices, pending_instants
from drawstring_model.core.state import (
    Changes,
    Commit,
    DataFile,
    Group,
    Key,
    Move,
    Phase,
    PlannedFile,
    World,
    Writer,
    WrittenFile,
    ended,
    finished,
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
        """The next tick."""
        if may_start(world, number, config):
            yield Move(self.step, number, time=world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, and to a monotonic clock that would repeat itself."""
        if config.locking and not writer.has_lock:
            return "the writer does not hold the table lock"
        if move.time is None or not later(world, move.time, config):
            return f"the clock has already given out {world.clock}"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """One more operation is started."""
        time = given(move.time)
        started = world.started + 1
        world = world._replace(clock=ticked(world, time), started=started)
        return world, writer._replace(phase=Phase.TIMED, requested=time, number=started)


class RequestInstant(Rule):
    """The requested file of the instant appears on the timeline.

    Enabled: where writers lock, the writer believes that it still holds the lock under which it took its time; there is
    no such file yet.
    Effect: the file exists.
    Unchanged: the data files, the lock.
    """

    step = Step.REQUEST_INSTANT
    phases = frozenset({Phase.TIMED, Phase.BEATING})

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused without the lock, and where the file exists."""
        if config.locking and not writer.has_lock:
            return "the writer does not hold the table lock"
        if writer.requested in world.requested:
            return _FILE_EXISTS
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The instant is pending."""
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
        known = _known_keys(world, lookup_basis(world, writer, config), config)
        new = [key for key, value in changes if value is not None and key not in known]
        for groups in product(range(1, config.bounds.groups + 1), repeat=len(new)):
            if writer.number == 1 and groups[:1] > (1,):
                continue  # File groups are alike: call the one that the first operation chooses first 1.
            yield Move(self.step, number, changes=changes, placement=tuple(zip(new, groups, strict=True)))

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused in the lock, and where a new key has no file group or a known one has one given."""
        if writer.has_lock:
            return "the writer still holds the table lock"
        known = _known_keys(world, lookup_basis(world, writer, config), config)
        new = {key for key, value in move.changes or () if value is not None and key not in known}
        if move.changes is None or {key for key, _ in move.placement or ()} != new:
            return f"the keys to place are {sorted(new)}"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The merge is planned."""
        basis = lookup_basis(world, writer, config)
        known = _known_keys(world, basis, config)
        placement = move.placement or ()
        found = tuple((key, value) for key, value in move.changes or () if key in known or value is not None)
        homes = {**known, **dict(placement)}
        return world, writer._replace(
            phase=Phase.LOOKED_UP,
            snapshot=writer_snapshot(world, writer, config),
            changes=found,
            new_keys=tuple(key for key, _ in placement),
            plan=planned_files(world, basis, found, homes, config),
        )


class StartInflight(Rule):
    """The inflight file of the instant appears on the timeline.

    Enabled: the keys are looked up; there is no such file yet.
    Effect: the file exists.
    Unchanged: the data files, the lock.
    """

    step = Step.START_INFLIGHT
    phases = frozenset({Phase.LOOKED_UP})

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused where the file exists."""
        if writer.requested in world.inflight:
            return _FILE_EXISTS
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The instant is inflight."""
        inflight = with_item(world.inflight, writer.requested)
        return world._replace(inflight=inflight), writer._replace(phase=Phase.INFLIGHT)


class WriteFile(Rule):
    """One data file of the operation is on storage, not yet visible to anybody.

    Enabled: the instant is inflight, the file is planned and not written; there is no such file yet.
    Effect: the file exists.
    Unchanged: the timeline, the lock.
    """

    step = Step.WRITE_FILE
    roles = None
    phases = frozenset({Phase.INFLIGHT})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The planned files in their order: nobody sees a pending operation's files, so no other order matters."""
        if writer.plan:
            yield Move(self.step, number, group=writer.plan[0].group, token=0)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused for files that are not planned, and where the file exists."""
        if move.group not in {file.group for file in writer.plan}:
            return f"file group {move.group} is not one that is left to write"
        name = (move.group, writer.requested, move.token)
        if any(file[:3] == name for file in world.files):
            return _FILE_EXISTS
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The planned rows are in the file."""
        planned = next(file for file in writer.plan if file.group == move.group)
        token = given(move.token)
        written = WrittenFile(planned.group, token, planned.base, planned.rows, planned.is_log)
        file = DataFile(planned.group, writer.requested, token, planned.rows, planned.is_log)
        writer = writer._replace(plan=without_item(writer.plan, planned), written=with_item(writer.written, written))
        return world._replace(files=with_item(world.files, file)), writer


class CheckConflicts(Rule):
    """Under the lock the writer compares its work with all that completed since its snapshot, and passes.

    Enabled: all files are written; where writers lock, the writer believes that it holds the table lock; it is not
    fenced, and `drawstring_model.core.conflict.conflict_reason` finds nothing.
    Effect: the writer may complete.
    Unchanged: the world.
    """

    step = Step.CHECK_CONFLICTS
    roles = None
    phases = frozenset({Phase.INFLIGHT})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """Once the files are written."""
        if not writer.plan:
            yield Move(self.step, number)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused with work left, without the lock, to a fenced writer, and for a conflict."""
        if writer.plan:
            return "not all data files are written"
        if config.locking and not writer.has_lock:
            return "the writer does not hold the table lock"
        if fenced(world, writer, config):
            return "the heartbeat expired or the instant was rolled back"
        reason = conflict_reason(world, writer, config)
        return f"there is a conflict: {reason}" if reason else None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The snapshot is needed no more."""
        return world, writer._replace(phase=Phase.CHECKED, snapshot=())


class UpdateMetadata(Rule):
    """Under the lock the metadata table learns of the operation, before the operation is complete.

    Enabled: the conflict check was passed.
    Effect: the metadata table has an entry for the requested time; its readers ignore it until the instant is
    complete.
    Unchanged: the table's own files.
    """

    step = Step.UPDATE_METADATA
    roles = None
    phases = frozenset({Phase.CHECKED})

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The metadata table knows."""
        if config.planted is not PlantedBug.SKIP_UPDATE_METADATA:
            world = world._replace(metadata=with_item(world.metadata, writer.requested))
        return world, writer._replace(phase=Phase.UPDATED)


class CompleteInstant(Rule):
    """The completed file appears: from here on every reader sees the operation whole.

    Enabled: the metadata table knows; where writers lock, the writer holds the lock, whatever it believes (the put
    carries its lease's deadline); the clocks may give this completion time out, later than the requested time.
    Effect: the commit is there.
    Unchanged: the data files, the requested and the inflight file.
    """

    step = Step.COMPLETE_INSTANT
    roles = None
    phases = frozenset({Phase.UPDATED})

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterator[Move]:
        """The next tick."""
        early = config.planted is PlantedBug.EARLY_COMPLETION_TIME
        yield Move(self.step, number, time=writer.requested if early else world.clock + 1)

    def refusal(self, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Refused once the lease ran out, and for a time that the clocks cannot show."""
        unfenced = config.planted is PlantedBug.NO_FENCING
        if not unfenced and not locked(world, writer, given(move.writer), config):
            return "the lease of the table lock ran out"
        if config.planted is PlantedBug.EARLY_COMPLETION_TIME:
            return None
        if move.time is None or move.time <= writer.requested or not later(world, move.time, config):
            return f"the clock has already given out {world.clock}"
        return None

    def effect(self, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """The operation is complete."""
        time = given(move.time)
        commit = Commit(writer.requested, time, writer.written, writer.changes, writer.new_keys)
        world = world._replace(commits=with_item(world.commits, commit), clock=ticked(world, time))
        return world, finished(ended(writer, Phase.COMPLETED))


def writer_snapshot(world: World, writer: Writer, config: Config) -> Snapshot:
    """(requested, completion) of the commits that a writer that looks keys up now builds on."""
    ahead = config.planted is PlantedBug.SNAPSHOT_AHEAD_OF_TIME
    return tuple(
        (commit.requested, commit.completion)
        for commit in world.commits
        if ahead or commit.requested < writer.requested
    )


def lookup_basis(world: World, writer: Writer, config: Config) -> Snapshot:
    """The commits that keys are looked up in: the snapshot, unless that rule is broken."""
    if config.planted is PlantedBug.LOOKUP_AHEAD_OF_TIME:
        return tuple((commit.requested, commit.completion) for commit in world.commits)
    return writer_snapshot(world, writer, config)


def snapshot_of(world: World, snapshot: Snapshot, config: Config) -> dict[Group, DataFile]:
    """What a writer that builds on `snapshot` reads of each file group."""
    visible = {*(requested for requested, _ in snapshot), *pending_instants(world, config)}
    return file_slices(world, visible, config)


def _known_keys(world: World, snapshot: Snapshot, config: Config) -> dict[Key, Group]:
    """The file group of each key in `snapshot`; of a key in several the first."""
    slices = snapshot_of(world, snapshot, config)
    return {key: file.group for file in reversed(slices.values()) for key, _ in file.rows}


def planned_files(
    world: World, snapshot: Snapshot, changes: Changes, homes: Mapping[Key, Group], config: Config
) -> tuple[PlannedFile, ...]:
    """The files that `changes` take: merged with the slices of `snapshot`, one for each file group that is touched."""
    for module in modules_of(config):
        planned = module.planned(world, snapshot, changes, homes, config)
        if planned is not None:
            return planned
    slices = snapshot_of(world, snapshot, config)
    files = []
    for group in sorted({homes[key] for key, _ in changes}):
        base = slices.get(group)
        table = {key: value for key, value in base.rows if value is not None} if base else {}
        apply_changes(table, tuple(change for change in changes if homes[change[0]] == group))
        files.append(PlannedFile(group, base.requested if base else None, tuple(sorted(table.items()))))
    return tuple(files)
