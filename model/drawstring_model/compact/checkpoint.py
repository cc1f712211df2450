"""A search that was put aside: a file of numbers, digests and JSON, of which nothing is evaluated when it is read.

    a line that says what it is, and the format's number
    8 bytes: the length of the header
    the header: JSON with the configuration, how far the search is, and the length of each section
    the sections, each compressed by zlib: digests (low halves, high halves), parents, the front
    16 bytes: BLAKE2b of all before

The front is the level that was not expanded yet, in full: its worlds field by field, each distinct value once. Reading
goes by what is there, never by a length that the file claims; and every state of the front has to have the digest that
the search gave it. So a file that is damaged, or was written by another version of the model, is refused.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import drawstring_model.core
import drawstring_model.modules
from drawstring_model.compact.encoding import as_json, digest, from_json
from drawstring_model.compact.symmetry import Symmetry
from drawstring_model.compact.visited import Visited
from drawstring_model.core.config import Config
from drawstring_model.core.promises import Promise
from drawstring_model.core.state import State, World, Writer
from drawstring_model.saved import config_as_json, config_from_json
from drawstring_spec.errors import DrawstringError

_MAGIC = b"drawstring model checkpoint 1\n"
_LENGTH_BYTES = 8
_CHECK_BYTES = 16
_LARGEST_RATIO = 1_040
"""zlib makes nothing smaller than by this."""
_MALFORMED: tuple[type[Exception], ...] = (
    ArithmeticError,
    AttributeError,
    DrawstringError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    zlib.error,
)
"""What parsing may raise where the file was made up."""
_SECTIONS = ("low", "high", "parents", "front")


class NotACheckpointError(DrawstringError):
    """A file is no checkpoint that this version of the model can go on from; the message says why."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A search between two levels.

    Attributes:
        config: what is explored.
        symmetry: what is alike.
        depth: steps from the start to the front.
        transitions: steps taken so far.
        visited: all states that were met.
        broken: for each broken promise the state that breaks it, and, where a step does, the state before; as numbers.
        front: the states that were not expanded yet, with their numbers.

    """

    config: Config
    symmetry: Symmetry
    depth: int
    transitions: int
    visited: Visited
    broken: Mapping[Promise, tuple[int, int | None]]
    front: Sequence[tuple[int, State]]


@cache
def fingerprint() -> str:
    """What tells this version of the rules from others: a digest of their sources."""
    content = blake2b(digest_size=16)
    for package in (drawstring_model.core, drawstring_model.modules):
        for folder in package.__path__:
            for file in sorted(Path(folder).glob("*.py")):
                content.update(file.name.encode() + b"\0" + file.read_bytes())
    return content.hexdigest()


def write_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Write the file; one that is there is replaced only once the new one is whole."""
    sections = [*checkpoint.visited.columns(), json.dumps(_front_as_json(checkpoint.front)).encode()]
    packed = [zlib.compress(section, 1) for section in sections]
    header = {
        "config": config_as_json(checkpoint.config),
        "model": fingerprint(),
        "byteorder": sys.byteorder,
        "symmetry": {"writers": checkpoint.symmetry.writers, "keys": checkpoint.symmetry.keys},
        "depth": checkpoint.depth,
        "transitions": checkpoint.transitions,
        "broken": {promise.value: list(numbers) for promise, numbers in checkpoint.broken.items()},
        "sections": [len(each) for each in packed],
    }
    head = json.dumps(header).encode()
    content = b"".join([_MAGIC, len(head).to_bytes(_LENGTH_BYTES, "little"), head, *packed])
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as file:
        file.write(content)
        file.write(digest(content))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def read_checkpoint(path: Path) -> Checkpoint:
    """The search that was put aside in a file. Raises `NotACheckpointError`."""
    content = path.read_bytes()
    if not content.startswith(_MAGIC):
        raise NotACheckpointError(f"{path} is not a checkpoint of the model.")
    body, check = memoryview(content)[:-_CHECK_BYTES], content[-_CHECK_BYTES:]
    if digest(bytes(body)) != check:
        raise NotACheckpointError(f"{path} is damaged.", way_out="Begin anew.")
    try:
        return _parsed(bytes(body)[len(_MAGIC) :])
    except NotACheckpointError:
        raise
    except _MALFORMED as error:
        raise NotACheckpointError(f"{path} is no whole checkpoint: {error}") from error


