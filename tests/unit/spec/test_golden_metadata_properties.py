"""The properties of the metadata tables that Java made, and where it keeps the definitions of indexes."""

from __future__ import annotations

import pytest

from drawstring_conformance.vectors import load_cases
from drawstring_spec.layout import INDEX_DEFINITIONS_FILE
from drawstring_spec.properties import parse_properties

PROPERTIES = ".hoodie/metadata/.hoodie/hoodie.properties"
CASES = [case for case in load_cases() if PROPERTIES in case.file_names]


def test_nearly_every_golden_table_has_a_metadata_table():
    assert len(CASES) > 55


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_metadata_table_is_a_merge_on_read_table_of_its_own_kind(case):
    values = parse_properties(case.read_file(PROPERTIES))

    assert values["hoodie.table.name"] == f"{case.table_properties['hoodie.table.name']}_metadata"
    assert values["hoodie.table.version"] == case.table_properties["hoodie.table.version"]
    assert {
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.base.file.format": "HFILE",
        "hoodie.table.recordkey.fields": "key",
        "hoodie.populate.meta.fields": "false",
        "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
        "hoodie.record.merge.mode": "CUSTOM",
    }.items() <= values.items()


def test_the_path_of_index_definitions_is_relative_to_the_base_path():
    key = "hoodie.table.index.defs.path"
    given = [(case, case.table_properties[key]) for case in load_cases() if key in case.table_properties]
    assert given
    for case, path in given:
        assert path == INDEX_DEFINITIONS_FILE
        assert path in case.file_names
