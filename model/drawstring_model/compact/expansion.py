"""What one step leads to: the successors of states, with their digests, and what is wrong with them.

What a process in one memory can do in one world is worked out once for all states that share the two, and kept while
the breadth-first front passes by: worlds that were not met for some levels are forgotten. So memory is bounded by the
front, not by the number of states. Promises of a world are checked when it is met, again where it was forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from drawstring_model.compact.encoding import digest
from drawstring_model.compact.symmetry import Symmetry, renamings
from drawstring_model.core.config import Config
from drawstring_model.core.invariants import STEP_PROPERTIES
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import process_moves, protocol_of, world_moves
from drawstring_model.core.state import State, World, Writer

GENERATIONS = 3
"""A world that no state of so many levels has is forgotten."""


class Memory:
    """A process's memory, the same object wherever it is equal, with its digest under each renaming."""

    __slots__ = ("codes", "writer")

    def __init__(self, writer: Writer, codes: tuple[bytes, ...]) -> None:
        self.writer = writer
        self.codes = codes


class Node:
    """A world with its digests, and what was worked out in it: what happens to it, and moves by process and memory."""

    __slots__ = ("codes", "happenings", "moves", "world")

    def __init__(self, world: World, codes: tuple[bytes, ...], processes: int) -> None:
        self.world = world
        self.codes = codes
        self.happenings: tuple[Node, ...] | None = None
        self.moves: list[dict[Memory, tuple[tuple[Node, Memory], ...]]] = [{} for _ in range(processes)]


Place: TypeAlias = tuple[Node, tuple[Memory, ...]]
"""A state."""


class Finding(NamedTuple):
    """A promise is broken in the `position`-th successor of a batch, or, if `in_step`, by the step to it."""

    promise: Promise
    position: int
    in_step: bool


@dataclass
class Batch:
    """Successors of some states: how many each has, then all of them, with their digests."""

    counts: list[int] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Expander:
    """Works out successors in the protocol of `config`, with alike states equal by `symmetry`.

    Args:
        config: which protocol, and its bounds.
        symmetry: what is alike; raises `NoSymmetryError` where it is not.

    """

    def __init__(self, config: Config, symmetry: Symmetry | None = None) -> None:
        self._config = config
        self._renamings = renamings(config, symmetry or Symmetry())
        self._orders = [renaming.order for renaming in self._renamings]
        self._invariants = protocol_of(config).invariants()
        self._processes = len(self._orders[0])
        self._generations: list[dict[World, Node]] = [{}]
        self._memories: dict[Writer, Memory] = {}
        self._pending: list[Finding] = []
        self.broken: set[Promise] = set()
        """What is known to be broken, and not looked for any more."""

    def place_of(self, state: State) -> Place:
        """A state as it is worked with here; its world is not checked."""
        return self._node(state.world, None), tuple(self._memory(writer) for writer in state.writers)

    def check(self, place: Place) -> list[Promise]:
        """The promises that the world of a state breaks; they are noted as broken."""
        self._look_at(place[0].world, 0)
        found = [finding.promise for finding in self._pending]
        self._pending.clear()
        return found

    def digest_of(self, place: Place) -> bytes:
        """The digest of a state: the least of those under all renamings."""
        node, memories = place
        if len(self._orders) == 1:
            return digest(node.codes[0] + b"".join([memory.codes[0] for memory in memories]))
        return min(
            digest(node.codes[number] + b"".join([memories[position].codes[number] for position in order]))
            for number, order in enumerate(self._orders)
        )

    def next_level(self) -> None:
        """The front moves on: the oldest worlds are forgotten."""
        self._generations = [{}, *self._generations[: GENERATIONS - 1]]

    def expand(self, places: Sequence[Place]) -> Batch:
        """The successors of some states."""
        batch = Batch()
        successors = batch.places
        for node, memories in places:
            before = len(successors)
            happenings = node.happenings
            if happenings is None:
                happenings = self._happen(node, before)
            successors += [(after, memories) for after in happenings]
            for position, memory in enumerate(memories):
                pairs = node.moves[position].get(memory)
                if pairs is None:
                    pairs = self._move(node, memory, position, len(successors))
                if pairs:
                    head, tail = memories[:position], memories[position + 1 :]
                    successors += [(after, (*head, own, *tail)) for after, own in pairs]
            batch.counts.append(len(successors) - before)
        batch.digests = [self.digest_of(place) for place in successors]
        batch.findings = self._pending
        self._pending = []
        return batch

    def _happen(self, node: Node, base: int) -> tuple[Node, ...]:
        """What can happen to no process in particular; the first is the `base`-th successor of the batch."""
        found = []
        for position, (_, world) in enumerate(world_moves(node.world, self._config), start=base):
            self._check_step(node.world, world, position)
            found.append(self._node(world, position))
        node.happenings = tuple(found)
        return node.happenings

    def _move(self, node: Node, memory: Memory, number: int, base: int) -> tuple[tuple[Node, Memory], ...]:
        """What process `number` can do; the first is the `base`-th successor of the batch."""
        found = []
        moves = process_moves(node.world, memory.writer, number, self._config)
        for position, (_, world, writer) in enumerate(moves, start=base):
            self._check_step(node.world, world, position)
            found.append((self._node(world, position), self._memory(writer)))
        pairs = node.moves[number][memory] = tuple(found)
        return pairs

    def _memory(self, writer: Writer) -> Memory:
        memory = self._memories.get(writer)
        if memory is None:
            codes = tuple(renaming.codes.of_memory(writer) for renaming in self._renamings)
            memory = self._memories[writer] = Memory(writer, codes)
        return memory

    def _node(self, world: World, position: int | None) -> Node:
        """The node of a world; one that is not known is checked as the `position`-th successor's."""
        newest = self._generations[0]
        node = newest.get(world)
        if node is not None:
            return node
        for older in self._generations[1:]:
            node = older.pop(world, None)
            if node is not None:
                newest[world] = node
                return node
        codes = tuple(renaming.codes.of_world(world) for renaming in self._renamings)
        node = newest[world] = Node(world, codes, self._processes)
        if position is not None:
            self._look_at(world, position)
        return node

    def _look_at(self, world: World, position: int) -> None:
        for promise, check in self._invariants.items():
            if promise not in self.broken and check(world, self._config) is not None:
                self.broken.add(promise)
                self._pending.append(Finding(promise, position, in_step=False))

    def _check_step(self, before: World, after: World, position: int) -> None:
        if before.commits == after.commits and before.files == after.files:
            return
        for promise, check in STEP_PROPERTIES.items():
            if promise not in self.broken and check(before, after, self._config) is not None:
                self.broken.add(promise)
                self._pending.append(Finding(promise, position, in_step=True))