def _parsed(body: bytes) -> Checkpoint:
    """The checkpoint behind the first line."""
    length = int.from_bytes(body[:_LENGTH_BYTES], "little")
    header = json.loads(body[_LENGTH_BYTES : _LENGTH_BYTES + length])
    if header["model"] != fingerprint() or header["byteorder"] != sys.byteorder:
        raise NotACheckpointError(
            "the checkpoint was written by another version of the model, or on another kind of machine.",
            way_out="Begin anew.",
        )
    sections = dict(zip(_SECTIONS, _unpacked(body[_LENGTH_BYTES + length :], header["sections"]), strict=True))
    visited = Visited.of_columns(sections["low"], sections["high"], sections["parents"])
    broken = {Promise(name): _numbers(pair, len(visited)) for name, pair in header["broken"].items()}
    front = list(_front_from_json(json.loads(sections["front"]), len(visited)))
    return Checkpoint(
        config=config_from_json(header["config"]),
        symmetry=Symmetry(writers=header["symmetry"]["writers"] is True, keys=header["symmetry"]["keys"] is True),
        depth=int(header["depth"]),
        transitions=int(header["transitions"]),
        visited=visited,
        broken=broken,
        front=front,
    )


def _unpacked(packed: bytes, lengths: Sequence[int]) -> Iterator[bytes]:
    """The sections; none grows beyond what zlib can have made so small."""
    for length in lengths:
        section, packed = packed[:length], packed[length:]
        yield zlib.decompressobj().decompress(section, _LARGEST_RATIO * (len(section) + 1))


def _numbers(pair: Sequence[Any], states: int) -> tuple[int, int | None]:
    end, before = pair
    if not 0 <= int(end) < states or (before is not None and not 0 <= int(before) < states):
        raise ValueError("a broken promise names a state that is not there")
    return int(end), None if before is None else int(before)


def _front_as_json(front: Sequence[tuple[int, State]]) -> dict[str, Any]:
    """Values of fields, each once; worlds and memories as rows of their numbers; states as rows of those.

    Values are told apart by field, too: a phase and a time may be equal, and are not the same.
    """
    values: dict[str, dict[Any, int]] = {kind: {} for kind in ("fields", "worlds", "memories")}

    def number(kind: str, value: Any) -> int:
        return values[kind].setdefault(value, len(values[kind]))

    def row(holder: World | Writer) -> tuple[int, ...]:
        names = ((type(holder), position) for position in range(len(holder)))
        return tuple(number("fields", each) for each in zip(names, holder, strict=True))

    states = [
        [name, number("worlds", row(state.world)), *(number("memories", row(writer)) for writer in state.writers)]
        for name, state in front
    ]
    return {
        "fields": [as_json(value) for _, value in values["fields"]],
        "worlds": list(values["worlds"]),
        "memories": list(values["memories"]),
        "states": states,
    }


def _front_from_json(saved: Mapping[str, Any], states: int) -> Iterator[tuple[int, State]]:
    fields = [from_json(field) for field in saved["fields"]]
    worlds = [World(*(fields[number] for number in array("I", row))) for row in saved["worlds"]]
    memories = [Writer(*(fields[number] for number in array("I", row))) for row in saved["memories"]]
    for name, world, *own in saved["states"]:
        if not 0 <= name < states:
            raise ValueError("the front has a state that was never met")
        yield name, State(worlds[array("I", [world])[0]], tuple(memories[number] for number in array("I", own)))
