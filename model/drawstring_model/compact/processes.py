"""Who expands the front: this process, or several that each keep a part of it.

A state stays with the process that found it. What travels is the digest of each successor, and back a byte that says
whether it is new; so the processes share nothing but the numbers that `search` gives out. What they send one another
goes through pipes between them, and is read by nobody else.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Collection, Sequence
from itertools import compress
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

from drawstring_model.compact.expansion import Expander, Finding, Place
from drawstring_model.compact.symmetry import Symmetry
from drawstring_model.core.config import Config
from drawstring_model.core.promises import Promise
from drawstring_model.core.state import State

_STOPS_IN_S = 10


class Reply(NamedTuple):
    """Successors of a part of the front: how many of each state, all their digests one after another, findings."""

    counts: Sequence[int]
    digests: Sequence[bytes]
    findings: Sequence[Finding]


class Part:
    """A part of the front.

    Args:
        config: which protocol.
        symmetry: what is alike.
        broken: promises that are known to be broken.

    """

    def __init__(self, config: Config, symmetry: Symmetry, broken: Collection[Promise] = ()) -> None:
        self._expander = Expander(config, symmetry)
        self._expander.broken |= set(broken)
        self._front: list[Place] = []
        self._next: list[Place] = []
        self._found: list[Place] = []

    def seed(self, states: Sequence[State], *, check: bool = False) -> tuple[list[bytes], list[Promise]]:
        """These states are the front: their digests, and, if they are to be checked, what they break."""
        self._front = [self._expander.place_of(state) for state in states]
        broken = [promise for place in self._front for promise in self._expander.check(place)] if check else []
        return [self._expander.digest_of(place) for place in self._front], broken

    def expand(self, new: bytes, start: int, stop: int) -> Reply:
        """Keep of what was found last what is `new`; then the successors of a part of the front."""
        self._keep(new)
        batch = self._expander.expand(self._front[start:stop])
        self._found = batch.places
        return Reply(batch.counts, batch.digests, batch.findings)

    def turn(self, new: bytes) -> int:
        """Keep what is `new`; what was kept is the front now. Its size."""
        self._keep(new)
        self._front, self._next = self._next, []
        self._expander.next_level()
        return len(self._front)

    def states(self) -> list[State]:
        """The states of the front."""
        return [State(node.world, tuple(memory.writer for memory in memories)) for node, memories in self._front]

    def _keep(self, new: bytes) -> None:
        self._next.extend(compress(self._found, new))
        self._found = []


class Worker(Protocol):
    """Something that is told what to do, and answers in the same order."""

    def tell(self, order: str, *arguments: Any) -> None:
        """Call a method of the part."""

    def answer(self) -> Any:
        """What the oldest call that was not answered returned."""

    def stop(self) -> None:
        """No more calls come."""


class Here:
    """A part in this process."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._answers: list[Any] = []

    def tell(self, order: str, *arguments: Any) -> None:
        """Done at once."""
        self._answers.append(getattr(self._part, order)(*arguments))

    def answer(self) -> Any:
        """The oldest."""
        return self._answers.pop(0)

    def stop(self) -> None:
        """Nothing to do."""


class Elsewhere:
    """A part in a process of its own; it ends with this one, whatever happens."""

    def __init__(self, config: Config, symmetry: Symmetry, broken: Collection[Promise]) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, config, symmetry, frozenset(broken))
        self._process = context.Process(target=_obey, args=arguments, daemon=True)
        self._process.start()
        theirs.close()

    def tell(self, order: str, *arguments: Any) -> None:
        """Sent; the answer is waited for in `answer`."""
        self._pipe.send((order, arguments))

    def answer(self) -> Any:
        """Waits. Raises what the call raised, and `EOFError` where the process is gone."""
        done, value = self._pipe.recv()
        if not done:
            raise value
        return value

    def stop(self) -> None:
        """The process ends: by itself, or by force where it does not."""
        self._pipe.close()
        self._process.join(_STOPS_IN_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def _obey(pipe: Connection[Any, Any], config: Config, symmetry: Symmetry, broken: Collection[Promise]) -> None:
    """The life of a process: calls, until nobody calls any more."""
    part = Part(config, symmetry, broken)
    while True:
        try:
            order, arguments = pipe.recv()
        except (EOFError, OSError, KeyboardInterrupt):
            return
        try:
            pipe.send((True, getattr(part, order)(*arguments)))
        except Exception as error:  # noqa: BLE001  # whoever called has to hear of it, whatever it is
            pipe.send((False, error))
