"""A world: one disk, and writers that come, work and die on it."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from drawstring.events import Event
from drawstring.locks import InProcessLockProvider, make_lock_provider
from drawstring.options import Options
from drawstring.ports import LockProvider, Ports, Storage
from drawstring_sim.background import SimulatedBackground
from drawstring_sim.clocks import ClockSettings, SimulatedClock, SimulatedEntropy
from drawstring_sim.faults import FaultPlan
from drawstring_sim.kernel import Incarnation, Kernel, Process, Schedule
from drawstring_sim.recorder import Recorder
from drawstring_sim.storage import Disk, SimulatedStorage
from drawstring_sim.tasks import SimulatedTasks, TaskTroubles


@dataclass(slots=True)
class Writer:
    """One life of one writer: its ports, and what it said.

    Attributes:
        name: unique in the world.
        incarnation: what a crash ends.
        ports: for `drawstring.Table`.
        clock: its clocks' settings.
        background: its duties.
        tasks: its tasks.
        now_ms: the true time.
        events: what it emitted, in order.
        recorder: hears of the events too; None for nobody.

    """

    name: str
    incarnation: Incarnation
    ports: Ports
    clock: ClockSettings
    background: SimulatedBackground
    tasks: SimulatedTasks
    now_ms: Callable[[], int]
    events: list[Event] = field(default_factory=list)
    recorder: Recorder | None = None

    def hear(self, event: Event) -> None:
        """Keep an event: the listener to inject."""
        self.events.append(event)
        if self.recorder is not None:
            self.recorder.said(self.name, event, self.now_ms())


class World:
    """One table's world.

    Args:
        schedule: when suspended processes go on.
        faults: what goes wrong.
        disk: what is stored at the start.
        seed: of the writers' randomness.
        recorder: writes the record; None for none.

    """

    def __init__(
        self,
        schedule: Schedule | None = None,
        faults: FaultPlan | None = None,
        *,
        disk: Disk | None = None,
        seed: int = 0,
        recorder: Recorder | None = None,
    ) -> None:
        # Arrow's threads would make nothing wrong, but would take part in no schedule.
        self._arrow_threads = pa.cpu_count()
        pa.set_cpu_count(1)
        self.kernel = Kernel(schedule, faults)
        self.disk = disk if disk is not None else Disk()
        self.seed = seed
        self.writers: dict[str, Writer] = {}
        self.recorder = recorder
        if recorder is not None:
            recorder.start = self.disk.contents()
            self.disk.recorder = recorder
            self.kernel.on_crash = lambda incarnation: recorder.died(incarnation.name, self.kernel.now_ms)

    def writer(
        self,
        name: str,
        options: Options,
        *,
        clock: ClockSettings | None = None,
        troubles: TaskTroubles | None = None,
    ) -> Writer:
        """Bring a new writer to life.

        Its lock provider is the production one of `options`, over the simulated storage. It is a process of its own:
        an in-process lock is shared with nobody, and dies with it.
        """
        if name in self.writers:
            raise ValueError(f"There is a writer {name!r} already.")
        incarnation = Incarnation(name)
        settings = clock or ClockSettings(monotonic_start_ms=1_000_000 * (len(self.writers) + 1))
        simulated_clock = SimulatedClock(self.kernel, incarnation, settings)
        storage = SimulatedStorage(self.kernel, incarnation, self.disk, simulated_clock)
        entropy = SimulatedEntropy(self.kernel, incarnation, f"{self.seed}/{name}")
        background = SimulatedBackground(self.kernel, incarnation)
        tasks = SimulatedTasks(self.kernel, incarnation, self._executor, storage, troubles=troubles or TaskTroubles())
        lock = _lock_provider(options, storage, simulated_clock, entropy)
        ports = Ports(storage, simulated_clock, lock, entropy, background, tasks)
        writer = Writer(
            name, incarnation, ports, settings, background, tasks, lambda: self.kernel.now_ms, recorder=self.recorder
        )
        tasks.emit = writer.hear
        self.writers[name] = writer
        return writer

    def _executor(self, name: str) -> tuple[Incarnation, Storage]:
        incarnation = Incarnation(name)
        clock = SimulatedClock(self.kernel, incarnation, ClockSettings())
        return incarnation, SimulatedStorage(self.kernel, incarnation, self.disk, clock)

    def start(self, writer: Writer, function: Callable[[], object]) -> Process:
        """Start a process of a writer."""
        return self.kernel.spawn(writer.incarnation, function)

    def run(self, writer: Writer, function: Callable[[], object]) -> object:
        """Run a process of a writer to its end and return its result."""
        process = self.start(writer, function)
        self.kernel.run_until_ended(process)
        return process.result()

    def close(self) -> None:
        """End every process."""
        self.kernel.close()
        pa.set_cpu_count(self._arrow_threads)


def _lock_provider(
    options: Options, storage: SimulatedStorage, clock: SimulatedClock, entropy: SimulatedEntropy
) -> LockProvider:
    if str(options["hoodie.write.lock.provider"]).endswith("InProcessLockProvider"):
        locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        return InProcessLockProvider(storage.uri, clock=clock, entropy=entropy, locks=locks)
    return make_lock_provider(options, storage=storage, clock=clock, entropy=entropy)
