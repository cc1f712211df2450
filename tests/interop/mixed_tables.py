"""Mixed tables: features drawn by a seed (`interop.mixed_choices`), a dozen operations, and every kind of query.

``PYTHONPATH=tests python -m interop.mixed_tables --seeds 1-50 --keep FOLDER`` lets Java write the tables and answer the
queries, and keeps each as a case; the embedded engine is judged at once, with look-ups, conditions and the examination
of `drawstring doctor`. ``python -m spark.told_tables FOLDER`` asks the same on Spark.
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from interop.java.client import JavaHudi, JavaHudiError
from interop.java.environment import find_environment
from interop.mixed_choices import BY_ID, KEY, Mix, mix, odd_parts
from interop.mixed_judging import condition, judge
from interop.random_choices import random_value
from interop.unseen_recording import Recorder, every_query

NUM_KEYS: Final = 16
NUM_STEPS: Final = 10
NUM_CONDITIONS: Final = 4
NUM_QUERIES: Final = 9
_FIRST: Final = dt.date(2023, 11, 14)
_LONGEST_LINE: Final = 1500


@dataclass
class Mixed:
    """A mixed table under way.

    Attributes:
        tell: who writes it.
        mix: what it is made of.
        random: where its operations and rows come from.
        done: its operations, and what Java said of those that it refused.
        buried: keys that a delete of an event-ordered table took, which do not come back: Java cannot compare them.

    """

    tell: Recorder
    mix: Mix
    random: random.Random
    done: list[str] = field(default_factory=list)
    buried: set[int] = field(default_factory=set)

    def grow(self) -> None:
        """Write the first rows, then do a number of operations."""
        first = self.random.choice(("insert", "upsert", "bulk_insert"))
        self._do(first, lambda: self._write(first, range(NUM_KEYS * 3 // 4)))
        if "refused" in self.done[0]:
            return
        if "secondary" in self.mix.names:
            self._do("index of s", lambda: self.tell.sql("create index idx_s on {table} (s)"))
        if "expression" in self.mix.names:
            asked = "create index idx_e on {table} using column_stats(s) options(expr='upper')"
            self._do("index of upper(s)", lambda: self.tell.sql(asked))
        steps = self._steps()
        for _ in range(NUM_STEPS):
            name = self.random.choice([*steps])
            self._do(name, steps[name])

    def _do(self, name: str, step: Callable[[], Any]) -> None:
        try:
            step()
        except JavaHudiError as error:
            name += f" refused: {(error.root or error.error)[:200]}"
        self.done.append(name)

    def _steps(self) -> dict[str, Callable[[], Any]]:
        """Operations by name; writes have several names, so that they are drawn more often than the others."""
        write = self._write
        steps: dict[str, Callable[[], Any]] = {
            "upsert": lambda: write("upsert", self._some()),
            "upsert again": lambda: write("upsert", self._some()),
            "upsert late": lambda: write("upsert", self._some(), late=True),
            "upsert twice": lambda: write("upsert", [*(some := self._some()), *some]),
            "upsert marked": lambda: write("upsert", self._some(), marked=0.5),
            "insert new": lambda: write("insert", self._fresh()),
            "delete": self._delete,
            "clean": lambda: self.tell.java.call(self.tell.path, "run_clean", "retain_commits => 2"),
        }
        more: dict[str, Callable[[], Any]] = {
            "bulk insert new": lambda: write("bulk_insert", self._fresh()),
            "overwrite partitions": lambda: write("insert_overwrite", self._some(unique=True)),
            "overwrite table": lambda: write("insert_overwrite_table", self._some(unique=True)),
            "delete partition": self._delete_partition,
            "cluster": lambda: self._service("clustering"),
            "plan clustering": lambda: self._service("clustering", "schedule"),
            "savepoint and restore": self._restore,
            "roll back": self._roll_back,
            "update": lambda: self._sql("update {table} set v = v + 1000 where v % 2 = 0"),
            "delete where": lambda: self._sql("delete from {table} where v % 5 = 3"),
            "merge into": self._merge_into,
            "evolve": self._evolve,
            "alter": self._alter,
        }
        if "no meta columns" in self.mix.names:  # Java finds no place for rows that SQL changes.
            del more["update"], more["delete where"], more["merge into"]
        if self.mix.fixed_buckets:
            del more["cluster"], more["plan clustering"]
        if self.mix.merge_on_read:
            steps["compact"] = lambda: self._service("compaction")
            more["plan compaction"] = lambda: self._service("compaction", "schedule")
            more["run compaction"] = lambda: self._service("compaction", "execute")
        return steps | {name: more[name] for name in self.random.sample(sorted(more), 5)}

    def _some(self, *, unique: bool = False) -> list[int]:
        numbers = [n for n in range(NUM_KEYS) if n not in self.buried]
        count = min(len(numbers), self.random.randint(2, 8))
        return sorted(self.random.sample(numbers, count)) if unique else self.random.choices(numbers, k=count)

    def _fresh(self) -> list[int]:
        return [100 * len(self.done) + n for n in range(self.random.randint(1, 4))]

    def _write(self, operation: str, numbers: Iterable[int], *, late: bool = False, marked: float = 0.0) -> None:
        self.tell.write(operation, self._rows(numbers, late=late, marked=marked))

    def _rows(self, numbers: Iterable[int], *, late: bool = False, marked: float = 0.0) -> pa.Table:
        rows = [self._row(n, late=late, marked=marked) for n in numbers]
        return pa.Table.from_pylist(rows, schema=self.mix.schema)

    def _row(self, n: int, *, late: bool, marked: float) -> dict[str, Any]:
        parts = odd_parts(self.mix.options)
        moves = any("moves" in name for name in self.mix.names) and self.random.random() < 0.2
        day = _FIRST + dt.timedelta(days=20 * (n % 3))
        at = dt.datetime(day.year, day.month, day.day, 1 + n % 2, tzinfo=dt.UTC)
        known = {
            "id": f"k{n:03}",
            "k2": f"{n % 4}:x",
            "num": 7 * n - 20,
            "part": parts[(n + moves) % len(parts)],
            "sub": n % 2 - (n % 7 == 6),
            "day": day,
            "text": f"{day}",
            "ms": int(at.timestamp()) * 1000,
            "sec": int(at.timestamp()),
            "ts": self._ordering(1 if late else 2 + len(self.done) // 2),
            "v": 100 * len(self.done) + n,
            "small": 3 * n - 20,
            "s": self.random.choice((f"name-{n % 5}", "", "ü,$", None)),
            "_hoodie_is_deleted": self.random.random() < marked,
        }
        return {
            f.name: known[f.name] if f.name in known else random_value(self.random, f.type) for f in self.mix.schema
        }

    def _ordering(self, n: int) -> Any:
        if "ts" not in self.mix.schema.names:
            return None
        kind = self.mix.schema.field("ts").type
        n += self.random.choice((0, 0, 0, 1, -1))
        if pa.types.is_decimal(kind):
            return Decimal(n) / 4
        if pa.types.is_timestamp(kind):
            return dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(milliseconds=n)
        if pa.types.is_date(kind):
            return _FIRST + dt.timedelta(days=n)
        if pa.types.is_string(kind):
            return f"{n:03}"
        return n / 2 if pa.types.is_floating(kind) else n

    def _delete(self) -> None:
        numbers = self._some(unique=True)[:3]
        self._write("delete", numbers)
        if self.mix.orders_events and self.mix.merge_on_read and self.mix.schema.field("ts").type != pa.int32():
            self.buried |= set(numbers)

    def _delete_partition(self) -> None:
        paths = sorted({str(v) for v in self.tell.java.read(self.tell.path)["_hoodie_partition_path"].to_pylist()})
        chosen = {"hoodie__datasource__write__partitions__to__delete": self.random.choice([*paths, "none"])}
        self.tell.write("delete_partition", self._rows([0]), **chosen)

    def _service(self, name: str, operation: str = "scheduleAndExecute") -> None:
        own = ("hoodie.clustering.", "hoodie.bucket.", "hoodie.index.", "hoodie.metadata.", "hoodie.parquet.")
        said = {k.replace(".", "__"): v for k, v in self.tell.options.items() if k.startswith(own) and "," not in v}
        self.tell.service(name, operation, **said)

    def _roll_back(self) -> None:
        last = self.tell.java.timeline(self.tell.path)[-1]["requested_time"]
        self.tell.java.call(self.tell.path, "rollback_to_instant", f"instant_time => '{last}'")

    def _restore(self) -> None:
        writes = [i for i in self.tell.java.timeline(self.tell.path) if i["action"] in ("commit", "deltacommit")]
        last = [i["requested_time"] for i in writes if i["state"] == "COMPLETED"][-1]
        self.tell.java.call(self.tell.path, "create_savepoint", f"commit_time => '{last}'")
        self._write("upsert", self._some())
        self.tell.java.call(self.tell.path, "rollback_to_savepoint", f"instant_time => '{last}'")

    def _sql(self, *statements: str) -> None:
        self.tell.sql(*statements)

    def _merge_into(self) -> None:
        """Matched rows get some columns' values alone; the others are inserted whole."""
        keys = self.mix.options[KEY].split(",")
        ordering = ", ts as ts1" if "ts" in self.mix.schema.names else ""
        sets = [*(f"{key} = s.{key}" for key in keys), "v = s.v1", *(["ts = s.ts1"] if ordering else [])]
        self._sql(
            f"merge into {{table}} t using (select {', '.join(keys)}, v + 7 as v1{ordering} from {{table}} "
            f"where v % 3 = {self.random.randrange(3)}) s on {' and '.join(f't.{key} = s.{key}' for key in keys)} "
            f"when matched then update set {', '.join(sets)}"
        )

    def _evolve(self) -> None:
        """Rows that follow have a column more, or a wider type; they are written at once."""
        schema = self.mix.schema
        v = schema.get_field_index("v")
        if schema.field(v).type == pa.int32() and self.random.random() < 0.4:
            self.mix.schema = schema.set(v, pa.field("v", pa.int64()))
        else:
            kind = self.random.choice((pa.string(), pa.int32(), pa.struct([("p", pa.int32()), ("q", pa.string())])))
            self.mix.schema = schema.append(pa.field(f"new_{len(self.done)}", kind))
        self._write("upsert", self._some())

    def _alter(self) -> None:
        """One change of the schema by SQL, after which columns have ids."""
        number = len(self.done)
        schema, on = self.mix.schema, "hoodie.schema.on.read.enable"
        renamed = next((name for name in schema.names if name in ("price", "big", "flag", "birth", "s")), None)
        change = self.random.choice(("add", "widen", "rename" if renamed else "add", "move"))
        said = {
            "add": f"add columns (extra_{number} int)",
            "widen": "alter column v type bigint",
            "rename": f"rename column {renamed} to {renamed}_{number}",
            "move": "alter column v first",
        }[change]
        self.tell.java.sql(self.tell.path, f"alter table {{table}} {said}", settings={on: "true"})
        self.tell.options = {**self.tell.options, **BY_ID, "hoodie.datasource.write.reconcile.schema": "true"}
        self.tell.read_options = BY_ID
        if change == "add":
            schema = schema.append(pa.field(f"extra_{number}", pa.int32()))
        elif change == "widen":
            schema = schema.set(schema.get_field_index("v"), pa.field("v", pa.int64()))
        elif change == "rename":
            schema = schema.set(
                schema.get_field_index(renamed), pa.field(f"{renamed}_{number}", schema.field(renamed).type)
            )
        self.mix.schema = schema
        self.done.append(said)


