"""In the golden tables, which Java wrote and can go on with, nothing is found but what is so."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import drawstring as ds
from drawstring.doctor import Severity, examine
from drawstring.options import Options
from drawstring.runtime import production_ports
from drawstring_conformance.vectors import load_case, load_cases

PENDING_WRITE = "pending-writes"
UNSEEN = Path(__file__).parents[3] / "interop" / "data_unseen"
TRUE_FINDINGS = {
    # The scheduled indexing of an index that was then built by another action; Java left it on the timeline.
    "index_async": {"pending-services"},
    # A write that was stopped before it completed, on purpose; its writer is dead and kept no heartbeat.
    "inflight_only_cow": {PENDING_WRITE},
    "inflight_only_mor": {PENDING_WRITE},
    "marker_timeline_server": {PENDING_WRITE},
    "occ_out_of_order_cow": {PENDING_WRITE},
    "occ_out_of_order_mor": {PENDING_WRITE},
    "rollback_restore_cow": {PENDING_WRITE},
    "rollback_restore_mor": {PENDING_WRITE},
}


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_golden_tables_have_no_findings_but_true_ones(case, tmp_path):
    report = examine(production_ports(str(case.extract(tmp_path / "t")), Options.parse({})), deep=True)

    assert {finding.check for finding in report.findings} == TRUE_FINDINGS.get(case.name, set()), report.findings
    assert {finding.severity for finding in report.findings} <= {Severity.WARNING}
    assert not report.not_run
    pending = {i["begin"] for i in case.details["timeline"] if i["completion"] is None}
    assert all(any(time in finding.path for time in pending) for finding in report.findings)


def _resized_buckets(folder):
    return load_case("consistent_resize", UNSEEN).extract(folder / "t")


def test_writes_beside_a_split_of_buckets_are_no_finding(tmp_path):
    report = examine(production_ports(str(_resized_buckets(tmp_path)), Options.parse({})))
    assert report.is_healthy, report


def test_a_log_file_named_by_a_write_that_did_not_make_it_is_found(tmp_path):
    table = _resized_buckets(tmp_path)
    commit = max(path for path in (table / ".hoodie" / "timeline").iterdir() if path.suffix == ".deltacommit")
    first, later = "20261121174551697", commit.name.partition("_")[0]
    file = next(path for path in sorted((table / "a").iterdir()) if f"_{later}.log.1" in path.name)
    file.rename(file.with_name(file.name.replace(later, first)))

    report = examine(production_ports(str(table), Options.parse({})))

    assert "log-times" in {finding.check for finding in report.findings}


def test_a_table_of_ours_has_no_finding(table_uri):
    schema = pa.schema([("id", pa.string()), ("part", pa.string()), ("ts", pa.int64())])
    table = ds.Table.create(table_uri, schema, record_key="id", partition_by="part", ordering="ts")
    rows = [{"id": f"k{n}", "part": "ab"[n % 2], "ts": n} for n in range(20)]
    table.bulk_insert(pa.Table.from_pylist(rows, schema=schema))
    table.upsert(pa.Table.from_pylist([{**row, "ts": 99} for row in rows[:7]], schema=schema))
    table.delete(pa.Table.from_pylist(rows[3:5], schema=schema))

    report = examine(production_ports(table_uri, Options.parse({})), deep=True)

    assert report.is_healthy, report


@pytest.mark.parametrize("case", ["inflight_only_cow", "inflight_only_mor"])
def test_a_file_that_a_pending_write_has_written_half_is_no_finding(case, tmp_path):
    table = load_case(case).extract(tmp_path / "t")
    stopped = [i["begin"] for i in load_case(case).details["timeline"] if i["completion"] is None]
    written = [path for path in table.glob("*/*") if any(time in path.name for time in stopped)]
    whole = next(path for path in sorted(table.glob("*/*.parquet")))
    half = (
        written[0] if written else whole.with_name(whole.name[: whole.name.rindex("_") + 1] + f"{stopped[0]}.parquet")
    )
    half.write_bytes(whole.read_bytes()[:100])

    report = examine(production_ports(str(table), Options.parse({})), deep=True)

    assert {finding.check for finding in report.findings} == {PENDING_WRITE}, report.findings


def test_an_empty_table_of_ours_has_no_finding(table_uri):
    ds.Table.create(table_uri, pa.schema([("id", pa.string())]), record_key="id")
    assert examine(production_ports(table_uri, Options.parse({})), deep=True).is_healthy


def test_times_that_are_archived_twice_are_no_finding(tmp_path):
    """Java's metadata table takes its first times anew for an index that is made after they were archived."""
    path = load_case("archival_lsm").extract(tmp_path / "t")
    history = path / ".hoodie" / "timeline" / "history"
    manifest = history / f"manifest_{(history / '_version_').read_text().strip()}"
    entries = json.loads(manifest.read_text())
    name = entries["files"][0]["fileName"]
    times = pq.read_table(history / name)
    first = times["instantTime"][0].as_py()
    again = f"{first}_{first}_0.parquet"
    assert times.num_rows > 1
    pq.write_table(times.slice(0, 1), history / again)
    entries["files"].append({"fileName": again, "fileLen": (history / again).stat().st_size})
    manifest.write_text(json.dumps(entries))

    checks = frozenset({"archive-names", "archive-files"})
    report = examine(production_ports(str(path), Options.parse({})), only=checks)

    assert report.is_healthy, report
