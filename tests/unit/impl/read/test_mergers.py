"""Tables that merge by a strategy of their own: refused by name, or merged by the function registered for it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from drawstring.errors import InputError, UnsupportedTableError
from drawstring.read import mergers
from drawstring.read.arrow_reader import read_snapshot
from drawstring.read.mergers import register_merger
from drawstring.read.stream import scan_snapshot
from drawstring.read.view import load_snapshot
from drawstring.table_properties import modify_properties
from drawstring_conformance.compare import difference
from drawstring_spec.merge_modes import STRATEGY_IDS, MergeMode
from unit.impl.protocol.world import START_MS
from unit.impl.read.golden_memory import GoldenTable

STRATEGY = "11111111-2222-3333-4444-555555555555"
NAME = "mor_event_time_ordering"


@pytest.fixture(autouse=True)
def no_mergers(monkeypatch):
    monkeypatch.setattr(mergers, "_mergers", {})


@pytest.fixture
def table():
    """A golden table that says that it is merged by a strategy of its own."""
    table = GoldenTable(NAME)
    own = {"hoodie.record.merge.mode": "CUSTOM", "hoodie.record.merge.strategy.id": STRATEGY}
    modify_properties(table.storage, now_ms=START_MS, updates=own, remove=[])
    return table


def read(table, **query):
    context = table.context()
    return read_snapshot(context, load_snapshot(context), **query)


def newer(older: pa.Table, newer: pa.Table) -> pa.Table:
    return newer


def test_an_unknown_strategy_is_refused_by_its_id(table):
    with pytest.raises(UnsupportedTableError, match=STRATEGY) as caught:
        read(table)
    assert "register_merger" in caught.value.way_out


@pytest.mark.parametrize("field", ["nowhere", "ts.nested"])
def test_an_ordering_field_that_is_no_column_is_refused_by_name(table, field):
    own = {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING", "hoodie.table.precombine.field": field}
    modify_properties(table.storage, now_ms=START_MS, updates=own, remove=["hoodie.record.merge.strategy.id"])
    with pytest.raises(UnsupportedTableError, match=field):
        read(table)


def by_payload(table, name):
    own = {
        "hoodie.record.merge.strategy.id": STRATEGY_IDS[MergeMode.CUSTOM],
        "hoodie.compaction.payload.class": name,
    }
    modify_properties(table.storage, now_ms=START_MS, updates=own)
    return table


@pytest.mark.parametrize("name", ["com.acme.OurPayload", "org.apache.hudi.common.model.RewriteAvroPayload"])
def test_a_payload_class_that_is_not_known_is_refused_by_its_name(table, name):
    with pytest.raises(UnsupportedTableError, match=f"payload class {name}") as caught:
        read(by_payload(table, name))
    assert "register_merger" in caught.value.way_out


def test_a_payload_class_of_hudis_own_needs_no_merger(table):
    found = read(by_payload(table, "org.apache.hudi.common.model.EventTimeAvroPayload"))
    assert difference(found, read(GoldenTable(NAME))) == ""


def test_a_merger_that_was_registered_takes_the_place_of_a_payload_class(table):
    register_merger(STRATEGY_IDS[MergeMode.CUSTOM], newer)
    found = read(by_payload(table, "org.apache.hudi.common.model.FirstValueAvroPayload"))
    assert difference(found, read(GoldenTable(NAME))) == ""


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("AWSDmsAvroPayload", "Op"),
        ("debezium.MySqlDebeziumAvroPayload", "_event_seq"),
        ("debezium.PostgresDebeziumAvroPayload", "_event_lsn"),
    ],
)
def test_a_table_without_the_column_that_its_payload_class_needs_is_refused(table, name, column):
    with pytest.raises(UnsupportedTableError, match=f"{name}, but it has no column '{column}'"):
        read(by_payload(table, f"org.apache.hudi.common.model.{name}"))


def test_a_payload_class_needs_meta_fields_as_in_java(table):
    modify_properties(table.storage, now_ms=START_MS, updates={"hoodie.populate.meta.fields": "false"})
    with pytest.raises(UnsupportedTableError, match="no meta fields"):
        read(by_payload(table, "org.apache.hudi.common.model.EventTimeAvroPayload"))


def test_base_files_alone_need_no_merger(table):
    context = table.context()
    assert read_snapshot(context, load_snapshot(context, read_optimized=True)).num_rows


def test_a_merger_that_takes_the_newer_row_gives_what_event_time_gives(table):
    register_merger(STRATEGY, newer)
    assert difference(read(table), read(GoldenTable(NAME))) == ""


def test_a_merger_is_given_the_rows_of_one_key_side_by_side(table):
    pairs = []

    def noting(older, newer):
        pairs.append((older, newer))
        return newer

    register_merger(STRATEGY, noting)
    read(table)
    assert pairs
    for older, newer in pairs:
        assert older["_hoodie_record_key"] == newer["_hoodie_record_key"]
        assert pc.all(pc.less_equal(older["ts"], newer["ts"])).as_py()


@pytest.mark.parametrize("batch_rows", [1, 7])
def test_what_a_merger_makes_does_not_depend_on_the_batches(table, batch_rows):
    def both(older, newer):
        index = newer.schema.get_field_index("_hoodie_commit_seqno")
        text = pc.binary_join_element_wise(older["_hoodie_commit_seqno"], newer["_hoodie_commit_seqno"], "+")
        return newer.set_column(index, "_hoodie_commit_seqno", text)

    register_merger(STRATEGY, both)
    context = table.context()
    found = scan_snapshot(context, load_snapshot(context), batch_rows=batch_rows).read_all()
    assert found == read(table)
    assert any("+" in text for text in found["_hoodie_commit_seqno"].to_pylist())


@pytest.mark.parametrize(
    "wrong", [lambda old, new: new.slice(1), lambda old, new: None, lambda old, new: new.drop_columns(["ts"])]
)
def test_what_is_no_answer_of_a_merger_is_refused(table, wrong):
    register_merger(STRATEGY, wrong)
    with pytest.raises(InputError, match="merger"):
        read(table)


def test_a_strategy_has_one_merger(table):
    register_merger(STRATEGY, newer)
    register_merger(STRATEGY, newer)
    with pytest.raises(InputError, match=STRATEGY):
        register_merger(STRATEGY, lambda older, newer: older)
