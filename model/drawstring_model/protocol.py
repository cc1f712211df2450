"""The state machine: which moves a state allows, and what each makes of it.

`enabled` proposes the moves within the bounds of a configuration, as the explorer takes them. `apply` takes any move
that the rules allow, in the bounds or not: this is how the model is driven beside an implementation, with times,
tokens and file groups from outside. Both are pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.completion import CheckConflicts, CompleteInstant, StopHeartbeat, UpdateMetadata
from drawstring_model.config import Config
from drawstring_model.conflict import AbortWrite
from drawstring_model.environment import Crash, ExpireHeartbeat, ExpireLock, ReadSnapshot, RenewHeartbeat
from drawstring_model.lock import AcquireLock, ReleaseLock
from drawstring_model.rollback import (
    CompleteRollback,
    DeleteFile,
    RemoveInstant,
    RequestRollback,
    StartRollback,
)
from drawstring_model.rule import Rule
from drawstring_model.state import IDLE, Move, Phase, State, World, Writer
from drawstring_model.writer import (
    GenerateRequestedTime,
    LookupKeys,
    RequestInstant,
    StartHeartbeat,
    StartInflight,
    WriteFile,
)
from drawstring_spec.errors import DrawstringError

WRITER_RULES: tuple[Rule, ...] = (
    GenerateRequestedTime(),
    StartHeartbeat(),
    RequestInstant(),
    LookupKeys(),
    StartInflight(),
    WriteFile(),
    AcquireLock(),
    CheckConflicts(),
    UpdateMetadata(),
    CompleteInstant(),
    ReleaseLock(),
    StopHeartbeat(),
    AbortWrite(),
    RequestRollback(),
    StartRollback(),
    DeleteFile(),
    RemoveInstant(),
    CompleteRollback(),
    RenewHeartbeat(),
    Crash(),
)
"""The rules of what a writer does or suffers, in the order of `drawstring_spec.steps.Step`."""

WORLD_RULES: tuple[Rule, ...] = (ExpireHeartbeat(), ExpireLock(), ReadSnapshot())
"""The rules of what happens to no writer in particular."""

_RULES = {rule.step: rule for rule in (*WRITER_RULES, *WORLD_RULES)}
_RULES_BY_PHASE = {phase: tuple(rule for rule in WRITER_RULES if phase in rule.phases) for phase in Phase}


class NotEnabledError(DrawstringError):
    """A move was applied to a state that does not allow it; the message says what is in its way."""


def writer_moves(world: World, writer: Writer, number: int, config: Config) -> Iterator[tuple[Move, World, Writer]]:
    """The moves that writer `number` can make, each with what it makes of the world and of the writer."""
    for rule in _RULES_BY_PHASE[writer.phase]:
        for move in rule.moves(world, writer, number, config):
            if rule.refusal(world, writer, move, config) is None:
                yield (move, *rule.effect(world, writer, move, config))


def world_moves(world: World, config: Config) -> Iterator[tuple[Move, World]]:
    """What can happen to no writer in particular, with what it makes of the world."""
    for rule in WORLD_RULES:
        for move in rule.moves(world, IDLE, 0, config):
            if rule.refusal(world, IDLE, move, config) is None:
                yield move, rule.effect(world, IDLE, move, config)[0]


def enabled(state: State, config: Config) -> list[Move]:
    """All moves that `state` allows within the bounds of `config`, in a fixed order."""
    moves = [
        move
        for number, writer in enumerate(state.writers)
        for move, _, _ in writer_moves(state.world, writer, number, config)
    ]
    return moves + [move for move, _ in world_moves(state.world, config)]


def refusal(state: State, move: Move, config: Config) -> str | None:
    """Why `state` does not allow `move`, in words; None where it does. The bounds of `config` do not matter."""
    rule = _RULES[move.step]
    if rule in WORLD_RULES:
        return rule.refusal(state.world, IDLE, move, config)
    if move.writer is None or not 0 <= move.writer < len(state.writers):
        return f"there is no writer {move.writer}"
    writer = state.writers[move.writer]
    if writer.phase not in rule.phases:
        return f"the writer is in phase {writer.phase.name}"
    return rule.refusal(state.world, writer, move, config)


def apply(state: State, move: Move, config: Config) -> State:
    """The state after `move`. Raises `NotEnabledError`, and leaves everything as it was, where it is not allowed."""
    objection = refusal(state, move, config)
    if objection is not None:
        raise NotEnabledError(f"{move.step} is not enabled: {objection}.")
    rule = _RULES[move.step]
    if move.writer is None or rule in WORLD_RULES:
        return state._replace(world=rule.effect(state.world, IDLE, move, config)[0])
    world, writer = rule.effect(state.world, state.writers[move.writer], move, config)
    writers = (*state.writers[: move.writer], writer, *state.writers[move.writer + 1 :])
    return State(world, writers)
