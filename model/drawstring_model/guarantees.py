"""A page per promise: the shortest history that breaks it where its protection is off, told by the explorer.

What breaks what is given from outside (the tests' list of planted bugs); `SWITCHED_OFF` adds protections that are
switches. A history that takes more than `MOST_STATES` to be found is left to the tests, and its page says so.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from textwrap import dedent
from types import ModuleType

from drawstring_model import planted as planted_bugs
from drawstring_model.catalogue import BASE, assembled, settings_of
from drawstring_model.config import (
    COPY_ON_WRITE,
    MERGE_ON_READ,
    Bounds,
    ConcurrencyControl,
    Config,
    PlantedBug,
    SnapshotTime,
    upsert,
)
from drawstring_model.core.config import Config as AnyConfig
from drawstring_model.core.module import modules_of
from drawstring_model.core.promises import Promise
from drawstring_model.explorer import Counterexample, explore
from drawstring_model.modules.metadata_table import MetadataTable
from drawstring_model.modules.non_blocking import NonBlocking
from drawstring_model.narrate import PROMISES, narrate
from drawstring_model.orders import told_orders
from drawstring_model.reachability import WITNESSES

MOST_STATES = 4_500
"""A search for a history stops after the level on which it has so many states."""


@dataclass(frozen=True, slots=True)
class Break:
    """One protection that is off, and the promise that goes with it.

    Attributes:
        promise: what is broken.
        name: of the planted bug or the switch.
        about: what is not done any more, in one sentence.
        config: the protocol without the protection, within small bounds.

    """

    promise: Promise
    name: str
    about: str
    config: AnyConfig


_CALM = Bounds(workload=(upsert(1), upsert(1)), groups=1, faults=0)

SWITCHED_OFF: tuple[Break, ...] = (
    Break(
        Promise.NO_LOST_UPDATE,
        "--lock none",
        "Nobody locks, and nobody compares anything before completion.",
        Config(concurrency=ConcurrencyControl.NONE, bounds=_CALM),
    ),
    Break(
        Promise.NO_DUPLICATE_KEYS,
        "--no-key-check",
        "Concurrent writers compare file groups only, as Java Hudi does.",
        Config(key_check=False, bounds=replace(_CALM, groups=2)),
    ),
    Break(
        Promise.INCREMENTAL_READS,
        "non_blocking.checkpoint=REQUESTED",
        "Readers of changes read on from a requested time, not from a completion time.",
        Config(modules=(*MERGE_ON_READ, NonBlocking(checkpoint=SnapshotTime.REQUESTED)), bounds=_CALM),
    ),
    Break(
        Promise.METADATA_AGREES,
        "metadata_table.leaves_out_pending=false",
        "Readers of the metadata table take every block whose deltacommit is complete there, as the text has it.",
        Config(modules=(*COPY_ON_WRITE, MetadataTable(leaves_out_pending=False)), bounds=_CALM),
    ),
    Break(
        Promise.TIME_TRAVEL_STABILITY,
        "--snapshot-time requested",
        "Snapshot times are compared with requested times, as Java Hudi does: the one promise that the default breaks.",
        Config(bounds=replace(_CALM, workload=(upsert(1), upsert(2)), groups=2)),
    ),
)
"""Protections that are switches of a configuration."""


def breaks(planted: Iterable[tuple[PlantedBug, Promise, AnyConfig]]) -> tuple[Break, ...]:
    """All that is known to break a promise: planted bugs, each in a configuration that shows it, and switches."""
    about = members_told(planted_bugs, PlantedBug.__name__)
    bugs = tuple(
        Break(promise, bug.value, about[bug.name], replace(config, planted=bug)) for bug, promise, config in planted
    )
    return bugs + SWITCHED_OFF


def members_told(module: ModuleType, enumeration: str) -> dict[str, str]:
    """The sentence below each member of an enumeration, from the source of its module."""
    tree = ast.parse(dedent(inspect.getsource(module)))
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == enumeration)
    told: dict[str, str] = {}
    for node, after in pairwise(body):
        if isinstance(node, ast.Assign) and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            told[ast.unparse(node.targets[0])] = " ".join(str(after.value.value).split())
    return told


@cache
def shortest_history(config: AnyConfig, promise: Promise) -> tuple[Counterexample | None, int]:
    """The shortest history that breaks `promise`, None where it is not found in time; and the states looked at."""
    exploration = explore(config, until=promise, max_states=MOST_STATES)
    return exploration.counterexamples.get(promise), exploration.states


def promises_told(known: Iterable[Break]) -> tuple[Promise, ...]:
    """The promises that have a page: those that are known to be broken by something, in their order."""
    broken = {each.promise for each in known}
    return tuple(promise for promise in Promise if promise in broken)


def slug(promise: Promise) -> str:
    """The name of a promise's page."""
    return promise.value.replace(" ", "-")


