"""An answer does not depend on how one asks: columns, filters, batches, look-ups, listings and tasks in any order.

All golden tables in memory, and random ones: what random walks through the model leave on storage. The plain read's
answer is projected and filtered by Arrow afterwards, and compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from differential.materialise import materialise
from differential.test_reader_and_model import CONFIGS, walk
from drawstring.context import TableContext
from drawstring.ports import TaskContext
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.lookup import lookup_rows
from drawstring.read.stream import scan_snapshot
from drawstring.read.view import load_snapshot
from drawstring_conformance.vectors import QueryType, load_case, load_cases
from drawstring_spec.meta_fields import RECORD_KEY
from unit.impl.read.golden_memory import GoldenTable

QUESTIONS = 2
BATCHES = (1, 3, 7, 1_000)
COMPARISONS = {"<": pc.less, ">=": pc.greater_equal, "==": pc.equal, "!=": pc.not_equal}
WITHOUT_COLUMNS = {"inflight_only_cow", "inflight_only_mor"}
WITHOUT_KEYS = {"no_meta_fields_cow", "no_meta_fields_mor"}
NAMES = [case.name for case in load_cases() if case.name not in WITHOUT_COLUMNS]


class AnyOrder:
    """Tasks that run in another order, on some threads; their results come in order."""

    def __init__(self, storage: Any, threads: int, seed: int) -> None:
        self._storage, self._threads, self._seed = storage, threads, seed

    def run(self, function: Any, items: Sequence[Any], *, label: str) -> list[Any]:
        order = list(range(len(items)))
        Random(self._seed).shuffle(order)
        with ThreadPoolExecutor(self._threads) as pool:
            futures = {i: pool.submit(function, TaskContext(self._storage, i, 0), items[i]) for i in order}
        return [futures[i].result() for i in range(len(items))]


class AnyListing:
    """A storage whose listings come in another order."""

    def __init__(self, storage: Any, seed: int) -> None:
        self._storage, self._chance = storage, Random(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def list(self, prefix: str, *, recursive: bool = False) -> list[Any]:
        found = list(self._storage.list(prefix, recursive=recursive))
        return self._chance.sample(found, len(found))

    def list_folders(self, prefix: str) -> list[str]:
        found = list(self._storage.list_folders(prefix))
        return self._chance.sample(found, len(found))


@cache
def table(name: str) -> GoldenTable:
    return GoldenTable(name)


@cache
def everything(name: str) -> pa.Table:
    """All rows of a golden table."""
    context = table(name).context()
    return read_snapshot(context, load_snapshot(context))


def rows(answer: pa.Table) -> list[str]:
    """Rows as texts, in their order: NaN equals itself here, and types count."""
    return [str(answer.schema.remove_metadata()), *map(repr, answer.to_pylist())]


def comparable_columns(whole: pa.Table) -> list[str]:
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_floating, pa.types.is_date, pa.types.is_decimal)
    return [f.name for f in whole.schema if any(kind(f.type) for kind in kinds)]


def question(whole: pa.Table, chance: Random) -> tuple[list[str], list[Any] | None]:
    """Some columns, and conditions as pyarrow's Parquet reader takes them."""
    names = chance.sample(whole.column_names, chance.randint(1, whole.num_columns))
    possible = comparable_columns(whole)
    conditions = []
    for _ in range(chance.choice((0, 1, 1, 2))):
        name = chance.choice(possible)
        values = [v for v in whole[name].to_pylist() if v is not None and v == v]  # noqa: PLR0124 -- NaN is no bound
        if values:
            conditions.append((name, chance.choice(list(COMPARISONS)), chance.choice(values)))
    return names, conditions or None


def afterwards(whole: pa.Table, names: list[str], conditions: list[Any] | None) -> pa.Table:
    for name, comparison, value in conditions or ():
        kept = COMPARISONS[comparison](whole[name], pa.scalar(value, whole.schema.field(name).type))
        whole = whole.filter(pc.fill_null(kept, False))
    return whole.select(names)


def scanned(context: TableContext, batch_rows: int, **query: Any) -> pa.Table:
    return scan_snapshot(context, load_snapshot(context), batch_rows=batch_rows, **query).read_all()


@pytest.mark.parametrize("name", NAMES)
def test_projection_and_filter_give_what_the_whole_answer_gives_afterwards(name):
    whole = everything(name)
    context = table(name).context()
    for number in range(QUESTIONS):
        names, conditions = question(whole, Random(f"{name} {number}"))
        expected = rows(afterwards(whole, names, conditions))

        read = read_snapshot(context, load_snapshot(context), columns=names, filter=conditions)
        stream = scanned(context, BATCHES[number % len(BATCHES)], columns=names, filter=conditions, meta_columns=True)

        assert rows(read) == expected, (names, conditions)
        assert rows(stream) == expected, (names, conditions)


@pytest.mark.parametrize("name", NAMES)
def test_batches_tasks_and_listings_in_any_order_change_nothing(name):
    whole = everything(name)
    plain = table(name).context()
    for seed in Random(name).sample(range(len(BATCHES)), 1):
        storage = AnyListing(plain.ports.storage, seed)
        ports = dataclasses.replace(plain.ports, storage=storage, tasks=AnyOrder(storage, 1 + seed, seed))
        context = dataclasses.replace(plain, ports=ports)

        assert rows(read_snapshot(context, load_snapshot(context))) == rows(whole)
        assert rows(scanned(context, BATCHES[seed], meta_columns=True)) == rows(whole)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITHOUT_KEYS])
def test_a_look_up_gives_the_rows_that_a_filter_by_key_gives(name):
    whole = everything(name)
    context = table(name).context()
    keys = sorted(set(whole[RECORD_KEY].to_pylist()))
    wanted = [*Random(name).sample(keys, min(len(keys), 4)), "no such key"]

    found = lookup_rows(context, load_snapshot(context), wanted)

    assert sorted(rows(found)) == sorted(rows(whole.filter(pc.is_in(whole[RECORD_KEY], pa.array(wanted)))))


@pytest.mark.parametrize("name", NAMES)
def test_every_instant_is_read_alike_by_read_and_scan(name):
    context = table(name).context()
    times = [query.as_of for query in load_case(name).queries if query.type is QueryType.TIME_TRAVEL]
    for time in times[:2]:
        snapshot = load_snapshot(context, as_of=time)
        stream = scan_snapshot(context, snapshot, batch_rows=5, meta_columns=True)
        assert rows(stream.read_all()) == rows(read_snapshot(context, snapshot))


@pytest.mark.parametrize("seed", range(12))
def test_random_tables_with_log_files_answer_alike_however_they_are_asked(seed):
    config = CONFIGS["merge on read"]
    *_, state = walk(config, seed)
    context = materialise(state, merge_on_read=True).context()
    if not state.world.commits:
        assert not load_snapshot(context).slices
        return
    whole = read_snapshot(context, load_snapshot(context))
    for number in range(5):
        names, conditions = question(whole, Random(f"{seed} {number}"))
        expected = rows(afterwards(whole, names, conditions))
        asked = {"columns": names, "filter": conditions}

        assert rows(read_snapshot(context, load_snapshot(context), **asked)) == expected
        assert rows(scanned(context, BATCHES[number % len(BATCHES)], meta_columns=True, **asked)) == expected
    wanted = ["1", "3", "no such key"]
    found = lookup_rows(context, load_snapshot(context), wanted)
    assert sorted(rows(found)) == sorted(rows(whole.filter(pc.is_in(whole[RECORD_KEY], pa.array(wanted)))))
