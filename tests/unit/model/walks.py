"""Random walks through combinations of modules, by Hypothesis, with every promise looked at after each step.

A walk is made of turns. In a turn one process goes on by itself for some steps, as a process does that nobody
interrupts, or something happens to no process in particular. What breaks a promise is made shorter by `shortened`,
which knows what a history is and takes seconds where Hypothesis, which knows numbers only, takes minutes; and it is
told in sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from drawstring_model.catalogue import Settings, assembled
from drawstring_model.config import Bounds, Config, PlantedBug, delete, upsert
from drawstring_model.core.config import Config as AnyConfig
from drawstring_model.core.promises import Promise
from drawstring_model.core.protocol import process_moves, protocol_of, start, world_moves
from drawstring_model.core.state import Move, State, World
from drawstring_model.explorer import Counterexample
from drawstring_model.narrate import narrate
from drawstring_spec.steps import Step

LARGE = Bounds(
    writers=3,
    groups=3,
    workload=(upsert(1, 2), upsert(2, 3), delete(1), upsert(1, 3), delete(2, 3), upsert(1, 2, 3)),
    crashes=2,
    heartbeat_expiries=2,
    lock_expiries=2,
    faults=4,
    faults_until=6,
    renewals=1,
)
"""Three writers, six operations and four faults: more states than anybody could visit."""

TURNS = 100
MOST_STEPS_IN_A_TURN = 12
_RELUCTANT = {Step.RELEASE_LOCK: 14, Step.CRASH: 15}
"""Steps that a process takes where its choice is this one, or where it can do nothing else (and never crashes then)."""


@dataclass(frozen=True)
class Exemption:
    """A promise that is known to be broken in some worlds.

    Attributes:
        promises: those that are.
        why: what breaks them, in one sentence.
        where: whether a world is one of those.
        shown: gives such a world, at the end of a history, with one of the promises broken; and its protocol.

    """

    promises: frozenset[Promise]
    why: str
    where: Callable[[World, AnyConfig], bool]
    shown: Callable[[], tuple[World, AnyConfig]]


@dataclass(frozen=True)
class Combination:
    """Modules that are put together, beside those of a copy-on-write table.

    Attributes:
        modules: their names; what they require comes by itself.
        settings: their switches, where they differ from the defaults.
        exempt: what is known to break, if anything.

    """

    modules: tuple[str, ...]
    settings: Settings = field(default_factory=dict)
    exempt: tuple[Exemption, ...] = ()

    @property
    def name(self) -> str:
        """Of a test."""
        return "+".join(self.modules)

    def config(self, planted: PlantedBug | None = None) -> Config:
        """The protocol, within bounds that are too large to exhaust."""
        return Config(modules=assembled(self.modules, settings=self.settings), bounds=LARGE, planted=planted)


def broken_promises(world: World, config: AnyConfig, exempt: tuple[Exemption, ...]) -> Mapping[Promise, str]:
    """What is broken in `world` that is not known to be, with the findings."""
    found = {}
    for promise, check in protocol_of(config).invariants().items():
        finding = check(world, config)
        if finding is not None and not any(promise in each.promises and each.where(world, config) for each in exempt):
            found[promise] = finding
    return found


def walk_of(combination: Combination, planted: PlantedBug | None = None) -> type[RuleBasedStateMachine]:
    """The machine that walks through `combination`; it fails with the history that breaks a promise, in sentences."""
    config = combination.config(planted)
    processes = len(start(config).writers)

    class Walk(RuleBasedStateMachine):
        """One walk."""

        taken: ClassVar[Counter[Step]] = Counter()

        def __init__(self) -> None:
            super().__init__()
            self.state = start(config)
            self.moves: list[Move] = []

        @rule(
            process=st.integers(0, processes),
            steps=st.integers(1, MOST_STEPS_IN_A_TURN),
            choice=st.integers(0, max(_RELUCTANT.values())),
        )
        def go_on(self, process: int, steps: int, choice: int) -> None:
            """A process takes some steps, as long as it can; the one after the last is the world, which takes one."""
            for _ in range(steps if process < processes else 1):
                taken = _step(self.state, process, choice, config)
                if taken is None:
                    return
                move, after = taken
                before, self.state = self.state.world, after
                self.moves.append(move)
                self.taken[move.step] += 1
                if after.world != before:
                    self.look()

        def look(self) -> None:
            """Every promise is kept."""
            for promise, finding in broken_promises(self.state.world, config, combination.exempt).items():
                example = shortened(Counterexample(promise, finding, tuple(self.moves)), config, combination.exempt)
                raise AssertionError("\n".join([f"{combination.name} breaks: {promise}.", *narrate(example, config)]))

    return Walk


def _step(state: State, process: int, choice: int, config: Config) -> tuple[Move, State] | None:
    """The step of `process` that `choice` stands for, and the state after it; None where there is none."""
    if process == len(state.writers):
        happenings = list(world_moves(state.world, config))
        if not happenings:
            return None
        move, world = happenings[choice % len(happenings)]
        return move, state._replace(world=world)
    moves = list(process_moves(state.world, state.writers[process], process, config))
    wanted = [each for each in moves if _RELUCTANT.get(each[0].step) == choice]
    wanted = wanted or [each for each in moves if each[0].step not in _RELUCTANT]
    wanted = wanted or [each for each in moves if each[0].step is not Step.CRASH]
    if not wanted:
        return None
    move, world, writer = wanted[choice % len(wanted)]
    return move, State(world, (*state.writers[:process], writer, *state.writers[process + 1 :]))


def shortened(example: Counterexample, config: AnyConfig, exempt: tuple[Exemption, ...] = ()) -> Counterexample:
    """A history of fewer moves that breaks the same promise: no single move can be left out of it any more."""
    size = len(example.moves)
    while size:
        fewer = _without_some(example, size, config, exempt)
        if fewer is None or len(fewer.moves) == len(example.moves):
            size //= 2
        else:
            example = fewer
            size = min(size, len(example.moves))
    return example


def _without_some(
    example: Counterexample, size: int, config: AnyConfig, exempt: tuple[Exemption, ...]
) -> Counterexample | None:
    """`example` without as many runs of `size` moves as it can do without; None where it needs all of them."""
    found, first = None, 0
    while first < len(example.moves):
        rest = example.moves[:first] + example.moves[first + size :]
        shorter = replayed(rest, example.promise, config, exempt)
        if shorter is None:
            first += size
        else:
            found = example = shorter
    return found


def replayed(
    moves: tuple[Move, ...], promise: Promise, config: AnyConfig, exempt: tuple[Exemption, ...] = ()
) -> Counterexample | None:
    """The history that `moves` make, as far as they can be made, up to where `promise` is broken; None if it is not.

    A clock that is asked less often shows other times: what a move says of a time is said of the one in its place.
    """
    state, taken, times = start(config), [], dict[int, int]()
    for wanted in moves:
        found = _alike(state, wanted, times, config)
        if found is None:
            continue
        move, state = found
        taken.append(move)
        if wanted.time is not None and move.time is not None:
            times[wanted.time] = move.time
        finding = broken_promises(state.world, config, exempt).get(promise)
        if finding is not None:
            return Counterexample(promise, finding, tuple(taken))
    return None


def _alike(state: State, wanted: Move, times: Mapping[int, int], config: AnyConfig) -> tuple[Move, State] | None:
    """The move of `state` that is most like `wanted`, of the same process and step, and the state after it."""
    found: list[tuple[Move, State]] = []
    if wanted.writer is None:
        found = [(move, state._replace(world=world)) for move, world in world_moves(state.world, config)]
    else:
        before, after = state.writers[: wanted.writer], state.writers[wanted.writer + 1 :]
        own = process_moves(state.world, state.writers[wanted.writer], wanted.writer, config)
        found = [(move, State(world, (*before, writer, *after))) for move, world, writer in own]
    found = [each for each in found if each[0].step is wanted.step]
    target = wanted.target if wanted.target is None else times.get(wanted.target, wanted.target)
    expired = times.get(wanted.time or 0) if wanted.step is Step.EXPIRE_HEARTBEAT else None

    def differences(move: Move) -> int:
        own = (move.target, move.group, move.token, move.reason, dict(move.placement or ()))
        others = (target, wanted.group, wanted.token, wanted.reason, dict(wanted.placement or ()))
        different = sum(mine != other for mine, other in zip(own, others, strict=True))
        return different + (expired is not None and move.time != expired)

    return min(found, key=lambda each: differences(each[0]), default=None)
