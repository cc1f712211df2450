"""Every port call of an operation as a point at which something goes wrong.

Whose duty: to run one operation on a copy of a prepared disk, strike one of its calls, and judge what readers see
then and what the next writer makes of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from drawstring_sim.client import EXPIRED_MS, Client, client
from drawstring_sim.faults import Fault, FaultAt, FaultWhere, PortCall
from drawstring_sim.judge import (
    Attempt,
    VerdictError,
    check_history,
    check_nothing_is_left,
    content_of,
)
from drawstring_sim.kernel import SteadySchedule
from drawstring_sim.operations import Content, Kind, Operation
from drawstring_sim.raw_state import RawState, read_raw_state
from drawstring_sim.storage import Disk
from drawstring_sim.table_driver import create_table, perform, read_content
from drawstring_sim.world import World

NEXT = Operation.of(Kind.UPSERT, {("d1", "a"): 901, ("d9", "z"): 902})
"""What the next writer does: one key that every scenario has, and one that none has."""

Perform = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One operation on one table.

    Attributes:
        name: for people.
        disk: the table before; it is copied for each run.
        history: the attempts that made it.
        operation: what is struck.
        options: of all writers.
        start_ms: simulated time at which the operation begins.
        act: carries operations out.

    """

    name: str
    disk: Disk
    history: tuple[Attempt, ...]
    operation: Operation
    options: Mapping[str, object]
    start_ms: int
    act: Perform = perform

    @property
    def before(self) -> Content:
        """What readers see before the operation."""
        return content_of(self.raw().snapshot())

    def raw(self) -> RawState:
        """The table before, parsed."""
        return read_raw_state(self.disk.contents())


def applicable(call: PortCall) -> tuple[Fault, ...]:
    """Faults that make a difference at a call.

    A call that changes nothing leaves the same behind whether the process dies after it or before its next one, so
    only the latter is run. Only storage calls can fail, and only those that write can lose an answer that matters.
    """
    if call.port != "storage":
        return (Fault.CRASH_BEFORE,)
    if not call.writes:
        return (Fault.CRASH_BEFORE, Fault.ERROR)
    return (
        Fault.CRASH_BEFORE,
        Fault.CRASH_AFTER,
        Fault.CRASH_ANSWER_LOST,
        Fault.ANSWER_LOST,
        Fault.ERROR,
        Fault.SENT_TWICE,
    )


def prepare(
    name: str,
    history: Sequence[Operation],
    operation: Operation,
    options: Mapping[str, object],
    *,
    failed: Operation | None = None,
) -> Scenario:
    """Make a table by a history of operations, on request with a failed write at its end, for one more to be struck.

    Args:
        name: for people.
        history: carried out one after the other.
        operation: to be struck.
        options: of all writers.
        failed: an operation whose writer dies right before it completes; what it leaves is there to be rolled back.

    """
    world = World(SteadySchedule(), seed=1)
    attempts: list[Attempt] = []
    first = client(world, "first", options, attempts)
    world.run(first.writer, lambda: create_table(first.writer, first.options))
    for earlier in history:
        attempt = first.run(earlier)
        if not attempt.succeeded:
            raise VerdictError(f"The preparation failed: {attempt}: {attempt.error}")
    if failed is not None:
        plan = FaultWhere(lambda call: call.writes and call.target.endswith(".commit"), Fault.CRASH_BEFORE)
        world.kernel.faults = plan
        client(world, "failing", options, attempts).run(failed)
        if plan.struck is None:
            raise VerdictError("The preparation did not fail where it had to.")
    world.kernel.advance(EXPIRED_MS)
    start_ms = world.kernel.now_ms
    world.close()
    return Scenario(name, world.disk, tuple(attempts), operation, options, start_ms)


def calls_of(scenario: Scenario) -> list[PortCall]:
    """Every port call that the operation makes when nothing goes wrong."""
    world = _world(scenario, None)
    victim = client(world, "victim", scenario.options, [], act=scenario.act)
    attempt = victim.run(scenario.operation)
    if not attempt.succeeded:
        raise VerdictError(f"Undisturbed, {attempt}: {attempt.error}")
    world.kernel.advance(EXPIRED_MS)
    return [call for call in world.kernel.trace if call.incarnation == "victim"]


