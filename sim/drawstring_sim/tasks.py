"""File tasks as processes of the kernel: in turn or interleaved, retried, run twice, and left behind as zombies.

Whose duty: `drawstring.ports.Tasks` promises results in order, that a task may run more than once, and that the first
failure is raised when all tasks have ended. What a cluster does beyond that (a speculative copy of a task that goes on
writing after its batch was answered) is a zombie here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from drawstring.errors import StorageError
from drawstring.events import Listener, ignore
from drawstring.ports import Item, Result, Storage, TaskContext
from drawstring_sim.kernel import Incarnation, Kernel, Process


class TaskMode(Enum):
    """How the tasks of one batch run."""

    SEQUENTIAL = "one after the other, in the calling process"
    INTERLEAVED = "each in a process of its own"


@dataclass(slots=True)
class TaskTroubles:
    """What goes wrong with tasks, by index of the task in its batch.

    Attributes:
        mode: how tasks run.
        max_attempts: how often a task that fails with a storage error is run.
        zombies: tasks of which a second attempt is started at once; it is held back until `zombie_delay_ms` has
            passed and nobody waits for it.
        zombie_delay_ms: how long a zombie sleeps before it starts.
        lost_answers: tasks whose first attempt does all its work and then is lost, so that they run again.

    """

    mode: TaskMode = TaskMode.SEQUENTIAL
    max_attempts: int = 1
    zombies: frozenset[int] = frozenset()
    zombie_delay_ms: int = 0
    lost_answers: frozenset[int] = frozenset()


@dataclass(slots=True)
class SimulatedTasks:
    """The tasks port of one incarnation.

    Attributes:
        kernel: runs the tasks.
        incarnation: the driver's.
        executor: makes the storage of an executor's incarnation, for zombies that outlive their driver.
        storage: the driver's storage, which ordinary tasks share.
        emit: hears the events of ordinary tasks.
        troubles: what goes wrong.
        zombies: processes that nobody waited for.

    """

    kernel: Kernel
    incarnation: Incarnation
    executor: Callable[[str], tuple[Incarnation, Storage]]
    storage: Storage
    emit: Listener = ignore
    troubles: TaskTroubles = field(default_factory=TaskTroubles)
    zombies: list[Process] = field(default_factory=list)

    def run(
        self, function: Callable[[TaskContext, Item], Result], items: Sequence[Item], *, label: str
    ) -> list[Result]:
        """See `drawstring.ports.Tasks.run`."""
        for index in sorted(self.troubles.zombies):
            if index < len(items):
                self._start_zombie(function, index, items[index], label)
        if self.troubles.mode is TaskMode.SEQUENTIAL:
            return [self._attempts(function, index, item) for index, item in enumerate(items)]
        results: dict[int, Result] = {}

        def run_one(index: int, item: Item) -> None:
            results[index] = self._attempts(function, index, item)

        processes = [
            self.kernel.spawn(
                self.incarnation, functools.partial(run_one, index, item), f"{self.incarnation.name}/{label} {index}"
            )
            for index, item in enumerate(items)
        ]
        for process in processes:
            self.kernel.join(self.incarnation, process)
        for process in processes:
            if process.error is not None:
                raise process.error
        return [results[index] for index in range(len(items))]

    def _attempts(self, function: Callable[[TaskContext, Item], Result], index: int, item: Item) -> Result:
        attempt = 0
        while True:
            context = TaskContext(self.storage, index, attempt, self.emit)
            attempt += 1
            try:
                result = function(context, item)
            except StorageError:
                if attempt >= self.troubles.max_attempts:
                    raise
                continue
            if attempt > 1 or index not in self.troubles.lost_answers:
                return result

    def _start_zombie(
        self, function: Callable[[TaskContext, Item], Result], index: int, item: Item, label: str
    ) -> None:
        incarnation, storage = self.executor(f"{self.incarnation.name}/zombie {index}.{len(self.zombies)}")
        # Attempt 7: a number that no ordinary retry of ours reaches, so its files are told apart.
        context = TaskContext(storage, index, 7, ignore)

        def body() -> None:
            self.kernel.sleep(incarnation, self.troubles.zombie_delay_ms)
            function(context, item)

        self.zombies.append(self.kernel.spawn(incarnation, body, f"{incarnation.name} ({label})"))
