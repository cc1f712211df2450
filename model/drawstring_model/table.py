"""The table of configurations: which promises each keeps, and how short the shortest history is that breaks one.

48 rows are all combinations of the first five switches; two more vary rollback and snapshot time beside the default.
A row whose switches decided nothing (put-if-absent where no file is ever put twice, say) is the row of the other
value: `Config.asked` knows, and the exploration is done once. The rows fall into `shards`, which can be made apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from drawstring_model.config import (
    Bounds,
    ClockKind,
    ConcurrencyControl,
    Config,
    RollbackPolicy,
    SnapshotTime,
)
from drawstring_model.explorer import Exploration, Knowledge, explore
from drawstring_model.invariants import Promise

COMBINATION_BOUNDS = Bounds(faults_until=1, heartbeat_expiries=0, lock_expiries=0)
"""For the 48 rows: one crash, while only the first operation was started. A later operation that crashes is like the
first; what an expired lease or heartbeat does depends on no switch but those of the rows with `DEEP_BOUNDS`."""

DEEP_BOUNDS = Bounds(faults_until=2)
"""For the default and for snapshots by completion time: one fault of any kind, before the last operation starts and
meets what it left."""

EAGER_STATES = 100_000
"""For the row with eager rollback: the level on which there are so many states is the last one. Writers that are
rolled back alive and go on make too many to visit all; the histories that break promises are short."""

HEADINGS: dict[Promise, str] = {
    Promise.CONSISTENT_READ: "consistent read",
    Promise.NO_LOST_UPDATE: "no lost update",
    Promise.NO_DUPLICATE_KEYS: "no duplicate keys",
    Promise.NO_UNDONE_WRITE: "completed stays",
    Promise.LIVE_WRITER_KEPT: "live let be",
    Promise.LEGAL_TRANSITIONS: "legal transitions",
    Promise.TIME_TRAVEL_STABILITY: "stable time travel",
}
"""The columns."""


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration and what its exploration found; `shortest` has the length of each counterexample."""

    config: Config
    states: int
    exhausted: bool
    shortest: dict[Promise, int]


def combinations() -> list[Config]:
    """All combinations of the first five switches."""
    flags = (True, False)
    return [
        Config(
            clock=clock,
            concurrency=concurrency,
            key_check=key_check,
            put_if_absent=put_if_absent,
            salt=salt,
            bounds=COMBINATION_BOUNDS,
        )
        for clock, concurrency, key_check, put_if_absent, salt in product(
            ClockKind, ConcurrencyControl, flags, flags, flags
        )
    ]


def beside_the_default() -> list[Config]:
    """The default within deeper bounds, and the other values of the last two switches."""
    default = Config(bounds=DEEP_BOUNDS)
    return [
        default,
        replace(default, snapshot_time=SnapshotTime.COMPLETION),
        Config(rollback=RollbackPolicy.EAGER, bounds=COMBINATION_BOUNDS),
    ]


def shards() -> list[tuple[Config, ...]]:
    """All configurations of the table, in its order, in parts that share explorations."""
    grouped: dict[tuple[object, ...], list[Config]] = {}
    for config in combinations():
        grouped.setdefault((config.clock, config.concurrency, config.key_check), []).append(config)
    return [tuple(configs) for configs in grouped.values()] + [(config,) for config in beside_the_default()]


def explored(configs: tuple[Config, ...]) -> Iterator[Row]:
    """The rows of `configs`, which differ in put-if-absent and salt only."""
    done: list[tuple[Config, frozenset[str], Exploration]] = []
    knowledge = Knowledge(configs[0])
    for config in configs:
        exploration = next((found for other, asked, found in done if _same_for(config, other, asked)), None)
        if exploration is None:
            asked: set[str] = set()
            eager = config.rollback is RollbackPolicy.EAGER
            exploration = explore(
                replace(config, asked=asked), max_states=EAGER_STATES if eager else None, knowledge=knowledge
            )
            done.append((config, frozenset(asked), exploration))
        yield Row(
            config=config,
            states=exploration.states,
            exhausted=exploration.exhausted,
            shortest={promise: len(example.moves) for promise, example in exploration.counterexamples.items()},
        )


def _same_for(config: Config, other: Config, asked: frozenset[str]) -> bool:
    """Whether the exploration of `other`, which asked `asked`, is that of `config`."""
    switches = {"put_if_absent": config.put_if_absent, "salt": config.salt}
    differ = {name for name, value in switches.items() if getattr(other, name) != value}
    return not differ & asked


def rendered_row(row: Row) -> str:
    """One row as Markdown."""
    config = row.config
    switches = (
        config.clock.value,
        config.concurrency.value,
        *("yes" if flag else "no" for flag in (config.key_check, config.put_if_absent, config.salt)),
        config.rollback.value,
        config.snapshot_time.value,
    )
    unbroken = "holds" if row.exhausted else "none found"
    verdicts = tuple(str(row.shortest.get(promise, unbroken)) for promise in HEADINGS)
    states = f"{row.states:,}" + ("" if row.exhausted else " and more")
    return "| " + " | ".join((*switches, *verdicts, states)) + " |"


def rendered_head() -> str:
    """The head of the table as Markdown."""
    names = (
        "clock",
        "control",
        "key check",
        "put-if-absent",
        "salt",
        "rollback",
        "snapshot time",
        *HEADINGS.values(),
        "states",
    )
    return "| " + " | ".join(names) + " |\n|" + "---|" * len(names)


def rendered_page(rows: list[Row]) -> str:
    """The whole page ``docs/reference/model-configurations.md``."""
    lines = [_INTRODUCTION, rendered_head(), *(rendered_row(row) for row in rows), ""]
    return "\n".join(lines)


_INTRODUCTION = """# Configurations of the model

Generated by `drawstring model table`; a test keeps it current.

Each row is a protocol: a choice of switches (`drawstring_model.config`). The explorer visits every state within the
bounds, breadth first. *holds* means that no state breaks the promise; a number is the length, in steps, of the shortest
history that does. `drawstring model check` with the same switches tells that history.

Bounds: two writers, two keys, two file groups, three operations (set k1; set k1 and k2; delete k1), any of them in
flight together. The first operation is always the first writer's and goes to the first file group: writers and file
groups are alike, so nothing is lost. A clock that is not monotonic may be two ticks behind: enough to repeat the last
requested time, and to lie before it. In the 48 combinations of the first five switches one writer may crash, at any
point while only the first operation was started: a later one that crashes is like it. In the two rows after them
(the default within wider bounds, and snapshots by completion time) one fault of any kind may strike before the last
operation starts: a crash, a living writer's heartbeat that expires, a living holder's lease that runs out. The
heartbeat and the lease of a crashed writer always run out at some time. The last row, eager rollback, has the bounds
of the combinations and too many states to visit all (*and more*): there *none found* says what was seen of it, and
the numbers are still those of the shortest histories.

*stable time travel* is a property of its own: that a snapshot, once read at a time T, never changes. It is
not expected to hold where snapshot times are requested times (as in Java Hudi): a write that was requested earlier
and completes later appears in the past.
"""
