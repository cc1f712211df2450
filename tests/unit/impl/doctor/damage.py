"""Ways of damaging a table, each so that one check finds it: a copy of a golden table in, a damaged table out."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from drawstring.codec import avro_container

COW, STATS, MOR = "index_record", "index_col_stats_cow", "mor_basic"
ARCHIVE, SAVEPOINT, CLEANED, INDEXED, PENDING = (
    "archival_lsm",
    "rollback_restore_cow",
    "clean_commits",
    "index_secondary",
    "inflight_only_cow",
)
PROPERTIES = ".hoodie/hoodie.properties"
TIMELINE = ".hoodie/timeline"
UNKNOWN = "20991231235959999"
"""A time at which nothing was requested."""


@dataclass(frozen=True)
class Damage:
    """One way.

    Attributes:
        check: that finds it.
        rule: that is broken.
        case: golden table that is damaged.
        do: damages the table in a folder.
        also: other checks that find it, too.
        deep: whether rows have to be read.

    """

    check: str
    rule: str
    case: str
    do: Callable[[Path], object]
    also: frozenset[str] = frozenset()
    deep: bool = False


def replace(pattern: str, text: str, file: str = PROPERTIES) -> Callable[[Path], object]:
    """Replace in a text file; the pattern has to be there."""

    def do(table: Path) -> None:
        changed, count = re.subn(pattern, text, (table / file).read_text("latin-1"), flags=re.MULTILINE)
        assert count
        (table / file).write_text(changed, "latin-1")

    return do


def put(path: str, content: bytes = b"") -> Callable[[Path], object]:
    """Create or replace a file."""

    def do(table: Path) -> None:
        (table / path).parent.mkdir(parents=True, exist_ok=True)
        (table / path).write_bytes(content)

    return do


def one(table: Path, pattern: str) -> Path:
    """The last file that fits a pattern."""
    return max(path for path in table.glob(pattern) if not path.name.endswith(".crc"))


def remove(pattern: str) -> Callable[[Path], object]:
    return lambda table: one(table, pattern).unlink()


def rename(pattern: str, old: str, new: str) -> Callable[[Path], object]:
    def do(table: Path) -> None:
        path = one(table, pattern)
        name = re.sub(old, new, path.name)
        assert name != path.name
        path.rename(path.with_name(name))

    return do


def copy(pattern: str, old: str, new: str) -> Callable[[Path], object]:
    def do(table: Path) -> None:
        path = one(table, pattern)
        name = re.sub(old, new, path.name)
        assert name != path.name
        shutil.copyfile(path, path.with_name(name))

    return do


def overwrite(pattern: str, at: Callable[[bytes], int], content: bytes) -> Callable[[Path], object]:
    """Overwrite bytes in the middle of a file."""

    def do(table: Path) -> None:
        path = one(table, pattern)
        raw = bytearray(path.read_bytes())
        start = at(bytes(raw)) % len(raw)
        assert raw[start : start + len(content)] != content
        raw[start : start + len(content)] = content
        path.write_bytes(raw)

    return do


def commit(change: Callable[[dict], object], pattern: str = f"{TIMELINE}/*_*.commit") -> Callable[[Path], object]:
    """Change what the last completed commit says."""

    def do(table: Path) -> None:
        path = one(table, pattern)
        kind = "HoodieSavepointMetadata" if path.suffix == ".savepoint" else "HoodieCommitMetadata"
        record = avro_container.decode(path.read_bytes(), path=path.name)
        change(record)
        path.write_bytes(avro_container.encode(kind, record, sync_marker=b"s" * 16))

    return do


def statistic(**changes: object) -> Callable[[Path], object]:
    """Change the first write statistic of the last commit."""

    def change(record: dict) -> None:
        stat = next(iter(record["partitionToWriteStats"].values()))[0]
        stat.update({key: value(stat[key]) if callable(value) else value for key, value in changes.items()})

    return commit(change)


def rows(
    change: Callable[[pa.Table], pa.Table], pattern: str = "a/*.parquet", *, metadata: bool = True
) -> Callable[[Path], object]:
    """Write the last base file of a partition anew, with other rows and the same footer entries."""

    def do(table: Path) -> None:
        path = one(table, pattern)
        old = pq.ParquetFile(path)
        kept = {k: v for k, v in (old.metadata.metadata or {}).items() if k != b"ARROW:schema"}
        changed = change(old.read())
        pq.write_table(changed.replace_schema_metadata(kept if metadata else None), path)

    return do


def value(column: str, new: object, pattern: str = "a/*.parquet") -> Callable[[Path], object]:
    """Write a base file anew with another value in the first row."""

    def change(table: pa.Table) -> pa.Table:
        values = table.column(column).to_pylist()
        field = table.schema.field(column)
        first = new(values[0]) if callable(new) else new
        return table.set_column(table.column_names.index(column), field, pa.array([first, *values[1:]], field.type))

    return rows(change, pattern)


def archive_with_another_name(table: Path) -> None:
    """Name a file of the archive after an earlier time, in the manifest, too."""
    history = table / TIMELINE / "history"
    manifest = history / f"manifest_{(history / '_version_').read_text().strip()}"
    entries = json.loads(manifest.read_text())
    old = entries["files"][0]["fileName"]
    new = f"20000101000000000_{old.partition('_')[2]}"
    (history / old).rename(history / new)
    entries["files"][0]["fileName"] = new
    manifest.write_text(json.dumps(entries))


def archive_without_a_file(table: Path) -> None:
    """Remove a file that the manifest names."""
    history = table / TIMELINE / "history"
    manifest = history / f"manifest_{(history / '_version_').read_text().strip()}"
    (history / json.loads(manifest.read_text())["files"][0]["fileName"]).unlink()


def log_time(raw: bytes) -> int:
    """Where the first block's own instant time stands: behind its header key and length."""
    return raw.index((0).to_bytes(4, "big") + (17).to_bytes(4, "big") + b"2026") + 8