def record(java: JavaHudi, seed: int, work: Path, keep: Path) -> tuple[Mixed, Path | None]:
    """Let Java write the table of a seed, ask it everything, and keep it; the case, or None where it has no rows."""
    source = random.Random(seed)
    drawn = mix(source)
    tell = Recorder(java, work / f"mixed_{seed}", drawn.options)
    mixed = Mixed(tell, drawn, source)
    try:
        mixed.grow()
        if "refused" in mixed.done[0]:
            return mixed, None
        _ask_some(mixed)
        _ask_conditions(mixed)
        tell.facts += mixed.done
        tell.keep(keep / f"mixed_{seed}", drawn.has)
        return mixed, keep / f"mixed_{seed}"
    finally:
        shutil.rmtree(tell.path, ignore_errors=True)


def _ask_some(mixed: Mixed) -> None:
    """Ask snapshots of now, and some of the other queries."""
    tell, cdc = mixed.tell, "hoodie.table.cdc.enabled" in mixed.mix.options
    asked = list(every_query(tell.java.timeline(tell.path), tell.properties, cdc=cdc))
    now = [query for query in asked if len(query) == 1]
    others = [query for query in asked if len(query) > 1]
    for query in [*now, *mixed.random.sample(others, min(NUM_QUERIES, len(others)))]:
        tell.ask(**query)


