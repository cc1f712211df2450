"""The search: level by level, with checkpoints between levels, and histories found again at the end."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

from drawstring_model.compact.checkpoint import Checkpoint, NotACheckpointError, write_checkpoint
from drawstring_model.compact.expansion import Expander
from drawstring_model.compact.processes import Elsewhere, Here, Part, Reply, Worker
from drawstring_model.compact.symmetry import Symmetry
from drawstring_model.compact.visited import Visited
from drawstring_model.core.config import Config
from drawstring_model.core.invariants import STEP_PROPERTIES
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import apply, enabled, protocol_of, start
from drawstring_model.core.state import Move, State
from drawstring_model.explorer import Counterexample, Exploration, Progress
from drawstring_model.saved import config_as_json

_AT_ONCE = 2_048
"""So many states of the front are expanded at once."""
HAND_OVER = 1_000
"""Several processes begin once the front has so many states."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How a search is done; nothing of it changes what is found.

    Attributes:
        workers: processes that expand states; one is this process.
        checkpoint: where the search is put aside; None for nowhere.
        checkpoint_states: how many new states there are between two checkpoints, at least.
        progress: hears of each level.

    """

    workers: int = 1
    checkpoint: Path | None = None
    checkpoint_states: int = 500_000
    progress: Progress | None = None


class Search:
    """One exploration of the states of `config`, in a few bytes a state.

    Args:
        config: which protocol, and its bounds.
        symmetry: what is alike; raises `NoSymmetryError` where it is not.
        max_states: the search stops, unexhausted, after the level on which it has this many; None for no limit.
        until: it stops, unexhausted, after the level on which this promise is broken.
        effort: how it is done.

    """

    def __init__(
        self,
        config: Config,
        *,
        symmetry: Symmetry | None = None,
        max_states: int | None = None,
        until: Promise | None = None,
        effort: Effort | None = None,
    ) -> None:
        self._config = replace(config, asked=None)
        self._given = config
        self._symmetry = symmetry or Symmetry()
        self._max_states, self._until = max_states, until
        self._effort = effort or Effort()
        self._visited = Visited()
        self._depth = self._transitions = self._written = 0
        self._broken: dict[Promise, tuple[int, int | None]] = {}
        self._workers: list[Worker] = [Here(Part(self._config, self._symmetry))]
        self._numbers: list[array[int]] = [array("I", [0])]

    @property
    def visited(self) -> Visited:
        """The states that were met."""
        return self._visited

    def run(self) -> Exploration:
        """Search from the start on."""
        digests, broken = self._begin([start(self._config)], check=True)
        self._visited.add(digests[0], -1)
        self._broken = dict.fromkeys(broken, (0, None))
        return self._levels()

    def go_on(self, checkpoint: Checkpoint) -> Exploration:
        """Search on from a checkpoint; raises `NotACheckpointError` where it is of another configuration."""
        same = config_as_json(checkpoint.config) == config_as_json(self._config)
        if not same or checkpoint.symmetry != self._symmetry:
            raise NotACheckpointError("the checkpoint is of another configuration, or of another symmetry.")
        self._visited, self._broken = checkpoint.visited, dict(checkpoint.broken)
        self._depth, self._transitions = checkpoint.depth, checkpoint.transitions
        self._written = len(self._visited)
        self._numbers = [array("I", [number for number, _ in checkpoint.front])]
        digests, _ = self._begin([state for _, state in checkpoint.front])
        if digests != [self._visited.digest_of(number) for number in self._numbers[0]]:
            raise NotACheckpointError(
                "the states of the checkpoint are not those that were met.", way_out="Begin anew."
            )
        return self._levels()

    def _begin(self, states: Sequence[State], *, check: bool = False) -> tuple[list[bytes], list[Promise]]:
        """One worker, here, has all of the front: the digests of `states`, and what they break, if they are checked."""
        part = Part(self._config, self._symmetry, self._broken)
        self._workers = [Here(part)]
        return part.seed(states, check=check)

    def _levels(self) -> Exploration:
        """From level to level."""
        try:
            while any(self._numbers) and not self._has_enough():
                self._share_out()
                self._level()
                if self._effort.progress:
                    self._effort.progress(self._depth, len(self._visited))
                if any(self._numbers):
                    self._depth += 1
                    self._put_aside(self._effort.checkpoint_states)
            self._put_aside(1)
            return self._found()
        finally:
            for worker in self._workers:
                worker.stop()

    def _has_enough(self) -> bool:
        """Whether a limit was reached."""
        too_many = self._max_states is not None and len(self._visited) >= self._max_states
        return too_many or self._until in self._broken

    def _level(self) -> None:
        """Expand the front; each worker is told to go on while the others' answers are looked at."""
        following: list[array[int]] = [array("I") for _ in self._workers]
        places = [0] * len(self._workers)
        for worker in self._workers:
            worker.tell("expand", b"", 0, _AT_ONCE)
        busy = list(range(len(self._workers)))
        while busy:
            for number in tuple(busy):
                worker, front = self._workers[number], self._numbers[number]
                parents = front[places[number] : places[number] + _AT_ONCE]
                new = self._added(worker.answer(), parents, following[number])
                places[number] += _AT_ONCE
                if places[number] < len(front):
                    worker.tell("expand", new, places[number], places[number] + _AT_ONCE)
                else:
                    worker.tell("turn", new)
                    busy.remove(number)
        for worker, numbers in zip(self._workers, following, strict=True):
            if worker.answer() != len(numbers):
                raise RuntimeError("a worker's front is not what it was told")
        self._numbers = following

    def _added(self, reply: Reply, parents: Sequence[int], following: array[int]) -> bytes:
        """Enter successors; a byte for each says whether it is new."""
        add, new, digests = self._visited.add, bytearray(), iter(reply.digests)
        for parent, count in zip(parents, reply.counts, strict=True):
            for _ in range(count):
                number, is_new = add(next(digests), parent)
                new.append(is_new)
                if is_new:
                    following.append(number)
        self._transitions += len(new)
        ends = list(accumulate(reply.counts))
        for promise, position, in_step in reply.findings:
            end, _ = add(reply.digests[position], -1)
            before = next(parent for parent, after in zip(parents, ends, strict=True) if position < after)
            self._broken.setdefault(promise, (end, before if in_step else None))
        return bytes(new)

    def _share_out(self) -> None:
        """Give the front to several processes, once it is worth it."""
        if len(self._workers) >= self._effort.workers or len(self._numbers[0]) < HAND_OVER:
            return
        (here,), (numbers,), count = self._workers, self._numbers, self._effort.workers
        here.tell("states")
        states = here.answer()
        self._workers = [Elsewhere(self._config, self._symmetry, self._broken) for _ in range(count)]
        self._numbers = [numbers[first::count] for first in range(count)]
        for first, worker in enumerate(self._workers):
            worker.tell("seed", states[first::count])
        for worker in self._workers:
            worker.answer()

    def _put_aside(self, least: int) -> None:
        """Write a checkpoint, where one is wanted and there are `least` new states since the last."""
        if self._effort.checkpoint is None or len(self._visited) - self._written < least:
            return
        front: list[tuple[int, State]] = []
        for worker, numbers in zip(self._workers, self._numbers, strict=True):
            worker.tell("states")
            front += zip(numbers, worker.answer(), strict=True)
        write_checkpoint(
            Checkpoint(
                config=self._config,
                symmetry=self._symmetry,
                depth=self._depth,
                transitions=self._transitions,
                visited=self._visited,
                broken=self._broken,
                front=front,
            ),
            self._effort.checkpoint,
        )
        self._written = len(self._visited)

    def _found(self) -> Exploration:
        """What was found."""
        return Exploration(
            config=self._given,
            states=len(self._visited),
            transitions=self._transitions,
            depth=self._depth,
            exhausted=not any(self._numbers),
            counterexamples={promise: self._counterexample(promise) for promise in self._broken},
        )

    def _counterexample(self, promise: Promise) -> Counterexample:
        """A shortest history that breaks a promise, by taking its moves anew."""
        end, before = self._broken[promise]
        numbers = self._visited.path_to(end) if before is None else [*self._visited.path_to(before), end]
        expander = Expander(self._config, self._symmetry)
        state, last, moves = start(self._config), None, []
        for number in numbers[1:]:
            move, after = self._move_to(self._visited.digest_of(number), state, expander)
            last, state = state, after
            moves.append(move)
        if before is None or last is None:
            finding = protocol_of(self._config).invariants()[promise](state.world, self._config)
        else:
            finding = STEP_PROPERTIES[promise](last.world, state.world, self._config)
        if finding is None:
            raise RuntimeError(f"the history that breaks {promise.value} does not, taken anew")
        return Counterexample(promise, finding, tuple(moves))

    def _move_to(self, digest: bytes, state: State, expander: Expander) -> tuple[Move, State]:
        """The first move to the state with that digest, or to one that is alike."""
        for move in enabled(state, self._config):
            after = apply(state, move, self._config)
            if expander.digest_of(expander.place_of(after)) == digest:
                return move, after
        raise RuntimeError("no move leads to the next state of a history")
