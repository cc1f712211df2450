"""The how-to for Java's tables runs as it stands, on a table that Java wrote. Needs no Java."""

from __future__ import annotations

from pathlib import Path

import pytest

import drawstring as ds
from meta.documents import run_blocks


@pytest.mark.parametrize("name", ["continue-a-java-table.md"])
def test_the_code_of_the_how_to_runs_on_a_table_of_javas(golden, monkeypatch, repository: Path, name):
    path = golden("cow_nonpartitioned")
    path.rename(path.with_name("trips"))
    monkeypatch.chdir(path.parent)
    assert run_blocks(repository / "docs" / "how-to" / name, spark=False) == 3
    assert ds.Table.open("trips").config.metadata_partitions == ()