def positions_time(raw: bytes) -> int:
    """Where the base file's time stands."""
    return raw.index((8).to_bytes(4, "big") + (17).to_bytes(4, "big") + b"2026") + 8


def a_skeleton_without_an_index(table: Path) -> None:
    copy("a/*.parquet", r"_\d+\.parquet", "_00000000000001.parquet")(table)
    replace(r"\Z", "hoodie.bootstrap.base.path=/somewhere\n")(table)


def block_content(raw: bytes) -> int:
    """Where the content of the first block begins: with its version."""
    return raw.index((3).to_bytes(4, "big"), raw.index(b'"type":"record"') + 500)


def protect_another_file(record: dict) -> None:
    next(iter(record["partitionMetadata"].values()))["savepointDataFile"].append("gone.parquet")


REWRITTEN = frozenset({"file-sizes", "metadata-files"})
"""A file that was written anew has another size than its commit and the metadata table say."""
RECOUNTED = REWRITTEN | {"row-counts"}
MISKEYED = REWRITTEN | {"column-stats", "bloom-filters"}

BASE_LOG = "a/.1ae358ae*_20261121033139545.log.*"
DATA_LOG = "a/.1ae358ae*_20261121033137682.log.*"
HIVE = "part=a/*.parquet"
COMMIT, INFLIGHT, SAVED = f"{TIMELINE}/*_*.commit", f"{TIMELINE}/*.inflight", f"{TIMELINE}/*_*.savepoint"
INDEX_LOG = ".hoodie/metadata/record_index/.record-index-0000"
METAFILE = ".hoodie_partition_metadata"
SECOND_LAST = f"{TIMELINE}/20261121034052284_*.commit"

OF_PROPERTIES = (
    Damage("properties-readable", "PR-001", COW, put(PROPERTIES, b"hoodie.table.name=\\u12")),
    Damage(
        "properties-readable",
        "PR-010",
        COW,
        lambda t: (t / PROPERTIES).rename(t / ".hoodie/hoodie.properties.backup"),
        frozenset({"properties-backup"}),
    ),
    Damage("properties-checksum", "PR-002", COW, replace("^hoodie.table.checksum=.*", "hoodie.table.checksum=1")),
    Damage("properties-complete", "PR-003", COW, replace("^hoodie.compaction.payload.class=.*", "")),
    Damage("properties-version", "PR-004", COW, replace("^hoodie.table.version=8", "hoodie.table.version=9")),
    Damage("properties-version", "PR-005", COW, replace("(layout.version)=2", r"\1=1")),
    Damage("properties-values", "PR-006", COW, replace("^(hoodie.table.type)=.*", r"\1=COPY")),
    Damage("properties-values", "PR-003", COW, replace("^(hoodie.populate.meta.fields)=.*", r"\1=yes")),
    Damage("properties-merge", "PR-008", COW, replace("^(hoodie.compaction.payload.class)=.*", r"\1=a.B")),
    Damage("properties-backup", "PR-010", COW, put(".hoodie/hoodie.properties.backup", b"x")),
    Damage("properties-index", "PR-012", INDEXED, remove(".hoodie/.index_defs/index.json")),
    Damage("properties-index", "SL-001", INDEXED, replace("^(hoodie.table.index.defs.path)=.*", r"\1=../index.json")),
    Damage("metadata-partitions", "MT-002", COW, replace("^(hoodie.table.metadata.partitions=.*)", r"\1,column_stats")),
    Damage("metadata-forgotten", "MT-002", COW, replace("^(hoodie.table.metadata.partitions)=.*", r"\1=")),
)

