"""Ways to damage bytes and JSON. Pure functions of what they are given and of a seeded generator."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

EXTREME_INTS = (0, 1, -1, 127, 128, 255, 2**15, 2**16 - 1, 2**24, 2**31 - 1, -(2**31), 2**32 - 1, 2**40, 2**63 - 1)
EXTREME_VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, -(2**63), 10**30, 1e308, "", "../../etc/passwd", "/", "\0", "é" * 99, [], {}, [[]],
)  # fmt: skip
MOST_STEPS = 3


def damage(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """One to three kinds of damage, one after the other; `others` are what pieces are taken from."""
    for _ in range(chance.randint(1, MOST_STEPS)):
        content = chance.choice(_KINDS)(content, chance, others)
    return content


def cut(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def flip(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    if not content:
        return content
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 8))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def extreme_byte(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    return _replaced(content, chance, bytes([chance.choice((0, 1, 0x7F, 0x80, 0xFE, 0xFF))]))


def extreme_number(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    width = chance.choice((2, 4, 4, 8, 8))
    number = chance.choice((*EXTREME_INTS, len(content), len(content) + 1)) % 2 ** (8 * width)
    return _replaced(content, chance, number.to_bytes(width, chance.choice(("big", "big", "little"))))


def varint(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    """A number of variable length in the place of a byte, as Avro, Thrift and protocol buffers have them."""
    number = long_varint(chance.choice((2**20, 2**31, 2**40, 2**62)) + chance.choice((-1, 0, 1)))
    position = chance.randrange(len(content) + 1)
    return content[:position] + number + content[position + 1 :]


def zero(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(content, chance)
    return content[:start] + bytes(end - start) + content[end:]


def remove(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(content, chance)
    return content[:start] + content[end:]


def repeat(content: bytes, chance: Random, _: Sequence[bytes]) -> bytes:
    start, end = _span(content, chance)
    return content[:end] + content[start:end] * chance.choice((1, 1, 5)) + content[end:]


def splice(content: bytes, chance: Random, others: Sequence[bytes]) -> bytes:
    """The beginning of one file and the end of another, or a piece of another in the middle."""
    other = chance.choice(others) if others else content
    if chance.random() < 0.5:
        return content[: chance.randrange(len(content) + 1)] + other[chance.randrange(len(other) + 1) :]
    start, end = _span(other, chance)
    at = chance.randrange(len(content) + 1)
    return content[:at] + other[start:end] + content[at + end - start :]


Mutator = Callable[[bytes, Random, Sequence[bytes]], bytes]
_KINDS: tuple[Mutator, ...] = (
    cut, flip, flip, flip, extreme_byte, extreme_byte, extreme_number, extreme_number, varint, zero, remove, repeat,
    splice,
)  # fmt: skip


def _replaced(content: bytes, chance: Random, piece: bytes) -> bytes:
    at = chance.randrange(max(len(content) - len(piece), 0) + 1)
    return content[:at] + piece + content[at + len(piece) :]


def _span(content: bytes, chance: Random) -> tuple[int, int]:
    start = chance.randrange(len(content) + 1)
    return start, min(len(content), start + chance.choice((1, 2, 4, 8, 16, 64, 512)))


def long_varint(value: int) -> bytes:
    """A number without sign, seven bits to a byte, the least first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def avro_long(value: int) -> bytes:
    """A number as Avro writes it."""
    return long_varint((value << 1) ^ (value >> 63) if value < 0 else value << 1)


def damage_json(text: str | bytes, chance: Random) -> bytes:
    """JSON with one to three nodes that became something else; what is none stays, damaged as bytes."""
    try:
        value = json.loads(text)
    except ValueError:
        return damage(text if isinstance(text, bytes) else text.encode(), chance, ())
    for _ in range(chance.randint(1, MOST_STEPS)):
        value = _with_damaged_node(value, chance)
    try:
        return json.dumps(value).encode()
    except RecursionError:
        return b"[" * 100_000


def _with_damaged_node(value: Any, chance: Random) -> Any:
    places = list(_places(value))
    if not places:
        return chance.choice(EXTREME_VALUES)
    holder, key = chance.choice(places)
    kind = chance.randrange(5)
    if kind == 0:
        del holder[key]
    elif kind == 1:
        donor, at = chance.choice(places)
        holder[key] = json.loads(json.dumps(donor[at]))
    elif kind == 2:
        holder[key] = _nested(holder[key], chance.choice((3, 70, 200)), chance)
    elif kind == 3 and isinstance(holder[key], str):
        holder[key] = damage(holder[key].encode(), chance, ()).decode("latin-1")
    else:
        holder[key] = copy.deepcopy(chance.choice(EXTREME_VALUES))
    return value


def _nested(value: Any, depth: int, chance: Random) -> Any:
    wrap = chance.choice((lambda v: [v], lambda v: {"type": v}, lambda v: {"type": "array", "items": v}))
    for _ in range(depth):
        value = wrap(value)
    return value


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every node but the root, as the container that holds it and its key there."""
    found: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        node = pending.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ()
        for key in keys:
            found.append((node, key))
            pending.append(node[key])
    return found
