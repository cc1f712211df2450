"""The breadth-first explorer: every state within the bounds, and the shortest way to each broken promise.

A rule reads and changes one writer's memory and the world, nothing else. So worlds and memories are numbered as they
are found, a state is those few numbers in one integer, and what a writer in one memory can do in one world is worked
out once, however many states share the two. Promises look at the world alone and are checked once per world. What was
worked out without a question about put-if-absent or salt is true of the configurations that differ in those, too: a
`Knowledge` carries it from one exploration to the next.

Breadth first, a state is met first on one of its shortest paths; so the first world that breaks a promise is the end
of a shortest counterexample. Broken states are explored further: one broken promise does not hide another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from drawstring_model.core.config import Config
from drawstring_model.core.invariants import STEP_PROPERTIES
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import apply, enabled, process_moves, protocol_of, start, world_moves
from drawstring_model.core.state import Move, State, World, Writer

MEMORY_BITS = 20
"""A writer's memory has a number below 2 ** 20; a million differ per exploration are far more than any bounds give."""
_MEMORY_MASK = (1 << MEMORY_BITS) - 1
_WORLD_BITS = 40

Progress = Callable[[int, int], None]
"""Hears (depth, states so far) after each level."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A shortest history that breaks a promise.

    Attributes:
        promise: what is broken.
        finding: how, in one sentence.
        moves: the history, from the initial state on.

    """

    promise: Promise
    finding: str
    moves: tuple[Move, ...]


@dataclass(frozen=True, slots=True)
class Exploration:
    """What an exploration found.

    Attributes:
        config: what was explored.
        states: number of distinct states.
        transitions: number of steps between them.
        depth: number of steps on the longest of the shortest paths.
        exhausted: whether every state within the bounds was looked at.
        counterexamples: the shortest for each promise that is broken.
        witnesses: for each interesting situation that was asked for, the length of the shortest way to it.

    """

    config: Config
    states: int
    transitions: int
    depth: int
    exhausted: bool
    counterexamples: Mapping[Promise, Counterexample]
    witnesses: Mapping[str, int] = field(default_factory=dict)

    def holds(self, promise: Promise) -> bool:
        """Whether no state that was looked at breaks `promise`."""
        return promise not in self.counterexamples


Witness = Callable[[World], bool]


class Knowledge:
    """What explorations of configurations that differ in put-if-absent and salt have in common.

    Numbers of worlds and memories; and what no question about either switch decided: the moves by (world, memory), and
    which worlds and steps keep which promises.

    Args:
        config: one of the configurations.

    """

    def __init__(self, config: Config) -> None:
        self.family = family_of(config)
        self.worlds: dict[World, int] = {}
        self.world_list: list[World] = []
        self.memories: dict[Writer, int] = {}
        self.memory_list: list[Writer] = []
        # Per process: what it can do, by (world, memory) in one integer, as (world, memory) pairs.
        self.moves: list[dict[int, tuple[tuple[int, int], ...]]] = [{} for _ in start(config).writers]
        self.happenings: dict[int, tuple[int, ...]] = {}
        self.kept: list[int] = []
        """By world: the promises that it is known to keep, as bits in the order of the configuration's invariants."""
        self.fine_steps: set[int] = set()

    def world_number(self, world: World) -> int:
        """The number of a world, given out at first sight."""
        number = self.worlds.setdefault(world, len(self.world_list))
        if number == len(self.world_list):
            self.world_list.append(world)
            self.kept.append(0)
        return number

    def memory_number(self, writer: Writer) -> int:
        """The number of a memory, given out at first sight."""
        number = self.memories.setdefault(writer, len(self.memory_list))
        if number == len(self.memory_list):
            self.memory_list.append(writer)
        return number


def family_of(config: Config) -> Config:
    """The same for configurations that may share a `Knowledge`."""
    return replace(config, put_if_absent=True, salt=True, asked=None)


