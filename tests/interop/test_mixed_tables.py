"""Mixed tables: one that Java Hudi writes just now, and that the judgement of a kept one is what it should be.

``PYTHONPATH=tests python -m interop.mixed_tables --seeds 1-50`` hunts; what it finds is kept as a test of its own,
where the fault was.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import drawstring as ds
from interop.mixed_judging import judge
from interop.mixed_tables import record
from interop.test_unseen_tables import LOST_BY_JAVA

KEPT = Path(__file__).with_name("data_unseen") / "cleaned_range"
SEED = 404


@pytest.mark.interop
def test_a_mixed_table_is_read_as_java_reads_it(java, tmp_path, record_property):
    mixed, folder = record(java, SEED, tmp_path / "work", tmp_path / "cases")
    assert folder is not None, mixed.done
    judged = judge(folder, tmp_path / "judged")
    record_property("queries", judged.same)
    assert judged.different == {}, mixed.done
    assert judged.same > 20


def test_what_java_loses_is_told_apart_from_what_differs(tmp_path):
    judged = judge(KEPT, tmp_path)
    assert judged.different == judged.refused == {}
    assert set(judged.lost_by_java) == LOST_BY_JAVA["cleaned_range"]
    assert judged.same > 10


def test_the_judgement_notices_a_row_that_we_lose(tmp_path, monkeypatch):
    read, lookup = ds.Table.read, ds.Table.lookup
    monkeypatch.setattr(ds.Table, "read", lambda *args, **query: read(*args, **query).slice(1))
    monkeypatch.setattr(ds.Table, "lookup", lambda *args, **query: lookup(*args, **query).slice(1))
    different = judge(KEPT, tmp_path).different
    assert {"snapshot_0", "read_optimized_1", "look-up of 1"} <= set(different)