OF_THE_TIMELINE = (
    Damage("timeline-names", "TL-003", COW, put(f"{TIMELINE}/readme.txt")),
    Damage("timeline-times", "TL-001", COW, rename(COMMIT, r"_\d+", "_99999999999999999")),
    Damage("timeline-states", "TL-012", COW, remove(INFLIGHT)),
    Damage("timeline-unique", "TL-016", COW, copy(COMMIT, r"_\d+", "_20261121033942999")),
    Damage(
        "timeline-unique",
        "TL-020",
        COW,
        put(f"{TIMELINE}/20261121033939988.indexing.requested"),
        frozenset({"pending-services"}),
    ),
    Damage("timeline-completion", "TL-021", COW, rename(COMMIT, r"_\d+", "_20261121033939987")),
    Damage("timeline-completion", "TL-021", STATS, rename(SECOND_LAST, r"_\d+", "_20261121034056066")),
    Damage("timeline-old-names", "TL-007", COW, rename(COMMIT, r"_\d+", "")),
    Damage("timeline-payloads", "TL-030", COW, lambda t: one(t, COMMIT).write_bytes(b"Obj\x01\x02")),
    Damage(
        "timeline-records",
        "TL-032",
        CLEANED,
        lambda t: shutil.copyfile(one(t, f"{TIMELINE}/*_*.clean"), one(t, INFLIGHT)),
    ),
    Damage(
        "commit-paths", "SL-001", COW, statistic(path="../other/x.parquet"), frozenset({"committed-files", "orphans"})
    ),
    Damage("commit-paths", "WR-030", COW, statistic(fileId="someone-else")),
    Damage("savepoints", "TL-008", SAVEPOINT, commit(protect_another_file, SAVED)),
    Damage(
        "savepoints",
        "TL-008",
        SAVEPOINT,
        rename(SAVED, r"^\d+", "20000101000000000"),
        frozenset({"timeline-states", "pending-services"}),
    ),
    Damage("archive-readable", "TL-041", ARCHIVE, archive_without_a_file),
    Damage("archive-version", "TL-042", ARCHIVE, remove(f"{TIMELINE}/history/_version_")),
    Damage("archive-version", "TL-041", ARCHIVE, put(f"{TIMELINE}/history/_version_", b"999")),
    Damage("archive-files", "TL-041", ARCHIVE, copy(f"{TIMELINE}/history/*.parquet", r"^\d+", "20000101000000000")),
    Damage("archive-names", "TL-040", ARCHIVE, archive_with_another_name),
    Damage("pending-writes", "RB-005", COW, remove(COMMIT)),
    # The metadata table's record of a clean that is pending does not count, so it lists what the clean deleted.
    Damage("pending-services", "RB-008", CLEANED, remove(f"{TIMELINE}/*_*.clean"), frozenset({"metadata-files"})),
    Damage("markers", "WR-011", COW, put(f".hoodie/.temp/{UNKNOWN}/a/f1-0_0-1-2_{UNKNOWN}.parquet.marker.CREATE")),
    Damage("markers", "SL-012", PENDING, put(".hoodie/.temp/20261121034744056/notes.txt")),
    Damage("heartbeats", "WR-011", COW, put(f".hoodie/.heartbeat/{UNKNOWN}")),
    Damage("lock", "CC-023", COW, put(".hoodie/lock", b"{}")),
)

