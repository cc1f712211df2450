"""The state machine: which moves a state allows, and what each makes of it.

`enabled` proposes the moves within the bounds of a configuration, as the explorer takes them. `apply` takes any move
that the rules allow, in the bounds or not: this is how the model is driven beside an implementation, with times,
tokens and file groups from outside. Both are pure functions.

`Protocol` puts the core and the modules of a configuration together.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from drawstring_model.core.completion import CheckConflicts, CompleteInstant, UpdateMetadata
from drawstring_model.core.config import Config
from drawstring_model.core.conflict import AbortWrite
from drawstring_model.core.invariants import INVARIANTS
from drawstring_model.core.lock import AcquireLock, ReleaseLock
from drawstring_model.core.module import Module, Rule, modules_of
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.reader import ReadSnapshot
from drawstring_model.core.state import (
    IDLE,
    WRITER,
    Move,
    Phase,
    Role,
    State,
    World,
    Writer,
    initial_state,
)
from drawstring_model.core.writer import GenerateRequestedTime, LookupKeys, RequestInstant, StartInflight, WriteFile
from drawstring_spec.errors import DrawstringError
from drawstring_spec.steps import Step

CORE_RULES: tuple[Rule, ...] = (
    GenerateRequestedTime(),
    RequestInstant(),
    LookupKeys(),
    StartInflight(),
    WriteFile(),
    AcquireLock(),
    CheckConflicts(),
    UpdateMetadata(),
    CompleteInstant(),
    ReleaseLock(),
    AbortWrite(),
    ReadSnapshot(),
)
"""The actions of the core, in the order of `drawstring_spec.steps.Step`."""


class NotEnabledError(DrawstringError):
    """A move was applied to a state that does not allow it; the message says what is in its way."""


class Protocol:
    """The core and some modules, put together: all rules in the order of the steps, all promises.

    Raises `ValueError` where a module does not come after those that it requires.
    """

    def __init__(self, modules: tuple[Module, ...]) -> None:
        for position, module in enumerate(modules):
            missing = module.requires - {earlier.name for earlier in modules[:position]}
            if missing:
                raise ValueError(f"the module {module.name} has to come after {', '.join(sorted(missing))}")
        self._modules = modules
        rules = {rule.step: rule for rule in (*CORE_RULES, *(rule for module in modules for rule in module.rules))}
        self.rules = {step: rules[step] for step in Step if step in rules}
        self.roles: tuple[Role, ...] = tuple(role for module in modules for role in module.roles)
        self.world_rules = tuple(rule for rule in self.rules.values() if rule.is_of_the_world)
        self.process_rules = tuple(rule for rule in self.rules.values() if not rule.is_of_the_world)
        self.by_process = {
            (role, phase): tuple(
                rule
                for rule in self.process_rules
                if phase in rule.phases and (rule.roles is None or role in rule.roles)
            )
            for role in (WRITER, *self.roles)
            for phase in Phase
        }
        self._guards = {step: [m.guards[step] for m in modules if step in m.guards] for step in Step}
        self._consequences = {step: [m.consequences[step] for m in modules if step in m.consequences] for step in Step}

    def refusal(self, rule: Rule, world: World, writer: Writer, move: Move, config: Config) -> str | None:
        """Why the rule or a module does not allow a move."""
        objection = rule.refusal(world, writer, move, config)
        if objection is None:
            for guard in self._guards[rule.step]:
                objection = guard(world, writer, move, config)
                if objection is not None:
                    break
        return objection

    def effect(self, rule: Rule, world: World, writer: Writer, move: Move, config: Config) -> tuple[World, Writer]:
        """What a move makes of the world and of its process, by its rule and by all modules."""
        world, after = rule.effect(world, writer, move, config)
        for consequence in self._consequences[rule.step]:
            world = consequence(world, writer, move, config)
        return world, after

    def invariants(self) -> dict[Promise, Check]:
        """What must be true of every state; a promise may have a check from each module."""
        checks: dict[Promise, list[Check]] = {}
        for invariants in (INVARIANTS, *(module.invariants for module in self._modules)):
            for promise, check in invariants.items():
                checks.setdefault(promise, []).append(check)
        return {promise: _first_finding(checks[promise]) for promise in Promise if promise in checks}


def _first_finding(checks: list[Check]) -> Check:
    """One check of several."""
    if len(checks) == 1:
        return checks[0]

    def check(world: World, config: Config) -> str | None:
        return next((finding for each in checks if (finding := each(world, config)) is not None), None)

    return check


@cache
def _put_together(modules: tuple[Module, ...]) -> Protocol:
    return Protocol(modules)


def protocol_of(config: Config) -> Protocol:
    """The core and the modules of `config`."""
    return _put_together(modules_of(config))


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
