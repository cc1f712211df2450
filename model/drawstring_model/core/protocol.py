"""The state machine: which moves a state allows, and what each makes of it.

`enabled` proposes the moves within the bounds of a configuration, as the explorer takes them. `apply` takes any move
that the rules allow, in the bounds or not: this is how the model is driven beside an implementation, with times,
tokens and file groups from outside. Both are pure functions.

`drawstring_model.assembly.Protocol` puts the core and the modules of a configuration together.
"""

from __future__ import annotations

from collections.abc import Iterator

from drawstring_model.assembly import Protocol as Protocol  # noqa: PLC0414 - whoever takes steps finds all of it here
from drawstring_model.assembly import protocol_of as protocol_of  # noqa: PLC0414 - the same
from drawstring_model.core.config import Config
from drawstring_model.core.state import IDLE, Move, State, World, Writer, initial_state
from drawstring_spec.errors import DrawstringError


class NotEnabledError(DrawstringError):
    """A move was applied to a state that does not allow it; the message says what is in its way."""


def start(config: Config) -> State:
    """The state from which `config` is explored: an empty table, idle writers, idle processes of the modules."""
    return initial_state(config.bounds.writers, protocol_of(config).roles)


def process_moves(world: World, writer: Writer, number: int, config: Config) -> Iterator[tuple[Move, World, Writer]]:
    """The moves that process `number` can make, each with what it makes of the world and of the process."""
    protocol = protocol_of(config)
    for rule in protocol.by_process[writer.role, writer.phase]:
        for move in rule.moves(world, writer, number, config):
            if protocol.refusal(rule, world, writer, move, config) is None:
                yield (move, *protocol.effect(rule, world, writer, move, config))


def world_moves(world: World, config: Config) -> Iterator[tuple[Move, World]]:
    """What can happen to no process in particular, with what it makes of the world."""
    protocol = protocol_of(config)
    for rule in protocol.world_rules:
        for move in rule.moves(world, IDLE, 0, config):
            if protocol.refusal(rule, world, IDLE, move, config) is None:
                yield move, protocol.effect(rule, world, IDLE, move, config)[0]


def enabled(state: State, config: Config) -> list[Move]:
    """All moves that `state` allows within the bounds of `config`, in a fixed order."""
    moves = [
        move
        for number, writer in enumerate(state.writers)
        for move, _, _ in process_moves(state.world, writer, number, config)
    ]
    return moves + [move for move, _ in world_moves(state.world, config)]


def refusal(state: State, move: Move, config: Config) -> str | None:
    """Why `state` does not allow `move`, in words; None where it does. The bounds of `config` do not matter."""
    protocol = protocol_of(config)
    rule = protocol.rules.get(move.step)
    if rule is None:
        return f"no module of this configuration has the step {move.step}"
    if rule.is_of_the_world:
        return protocol.refusal(rule, state.world, IDLE, move, config)
    if move.writer is None or not 0 <= move.writer < len(state.writers):
        return f"there is no writer {move.writer}"
    writer = state.writers[move.writer]
    if writer.phase not in rule.phases:
        return f"the writer is in phase {writer.phase.name}"
    if rule.roles is not None and writer.role not in rule.roles:
        return f"the step is not one of a {writer.role}"
    return protocol.refusal(rule, state.world, writer, move, config)


def apply(state: State, move: Move, config: Config) -> State:
    """The state after `move`. Raises `NotEnabledError`, and leaves everything as it was, where it is not allowed."""
    objection = refusal(state, move, config)
    if objection is not None:
        raise NotEnabledError(f"{move.step} is not enabled: {objection}.")
    protocol = protocol_of(config)
    rule = protocol.rules[move.step]
    if move.writer is None or rule.is_of_the_world:
        return state._replace(world=protocol.effect(rule, state.world, IDLE, move, config)[0])
    world, writer = protocol.effect(rule, state.world, state.writers[move.writer], move, config)
    writers = (*state.writers[: move.writer], writer, *state.writers[move.writer + 1 :])
    return State(world, writers)
