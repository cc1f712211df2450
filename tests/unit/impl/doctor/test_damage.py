"""Each kind of damage is found by its check, under the requirement that it breaks, and nothing is changed."""

from __future__ import annotations

import os
import shutil

import pytest

from drawstring.doctor import Severity, all_checks, examine
from drawstring.doctor.findings import REGISTER, Check, Problem
from drawstring.doctor.read_only import ReadOnlyStorage
from drawstring.errors import StorageError, TableNotFoundError
from drawstring.options import Options
from drawstring.runtime import open_storage, production_ports
from drawstring_conformance.vectors import load_case
from drawstring_spec.requirements import load_requirements
from unit.impl.doctor.damage import COW, DAMAGES, PENDING, SAVEPOINT

BEFORE = {SAVEPOINT: {"pending-writes"}, PENDING: {"pending-writes"}}
"""What is found in the golden tables as they are, and is so: see test_healthy.py."""


@pytest.fixture(scope="module")
def golden(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doctor")
    unpacked = {}

    def copy(name, destination):
        if name not in unpacked:
            unpacked[name] = load_case(name).extract(folder / name)
        return shutil.copytree(unpacked[name], destination)

    return copy


def look(table, **options):
    return examine(production_ports(str(table), Options.parse({})), **options)


def everything_in(folder):
    found = {}
    for path in folder.rglob("*"):
        status = path.stat()
        content = path.read_bytes() if path.is_file() else b""
        found[path.relative_to(folder)] = (status.st_mtime_ns, status.st_mode, content)
    return found


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: f"{damage.check}-{damage.rule}")
def test_damage_is_found_by_its_check_and_nothing_is_changed(damage, golden, tmp_path):
    table = golden(damage.case, tmp_path / "t")
    damage.do(table)
    before = everything_in(tmp_path)

    report = look(table, deep=damage.deep)

    mine = [finding for finding in report.findings if finding.check == damage.check]
    assert damage.rule in {rule for finding in mine for rule in finding.rules}, report
    assert {f.check for f in report.findings} - BEFORE.get(damage.case, set()) - damage.also == {damage.check}
    assert not report.is_healthy
    assert everything_in(tmp_path) == before


def test_every_check_finds_its_damage():
    assert {damage.check for damage in DAMAGES} == set(REGISTER)


def test_every_check_names_requirements_of_the_catalogue():
    known = {requirement.id for requirement in load_requirements()}
    assert {rule for check in REGISTER.values() for rule in check.rules} <= known
    assert all(check.rules and check.says for check in REGISTER.values())


def test_every_rule_that_a_finding_names_is_in_the_catalogue(golden, tmp_path):
    known = {requirement.id for requirement in load_requirements()}
    assert {damage.rule for damage in DAMAGES} <= known


def test_a_write_with_a_fresh_heartbeat_is_no_finding(golden, tmp_path):
    table = golden(PENDING, tmp_path / "t")
    (table / ".hoodie" / ".heartbeat").mkdir(parents=True)
    (table / ".hoodie" / ".heartbeat" / "20261121034744056").touch()
    assert look(table).is_healthy


def test_a_write_whose_heartbeat_is_old_is_found(golden, tmp_path):
    table = golden(PENDING, tmp_path / "t")
    beat = table / ".hoodie" / ".heartbeat" / "20261121034744056"
    beat.parent.mkdir(parents=True)
    beat.touch()
    os.utime(beat, (0, 0))
    (finding,) = look(table).findings
    assert (finding.check, finding.severity) == ("pending-writes", Severity.WARNING)
    assert "seconds old" in finding.message


def test_checks_that_cannot_run_are_named_with_the_reason(golden, tmp_path):
    table = golden(COW, tmp_path / "t")
    properties = table / ".hoodie" / "hoodie.properties"
    properties.write_text(properties.read_text().replace("hoodie.table.version=8", "hoodie.table.version=9"))
    report = look(table)
    assert "timeline-payloads" in report.not_run
    assert "hoodie.properties" in report.not_run["timeline-payloads"]
    assert not {"timeline-payloads"} & set(report.passed)


def test_without_deep_no_check_reads_rows(golden, tmp_path):
    table = golden(COW, tmp_path / "t")
    report = look(table)
    assert set(report.passed) == {check.name for check in all_checks(deep=False)}
    assert not any(check.deep for check in all_checks(deep=False))


def test_a_place_without_a_table_is_refused(tmp_path):
    with pytest.raises(TableNotFoundError):
        look(tmp_path)


def test_a_check_that_writes_is_stopped_and_the_table_is_as_it_was(golden, tmp_path, monkeypatch):
    table = golden(COW, tmp_path / "t")
    before = everything_in(tmp_path)

    def careless(examination):
        examination.storage.delete([".hoodie/hoodie.properties"])
        yield Problem("", "unreachable")

    monkeypatch.setitem(
        REGISTER, "careless", Check("careless", ("SL-001",), Severity.ERROR, "nothing", False, False, careless)
    )
    (finding,) = look(table).findings
    assert "only examined" in finding.message
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.put("x", b""),
        lambda s: s.put_if_absent("x", b""),
        lambda s: s.put_if_match("x", b"", "e"),
        lambda s: s.delete(["x"]),
    ],
)
def test_a_storage_that_is_read_only_refuses_every_write(write, tmp_path):
    (tmp_path / "x").write_bytes(b"1")
    with pytest.raises(StorageError, match="only examined"):
        write(ReadOnlyStorage(open_storage(str(tmp_path))))
    assert (tmp_path / "x").read_bytes() == b"1"