OF_FILES = (
    Damage("committed-files", "RD-002", COW, remove("a/*.parquet"), frozenset({"metadata-files"})),
    Damage("file-sizes", "WR-030", COW, statistic(fileSizeInBytes=lambda size: size + 1)),
    Damage("row-counts", "WR-030", COW, statistic(numWrites=lambda count: count + 1)),
    Damage("orphans", "RB-006", COW, copy("a/*.parquet", r"_\d+\.parquet", f"_{UNKNOWN}.parquet")),
    Damage("orphans", "WR-010", COW, copy("a/*.parquet", r"_\d+-", "_77-"), frozenset({"metadata-files"})),
    Damage("orphans", "TL-015", COW, copy("a/*.parquet", r"_\d+\.parquet", "_20000101000000000.parquet")),
    Damage("bootstrap-index", "RD-024", COW, a_skeleton_without_an_index, frozenset({"orphans"})),
    Damage("footers", "DF-011", COW, overwrite("a/*.parquet", lambda raw: -4, b"RAP1")),
    Damage("meta-fields", "DF-001", COW, rows(lambda t: t.select(t.column_names[1:])), REWRITTEN),
    Damage("footer-schemas", "DF-008", COW, rows(lambda t: t, metadata=False), REWRITTEN),
    Damage("partition-metafiles", "SL-011", COW, remove(f"a/{METAFILE}"), frozenset({"metadata-partition-list"})),
    Damage("partition-metafiles", "SL-011", COW, replace("Depth=1", "Depth=2", f"a/{METAFILE}")),
    Damage(
        "nested-partitions",
        "SL-011",
        COW,
        put(f"a/inner/{METAFILE}", b"commitTime=20261121033939988\npartitionDepth=2\n"),
    ),
    Damage("strangers", "SL-017", COW, put("a/notes.txt", b"x")),
    Damage("log-blocks", "LF-001", MOR, overwrite(BASE_LOG, lambda raw: 0, b"#IDUH#")),
    Damage("log-blocks", "LF-002", MOR, overwrite(BASE_LOG, lambda raw: 14, b"\x00\x00\x00\x09")),
    Damage("corrupt-blocks", "LF-006", MOR, overwrite(BASE_LOG, lambda raw: -1, b"\x00")),
    Damage("log-times", "SL-009", MOR, overwrite(BASE_LOG, log_time, b"2025")),
    Damage("log-bases", "SL-004", MOR, overwrite(BASE_LOG, positions_time, b"2025")),
    Damage(
        "metadata-readable",
        "LF-001",
        COW,
        overwrite(f"{INDEX_LOG}*", lambda raw: 0, b"xxxx"),
        frozenset({"log-blocks"}),
    ),
    Damage(
        "metadata-partition-list",
        "WR-042",
        COW,
        lambda t: shutil.copytree(t / "a", t / "c"),
        frozenset({"metadata-files", "orphans"}),
    ),
    Damage("metadata-files", "WR-042", COW, remove(".hoodie/metadata/.hoodie/timeline/*_*.deltacommit")),
)

OF_ROWS = tuple(
    Damage(check, rule, case, do, frozenset(also), deep=True)
    for check, rule, case, do, also in (
        ("log-records", "LF-005", MOR, overwrite(DATA_LOG, block_content, b"\x00\x00\x00\x63"), ()),
        ("rows-readable", "DF-011", COW, overwrite("a/*.parquet", lambda raw: 4, b"\xff" * 64), ()),
        ("meta-columns", "DF-002", COW, value("_hoodie_commit_time", UNKNOWN), REWRITTEN),
        ("meta-columns", "DF-005", COW, value("_hoodie_partition_path", "z"), REWRITTEN | {"record-index"}),
        ("meta-columns", "DF-006", STATS, value("_hoodie_file_name", "z", HIVE), REWRITTEN),
        ("unique-keys", "SL-005", COW, rows(lambda t: pa.concat_tables([t, t.slice(0, 2)])), RECOUNTED),
        ("key-ranges", "DF-007", STATS, value("_hoodie_record_key", "zz", HIVE), MISKEYED),
        ("bloom-filters", "DF-007", STATS, value("_hoodie_record_key", lambda key: key + "x", HIVE), REWRITTEN),
        ("column-stats", "MT-005", STATS, value("ts", 10**15, HIVE), REWRITTEN),
        ("column-stats", "MT-005", STATS, value("ts", None, HIVE), REWRITTEN),
        ("record-index", "MT-006", COW, remove(f"{INDEX_LOG}-0_20261121033934809*"), ()),
        ("record-index", "MT-006", COW, rows(lambda t: t.slice(1)), RECOUNTED),
    )
)

DAMAGES = (*OF_PROPERTIES, *OF_THE_TIMELINE, *OF_FILES, *OF_ROWS)
