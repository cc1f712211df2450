"""Index definitions: what Java wrote, and what nobody should have."""

from __future__ import annotations

import json

import pytest

from drawstring.errors import CorruptFileError, DrawstringError
from drawstring.metadata.index_definitions import IndexDefinition, index_definitions
from unit.impl.read.tables import HandMadeTable

PATH = ".hoodie/.index_defs/index.json"
ENTRY = {"indexName": "i", "indexType": "secondary_index", "indexFunction": "identity", "sourceFields": ["city"]}


def make(content: bytes, path: str = PATH) -> HandMadeTable:
    table = HandMadeTable(properties={"hoodie.table.index.defs.path": path})
    table.storage.put(PATH, content)
    return table


def test_definitions_are_read():
    content = json.dumps({"indexDefinitions": {"secondary_index_i": {**ENTRY, "indexOptions": {"a": "b"}}}})
    expected = IndexDefinition("secondary_index_i", "secondary_index", "identity", ("city",), {"a": "b"})
    assert index_definitions(make(content.encode()).context()) == (expected,)


def test_a_table_without_indexes_has_none():
    assert index_definitions(HandMadeTable().context()) == ()


def test_a_file_that_is_not_there_defines_none():
    assert index_definitions(make(b"{}", path=".hoodie/.index_defs/other.json").context()) == ()


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"indexDefinitions": [1]}', b'{"indexDefinitions": {"i": 5}}', b"[" * 100_000, b"\xff"],
)
def test_what_is_no_definition_is_an_error_that_names_the_file(content):
    with pytest.raises(CorruptFileError, match=r"index\.json"):
        index_definitions(make(content).context())


def test_a_path_that_leaves_the_table_is_refused(tmp_path):
    import drawstring as ds
    from drawstring.table_properties import modify_properties
    from unit.impl.read.tables import SCHEMA

    table = ds.Table.create(str(tmp_path / "t"), SCHEMA, record_key="id")
    storage = table._context.ports.storage
    modify_properties(storage, now_ms=0, updates={"hoodie.table.index.defs.path": "../secret.json"})
    (tmp_path / "secret.json").write_text('{"indexDefinitions": {}}')
    with pytest.raises(DrawstringError):
        index_definitions(table._refreshed())
