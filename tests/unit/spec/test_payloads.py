from __future__ import annotations

import io
import itertools

import fastavro
import pytest
from fastavro.utils import generate_many

from drawstring_spec.instants import Action, State
from drawstring_spec.payloads import NAMESPACE, SCHEMAS, payload_schema_name


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_stands_alone_under_its_own_name(name):
    parsed = fastavro.parse_schema(SCHEMAS[name])
    assert parsed["name"] == f"{NAMESPACE}.{name}"


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_record_of_a_schema_survives_being_written_and_read(name):
    records = list(generate_many(SCHEMAS[name], 2))
    container = io.BytesIO()
    fastavro.writer(container, SCHEMAS[name], records)
    container.seek(0)
    again = io.BytesIO()
    fastavro.writer(again, SCHEMAS[name], list(fastavro.reader(container)))
    again.seek(0)
    container.seek(0)
    assert list(fastavro.reader(again)) == list(fastavro.reader(container))


def _unions_with_defaults(schema):
    if isinstance(schema, dict):
        for field in schema.get("fields", ()):
            if isinstance(field["type"], list) and "default" in field:
                yield field["name"], field["type"][0], field["default"]
            yield from _unions_with_defaults(field["type"])
        for key in ("items", "values"):
            yield from _unions_with_defaults(schema.get(key))
    elif isinstance(schema, list):
        for branch in schema:
            yield from _unions_with_defaults(branch)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_default_of_a_union_is_of_its_first_branch(name):
    kinds = {"null": type(None), "int": int, "boolean": bool}
    for field, branch, default in _unions_with_defaults(SCHEMAS[name]):
        assert type(default) is kinds[branch], field


@pytest.mark.parametrize(("action", "state"), list(itertools.product(Action, State)))
def test_a_timeline_file_holds_a_known_record_or_nothing(action, state):
    name = payload_schema_name(action, state)
    assert name is None or name in SCHEMAS


@pytest.mark.parametrize("action", [Action.COMMIT, Action.DELTA_COMMIT])
def test_a_requested_write_holds_nothing(action):
    assert payload_schema_name(action, State.REQUESTED) is None


def test_a_replace_commit_holds_a_record_of_its_own_in_each_state():
    assert [payload_schema_name(Action.REPLACE_COMMIT, state) for state in State] == [
        "HoodieRequestedReplaceMetadata",
        "HoodieCommitMetadata",
        "HoodieReplaceCommitMetadata",
    ]