def command_line(config: AnyConfig, promise: Promise) -> str:
    """What to type to see the same."""
    bounds, default = config.bounds, Bounds()
    words = ["drawstring model check", f'--until "{promise.value}"']
    words += [f"--plant {config.planted.value.lower()}"] if config.planted else []
    words += ["--clock skewed"] if not config.clock.is_monotonic else []
    words += ["--no-key-check"] if not config.key_check else []
    words += ["--snapshot-time completion"] if config.snapshot_time is SnapshotTime.COMPLETION else []
    is_unlocked = config.concurrency is ConcurrencyControl.NONE
    words += ["--lock none"] if is_unlocked else ["--lock correct"] if not bounds.lock_expiries else []
    words += [f"--module {module.name}" for module in modules_of(config) if module.name not in BASE]
    defaults = {module.name: settings_of(module) for module in assembled([m.name for m in modules_of(config)])}
    for module in modules_of(config):
        for name, value in settings_of(module).items():
            if value != defaults[module.name][name]:
                words.append(f"--set {module.name}.{name}={str(value).lower() if isinstance(value, bool) else value}")
    for changes in bounds.workload:
        kind = "upsert" if changes[0][1] else "delete"
        words.append(f"--operation {kind}:{','.join(str(key) for key, _ in changes)}")
    numbers = {"writers": "writers", "groups": "groups", "crashes": "crashes", "faults": "faults"}
    numbers |= {"faults_until": "faults-until", "heartbeat_expiries": "hangs", "renewals": "returns"}
    for field, option in numbers.items():
        if getattr(bounds, field) != getattr(default, field):
            words.append(f"--{option} {getattr(bounds, field)}")
    return " \\\n    ".join(words)


def rendered_guarantee(promise: Promise, known: Sequence[Break]) -> str:
    """The page of a promise."""
    mine = [each for each in known if each.promise is promise]
    found = [(each, *shortest_history(each.config, promise)) for each in mine]
    told = [(each, example, states) for each, example, states in found if example is not None]
    sentence = PROMISES[promise]
    danger = " ".join((inspect.getdoc(WITNESSES[promise]) or "").split())
    lines = [
        f"# {promise.value[0].upper()}{promise.value[1:]}",
        "",
        "Generated from the model by `make docs`.",
        "",
        f"**Promised:** {sentence}.",
        "",
        f"**In danger where:** {danger[0].lower()}{danger[1:]} The tests see that the explorer reaches this situation.",
        "",
    ]
    if not told:
        names = ", ".join(f"`{each.name}`" for each in mine) or "nothing that is known"
        return "\n".join(
            [*lines, f"What breaks it ({names}) takes longer to find than a page should; see the tests.", ""]
        )
    first = min(told, key=lambda each: len(each[1].moves))
    lines += _history(*first)
    if len(found) > 1:
        lines += ["## What else breaks it", "", "| off | that is | shortest history |", "|---|---|---|"]
        for each, example, _ in found:
            if each is not first[0]:
                steps = f"{len(example.moves)} steps" if example else "longer; the tests find it"
                lines.append(f"| `{each.name}` | {each.about} | {steps} |")
        lines.append("")
    return "\n".join(lines)


def _history(broken: Break, example: Counterexample, states: int) -> list[str]:
    """The shortest history of all, in sentences."""
    config = broken.config
    return [
        "## The shortest history without its protection",
        "",
        f"Off: `{broken.name}`. {broken.about} The explorer looked at {states:,} states; no history of fewer than",
        f"{len(example.moves)} steps breaks the promise.",
        "",
        "```text",
        *narrate(example, config),
        "```",
        "",
        "The same as orders, each with its reason:",
        "",
        "```text",
        *told_orders(example.moves, config),
        "```",
        "",
        "To see it yourself, and then the same without what is off:",
        "",
        "```sh",
        command_line(config, example.promise),
        "```",
        "",
    ]


def rendered_list(known: Sequence[Break]) -> str:
    """The list of all pages, as Markdown."""
    lines = ["| promise | in words | broken, at the soonest, by | in steps |", "|---|---|---|---|"]
    for promise in promises_told(known):
        found = [(each, shortest_history(each.config, promise)[0]) for each in known if each.promise is promise]
        told = [(len(example.moves), each.name) for each, example in found if example]
        steps, name = min(told, default=(0, ""))
        soonest = f"`{name}` | {steps}" if told else "see the tests | "
        lines.append(f"| [{promise.value}](guarantees/{slug(promise)}.md) | {PROMISES[promise]} | {soonest} |")
    return "\n".join(lines) + "\n"
