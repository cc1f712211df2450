"""Two writers that want the same rows at the same moment, and a record of what each of them did."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from drawstring.errors import ConcurrencyError
from drawstring.events import Event, Listener
from drawstring.protocol.write import WriteResult
from drawstring.table import Table
from drawstring_spec.steps import Step

CONCURRENT: Final = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
"""Options of a writer that is not alone."""

_PATIENCE_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class SeenStep:
    """A step, and when it was heard: milliseconds since both writers set out."""

    step: Step
    elapsed_ms: int


@dataclass(slots=True)
class WriterStory:
    """What one writer did, and how it ended.

    Attributes:
        name: of the writer.
        steps: in order; a step that comes several times in a row stands once, at its last time.
        result: None where it lost.
        error: what it was told; None where it won.

    """

    name: str
    steps: list[SeenStep] = field(default_factory=list)
    result: WriteResult | None = None
    error: ConcurrencyError | None = None


def race(open_table: Callable[[Listener], Table], batches: Mapping[str, Any]) -> list[WriterStory]:
    """Let one writer per batch upsert it, all of them from the same snapshot.

    Each writer waits, once it has looked its keys up, until the others have too: so none of them sees what another
    one writes, however fast it is.

    Args:
        open_table: opens a handle for one writer, with the listener that it is given.
        batches: what each writer upserts, by the writer's name.

    Returns:
        The stories, in the order of `batches`.

    """
    everybody_looked = threading.Barrier(len(batches))
    started = time.monotonic()

    def write(name: str, batch: Any) -> WriterStory:
        story = WriterStory(name)

        def listen(event: Event) -> None:
            seen = SeenStep(event.step, round((time.monotonic() - started) * 1000))
            if story.steps and story.steps[-1].step is event.step:
                story.steps[-1] = seen
            else:
                story.steps.append(seen)
            if event.step is Step.LOOKUP_KEYS:
                # Another writer that failed before never comes: then there is nobody to wait for.
                with contextlib.suppress(threading.BrokenBarrierError):
                    everybody_looked.wait(_PATIENCE_S)

        try:
            story.result = open_table(listen).upsert(batch)
        except ConcurrencyError as error:
            story.error = error
        except BaseException:
            everybody_looked.abort()
            raise
        return story

    with ThreadPoolExecutor(len(batches)) as pool:
        return [future.result() for future in [pool.submit(write, *item) for item in batches.items()]]