def _ask_conditions(mixed: Mixed) -> None:
    snapshot = mixed.tell.answers.get("snapshot_0")
    if snapshot is None or not snapshot.num_rows:
        return
    # Conditions on formatted times Java holds against the folders' names.
    columns = snapshot.drop_columns([name for name in ("text", "ms", "sec") if name in snapshot.column_names])
    for _ in range(NUM_CONDITIONS):
        asked = [condition(mixed.random, columns) for _ in range(mixed.random.choice((1, 1, 2)))]
        mixed.tell.ask_filtered(" and ".join(text for text, _ in asked), [own for _, own in asked])


def main() -> int:
    """Look for differences; 1 where there are some."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="1-10", help="one seed, or FIRST-LAST (default: %(default)s)")
    parser.add_argument("--keep", type=Path, default=None, help="folder for the cases")
    arguments = parser.parse_args()
    first, _, last = arguments.seeds.partition("-")
    environment = find_environment()
    if environment is None:
        parser.error("Java Hudi is not set up: run `make interop`")
    keep = arguments.keep or Path(tempfile.mkdtemp(prefix="mixed_"))
    keep.mkdir(parents=True, exist_ok=True)
    different = 0
    with JavaHudi(environment, log=keep / "java.log") as java, tempfile.TemporaryDirectory() as work:
        for seed in range(int(first), int(last or first) + 1):
            start = time.monotonic()
            mixed, folder = record(java, seed, Path(work), keep)
            _say(f"mixed_{seed}: {mixed.mix.has}", f"  {'; '.join(mixed.done)}")
            if folder is None:
                continue
            for refused in mixed.tell.refused:
                _say(f"  Java refused {refused.get('where') or refused['id']}: {refused['error'][:160]}")
            judged = judge(folder, Path(work) / "judged")
            different += len(judged.different)
            for name, text in judged.different.items():
                _say(f"  DIFFERENT {name}: {text[:_LONGEST_LINE]}")
            _say(*(f"  refused {name}: {text[:300]}" for name, text in judged.refused.items()))
            counts = f"{judged.same} the same, {len(judged.different)} different, {len(judged.refused)} refused"
            _say(f"  {counts}, {len(judged.lost_by_java)} lost by Java, {time.monotonic() - start:.0f} s")
    _say(f"{different} answers differ; cases in {keep}")
    return 1 if different else 0


def _say(*lines: str) -> None:
    if not lines:
        return
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
