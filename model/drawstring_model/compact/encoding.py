"""Digests of states, equal where the states are; and states as JSON, in which nothing is evaluated when it is read.

A digest depends on the values alone: not on the process, on numbers given out, or on Python's ``hash()``. Values that
are equal in Python (1 and True, an enum's member and its value, a NamedTuple and its tuple) have one encoding.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from hashlib import blake2b
from typing import Any

import drawstring_model.core
import drawstring_model.modules
import drawstring_spec.instants
from drawstring_model.core.state import World, Writer
from drawstring_spec.errors import DrawstringError

DIGEST_BYTES = 16
"""128 bits."""
_MOST_KEPT = 200_000
"""So many encoded values are remembered at most."""


class NotAStateError(DrawstringError):
    """What was read is no state of the model; the message says what is wrong with it."""


def digest(content: bytes) -> bytes:
    """128 bits of BLAKE2b."""
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def encoded(value: object) -> bytes:
    """The canonical bytes of a value of a state. Raises `TypeError` for a value that no state may have."""
    if value is None:
        return b"n"
    if isinstance(value, int):
        return b"i%d;" % value
    if isinstance(value, str):
        text = value.encode()
        return b"s%d:%b" % (len(text), text)
    if isinstance(value, tuple):
        return b"(%b)" % b"".join(map(encoded, value))
    if isinstance(value, type):
        return b"c%b;" % _name_of(value).encode()
    raise TypeError(f"a state is made of tuples, numbers and texts, not of {value!r}")


class Codes:
    """Digests of worlds and memories; `changed` rewrites a field first, by its position, where a symmetry asks for it.

    Args:
        of_world: by position of a field of `World`: what it is rewritten by.
        of_memory: the same for `Writer`.

    """

    def __init__(
        self,
        of_world: Mapping[int, Callable[[Any], Any]] | None = None,
        of_memory: Mapping[int, Callable[[Any], Any]] | None = None,
    ) -> None:
        self._changes = dict(of_world or {}), dict(of_memory or {})
        self._fields: tuple[list[dict[Any, bytes]], list[dict[Any, bytes]]] = (
            [{} for _ in World._fields],
            [{} for _ in Writer._fields],
        )

    def of_world(self, world: World) -> bytes:
        """The digest of a world."""
        return self._code(0, world)

    def of_memory(self, writer: Writer) -> bytes:
        """The digest of a memory."""
        return self._code(1, writer)

    def _code(self, kind: int, value: tuple[Any, ...]) -> bytes:
        """The digest of the digests of the fields, which few values share out among them."""
        parts = []
        for position, (known, field) in enumerate(zip(self._fields[kind], value, strict=True)):
            code = known.get(field)
            if code is None:
                if len(known) >= _MOST_KEPT:
                    known.clear()
                change = self._changes[kind].get(position)
                code = known[field] = digest(encoded(field if change is None else change(field)))
            parts.append(code)
        return digest(b"".join(parts))


def _name_of(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@cache
def _kinds() -> Mapping[str, type]:
    """The classes that a state may hold, by name: NamedTuples and enums of the model, and nothing else."""
    found = {}
    for package in (drawstring_model.core, drawstring_model.modules):
        for info in pkgutil.iter_modules(package.__path__):
            file = importlib.import_module(f"{package.__name__}.{info.name}")
            found.update({_name_of(kind): kind for kind in vars(file).values() if _may_be_held(kind)})
    found.update({_name_of(kind): kind for kind in vars(drawstring_spec.instants).values() if _may_be_held(kind)})
    return found


def _may_be_held(kind: object) -> bool:
    return isinstance(kind, type) and (issubclass(kind, Enum) or (issubclass(kind, tuple) and hasattr(kind, "_fields")))


def as_json(value: object) -> Any:
    """A value of a state as JSON: lists are tuples, and what has a class of its own is an object that names it."""
    if isinstance(value, type):
        return {"kind": _name_of(value)}
    if isinstance(value, Enum):
        return {"enum": _name_of(type(value)), "value": value.value}
    if isinstance(value, tuple):
        items = [as_json(item) for item in value]
        return {"tuple": _name_of(type(value)), "items": items} if hasattr(value, "_fields") else items
    return value


def from_json(saved: Any) -> Any:
    """The value that `as_json` wrote. Raises `NotAStateError` for anything else."""
    if saved is None or isinstance(saved, (bool, int, str)):
        return saved
    if isinstance(saved, list):
        return tuple(from_json(item) for item in saved)
    try:
        match saved:
            case {"kind": str(name)}:
                return _kinds()[name]
            case {"enum": str(name), "value": value} if issubclass(_kinds()[name], Enum):
                return _kinds()[name](value)
            case {"tuple": str(name), "items": list(items)} if issubclass(_kinds()[name], tuple):
                return _kinds()[name](*(from_json(item) for item in items))
    except (KeyError, TypeError, ValueError) as error:
        raise NotAStateError(f"a state holds no {saved!r:.80}") from error
    raise NotAStateError(f"a state holds no {saved!r:.80}")
