"""Every port call of an operation as a point at which something goes wrong.

Whose duty: to run one operation on a copy of a prepared disk, strike one of its calls, and judge what readers see
then and what the next writer makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from drawstring_sim.client import EXPIRED_MS, Client, client
from drawstring_sim.faults import Fault, FaultAt, PortCall
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
from drawstring_sim.table_driver import perform, read_content
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

    Only storage calls can fail or lose an answer, and only those that write can be sent twice to any effect. At other
    calls nothing but the process can die; before or after them is the same, since they change nothing.
    """
    if call.port != "storage":
        return (Fault.CRASH_BEFORE,)
    if not call.writes:
        return (Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.ERROR)
    return (
        Fault.CRASH_BEFORE,
        Fault.CRASH_AFTER,
        Fault.CRASH_ANSWER_LOST,
        Fault.ANSWER_LOST,
        Fault.ERROR,
        Fault.SENT_TWICE,
    )


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
    answers: dict[str | None, Content] = {None: seen}
    answers.update({time: content_of(raw.snapshot(time)) for time in raw.completed_commits})
    pending = min((i.requested_time for i in raw.pending), default=None)
    for as_of, expected in answers.items():
        if as_of is not None and pending is not None and as_of >= pending:
            continue  # Such a snapshot is not stable yet, and may be refused.
        answer = read_content(reader.writer, reader.options, as_of)
        if answer != expected:
            raise VerdictError(f"A reader as of {as_of} gets {answer}; the bytes say {expected}: a contradiction.")
    return seen


def _world(scenario: Scenario, plan: FaultAt | None) -> World:
    world = World(SteadySchedule(), plan, disk=scenario.disk.copy(), seed=1)
    world.kernel.advance(scenario.start_ms)
    return world
