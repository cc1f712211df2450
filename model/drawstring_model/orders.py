"""Why a history contradicts a promise: which operation comes first by its time, and what was not in that order.

A history is a list of steps; most contradictions are two operations whose requested times say one order and whose
steps took another. ``A < B, because ...; however, ...`` says it of each two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from drawstring_model.core.config import Config
from drawstring_model.core.protocol import apply, start
from drawstring_model.core.state import WRITER, Move, State, Time
from drawstring_spec.steps import Step


@dataclass
class _Operation:
    """One operation of a history, and the numbers of its steps."""

    who: str
    requested: Time
    begun: int
    looked_up: int | None = None
    completed: int | None = None

    def __str__(self) -> str:
        return f"{self.who}'s {self.requested}"


def told_orders(moves: Sequence[Move], config: Config) -> list[str]:
    """One sentence for each two operations of a history that stand against their order or share their time."""
    found = sorted(_operations(moves, config), key=lambda operation: (operation.requested, operation.begun))
    sentences = (_told(first, second) for first, second in combinations(found, 2))
    return [sentence for sentence in sentences if sentence is not None]


def _operations(moves: Sequence[Move], config: Config) -> list[_Operation]:
    """The operations of a history, in the order in which they began."""
    state, operations = start(config), []
    current: dict[int, _Operation] = {}
    for number, move in enumerate(moves, start=1):
        if move.writer is not None:
            if _begins(move.step) and move.time is not None:
                current[move.writer] = _Operation(_name(state, move.writer), move.time, number)
                operations.append(current[move.writer])
            operation = current.get(move.writer)
            if operation is not None and _looks(move.step):
                operation.looked_up = number
            if operation is not None and move.step is Step.COMPLETE_INSTANT:
                operation.completed = number
        state = apply(state, move, config)
    return operations


def _begins(step: Step) -> bool:
    """Whether a step gives an operation its requested time: a write, or the plan of a table service."""
    return step is Step.GENERATE_REQUESTED_TIME or step.value.startswith("Schedule")


def _looks(step: Step) -> bool:
    """Whether an operation decides in a step what it builds on."""
    return step is Step.LOOKUP_KEYS or step.value.startswith("Run")


def _name(state: State, number: int) -> str:
    role = state.writers[number].role
    return f"w{number + 1}" if role == WRITER else f"the {role}"


def _told(first: _Operation, second: _Operation) -> str | None:
    """What stands against the order of two operations; None where nothing does."""
    if first.requested == second.requested:
        return f"{first} = {second}: both took the time {first.requested} (steps {first.begun} and {second.begun})"
    against = []
    if second.begun < first.begun:
        against.append(f"{second} was taken before it (step {second.begun}, {first} at step {first.begun})")
    if second.looked_up is not None and first.completed is not None and second.looked_up < first.completed:
        against.append(
            f"{second} looked at the table (step {second.looked_up}) before {first} completed (step {first.completed})"
        )
    if second.completed is not None and first.completed is not None and second.completed < first.completed:
        against.append(f"{second} completed first (step {second.completed}, {first} at step {first.completed})")
    if not against:
        return None
    because = f"the requested time {first.requested} is before {second.requested}"
    return f"{first} < {second}, because {because}; however, {', and '.join(against)}"
