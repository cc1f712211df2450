"""A client: one writer's handle on the table, through which production code is called and its answers are kept.

Whose duty: to call `drawstring.Table` as a user would, with simulated ports and single-threaded Arrow, and to sort
what it answers into *succeeded*, *refused* (nothing is visible) and *unknown*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from drawstring.errors import ConcurrencyError, DrawstringError, InputError
from drawstring.options import Options
from drawstring_sim.clocks import ClockSettings
from drawstring_sim.judge import Attempt
from drawstring_sim.kernel import CrashedError, Process
from drawstring_sim.operations import Operation
from drawstring_sim.table_driver import perform
from drawstring_sim.tasks import TaskTroubles
from drawstring_sim.world import World, Writer
from drawstring_spec.steps import Step

SMALL: Final[Mapping[str, object]] = {"hoodie.index.bloom.num_entries": 50}
"""What makes small tables cheap: bloom filters of their size."""

ALONE: Final[Mapping[str, object]] = SMALL
"""Options of a writer that is alone: no lock across processes, failed writes are rolled back at once."""

LOCK_TTL_MS: Final = 10_000
HEARTBEAT_INTERVAL_MS: Final = 1_000
TOLERABLE_MISSES: Final = 4

TOGETHER: Final[Mapping[str, object]] = {
    **SMALL,
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    "hoodie.write.lock.wait_time_ms": 60_000,
    "drawstring.write.lock.ttl.ms": LOCK_TTL_MS,
    "hoodie.client.heartbeat.interval_in_ms": HEARTBEAT_INTERVAL_MS,
    "hoodie.client.heartbeat.tolerable.misses": TOLERABLE_MISSES,
}
"""Options of writers that are several: a lock file, heartbeats, lazy rollback; with times short enough to simulate."""

EXPIRED_MS: Final = LOCK_TTL_MS + HEARTBEAT_INTERVAL_MS * TOLERABLE_MISSES + 1_000
"""After this long without a sign of life, locks and heartbeats of the dead have expired."""

Perform = Callable[[Writer, Options, Operation], object]


@dataclass(slots=True)
class Client:
    """One writer and what it tried.

    Attributes:
        world: where it lives.
        writer: its ports.
        options: its options.
        attempts: shared list of all attempts of a history, in the order in which they began.
        perform: carries an operation out; production code unless a test says otherwise.

    """

    world: World
    writer: Writer
    options: Options
    attempts: list[Attempt] = field(default_factory=list)
    perform: Perform = perform

    def start(self, operation: Operation) -> Process:
        """Begin an operation in a process of its own."""
        attempt = self._new_attempt(operation)
        return self.world.start(self.writer, lambda: self._try(attempt))

    def carry_out(self, operation: Operation) -> Attempt:
        """Carry an operation out in the calling process; what it is told, is in the attempt."""
        attempt = self._new_attempt(operation)
        try:
            self._try(attempt)
        except DrawstringError:
            return attempt
        return attempt

    def _new_attempt(self, operation: Operation) -> Attempt:
        attempt = Attempt(self.writer.name, operation)
        self.attempts.append(attempt)
        return attempt

    def _try(self, attempt: Attempt) -> object:
        told_before = len(self.writer.events)
        recorder, now_ms = self.world.recorder, self.writer.now_ms
        if recorder is not None:
            recorder.began(self.writer.name, attempt.operation, now_ms())
        try:
            return self._tell(attempt)
        finally:
            if recorder is not None and not self.writer.incarnation.crashed:
                recorder.ended(self.writer.name, now_ms())
            attempt.requested_times = tuple(
                dict.fromkeys(
                    event.requested_time
                    for event in self.writer.events[told_before:]
                    if event.step is Step.REQUEST_INSTANT and event.requested_time is not None
                )
            )

    def _tell(self, attempt: Attempt) -> object:
        try:
            result = self.perform(self.writer, self.options, attempt.operation)
        except CrashedError:
            raise
        except Exception as error:
            attempt.error = error
            # Both say that nothing of the operation is visible; other errors do not.
            attempt.refused = isinstance(error, ConcurrencyError | InputError)
            raise
        attempt.succeeded = True
        return result

    def run(self, operation: Operation) -> Attempt:
        """Carry an operation out to its end, while others run beside it; errors are in the attempt."""
        process = self.start(operation)
        attempt = self.attempts[-1]
        self.world.kernel.run_until_ended(process)
        if process.error is not None and not isinstance(process.error, CrashedError) and attempt.error is None:
            raise process.error
        return attempt


def client(
    world: World,
    name: str,
    options: Mapping[str, object],
    attempts: list[Attempt],
    *,
    act: Perform = perform,
    clock: ClockSettings | None = None,
    troubles: TaskTroubles | None = None,
) -> Client:
    """Bring a client to life; `clock` and `troubles` as in `World.writer`."""
    parsed = Options.parse(options)
    writer = world.writer(name, parsed, clock=clock, troubles=troubles)
    return Client(world, writer, parsed, attempts, act)
