"""Whatever bytes a table holds, examining it ends in a report, and leaves it as it was."""

from __future__ import annotations

import random
import shutil

import pytest

from drawstring.doctor import examine
from drawstring.errors import TableNotFoundError
from drawstring.options import Options
from drawstring.runtime import production_ports
from drawstring_conformance.vectors import load_case

CASES = ("index_record", "mor_basic", "rollback_restore_cow", "cdc_mor")


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    folder = tmp_path_factory.mktemp("any_damage")
    return {name: load_case(name).extract(folder / name) for name in CASES}


def damage(table, choose):
    """Cut files off, remove them, and change their bytes; files of the timeline and the metadata table more often."""
    files = sorted(path for path in table.rglob("*") if path.is_file() and path.suffix != ".crc")
    inner = [path for path in files if ".hoodie" in path.parts]
    for _ in range(choose.randint(1, 3)):
        path = choose.choice(inner if choose.random() < 0.7 else files)
        raw = bytearray(path.read_bytes() if path.exists() else b"")
        kind = choose.random()
        if kind < 0.1:
            path.unlink(missing_ok=True)
            continue
        if kind < 0.25:
            raw = raw[: choose.randint(0, len(raw))]
        for _ in range(choose.choice((1, 1, 4, 20)) if raw else 0):
            raw[choose.randrange(len(raw))] = choose.randrange(256)
        path.write_bytes(raw)


@pytest.mark.parametrize("seed", range(16))
def test_any_damage_ends_in_a_report_and_nothing_is_changed(seed, golden, tmp_path):
    choose = random.Random(seed)
    table = shutil.copytree(golden[choose.choice(CASES)], tmp_path / "t")
    damage(table, choose)
    before = {path: path.read_bytes() for path in table.rglob("*") if path.is_file()}

    try:
        report = examine(production_ports(str(table), Options.parse({})), deep=True)
    except TableNotFoundError:
        assert not (table / ".hoodie" / "hoodie.properties").exists()
    else:
        assert report.passed or report.findings or report.not_run

    assert {path: path.read_bytes() for path in table.rglob("*") if path.is_file()} == before
