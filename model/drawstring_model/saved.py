"""Configurations and histories as JSON, and back; nothing in a file is trusted, and nothing in it is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any

from drawstring_model.catalogue import Switch, assembled, settings_of
from drawstring_model.config import Bounds, Config, PlantedBug
from drawstring_model.core.config import Config as AnyConfig
from drawstring_model.core.module import modules_of
from drawstring_model.core.protocol import apply, enabled, start
from drawstring_model.core.state import Move, State
from drawstring_model.explorer import Counterexample
from drawstring_model.narrate import told
from drawstring_model.orders import told_orders
from drawstring_spec.errors import DrawstringError

_SWITCHES = ("clock", "concurrency", "key_check", "put_if_absent", "salt", "rollback", "snapshot_time")
_MOST = 1_000
"""No bound of a saved configuration is larger, and no operation of it longer."""


class NotAHistoryError(DrawstringError):
    """A file is no history that was saved here; the message says what is wrong with it."""


def config_as_json(config: AnyConfig) -> dict[str, Any]:
    """All that a configuration is."""
    bounds = {field.name: getattr(config.bounds, field.name) for field in fields(Bounds)}
    switches = {name: getattr(config, name) for name in _SWITCHES}
    return {
        **{name: value.value if isinstance(value, StrEnum) else value for name, value in switches.items()},
        "planted": None if config.planted is None else config.planted.value,
        "modules": {module.name: settings_of(module) for module in modules_of(config)},
        "bounds": bounds | {"workload": [[list(change) for change in each] for each in config.bounds.workload]},
    }


def config_from_json(saved: Mapping[str, Any]) -> Config:
    """The configuration that was saved. Raises `KeyError`, `TypeError`, `ValueError` or `DrawstringError`."""
    default, bounds = Config(), Bounds()
    named = saved["modules"]
    numbers = {
        field.name: Switch(field.name, getattr(bounds, field.name)).parsed(saved["bounds"][field.name])
        for field in fields(Bounds)
        if field.name != "workload"
    }
    if any(int(number) > _MOST for number in numbers.values()):
        raise ValueError(f"a bound is greater than {_MOST}")
    workload = tuple(
        tuple((int(key), written is True) for key, written in each) for each in saved["bounds"]["workload"][:_MOST]
    )
    return Config(
        **{name: Switch(name, getattr(default, name)).parsed(saved[name]) for name in _SWITCHES},  # type: ignore[arg-type]  # each is parsed as its default's kind
        planted=None if saved["planted"] is None else PlantedBug(saved["planted"]),
        modules=assembled(named, [module.name for module in modules_of(default) if module.name not in named], named),
        bounds=Bounds(workload=workload, **numbers),  # type: ignore[arg-type]  # the same
    )


def history_as_json(example: Counterexample, config: AnyConfig) -> dict[str, Any]:
    """A counterexample with its configuration, step by step in words, and what it contradicts."""
    state, steps = start(config), []
    for move in example.moves:
        steps.append(told(state, move))
        state = apply(state, move, config)
    return {
        "promise": example.promise.value,
        "finding": example.finding,
        "length": len(example.moves),
        "orders": told_orders(example.moves, config),
        "steps": steps,
        "config": config_as_json(config),
    }


def replayed(saved: Mapping[str, Any]) -> list[tuple[str, Move, State]]:
    """Each step of a saved history in words, its move, and the state after it.

    Raises `NotAHistoryError` where the history is none, or the rules do not allow a step of it.
    """
    try:
        config = config_from_json(saved["config"])
        sentences = [str(sentence) for sentence in saved["steps"]]
    except (AttributeError, KeyError, TypeError, ValueError, DrawstringError) as error:
        raise NotAHistoryError(f"this is not a history that `check --save` wrote: {error}") from error
    state, steps = start(config), []
    for number, sentence in enumerate(sentences, start=1):
        # The sentences are as good as the moves: in one state each enabled move has its own.
        move = next((move for move in enabled(state, config) if told(state, move) == sentence), None)
        if move is None:
            raise NotAHistoryError(f"step {number} is not enabled: {sentence}")
        state = apply(state, move, config)
        steps.append((sentence, move, state))
    return steps
