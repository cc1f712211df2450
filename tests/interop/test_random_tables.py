"""Random tables that Java Hudi writes just now: a few fixed seeds, and what the hunt with many more had to show.

``PYTHONPATH=tests python -m interop.random_tables --seeds 1-50`` hunts; what it finds is kept as a test of its own,
where the fault was.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

import drawstring as ds
from drawstring.errors import UnsupportedTableError
from interop import random_tables

pytestmark = pytest.mark.interop

SEEDS = (203, 205)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_table_is_read_as_java_reads_it(java, tmp_path, seed, record_property):
    table = random_tables.make(java, tmp_path / "t", seed)
    outcome = random_tables.compare(table)
    record_property("queries", outcome.same)
    assert not outcome.different, f"{table.choices.name}; {table.done}: {outcome.different}"
    assert outcome.same, outcome


def test_the_comparison_notices_a_row_that_we_lose(java, tmp_path, monkeypatch):
    table = random_tables.make(java, tmp_path / "t", SEEDS[0])
    read = ds.Table.read
    monkeypatch.setattr(ds.Table, "read", lambda *args, **query: read(*args, **query).slice(1))
    assert random_tables.compare(table).different


def test_a_table_of_an_older_version_is_refused_by_name(java, tmp_path):
    options = {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.write.table.version": "6",
        "hoodie.write.auto.upgrade": "false",
    }
    java.write(tmp_path / "t", "upsert", pa.table({"id": ["a"]}), options=options)
    with pytest.raises(UnsupportedTableError, match="version 6"):
        ds.Table.open(str(tmp_path / "t"))
