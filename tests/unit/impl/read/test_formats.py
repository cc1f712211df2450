"""Which files are base files of a table: those of its format, or of all where the table says so."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from drawstring.errors import UnsupportedTableError
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.stream import scan_snapshot
from drawstring.read.view import load_snapshot
from drawstring.writable import check_writable
from unit.impl.read.tables import HandMadeTable, a_row

SEVERAL = {"hoodie.table.multiple.base.file.formats.enable": "true"}


def with_an_orc_slice(properties):
    """A file group whose first slice is Parquet and whose second is ORC, beside one of Parquet."""
    table = HandMadeTable(properties=properties)
    table.base_file("a", "f-0", 1, a_row("old", 1, "a"))
    table.base_file("b", "g-0", 1, a_row("other", 2, "b"))
    table.commit(1, 2)
    name = table.base_file("a", "f-0", 3, a_row("new", 3, "a"))
    table.commit(3, 4)
    content = table.storage.files[f"a/{name}"][0]
    sink = pa.BufferOutputStream()
    orc.write_table(pq.read_table(pa.BufferReader(content)), sink)
    table.storage.delete([f"a/{name}"])
    table.storage.put(f"a/{name.removesuffix('.parquet')}.orc", sink.getvalue().to_pybytes())
    return table


def read(table):
    context = table.context()
    snapshot = load_snapshot(context)
    found = read_snapshot(context, snapshot)
    assert scan_snapshot(context, snapshot, batch_rows=1).read_all() == found
    return found["id"].to_pylist()


def test_slices_of_one_file_group_may_have_different_formats():
    assert read(with_an_orc_slice(SEVERAL)) == ["new", "other"]


def test_files_of_another_format_are_not_the_tables_as_in_java():
    assert read(with_an_orc_slice({})) == ["old", "other"]
    assert read(with_an_orc_slice({"hoodie.table.base.file.format": "ORC"})) == ["new"]


@pytest.mark.parametrize("properties", [SEVERAL, {"hoodie.table.base.file.format": "ORC"}])
def test_a_table_with_orc_files_is_not_written(properties):
    with pytest.raises(UnsupportedTableError, match=next(iter(properties))):
        check_writable(with_an_orc_slice(properties).context().config)
