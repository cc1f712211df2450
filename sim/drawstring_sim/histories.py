"""Seeded histories: writers that do random things at random times, die, stall and have wrong clocks; and their judge.

Whose duty: `run_history` makes one history from a seed and judges it whole: by the model (`refinement`), by the serial
meaning of its operations (`judge`), and by production readers against raw bytes.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from drawstring.errors import TimeTravelError
from drawstring_sim.client import (
    ALONE,
    EXPIRED_MS,
    HEARTBEAT_INTERVAL_MS,
    LOCK_TTL_MS,
    TOGETHER,
    TOLERABLE_MISSES,
    Client,
    client,
)
from drawstring_sim.clocks import ClockSettings
from drawstring_sim.faults import Fault, NoFaults, SeededFaults
from drawstring_sim.judge import Attempt, VerdictError, check_history, check_nothing_is_left, content_of
from drawstring_sim.kernel import SeededSchedule
from drawstring_sim.operations import Kind, Operation
from drawstring_sim.raw_state import RawState, read_raw_state
from drawstring_sim.recorder import Recorder
from drawstring_sim.refinement import Refinement
from drawstring_sim.table_driver import create_table, read_content
from drawstring_sim.tasks import TaskMode, TaskTroubles
from drawstring_sim.world import World

DAYS = ("d1", "d2")
KEYS = ("k1", "k2", "k3", "k4")
KINDS = (Kind.UPSERT, Kind.UPSERT, Kind.UPSERT, Kind.INSERT, Kind.DELETE, Kind.BULK_INSERT)


@dataclass(frozen=True, slots=True)
class Weather:
    """How rough a history is.

    Attributes:
        writers: number of writers at work at a time.
        operations: of each writer.
        pause_per_thousand: how many of a thousand port calls are paused.
        pause_ms: how long a pause is.
        crashes_per_thousand: how many of a thousand storage calls kill their process, before or after them.
        errors_per_thousand: how many fail, lose their answer, or are sent twice.
        skew_ms: writers' wall clocks differ by up to this much from the true time.
        jump_ms: before each operation a clock may be set by up to this much.
        alone: one writer without a lock file and heartbeats, which rolls failed writes back at once. The model's lock
            and heartbeats have no counterpart then, so such a history is judged by raw bytes and readers only.

    """

    writers: int = 2
    operations: int = 5
    pause_per_thousand: int = 8
    pause_ms: tuple[int, int] = (500, 20_000)
    crashes_per_thousand: int = 2
    errors_per_thousand: int = 4
    skew_ms: int = 5_000
    jump_ms: int = 60_000
    alone: bool = False

    @property
    def options(self) -> Mapping[str, object]:
        """Options of all writers."""
        return ALONE if self.alone else TOGETHER


CALM = Weather(pause_per_thousand=0, crashes_per_thousand=0, errors_per_thousand=0, skew_ms=0, jump_ms=0)
ROUGH = Weather()
ALONE_IN_ROUGH_WEATHER = Weather(writers=1, operations=10, crashes_per_thousand=6, errors_per_thousand=9, alone=True)


@dataclass(slots=True)
class History:
    """What came of one seed.

    Attributes:
        seed: of everything.
        attempts: what writers tried and were told.
        recorder: what happened.
        steps: port calls.
        moves: moves of the model.
        crashes: writers that died.
        raw: the table at the end.

    """

    seed: int
    attempts: list[Attempt] = field(default_factory=list)
    recorder: Recorder = field(default_factory=Recorder)
    steps: int = 0
    moves: int = 0
    crashes: int = 0
    raw: RawState | None = None


def run_history(seed: int, weather: Weather = ROUGH) -> History:
    """Make one history and judge it.

    Raises:
        DisagreementError: it is not a behaviour of the model.
        VerdictError: a promise is broken.

    """
    history = History(seed)
    schedule = SeededSchedule(seed, pause_per_thousand=weather.pause_per_thousand, pause_ms=weather.pause_ms)
    world = World(schedule, seed=seed, recorder=history.recorder)
    founder = client(world, "founder", weather.options, history.attempts)
    world.run(founder.writer, lambda: create_table(founder.writer, founder.options))
    faults = SeededFaults(seed, _odds(weather))
    world.kernel.faults = faults
    workers = [_Worker(world, number, weather, history) for number in range(1, weather.writers + 1)]
    for worker in workers:
        worker.go_on()
    while world.kernel.processes:
        world.kernel.run_until_ended(*world.kernel.processes)
        for worker in workers:
            worker.go_on()
    world.kernel.faults, world.kernel.schedule = NoFaults(), SeededSchedule(seed)
    history.crashes = sum(fault.is_crash for _, fault in faults.struck)
    _judge(world, history, weather)
    world.close()
    return history


def _odds(weather: Weather) -> Mapping[Fault, int]:
    half, third = weather.crashes_per_thousand // 2, weather.errors_per_thousand // 3
    return {
        Fault.CRASH_BEFORE: weather.crashes_per_thousand - half,
        Fault.CRASH_AFTER: half,
        Fault.ANSWER_LOST: weather.errors_per_thousand - 2 * third,
        Fault.ERROR: third,
        Fault.SENT_TWICE: third,
    }


class _Worker:
    """A machine that writes: when its process dies, it starts a new one."""

    def __init__(self, world: World, number: int, weather: Weather, history: History) -> None:
        self._world = world
        self._number = number
        self._weather = weather
        self._history = history
        self._random = random.Random(f"{history.seed}/{number}")  # noqa: S311 -- repeatable on purpose
        self._left = weather.operations
        self._lives = 0
        skew_ms = self._random.randint(-weather.skew_ms, weather.skew_ms)
        self._clock = ClockSettings(skew_ms=skew_ms, monotonic_start_ms=1_000_000 * number)

    def go_on(self) -> None:
        """Start a process for the operations that are left."""
        if not self._left:
            return
        self._lives += 1
        # Tasks of one batch run in turn or side by side.
        troubles = TaskTroubles(mode=self._random.choice(list(TaskMode)))
        handle = client(
            self._world,
            f"w{self._number}.{self._lives}",
            self._weather.options,
            self._history.attempts,
            clock=self._clock,
            troubles=troubles,
        )
        self._world.kernel.spawn(handle.writer.incarnation, lambda: self._work(handle), f"{handle.writer.name} loop")

    def _work(self, handle: Client) -> None:
        while self._left:
            self._left -= 1
            if self._weather.jump_ms and self._random.randrange(4) == 0:
                self._clock.jump(self._random.randint(-self._weather.jump_ms, self._weather.jump_ms))
            handle.writer.ports.clock.sleep_ms(self._random.randrange(50))
            handle.carry_out(self._operation())

    def _operation(self) -> Operation:
        kind = self._random.choice(KINDS)
        keys = [(self._random.choice(DAYS), self._random.choice(KEYS)) for _ in range(self._random.randint(1, 3))]
        return Operation.of(kind, {key: self._random.randrange(1_000_000) for key in keys})


def _judge(world: World, history: History, weather: Weather) -> None:
    """Judge the history as it is, then let one more writer clean up, and judge again."""
    _refine(history, weather)
    raw = read_raw_state(world.disk.contents())
    check_history(raw, history.attempts)
    check_readers(world, history, raw, "reader")
    world.kernel.advance(EXPIRED_MS)
    last = client(world, "last", weather.options, history.attempts)
    attempt = last.run(Operation.of(Kind.UPSERT, {("d1", "k1"): 1}))
    if not attempt.succeeded:
        raise VerdictError(f"The last writer cannot write: {attempt}: {attempt.error}")
    history.raw = read_raw_state(world.disk.contents())
    check_history(history.raw, history.attempts)
    check_no_write_is_pending(history.raw)
    if weather.alone:
        # Among several, a writer that is slow to notice its death may leave a file that nobody sees.
        check_nothing_is_left(history.raw)
    check_readers(world, history, history.raw, "last reader")
    _refine(history, weather)
    history.steps = len(world.kernel.trace)


def _refine(history: History, weather: Weather) -> None:
    if weather.alone:
        return
    refinement = Refinement(history.recorder, LOCK_TTL_MS, HEARTBEAT_INTERVAL_MS * TOLERABLE_MISSES)
    refinement.check()
    history.moves = len(refinement.moves)


def check_no_write_is_pending(raw: RawState) -> None:
    """After the last writer nothing is pending, and what lies about is invisible."""
    if raw.pending:
        raise VerdictError(f"Pending instants are left: {[str(i) for i in raw.pending]}.")


def check_readers(world: World, history: History, raw: RawState, name: str) -> None:
    """Production readers give, at every stable time, what the bytes say; their answers go into the record."""
    reader = client(world, name, TOGETHER, [])
    pending = min((i.requested_time for i in raw.pending), default=None)
    for as_of in (None, *sorted(raw.completed_commits)):
        try:
            answer = read_content(reader.writer, reader.options, as_of)
        except TimeTravelError:
            if as_of is None or pending is None or as_of < pending:
                raise
            continue
        history.recorder.answered(name, as_of, answer, world.kernel.now_ms)
        expected = content_of(raw.snapshot(as_of))
        if answer != expected:
            raise VerdictError(f"A reader as of {as_of} gets {answer}; the bytes say {expected}: a contradiction.")
