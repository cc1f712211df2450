"""A completed index agrees with the table, whatever writers did while it was built (S34).

The lengths of the shortest histories are facts of the model, which change only with its rules.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drawstring_model.config import COPY_ON_WRITE, Bounds, Config, PlantedBug, delete, upsert
from drawstring_model.core.module import part
from drawstring_model.explorer import explore
from drawstring_model.invariants import Promise
from drawstring_model.modules.indexing import Index, Indexing
from drawstring_model.narrate import narrate

CALM = Bounds(workload=(upsert(1), upsert(2)), groups=1, faults=0)
INDEXED = Config(modules=(*COPY_ON_WRITE, Indexing()), bounds=CALM)


def of_both_kinds(world):
    """The index was caught up with one write, or got the entries of one from its writer."""
    index = part(world, Index)
    return index.completed and bool(index.entries)


def test_an_index_that_is_built_beside_writers_agrees_with_the_table():
    exploration = explore(
        INDEXED,
        witnesses={
            "caught up": lambda world: of_both_kinds(world) and not part(world, Index).aware,
            "by its writer": lambda world: of_both_kinds(world) and bool(part(world, Index).aware),
        },
    )

    assert exploration.exhausted
    assert set(exploration.witnesses) == {"caught up", "by its writer"}
    assert exploration.holds(Promise.INDEX_AGREES)


@pytest.mark.parametrize(
    "bug", [PlantedBug.SKIP_CATCH_UP, PlantedBug.INDEX_WITHOUT_WAITING, PlantedBug.WRITERS_IGNORE_INDEX]
)
def test_s34_an_index_that_misses_a_write_lacks_its_keys(bug):
    config = replace(INDEXED, planted=bug)

    example = explore(config, until=Promise.INDEX_AGREES).counterexamples[Promise.INDEX_AGREES]

    assert len(example.moves) == 32
    assert example.finding == "the index has keys in file groups {1: 1}, the table has {1: 1, 2: 1}"
    assert any("the indexer completes the index" in sentence for sentence in narrate(example, config))


def test_a_delete_while_the_index_is_built_leaves_no_entry():
    config = replace(INDEXED, bounds=replace(CALM, workload=(upsert(1), delete(1))))

    exploration = explore(config, witnesses={"both": of_both_kinds})

    assert exploration.exhausted
    assert exploration.witnesses["both"] > 0
    assert exploration.holds(Promise.INDEX_AGREES)


def test_a_write_that_was_rolled_back_leaves_no_entry():
    config = replace(INDEXED, bounds=replace(CALM, workload=(upsert(1), upsert(1)), groups=2))

    exploration = explore(config)

    assert exploration.exhausted
    assert exploration.holds(Promise.INDEX_AGREES)
