"""Events: the protocol tells what it does, step by step, under the names of `drawstring_spec.steps.Step`.

Whose duty: the protocol emits an event right after the port call that made the step happen; the simulator's
refinement check, the command line's narration and logging listen. A listener never changes what happens next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from drawstring_spec.steps import Step


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one operation.

    Attributes:
        step: the step's name, shared with the model and TLA+.
        requested_time: of the operation that takes the step; None before it has one.
        detail: step-specific facts: ``WriteFile`` has ``path``, ``partition_path``, ``file_id``;
            ``CompleteInstant`` has ``completion_time``; ``AbortWrite`` has ``reason``; rollback steps have
            ``target`` (requested time of the instant that is rolled back).

    """

    step: Step
    requested_time: str | None
    detail: Mapping[str, str] = field(default_factory=dict)


Listener = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Listen to nothing."""
    del event
