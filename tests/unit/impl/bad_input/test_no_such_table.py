"""A location that is no table, or a table that drawstring does not handle, is refused by name and left alone."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

import drawstring as ds
from drawstring.errors import (
    CorruptFileError,
    FormatError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedTableError,
)
from unit.impl.bad_input.conftest import SCHEMA, refusal, rows

VECTORS = Path(__file__).resolve().parents[3] / "drawstring_conformance" / "vectors"


def unpack(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO((VECTORS / name / "table.zip").read_bytes())) as archive:
        archive.extractall(folder / name)
    return folder / name


def test_an_empty_folder_is_no_table(tmp_path):
    with refusal(tmp_path, TableNotFoundError, str(tmp_path)):
        ds.Table.open(str(tmp_path))


def test_a_folder_that_does_not_exist_is_not_made_by_opening_it(tmp_path):
    with refusal(tmp_path, TableNotFoundError, "nowhere"):
        ds.Table.open(str(tmp_path / "nowhere"))


def test_a_folder_with_data_but_no_hoodie_folder_is_no_table(tmp_path):
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1")
    with refusal(tmp_path, TableNotFoundError, str(tmp_path)):
        ds.Table.open(str(tmp_path))


def test_a_hoodie_folder_without_properties_is_no_table(tmp_path):
    (tmp_path / ".hoodie" / "timeline").mkdir(parents=True)
    with refusal(tmp_path, TableNotFoundError, str(tmp_path)):
        ds.Table.open(str(tmp_path))


def test_a_file_is_no_table(tmp_path):
    (tmp_path / "file").write_text("text", encoding="utf-8")
    with refusal(tmp_path, TableNotFoundError, "file"):
        ds.Table.open(str(tmp_path / "file"))


def test_a_table_is_not_created_over_another(table_path):
    with refusal(table_path, TableExistsError, str(table_path)):
        ds.Table.create(str(table_path), SCHEMA, record_key="id")


@pytest.mark.parametrize("version", ["6", "9", "five", None])
def test_a_table_of_another_version_is_refused(edit_properties, version):
    path = edit_properties({"hoodie.table.version": version})
    with refusal(path, UnsupportedTableError, version or "none"):
        ds.Table.open(str(path))


def test_a_table_of_another_timeline_layout_is_refused(edit_properties):
    path = edit_properties({"hoodie.timeline.layout.version": "1"})
    with refusal(path, UnsupportedTableError, "layout"):
        ds.Table.open(str(path))


def test_a_bootstrap_table_is_refused_for_writing(edit_properties):
    path = edit_properties({"hoodie.bootstrap.base.path": "/somewhere/else"})
    with refusal(path, UnsupportedTableError, "/somewhere/else"):
        ds.Table.open(str(path)).upsert(rows("a"))


def test_properties_with_a_wrong_checksum_are_refused(edit_properties):
    path = edit_properties({"hoodie.table.checksum": "1"})
    with refusal(path, CorruptFileError, "hoodie.properties", "checksum"):
        ds.Table.open(str(path))


def test_properties_of_a_renamed_table_are_refused_for_their_checksum(edit_properties):
    path = edit_properties({"hoodie.table.name": "another"})
    with refusal(path, CorruptFileError, "hoodie.properties", "checksum"):
        ds.Table.open(str(path))


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe", b"hoodie.table.name=\\u12"], ids=["empty", "bytes", "cut"])
def test_properties_that_are_no_properties_are_refused(table_path, content):
    (table_path / ".hoodie" / "hoodie.properties").write_bytes(content)
    with refusal(table_path, CorruptFileError, "hoodie.properties"):
        ds.Table.open(str(table_path))


def test_an_unknown_table_type_is_refused(edit_properties):
    path = edit_properties({"hoodie.table.type": "COPY_ON_READ"})
    with refusal(path, FormatError, "COPY_ON_READ", "hoodie.table.type"):
        ds.Table.open(str(path))


def test_a_merge_on_read_table_is_refused_for_writing(tmp_path):
    path = unpack("mor_basic", tmp_path)
    with refusal(path, UnsupportedTableError, "MERGE_ON_READ"):
        ds.Table.open(str(path), options={"hoodie.metadata.enable": "false"}).upsert(rows("a"))


def test_rows_in_log_files_are_never_left_out_silently(tmp_path):
    path = unpack("mor_basic", tmp_path)
    for log in (p for p in sorted(path.rglob(".*.log.*")) if ".hoodie/" not in str(p)):
        log.write_bytes(b"no log file")
    with refusal(path, CorruptFileError, "log file", "byte 0"):
        ds.Table.open(str(path)).read()


def test_a_table_that_logs_changes_is_refused_for_writing(tmp_path):
    path = unpack("cdc_op_key_only", tmp_path)
    with refusal(path, UnsupportedTableError, "hoodie.table.cdc.enabled"):
        ds.Table.open(str(path), options={"hoodie.metadata.enable": "false"}).upsert(rows("a"))


def test_a_table_with_a_metadata_table_is_refused_for_writing(tmp_path):
    path = unpack("cow_nonpartitioned", tmp_path)
    table = ds.Table.open(str(path))
    with refusal(path, UnsupportedTableError, "hoodie.table.metadata.partitions", "column_stats,files"):
        table.upsert(table.read(meta_columns=False).slice(0, 1))


def test_a_table_without_meta_columns_is_refused_for_writing(tmp_path):
    path = unpack("no_meta_fields_cow", tmp_path)
    table = ds.Table.open(str(path), options={"hoodie.metadata.enable": "false"})
    data = table.read(meta_columns=False).slice(0, 1)
    with refusal(path, UnsupportedTableError, "hoodie.populate.meta.fields"):
        table.upsert(data)


def test_a_merge_on_read_table_is_not_created(tmp_path):
    with refusal(tmp_path, UnsupportedTableError, "MERGE_ON_READ"):
        ds.Table.create(str(tmp_path / "t"), SCHEMA, record_key="id", type="MERGE_ON_READ")
