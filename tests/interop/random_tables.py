"""Random tables that Java Hudi writes, and every kind of query asked of both: a hunt for what no golden table has.

A seed decides everything: how the table is keyed, partitioned, indexed and merged, and which operations follow each
other. Operations that Java itself refuses are passed over, and so are queries that it cannot answer; what both answer
is compared in all columns and types. ``PYTHONPATH=tests python -m interop.random_tables --seeds 1-50`` looks for more,
and keeps the tables on which the answers differ.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

import drawstring as ds
from drawstring.errors import DrawstringError, UnsupportedTableError
from drawstring_conformance.compare import difference
from drawstring_conformance.compare_changes import change_difference
from interop.java.client import JavaHudi, JavaHudiError
from interop.java.environment import find_environment
from interop.random_choices import Choices, choose, random_keys, random_rows

NUM_TIMES: Final = 3
INCREMENTAL: Final = {"hoodie.datasource.query.type": "incremental"}
CHANGES: Final = {**INCREMENTAL, "hoodie.datasource.query.incremental.format": "cdc"}
BEGIN: Final = "hoodie.datasource.read.begin.instanttime"
END: Final = "hoodie.datasource.read.end.instanttime"
READ_OPTIMIZED: Final = {"hoodie.datasource.query.type": "read_optimized"}
SCHEMA_ON_READ: Final = {"hoodie.schema.on.read.enable": "true"}

_LONGEST_LINE: Final = 2000
_WRITES_BEGUN: Final = frozenset({"inflight", "deltacommit.inflight"})


@dataclass
class RandomTable:
    """A table under way, and what was done to it.

    Attributes:
        java: who writes it.
        path: its base path.
        choices: how it is made.
        random: where its operations come from.
        done: what Java did, and what it refused, in order.

    """

    java: JavaHudi
    path: Path
    choices: Choices
    random: random.Random
    done: list[str] = field(default_factory=list)
    schema_on_read: bool = False

    def grow(self, num_steps: int) -> None:
        """Do `num_steps` operations; the first writes rows."""
        steps = self._steps()
        for number in range(num_steps):
            name, step = steps[0] if not number else self.random.choice(steps)
            try:
                step()
            except JavaHudiError as error:
                name += f" refused: {error.root[:160] or error.error[:160]}"
            self.done.append(name)
            if len(self.done) == 1 and "refused" in name:
                return
        if self.random.random() < 0.1:
            self.done.append(self._fail_last_write())

    def _steps(self) -> list[tuple[str, Callable[[], object]]]:
        write, weights = self._write, self.choices.weights
        steps: dict[str, Callable[[], object]] = {
            "upsert": lambda: write("upsert"),
            "insert": lambda: write("insert"),
            "bulk_insert": lambda: write("bulk_insert"),
            "delete": self._delete,
            "soft_delete": lambda: write("upsert", soft_deletes=0.5),
            "insert_overwrite": lambda: write("insert_overwrite"),
            "insert_overwrite_table": lambda: write("insert_overwrite_table"),
            "delete_partition": self._delete_partition,
            "schedule_compaction": lambda: self._service("compaction", "schedule"),
            "compaction": lambda: self._service("compaction", "scheduleAndExecute"),
            "schedule_clustering": lambda: self._service("clustering", "schedule"),
            "clustering": lambda: self._service("clustering", "scheduleAndExecute"),
            "run_clustering": lambda: self._service("clustering", "execute"),
            "run_compaction": lambda: self._service("compaction", "execute"),
            "clean": lambda: self.java.call(self.path, "run_clean", "retain_commits => 2"),
            "failed_write": self._fail_last_write,
            "savepoint_and_restore": self._restore,
            "rollback": self._rollback,
            "update": lambda: self._sql("update {table} set v = v + 1000, s = 'updated' where id < 'key-4'"),
            "delete_where": lambda: self._sql("delete from {table} where v % 3 = 0"),
            "merge_into": self._merge_into,
            "evolve": self.choices.evolve,
            "alter": self._alter,
        }
        return [(name, steps[name]) for name, weight in weights.items() for _ in range(weight)]

    def _options(self) -> dict[str, str]:
        options = dict(self.choices.options)
        if self.schema_on_read:
            options |= {**SCHEMA_ON_READ, "hoodie.datasource.write.reconcile.schema": "true"}
        return options

    def _write(self, operation: str, *, soft_deletes: float = 0.0) -> None:
        rows = random_rows(self.random, self.choices, unique=operation != "upsert", soft_deletes=soft_deletes)
        self.java.write(self.path, operation, rows, options=self._options())

    def _delete(self) -> None:
        rows = random_rows(self.random, self.choices, unique=True, soft_deletes=0)
        self.java.write(self.path, "delete", rows, options=self._options())

    def _delete_partition(self) -> None:
        paths = sorted({str(v) for v in self.java.read(self.path)["_hoodie_partition_path"].to_pylist()})
        chosen = {"hoodie.datasource.write.partitions.to.delete": self.random.choice([*paths, "none"])}
        rows = random_rows(self.random, self.choices, unique=True, soft_deletes=0)
        self.java.write(self.path, "delete_partition", rows, options={**self._options(), **chosen})

    def _service(self, name: str, operation: str) -> None:
        options = "hoodie.compact.inline.max.delta.commits=1,hoodie.embed.timeline.server=false"
        self.java.call(self.path, f"run_{name}", f"op => '{operation}', options => '{options}'")

    def _rollback(self) -> None:
        last = self.java.timeline(self.path)[-1]["requested_time"]
        self.java.call(self.path, "rollback_to_instant", f"instant_time => '{last}'")

    def _restore(self) -> None:
        writes = [i for i in self.java.timeline(self.path) if i["action"] in ("commit", "deltacommit")]
        last = [i["requested_time"] for i in writes if i["state"] == "COMPLETED"][-1]
        self.java.call(self.path, "create_savepoint", f"commit_time => '{last}'")
        self._write("upsert")
        self.java.call(self.path, "rollback_to_savepoint", f"instant_time => '{last}'")

    def _fail_last_write(self) -> str:
        """Leave the last write as a writer does that ended before it could complete it: inflight, with its markers."""
        last = self.java.timeline(self.path)[-1]
        time = last["requested_time"]
        folder = self.path / ".hoodie" / "timeline"
        begun = [p for p in folder.glob(f"{time}.*inflight") if p.name.removeprefix(f"{time}.") in _WRITES_BEGUN]
        if last["state"] != "COMPLETED" or not begun:
            return "no failed_write"
        stats = self.java.commit_metadata(self.path, time)["partitionToWriteStats"]
        for stat in (stat for stats_of_partition in stats.values() for stat in stats_of_partition):
            kind = "CREATE" if ".log." in stat["path"] or stat["prevCommit"] in ("null", None) else "MERGE"
            marker = self.path / ".hoodie" / ".temp" / time / f"{stat['path']}.marker.{kind}"
            marker.parent.mkdir(parents=True, exist_ok=True)
            marker.touch()
        (folder / f"{time}_{last['completion_time']}.{last['action']}").unlink()
        return "failed_write"

    def _sql(self, *statements: str, settings: dict[str, str] | None = None) -> None:
        plain = {k: v for k, v in self._options().items() if k != "hoodie.table.name"}
        self.java.sql(self.path, *statements, settings={**plain, **(settings or {})})

    def _merge_into(self) -> None:
        keys = [f"t.{key} = s.{key}" for key in self.choices.record_key]
        chosen = ", ".join(f"'{key}' as {name}" for name, key in random_keys(self.random, self.choices).items())
        ordering = f", max({self.choices.ordering}) as ts1" if self.choices.ordering else ""
        sets = [f"{key} = s.{key}" for key in self.choices.record_key] + ["v = s.v1"]
        sets += [f"{self.choices.ordering} = s.ts1"] if self.choices.ordering else []
        self._sql(
            f"merge into {{table}} t using (select {chosen}, 77 as v1{ordering} from {{table}} limit 1) s "
            f"on {' and '.join(keys)} "
            f"when matched then update set {', '.join(sets)}"
        )

    def _alter(self) -> None:
        """One change of the schema by SQL, which then has a history."""
        number = len(self.done)
        change = self.random.choice(
            (
                f"add columns (extra_{number} int)",
                f"add columns (st.extra_{number} string)",
                "alter column v type bigint",
                "alter column f type double",
                f"rename column s to s_{number}",
                f"rename column st.b to b_{number}",
                "drop column b",
                "drop column st.a",
                "alter column d after v",
            )
        )
        self.java.sql(self.path, f"alter table {{table}} {change}", settings=SCHEMA_ON_READ)
        self.schema_on_read = True
        self.done.append(change)

    def queries(self) -> Iterator[tuple[str, dict[str, str], dict[str, str | None]]]:
        """Every query to compare: its kind, the options that ask Java, the arguments that ask us."""
        extra = SCHEMA_ON_READ if self.schema_on_read else {}
        yield "read", {**extra}, {}
        if self.choices.merge_on_read:
            yield "read", {**extra, **READ_OPTIMIZED}, {"read_optimized": "yes"}
        writes = [i for i in self.java.timeline(self.path) if i["completion_time"] and i["action"].endswith("commit")]
        times = [i["requested_time"] for i in writes] + [writes[-1]["completion_time"]] if writes else []
        for at in self.random.sample(times, min(NUM_TIMES, len(times))):
            yield "read", {**extra, "as.of.instant": at}, {"as_of": at}
        ends = sorted(i["completion_time"] for i in writes)
        for _ in range(NUM_TIMES if ends else 0):
            start, end = sorted((self.random.choice(ends), self.random.choice(ends)))
            yield "changes", {**extra, **INCREMENTAL, BEGIN: start, END: end}, {"start": start, "end": end}
            if self.choices.logs_changes:
                start = self.random.choice(("000", start))
                yield "cdc", {**extra, **CHANGES, BEGIN: start, END: end}, {"start": start, "end": end}


@dataclass
class Outcome:
    """What was compared of one table.

    Attributes:
        same: number of queries with the same answer.
        java_refused: queries that Java could not answer, and what it said.
        refused: queries that we refused by name.
        different: where the answers differ, in words.

    """

    same: int = 0
    java_refused: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)


def make(java: JavaHudi, path: Path, seed: int) -> RandomTable:
    """Write the table of a seed."""
    source = random.Random(seed)
    table = RandomTable(java, path, choose(source), source)
    table.grow(source.choice((4, 6, 8, 11)))
    return table


def compare(table: RandomTable) -> Outcome:
    """Ask both readers every query."""
    outcome = Outcome()
    for kind, java_options, arguments in list(table.queries()):
        label = f"{kind} {arguments or ''}"
        try:
            expected = table.java.read(table.path, options=java_options)
        except JavaHudiError as error:
            outcome.java_refused.append(f"{label}: {error.root[:200]}")
            continue
        try:
            text = _difference(table, kind, arguments, expected)
        except UnsupportedTableError as error:
            outcome.refused.append(f"{label}: {error}"[:300])
            continue
        except DrawstringError as error:
            text = f"{type(error).__name__}: {error}"
        if text:
            outcome.different.append(f"{label}: {text}")
        else:
            outcome.same += 1
    return outcome


def _difference(table: RandomTable, kind: str, arguments: dict[str, Any], expected: pa.Table) -> str:
    opened = ds.Table.open(str(table.path))
    if kind == "cdc":
        lost = lost_in_images(table.choices.schema)
        changes = opened.changes(**arguments, cdc=True)
        return change_difference(without_members(changes, lost), without_members(expected, lost))
    if kind == "changes":
        return difference(opened.changes(**arguments), expected)
    actual = opened.read(read_optimized=True) if "read_optimized" in arguments else opened.read(**arguments)
    return difference(actual, expected)


def lost_in_images(schema: pa.Schema) -> frozenset[str]:
    """Columns whose values Java loses in the images that it makes of a base file's rows.

    It writes its own objects there: ``{"zero": false}`` for a decimal, the memory of a struct. Floats have more digits
    than it takes to tell them.
    """
    kinds = (pa.types.is_nested, pa.types.is_decimal, pa.types.is_floating)
    return frozenset(field.name for field in schema if any(is_kind(field.type) for is_kind in kinds))


def without_members(changes: pa.Table, names: frozenset[str]) -> pa.Table:
    """Change data whose images lack some members."""
    images = {}
    for side in ("before", "after"):
        parsed = [json.loads(text or "null") for text in changes[side].to_pylist()]
        kept = [image and {name: value for name, value in image.items() if name not in names} for image in parsed]
        images[side] = pa.array([json.dumps(image) for image in kept], pa.string())
    return pa.table({"op": changes["op"], "ts_ms": changes["ts_ms"], **images})


def main() -> int:
    """Look for differences; 1 where there are some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-10", help="one seed, or FIRST-LAST (default: %(default)s)")
    parser.add_argument("--keep", type=Path, default=None, help="folder for tables with differences")
    parser.add_argument("--keep-all", action="store_true", help="keep the other tables as well")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    environment = find_environment()
    if environment is None:
        parser.error("Java Hudi is not set up: run `make interop`")
    keep = arguments.keep or Path(tempfile.mkdtemp(prefix="random_tables_"))
    keep.mkdir(parents=True, exist_ok=True)
    same, different = 0, 0
    with JavaHudi(environment, log=keep / f"java_{first}.log") as java:
        for seed in range(int(first), int(last or first) + 1):
            start = time.monotonic()
            table = make(java, keep / f"table_{seed}", seed)
            outcome = compare(table)
            same, different = same + outcome.same, different + len(outcome.different)
            _say(f"seed {seed}: {table.choices.name}", f"  {'; '.join(table.done)}", *_lines(outcome))
            _say(f"  {outcome.same} the same, {time.monotonic() - start:.0f} s")
            if not outcome.different and not arguments.keep_all:
                shutil.rmtree(table.path, ignore_errors=True)
    _say(f"{same} answers the same, {different} different; tables in {keep}")
    return 1 if different else 0


def _lines(outcome: Outcome) -> Iterator[str]:
    yield from (f"  Java refused {text}" for text in outcome.java_refused)
    yield from (f"  refused {text}" for text in outcome.refused)
    yield from (f"  DIFFERENT {text[:_LONGEST_LINE]}" for text in outcome.different)


def _say(*lines: str) -> None:
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
