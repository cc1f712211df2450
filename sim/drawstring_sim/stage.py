"""A stage: a few writers in one directed play, where one is held at a chosen port call while others go on.

Whose duty: named scenarios. A writer that is held is held whole, with its heartbeats and renewals, as a machine that is
suspended is, unless its duties are to go on; `Stage.stall` hangs only its duties.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field

import simpy

from drawstring_sim.background import Stall
from drawstring_sim.client import (
    EXPIRED_MS,
    HEARTBEAT_INTERVAL_MS,
    LOCK_TTL_MS,
    TOGETHER,
    TOLERABLE_MISSES,
    Client,
    client,
)
from drawstring_sim.clocks import ClockSettings
from drawstring_sim.faults import FaultPlan
from drawstring_sim.judge import Attempt, VerdictError, check_history, content_of
from drawstring_sim.kernel import Kernel, Process, SimulationError, SteadySchedule
from drawstring_sim.operations import Content, Kind, Operation
from drawstring_sim.raw_state import RawState, read_raw_state
from drawstring_sim.recorder import Recorder
from drawstring_sim.refinement import Refinement
from drawstring_sim.table_driver import create_table, read_content
from drawstring_sim.tasks import TaskTroubles
from drawstring_sim.world import World


class HoldingSchedule(SteadySchedule):
    """Steady, but for writers that are held.

    Attributes:
        wanted: by incarnation, part of the port call at which it is to be held; ``*`` stands for anything.
        held: names of incarnations that are held.
        duties_go_on: names of incarnations whose duties are not held with them.
        waiting: events of held processes, in the order in which they came.

    """

    def __init__(self) -> None:
        super().__init__()
        self.wanted: dict[str, str] = {}
        self.held: set[str] = set()
        self.duties_go_on: set[str] = set()
        self.waiting: list[tuple[str, simpy.Event]] = []

    def arrange(self, kernel: Kernel, process: Process, event: simpy.Event) -> None:
        """Hold the process, or let it go on."""
        name, is_duty = process.incarnation.name, "/" in process.name
        wanted = self.wanted.get(name)
        if wanted is not None and fnmatch.fnmatchcase(process.next_call, f"*{wanted}*") and not is_duty:
            del self.wanted[name]
            self.held.add(name)
        if name in self.held and not (is_duty and name in self.duties_go_on):
            self.waiting.append((name, event))
        else:
            super().arrange(kernel, process, event)

    def release(self, name: str) -> None:
        """Let a held writer, and its duties, go on."""
        self.held.discard(name)
        for event in [event for of, event in self.waiting if of == name]:
            event.succeed()
        self.waiting = [(of, event) for of, event in self.waiting if of != name]


@dataclass(slots=True)
class Play:
    """One operation on the stage."""

    client: Client
    attempt: Attempt
    process: Process


@dataclass(slots=True)
class Stage:
    """A table and its writers.

    Attributes:
        schedule: holds writers.
        recorder: for the model.
        world: where they live.
        attempts: what was tried.

    """

    schedule: HoldingSchedule = field(default_factory=HoldingSchedule)
    recorder: Recorder = field(default_factory=Recorder)
    world: World = field(init=False)
    attempts: list[Attempt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.world = World(self.schedule, recorder=self.recorder)
        founder = self.writer("founder")
        self.world.run(founder.writer, lambda: create_table(founder.writer, founder.options))

    def writer(
        self,
        name: str,
        *,
        clock: ClockSettings | None = None,
        troubles: TaskTroubles | None = None,
        options: Mapping[str, object] = TOGETHER,
    ) -> Client:
        """Bring a writer on."""
        return client(self.world, name, options, self.attempts, clock=clock, troubles=troubles)

    def faults(self, plan: FaultPlan) -> None:
        """Have things go wrong from now on."""
        self.world.kernel.faults = plan

    def begin(self, who: Client, kind: Kind, rows: Content, *, hold_at: str, duties_go_on: bool = False) -> Play:
        """Start an operation and run it until it is about to make a port call that fits `hold_at` somewhere.

        With `duties_go_on` only the writer waits; its heartbeat and renewals go on.
        """
        if duties_go_on:
            self.schedule.duties_go_on.add(who.writer.name)
        self.schedule.wanted[who.writer.name] = hold_at
        process = who.start(Operation.of(kind, rows))
        play = Play(who, self.attempts[-1], process)
        while who.writer.name not in self.schedule.held:
            if process.ended or self.world.kernel.env.peek() == float("inf"):
                raise SimulationError(f"{who.writer.name} never came to {hold_at}: {play.attempt} {play.attempt.error}")
            self.world.kernel.env.step()
        return play

    def do(self, who: Client, kind: Kind, rows: Content) -> Attempt:
        """Carry a whole operation out."""
        return who.run(Operation.of(kind, rows))

    def hold_further(self, play: Play, *, hold_at: str) -> None:
        """Let a held writer go on to a later port call."""
        name = play.client.writer.name
        self.schedule.wanted[name] = hold_at
        self.schedule.release(name)
        while name not in self.schedule.held:
            if play.process.ended:
                raise SimulationError(f"{name} never came to {hold_at}: {play.attempt} {play.attempt.error}")
            self.world.kernel.env.step()

    def release(self, play: Play) -> Attempt:
        """Let a held writer go on to its end."""
        self.schedule.release(play.client.writer.name)
        self.world.kernel.run_until_ended(play.process)
        return play.attempt

    def stall(self, who: Client, duty: str, for_ms: int) -> None:
        """Hang a writer's duties of that name for a while, from now on."""
        now_ms = self.world.kernel.now_ms
        who.writer.background.stalls.append(Stall(duty, now_ms, now_ms + for_ms))

    def wait(self, duration_ms: int = EXPIRED_MS) -> None:
        """Let time pass."""
        self.world.kernel.advance(duration_ms)

    def raw(self) -> RawState:
        """The table, parsed from bytes."""
        return read_raw_state(self.world.disk.contents())

    def content(self) -> Content:
        """What production code reads now; it must be what the bytes say."""
        reader = client(self.world, f"reader{len(self.world.writers)}", TOGETHER, [])
        answer = read_content(reader.writer, reader.options, None)
        expected = content_of(self.raw().snapshot())
        if answer != expected:
            raise VerdictError(f"A reader gets {answer}; the bytes say {expected}: a contradiction.")
        self.recorder.answered(reader.writer.name, None, answer, self.world.kernel.now_ms)
        return answer

    def judge(self, *, by_model: bool = True) -> None:
        """Judge what happened so far; without the model where a scenario has what it does not know (zombie tasks)."""
        if by_model:
            Refinement(self.recorder, LOCK_TTL_MS, HEARTBEAT_INTERVAL_MS * TOLERABLE_MISSES).check()
        check_history(self.raw(), self.attempts)

    def close(self) -> None:
        """Everybody leaves."""
        self.world.close()
