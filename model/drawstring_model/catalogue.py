"""The modules by name, with their switches, so that a configuration can be written down: on a command line, as JSON.

A module is known by standing in `drawstring_model.modules`: whoever writes one need not register it here. Its switches
are the fields of its dataclass; their values are truth values, numbers and names, nothing else.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from drawstring_model import modules
from drawstring_model.config import COPY_ON_WRITE
from drawstring_model.core.module import Module
from drawstring_spec.errors import DrawstringError

BASE: tuple[str, ...] = tuple(module.name for module in COPY_ON_WRITE)
"""The modules that are on unless they are left out."""

_WORDS = {"true": True, "yes": True, "false": False, "no": False}

Settings = Mapping[str, Mapping[str, Any]]
"""By module, then by switch: its value, or the text of it."""


class UnknownSwitchError(DrawstringError):
    """There is no such module or switch, or the switch has no such value; the message says what there is."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch of a module: its name, its default, and what it may be."""

    name: str
    default: bool | int | StrEnum

    @property
    def choices(self) -> str:
        """What it may be, in words."""
        if isinstance(self.default, StrEnum):
            return ", ".join(type(self.default))
        return "true, false" if isinstance(self.default, bool) else "a number, 0 or more"

    def parsed(self, value: object) -> bool | int | StrEnum:
        """`value`, or the text of it, as this switch takes it. Raises `UnknownSwitchError`."""
        kind = type(self.default)
        text = str(value)
        if kind is bool and text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if kind is int and text.isascii() and text.isdigit():
            return int(text)
        if isinstance(self.default, StrEnum) and text.upper() in list(type(self.default)):
            return type(self.default)(text.upper())
        raise UnknownSwitchError(f"{self.name} cannot be {value!r}: it is one of {self.choices}.")


@cache
def known_modules() -> Mapping[str, type[Module]]:
    """All modules by name, in the order of the names."""
    found: dict[str, type[Module]] = {}
    for info in pkgutil.iter_modules(modules.__path__):
        file = importlib.import_module(f"{modules.__name__}.{info.name}")
        for _, kind in inspect.getmembers(file, inspect.isclass):
            if issubclass(kind, Module) and kind.__module__ == file.__name__ and "name" in vars(kind):
                found[kind.name] = kind
    return dict(sorted(found.items()))


def switches_of(kind: type[Module]) -> tuple[Switch, ...]:
    """The switches of a module."""
    if not is_dataclass(kind):
        return ()
    default = kind()
    return tuple(Switch(field.name, getattr(default, field.name)) for field in fields(kind))


def settings_of(module: Module) -> dict[str, bool | int | str]:
    """The values of a module's switches, as JSON has them."""
    found = {switch.name: getattr(module, switch.name) for switch in switches_of(type(module))}
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in found.items()}


def assembled(
    names: Iterable[str], without: Iterable[str] = (), settings: Settings | None = None
) -> tuple[Module, ...]:
    """The base modules and those of `names` with all that they require, each after what it requires.

    Args:
        names: of modules; what they require comes by itself.
        without: names of modules that are left out.
        settings: switches that differ from their defaults.

    Raises:
        UnknownSwitchError: a name is unknown, a module that is required is left out, or one that is set is not on.

    """
    left_out, settings = set(without), settings or {}
    chosen: list[str] = []
    for name in (*BASE, *sorted(names)):
        if name not in left_out:
            _add(name, chosen, left_out)
    for name in {*left_out, *settings}:
        _known(name)
    idle = sorted(set(settings) - set(chosen))
    if idle:
        raise UnknownSwitchError(f"the module {idle[0]} has a switch set, but is not on.", way_out="Name the module.")
    return tuple(_made(_known(name), settings.get(name, {})) for name in chosen)


def _add(name: str, chosen: list[str], left_out: set[str]) -> None:
    """Append `name` to `chosen`, after what it requires."""
    for required in sorted(_known(name).requires):
        if required in left_out:
            raise UnknownSwitchError(f"the module {name} cannot be on without {required}.")
        _add(required, chosen, left_out)
    if name not in chosen:
        chosen.append(name)


def _known(name: str) -> type[Module]:
    kind = known_modules().get(name)
    if kind is None:
        raise UnknownSwitchError(f"there is no module {name!r}: there are {', '.join(known_modules())}.")
    return kind


def _made(kind: type[Module], values: Mapping[str, Any]) -> Module:
    switches = {switch.name: switch for switch in switches_of(kind)}
    unknown = sorted(set(values) - set(switches))
    if unknown:
        there = ", ".join(switches) or "none"
        raise UnknownSwitchError(f"the module {kind.name} has no switch {unknown[0]!r}: there are {there}.")
    return kind(**{name: switches[name].parsed(value) for name, value in values.items()})
