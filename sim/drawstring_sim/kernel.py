"""The kernel: simulated processes, their calls of ports, and their deaths.

A process is a greenlet that simpy's events resume, so production code runs unchanged and as plain synchronous code.
Each port call is one atomic step: the process is suspended, the schedule decides when it goes on, the fault plan
decides what happens, the effect is carried out. Between two port calls a process runs undisturbed. With the same
seeds the same calls happen in the same order.

A crash fences the *incarnation*: every process of it stops, and every later port call of it (from a ``finally``, or
while Python drops a suspended greenlet) has no effect and raises `CrashedError`.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from typing import Protocol, TypeVar

import greenlet
import simpy

from drawstring.errors import StorageError
from drawstring_sim.faults import Fault, FaultPlan, NoFaults, PortCall

Result = TypeVar("Result")

SETTLED = 3_000_000
"""More port calls than any history of ours makes: a process that passes it is caught in a loop."""


class CrashedError(BaseException):
    """The process is dead. No ordinary handler may survive it, hence no ``Exception``."""


class SimulationError(Exception):
    """The simulation itself cannot go on: a process waits for nothing, or runs for ever."""


class Incarnation:
    """One life of one writer (or of one executor): what a crash ends.

    Attributes:
        name: unique in the kernel.
        crashed: whether it is fenced.
        calls: how many port calls it has made.

    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.crashed = False
        self.doomed = False
        self.calls = 0


class Process(greenlet.greenlet):  # type: ignore[misc] # greenlet has no types for us
    """One thread of control of an incarnation.

    Attributes:
        name: for people.
        incarnation: whose it is.
        waiting: the event that resumes it; None while it runs or is dead.
        at_call: whether it waits at a port call (else it sleeps).
        next_call: the port call that it waits at, or made last, as ``storage.put(path)``.
        outcome: what its function returned; None until then.
        error: what its function raised; `CrashedError` where it died.

    """

    def __init__(self, kernel: Kernel, incarnation: Incarnation, function: Callable[[], object], name: str) -> None:
        super().__init__(self._body, kernel.hub)
        self.name = name
        self.incarnation = incarnation
        self.waiting: simpy.Event | None = None
        self.at_call = False
        self.next_call = ""
        self.outcome: object = None
        self.error: BaseException | None = None
        self.finished = kernel.env.event()
        self._function = function

    def _body(self) -> None:
        try:
            self.outcome = self._function()
        except (CrashedError, Exception) as error:  # noqa: BLE001 -- kept for whoever asks for the result
            self.error = error
        finally:
            if not self.finished.triggered:
                self.finished.succeed()

    @property
    def ended(self) -> bool:
        """Whether nothing of it will run any more."""
        return bool(self.dead)

    def result(self) -> object:
        """What its function returned; raises what it raised."""
        if not self.ended:
            raise SimulationError(f"{self.name} has not ended.")
        if self.error is not None:
            raise self.error
        return self.outcome


class Schedule(Protocol):
    """Decides when a suspended process goes on with its port call."""

    def arrange(self, kernel: Kernel, process: Process, event: simpy.Event) -> None:
        """Have `event` triggered at some time, by simpy or by hand."""
        ...


class SeededSchedule:
    """Goes on after random times: mostly at once or soon, seldom after a pause.

    Args:
        seed: the same seed gives the same times.
        busy_ms: an ordinary call takes 0 to this many milliseconds.
        pause_per_thousand: how many of a thousand calls are paused.
        pause_ms: how long a pause may be.

    """

    def __init__(
        self, seed: int, *, busy_ms: int = 3, pause_per_thousand: int = 0, pause_ms: tuple[int, int] = (0, 0)
    ) -> None:
        self._random = random.Random(seed)  # noqa: S311 -- repeatable on purpose
        self._busy_ms = busy_ms
        self._pause_per_thousand = pause_per_thousand
        self._pause_ms = pause_ms

    def arrange(self, kernel: Kernel, process: Process, event: simpy.Event) -> None:
        """Draw a time."""
        del process
        duration_ms = self._random.randint(0, self._busy_ms)
        if self._random.randrange(1000) < self._pause_per_thousand:
            duration_ms += self._random.randint(*self._pause_ms)
        kernel.trigger_later(event, duration_ms)


