"""Every port call of a table's creation as a point at which something goes wrong.

Whose duty: as `crash_points`, for the one operation that needs no table. Before or after here means: there is no
table, or an empty one. Whoever comes next creates it, or is told that it is there, and then writes.
"""

from __future__ import annotations

from drawstring.errors import TableExistsError, TableNotFoundError
from drawstring_sim.client import ALONE, client
from drawstring_sim.crash_points import NEXT, Tally, applicable
from drawstring_sim.faults import Fault, FaultAt, PortCall
from drawstring_sim.judge import Attempt, VerdictError, check_history, check_nothing_is_left, content_of
from drawstring_sim.kernel import CrashedError, SteadySchedule
from drawstring_sim.raw_state import read_raw_state
from drawstring_sim.table_driver import create_table, open_table, read_content
from drawstring_sim.world import World


def strike_creation_everywhere() -> Tally:
    """Strike each call of `Table.create` with each fault that makes a difference there."""
    world = World(SteadySchedule())
    undisturbed = client(world, "victim", ALONE, [])
    world.run(undisturbed.writer, lambda: create_table(undisturbed.writer, undisturbed.options))
    tally = Tally(calls=len(world.kernel.trace))
    for call in world.kernel.trace:
        for fault in applicable(call):
            tally.runs += 1
            try:
                tally.told[strike_creation(call, fault)] += 1
            except VerdictError as error:
                tally.broken.append(f"{fault.name} at {call}: {error}")
    world.close()
    return tally


def strike_creation(call: PortCall, fault: Fault) -> str:
    """Strike one call; return what the writer was told. Raises `VerdictError` where a promise is broken."""
    world = World(SteadySchedule(), FaultAt("victim", call.number, fault))
    victim = client(world, "victim", ALONE, [])
    process = world.start(victim.writer, lambda: create_table(victim.writer, victim.options))
    world.kernel.run_until_ended(process)
    there = _is_there(world)
    if process.error is None and not there:
        raise VerdictError("The creation succeeded; however there is no table: a contradiction.")
    _go_on(world, there=there)
    world.close()
    if isinstance(process.error, CrashedError):
        return "death"
    return "success" if process.error is None else type(process.error).__name__


def _is_there(world: World) -> bool:
    reader = client(world, "reader", ALONE, [])
    try:
        open_table(reader.writer, reader.options)
    except TableNotFoundError:
        return False
    if read_content(reader.writer, reader.options, None):
        raise VerdictError("A table that was just created is not empty.")
    return True


def _go_on(world: World, *, there: bool) -> None:
    attempts: list[Attempt] = []
    follower = client(world, "next", ALONE, attempts)
    process = world.start(follower.writer, lambda: create_table(follower.writer, follower.options))
    world.kernel.run_until_ended(process)
    expected = isinstance(process.error, TableExistsError) if there else process.error is None
    if not expected:
        raise VerdictError(f"The table is {'there' if there else 'not there'}; the next creation got {process.error}.")
    attempt = follower.run(NEXT)
    raw = read_raw_state(world.disk.contents())
    if not attempt.succeeded or content_of(raw.snapshot()) != NEXT.apply({}):
        raise VerdictError(f"The first write: {attempt}: {attempt.error}")
    check_history(raw, attempts)
    check_nothing_is_left(raw)
