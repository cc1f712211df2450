"""The core and the modules of a configuration, put together: all rules in the order of the steps, and all promises.

What a rule and a module are is told in `drawstring_model.core.module`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from drawstring_model.core.config import Config
from drawstring_model.core.conflict import AbortWrite
from drawstring_model.core.invariants import INVARIANTS
from drawstring_model.core.lock import AcquireLock, ReleaseLock
from drawstring_model.core.module import Module, Rule, modules_of
from drawstring_model.core.promises import Check, Promise
from drawstring_model.core.state import WRITER, Move, Phase, Role, World, Writer
from drawstring_model.core.writer import (
    CheckConflicts,
    CompleteInstant,
    GenerateRequestedTime,
    LookupKeys,
    RequestInstant,
    StartInflight,
    UpdateMetadata,
    WriteFile,
)
from drawstring_spec.steps import Step


class ReadSnapshot(Rule):
    """A reader picks a snapshot time, builds the file slices of it and merges their rows.

    Enabled: always. What it reads is `drawstring_model.core.reader.read_snapshot`.
    Effect: none.
    Unchanged: everything, so the explorer never takes it: the invariants read at every snapshot time instead.
    """

    step = Step.READ_SNAPSHOT
    phases = frozenset(Phase)
    is_of_the_world = True

    def moves(self, world: World, writer: Writer, number: int, config: Config) -> Iterable[Move]:
        """None."""
        del world, writer, number, config
        return ()


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
