"""File tasks in threads of this process: Arrow and the storage release the interpreter while they work."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from drawstring.events import Listener, ignore
from drawstring.ports import Item, Result, Storage, TaskContext


class ThreadTasks:
    """Runs each task once, as many at a time as there are processors."""

    def __init__(self, storage: Storage, *, emit: Listener = ignore, max_workers: int | None = None) -> None:
        self._storage = storage
        self._emit = emit
        self._max_workers = max_workers or os.cpu_count() or 1

    def run(
        self, function: Callable[[TaskContext, Item], Result], items: Sequence[Item], *, label: str
    ) -> list[Result]:
        """See `drawstring.ports.Tasks.run`."""
        contexts = [TaskContext(self._storage, index, 0, self._emit) for index in range(len(items))]
        if len(items) <= 1 or self._max_workers == 1:
            return [function(context, item) for context, item in zip(contexts, items, strict=True)]
        with ThreadPoolExecutor(self._max_workers, thread_name_prefix=label.replace(" ", "-")) as pool:
            futures = [pool.submit(function, context, item) for context, item in zip(contexts, items, strict=True)]
        return [future.result() for future in futures]