class Explorer:
    """One exploration of the states of `config`.

    Args:
        config: which protocol, and its bounds.
        witnesses: interesting situations, by name, that are looked for beside the promises.
        max_states: the exploration stops, unexhausted, after the level on which it has this many; None for no limit.
        until: the exploration stops, unexhausted, after the level on which this promise is broken.
        progress: hears of each level.
        knowledge: what was worked out before, of a configuration of the same family; `ValueError` for another's.

    """

    def __init__(
        self,
        config: Config,
        *,
        witnesses: Mapping[str, Witness] | None = None,
        max_states: int | None = None,
        until: Promise | None = None,
        progress: Progress | None = None,
        knowledge: Knowledge | None = None,
    ) -> None:
        known = knowledge or Knowledge(config)
        if known.family != family_of(config):
            raise ValueError("knowledge of configurations that differ in more than put-if-absent and salt")
        self._known = known
        self._given = config
        self._asked: set[str] = set()
        self._config = replace(config, asked=self._asked)
        self._start = start(config)
        self._invariants = protocol_of(config).invariants()
        self._witnesses = dict(witnesses or {})
        self._max_states = max_states
        self._until = until
        self._progress = progress
        self._world_list, self._memory_list = known.world_list, known.memory_list
        self._world_number, self._memory_number = known.world_number, known.memory_number
        # What a question about a switch decided, and so is true of this configuration alone.
        self._own_moves: list[dict[int, tuple[tuple[int, int], ...]]] = [{} for _ in known.moves]
        self._own_happenings: dict[int, tuple[int, ...]] = {}
        self._looked_at: set[int] = set()
        self._checked_steps: set[int] = set()
        self._last_steps: dict[Promise, tuple[int, int]] = {}
        self._parents: dict[int, int] = {}
        self._broken: dict[Promise, tuple[str, int]] = {}
        self._seen: dict[str, int] = {}
        self._transitions = 0

    def run(self) -> Exploration:
        """Explore level by level."""
        start = self._packed(self._start)
        self._parents[start] = -1
        self._look_at(0, start, 0)
        level, depth = [start], 0
        while level and not self._has_enough():
            following = self._next_level(level, depth + 1)
            if self._progress:
                self._progress(depth, len(self._parents))
            if following:
                depth += 1
            level = following
        return Exploration(
            config=self._given,
            states=len(self._parents),
            transitions=self._transitions,
            depth=depth,
            exhausted=not level,
            counterexamples={
                promise: Counterexample(promise, finding, self._history(promise, end))
                for promise, (finding, end) in self._broken.items()
            },
            witnesses=self._seen,
        )

    def _has_enough(self) -> bool:
        """Whether a limit was reached."""
        too_many = self._max_states is not None and len(self._parents) >= self._max_states
        return too_many or self._until in self._broken

    def _next_level(self, level: list[int], depth: int) -> list[int]:
        """The states one step from `level` that are not known yet; each remembers whence it was reached."""
        parents, following = self._parents, []
        writers = len(self._start.writers)
        shifts = [MEMORY_BITS * position for position in range(writers)]
        world_shift = MEMORY_BITS * writers
        all_memories = (1 << world_shift) - 1
        happenings, moves = self._known.happenings, self._known.moves
        looked_at, checked = self._looked_at, self._checked_steps
        transitions = 0
        for state in level:
            world = state >> world_shift
            reached = happenings.get(world)
            if reached is None:
                reached = self._happen(world)
            memories = state & all_memories
            successors = [(after << world_shift) | memories for after in reached]
            for shift, known in zip(shifts, moves, strict=True):
                memory = (state >> shift) & _MEMORY_MASK
                key = (world << MEMORY_BITS) | memory
                pairs = known.get(key)
                if pairs is None:
                    pairs = self._move(world, memory, shift // MEMORY_BITS)
                rest = memories & ~(_MEMORY_MASK << shift)
                successors += [(after << world_shift) | rest | (own << shift) for after, own in pairs]
            transitions += len(successors)
            for successor in successors:
                if successor not in parents:
                    parents[successor] = state
                    following.append(successor)
                    if successor >> world_shift not in looked_at:
                        self._look_at(successor >> world_shift, successor, depth)
                after = successor >> world_shift
                if after != world and (world << _WORLD_BITS) | after not in checked:
                    self._check_step(world, after, state, successor)
        self._transitions += transitions
        return following

    def _happen(self, world_number: int) -> tuple[int, ...]:
        """What can happen to no writer in particular, as numbers of worlds."""
        reached = self._own_happenings.get(world_number)
        if reached is not None:
            return reached
        world = self._world_list[world_number]
        reached = tuple(self._world_number(after) for _, after in world_moves(world, self._config))
        (self._own_happenings if self._was_asked() else self._known.happenings)[world_number] = reached
        return reached

    def _was_asked(self) -> bool:
        """Whether a switch decided something since this was asked last; `Config.asked` of the caller hears of it."""
        if not self._asked:
            return False
        if self._given.asked is not None:
            self._given.asked.update(self._asked)
        self._asked.clear()
        return True

    def _move(self, world_number: int, memory: int, number: int) -> tuple[tuple[int, int], ...]:
        """What writer `number` can do, as pairs of numbers (world, memory)."""
        key = (world_number << MEMORY_BITS) | memory
        pairs = self._own_moves[number].get(key)
        if pairs is not None:
            return pairs
        world, writer = self._world_list[world_number], self._memory_list[memory]
        pairs = tuple(
            (self._world_number(after), self._memory_number(own))
            for _, after, own in process_moves(world, writer, number, self._config)
        )
        known = self._own_moves if self._was_asked() else self._known.moves
        known[number][key] = pairs
        return pairs

    def _look_at(self, world_number: int, state: int, depth: int) -> None:
        """Check the promises of a world that is met for the first time, in `state`."""
        self._looked_at.add(world_number)
        world = self._world_list[world_number]
        kept = self._known.kept[world_number]
        for position, (promise, check) in enumerate(self._invariants.items()):
            if not kept >> position & 1 and promise not in self._broken:
                finding = check(world, self._config)
                if finding is not None:
                    self._broken[promise] = (finding, state)
                elif not self._was_asked():
                    kept |= 1 << position
        self._known.kept[world_number] = kept
        for name, witness in self._witnesses.items():
            if name not in self._seen and witness(world):
                self._seen[name] = depth

    def _check_step(self, before: int, after: int, state: int, successor: int) -> None:
        """Check the properties of a step between two worlds that is met for the first time."""
        step = (before << _WORLD_BITS) | after
        self._checked_steps.add(step)
        if step in self._known.fine_steps:
            return
        worlds = self._world_list[before], self._world_list[after]
        if worlds[0].commits == worlds[1].commits and worlds[0].files == worlds[1].files:
            return
        for promise, check in STEP_PROPERTIES.items():
            if promise not in self._broken:
                finding = check(*worlds, self._config)
                if finding is not None:
                    self._broken[promise] = (finding, successor)
                    self._last_steps[promise] = (state, successor)
        if not STEP_PROPERTIES.keys() & self._broken.keys() and not self._was_asked():
            self._known.fine_steps.add(step)

    def _history(self, promise: Promise, end: int) -> tuple[Move, ...]:
        """The moves of the shortest path to `end`; the last step of a step property may be another than the tree's."""
        path = [end]
        if promise in self._last_steps:
            path = [end, self._last_steps[promise][0]]
        while self._parents[path[-1]] >= 0:
            path.append(self._parents[path[-1]])
        states = [self._unpacked(packed) for packed in reversed(path)]
        return tuple(self._move_between(*pair) for pair in pairwise(states))

    def _move_between(self, before: State, after: State) -> Move:
        """The first move that leads from one state to the next."""
        return next(move for move in enabled(before, self._config) if apply(before, move, self._config) == after)

    def _packed(self, state: State) -> int:
        """A state as one integer: the world's number in front, writer 0's memory in the last bits."""
        packed = self._world_number(state.world)
        for writer in reversed(state.writers):
            packed = (packed << MEMORY_BITS) | self._memory_number(writer)
        return packed

    def _unpacked(self, packed: int) -> State:
        """The state of a packed integer."""
        writers = []
        for _ in self._start.writers:
            writers.append(self._memory_list[packed & _MEMORY_MASK])
            packed >>= MEMORY_BITS
        return State(self._world_list[packed], tuple(writers))


def explore(
    config: Config,
    *,
    witnesses: Mapping[str, Witness] | None = None,
    max_states: int | None = None,
    until: Promise | None = None,
    progress: Progress | None = None,
    knowledge: Knowledge | None = None,
) -> Exploration:
    """Explore every state of `config` within its bounds; see `Explorer` for the arguments."""
    return Explorer(
        config, witnesses=witnesses, max_states=max_states, until=until, progress=progress, knowledge=knowledge
    ).run()