class SteadySchedule:
    """Each call takes the same time; processes take turns."""

    def __init__(self, duration_ms: int = 1) -> None:
        self._duration_ms = duration_ms

    def arrange(self, kernel: Kernel, process: Process, event: simpy.Event) -> None:
        """Go on after the fixed time."""
        del process
        kernel.trigger_later(event, self._duration_ms)


class ManualSchedule:
    """Nobody goes on until `Kernel.resume` says so: a test or Hypothesis holds the reins."""

    def arrange(self, kernel: Kernel, process: Process, event: simpy.Event) -> None:
        """Leave the event alone."""


class Kernel:
    """Runs processes.

    Args:
        schedule: when suspended processes go on.
        faults: what goes wrong.

    Attributes:
        env: simpy's environment; its time is in milliseconds.
        trace: every port call that was carried out or struck, in order.
        on_crash: hears of each crash; None for nobody.

    """

    def __init__(self, schedule: Schedule | None = None, faults: FaultPlan | None = None) -> None:
        self.env = simpy.Environment()
        self.hub = greenlet.getcurrent()
        self.schedule: Schedule = schedule or SteadySchedule()
        self.faults: FaultPlan = faults or NoFaults()
        self.trace: list[PortCall] = []
        self.on_crash: Callable[[Incarnation], None] | None = None
        self._processes: list[Process] = []

    @property
    def now_ms(self) -> int:
        """Simulated time since the start, in milliseconds."""
        return int(self.env.now)

    @property
    def processes(self) -> list[Process]:
        """Processes that have not ended, in the order in which they were started."""
        self._processes = [p for p in self._processes if not p.ended]
        return list(self._processes)

    def parked(self) -> list[Process]:
        """Processes that wait at a port call, in the order in which they were started."""
        return [p for p in self.processes if p.at_call]

    def spawn(self, incarnation: Incarnation, function: Callable[[], object], name: str | None = None) -> Process:
        """Start a process; its first step happens when simpy's time comes to it."""
        process = Process(self, incarnation, function, name or incarnation.name)
        self._processes.append(process)
        self._wait(process, self.env.timeout(0))
        return process

    # What a process may do.

    def call(
        self, incarnation: Incarnation, port: str, method: str, target: str, effect: Callable[[], Result]
    ) -> Result:
        """Carry one port call out as one atomic step.

        Outside of any process (a test that looks at the table) it is carried out at once, and nothing goes wrong.

        Raises:
            CrashedError: the incarnation is dead, or dies here.
            StorageError: the fault plan says so.

        """
        process = greenlet.getcurrent()
        if not isinstance(process, Process):
            self._refuse_the_dead(incarnation)
            return effect()
        self._refuse_the_dead(incarnation)
        event = self.env.event()
        process.next_call = f"{port}.{method}({target})"
        self.schedule.arrange(self, process, event)
        process.at_call = True
        self._suspend(process, event)
        process.at_call = False
        self._refuse_the_dead(incarnation)
        call = PortCall(incarnation.calls, process.name, incarnation.name, port, method, target, self.now_ms)
        incarnation.calls += 1
        self.trace.append(call)
        if len(self.trace) > SETTLED:
            raise SimulationError(f"More than {SETTLED} port calls; the last is {call}.")
        return self._strike(incarnation, call, self.faults.decide(call), effect)

    def _strike(self, incarnation: Incarnation, call: PortCall, fault: Fault, effect: Callable[[], Result]) -> Result:
        if incarnation.doomed or fault is Fault.CRASH_BEFORE:
            self.crash(incarnation)
            raise CrashedError(str(call))
        if fault is Fault.NONE or (call.port != "storage" and not fault.is_crash):
            return effect()
        if fault is Fault.ERROR:
            raise StorageError(f"The simulated storage failed: {call}.")
        with contextlib.suppress(StorageError):
            # A refusal is an answer too: it is lost, or followed by a second one.
            effect()
        if fault is Fault.SENT_TWICE:
            return effect()
        if fault is Fault.CRASH_AFTER:
            self.crash(incarnation)
            raise CrashedError(str(call))
        incarnation.doomed = fault is Fault.CRASH_ANSWER_LOST
        raise StorageError(f"The simulated storage lost its answer: {call}.")

    def sleep(self, incarnation: Incarnation, duration_ms: int) -> None:
        """Suspend the calling process for a while; outside of any process only the time goes on."""
        process = greenlet.getcurrent()
        self._refuse_the_dead(incarnation)
        if not isinstance(process, Process):
            self.env.run(until=self.env.now + max(duration_ms, 0)) if duration_ms > 0 else None
            return
        self._suspend(process, self.env.timeout(max(duration_ms, 0)))
        self._refuse_the_dead(incarnation)

    def join(self, incarnation: Incarnation, process: Process) -> None:
        """Suspend the calling process until another has ended."""
        if process.ended:
            return
        caller = greenlet.getcurrent()
        if not isinstance(caller, Process):
            self.run_until_ended(process)
            return
        self._suspend(caller, process.finished)
        self._refuse_the_dead(incarnation)

    def wait_for(self, incarnation: Incarnation, event: simpy.Event) -> None:
        """Suspend the calling process until an event was triggered."""
        caller = greenlet.getcurrent()
        if not isinstance(caller, Process):
            raise SimulationError("Only a process can wait.")
        if not event.processed:
            self._suspend(caller, event)
        self._refuse_the_dead(incarnation)

    # What is done to processes.

    def crash(self, incarnation: Incarnation) -> None:
        """Fence an incarnation; its suspended processes end at once (those that run, at their next port call)."""
        if incarnation.crashed:
            return
        incarnation.crashed = True
        if self.on_crash is not None:
            self.on_crash(incarnation)
        for process in self.processes:
            if process.incarnation is incarnation and process.waiting is not None:
                # Whatever it waited for must not resume it a second time.
                process.waiting = None
                self._wait(process, self.env.timeout(0))

    def resume(self, process: Process) -> None:
        """Let a process that waits at a port call carry it out and run on to its next one (manual schedules)."""
        if process.waiting is None or not process.at_call:
            raise SimulationError(f"{process.name} does not wait at a port call.")
        process.waiting.succeed()
        self.settle()

    def settle(self) -> None:
        """Handle everything that is due now."""
        while self.env.peek() <= self.env.now:
            self.env.step()

    def advance(self, duration_ms: int) -> None:
        """Let time pass: sleepers wake up, and so do duties."""
        self.env.run(until=self.env.now + duration_ms) if duration_ms > 0 else None
        self.settle()

    def run_until_ended(self, *processes: Process) -> None:
        """Run until these processes have ended; others run beside them.

        Raises:
            SimulationError: they wait for something that never comes.

        """
        while not all(p.ended for p in processes):
            if self.env.peek() == float("inf"):
                stuck = ", ".join(p.name for p in processes if not p.ended)
                raise SimulationError(f"Nothing is left to happen, but these have not ended: {stuck}.")
            self.env.step()

    def close(self) -> None:
        """End every process. What is suspended runs its ``finally`` clauses now, fenced."""
        for process in self.processes:
            process.incarnation.crashed = True
        for process in self.processes:
            process.waiting = None
            process.throw(CrashedError("the simulation is over"))

    def _wait(self, process: Process, event: simpy.Event) -> None:
        process.waiting = event

        def go_on(happened: simpy.Event) -> None:
            if process.waiting is happened:
                process.waiting = None
                process.switch()

        if event.callbacks is None:
            raise SimulationError(f"{process.name} waits for what has happened already.")
        event.callbacks.append(go_on)

    def _suspend(self, process: Process, event: simpy.Event) -> None:
        self._wait(process, event)
        self.hub.switch()

    def trigger_later(self, event: simpy.Event, duration_ms: int) -> None:
        """Trigger an event after a while."""
        timer = self.env.timeout(duration_ms)
        timer.callbacks.append(lambda _: self._trigger(event))

    def _trigger(self, event: simpy.Event) -> None:
        if not event.triggered:
            event.succeed()

    def _refuse_the_dead(self, incarnation: Incarnation) -> None:
        if incarnation.crashed:
            raise CrashedError(incarnation.name)