def strike(scenario: Scenario, call: PortCall, fault: Fault) -> Attempt:
    """Strike one call of the operation; judge the readers, then let the next writer recover, and judge again.

    Returns:
        What the struck writer was told.

    Raises:
        VerdictError: a promise is broken.

    """
    plan = FaultAt("victim", call.number, fault)
    world = _world(scenario, plan)
    attempts = list(scenario.history)
    victim = client(world, "victim", scenario.options, attempts, act=scenario.act)
    attempt = victim.run(scenario.operation)
    if plan.struck is None:
        raise VerdictError(f"Call {call.number} of {scenario.name} was not made again: it is not deterministic.")
    seen = _judge_readers(scenario, world, attempt, attempts)
    world.kernel.advance(EXPIRED_MS)
    recover(world, scenario, attempts, seen)
    world.close()
    return attempt


def recover(world: World, scenario: Scenario, attempts: list[Attempt], seen: Content) -> None:
    """Let the next writer write, and check that nothing of the failure is left."""
    follower: Client = client(world, "next", scenario.options, attempts, act=scenario.act)
    attempt = follower.run(NEXT)
    if not attempt.succeeded:
        raise VerdictError(f"The next writer cannot write: {attempt}: {attempt.error}")
    raw = read_raw_state(world.disk.contents())
    check_history(raw, attempts)
    check_nothing_is_left(raw)
    after = content_of(raw.snapshot())
    if after != NEXT.apply(seen):
        raise VerdictError(f"After recovery readers see {sorted(after.items())}, before it {sorted(seen.items())}.")


def _judge_readers(scenario: Scenario, world: World, attempt: Attempt, attempts: list[Attempt]) -> Content:
    raw = read_raw_state(world.disk.contents())
    seen = content_of(raw.snapshot())
    before, after = scenario.before, scenario.operation.apply(scenario.before)
    if seen not in (before, after):
        raise VerdictError(f"Readers see neither before nor after, but {sorted(seen.items())}.")
    check_history(raw, attempts)
    if attempt.succeeded and seen != after:
        raise VerdictError(f"{attempt}; however readers see the table as it was: a contradiction.")
    reader = client(world, "reader", scenario.options, [], act=scenario.act)
    pending = min((i.requested_time for i in raw.pending), default=None)
    # A snapshot at or after a pending instant is not stable yet, and may be refused; the last stable one is asked for.
    stable = [time for time in sorted(raw.completed_commits) if pending is None or time < pending]
    for as_of in (None, *stable[-1:]):
        expected = content_of(raw.snapshot(as_of))
        answer = read_content(reader.writer, reader.options, as_of)
        if answer != expected:
            raise VerdictError(f"A reader as of {as_of} gets {answer}; the bytes say {expected}: a contradiction.")
    return seen


def _world(scenario: Scenario, plan: FaultAt | None) -> World:
    world = World(SteadySchedule(), plan, disk=scenario.disk.copy(), seed=1)
    world.kernel.advance(scenario.start_ms)
    return world


@dataclass(slots=True)
class Tally:
    """What came of striking every call.

    Attributes:
        calls: port calls of the operation.
        runs: how many faults were tried.
        told: what struck writers were told, and how often.
        broken: broken promises, in words.

    """

    calls: int = 0
    runs: int = 0
    told: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def strike_everywhere(scenario: Scenario) -> Tally:
    """Strike each call of the operation with each fault that makes a difference there."""
    calls = calls_of(scenario)
    tally = Tally(calls=len(calls))
    for call in calls:
        for fault in applicable(call):
            tally.runs += 1
            try:
                attempt = strike(scenario, call, fault)
            except VerdictError as error:
                tally.broken.append(f"{fault.name} at {call}: {error}")
                continue
            tally.told[
                "success" if attempt.succeeded else type(attempt.error).__name__ if attempt.error else "death"
            ] += 1
    return tally
