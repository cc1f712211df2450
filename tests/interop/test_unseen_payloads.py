"""Tables of Java's that merge by payload classes, asked in other ways; and rules that are broken on purpose.

That the tables are read as Java reads them is asked by `interop.test_unseen_tables`, and on Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import drawstring as ds
from drawstring.data.payloads import by_field, change_streams, choice, whole_records
from drawstring.data.payloads.choice import Choice, Pairs, Rule, as_mask
from drawstring.data.payloads.classes import PAYLOAD_CLASSES
from drawstring.errors import UnsupportedTableError
from drawstring.read import mergers
from drawstring_conformance.vectors import load_case
from interop.unseen_recording import wrong_answers

DATA = Path(__file__).with_name("data_unseen")


def changed(rule: Rule, **how: Callable[[Pairs, Choice], object]) -> Rule:
    """A rule whose answer differs in some of its parts."""

    def wrong(pairs: Pairs) -> Choice:
        answer = rule(pairs)
        return replace(answer, **{name: change(pairs, answer) for name, change in how.items()})

    return wrong


def never(pairs: Pairs, _: Choice) -> object:
    return choice.none_of(pairs.newer)


def older_meta(pairs: Pairs, answer: Choice) -> object:
    """Meta columns go with the row that the others come from."""
    return {**answer.fields, "_hoodie_commit_time": answer.of("v"), "_hoodie_commit_seqno": answer.of("v")}


def ties_to_newer(pairs: Pairs, answer: Choice) -> object:
    return answer.newer | as_mask(pc.equal(pairs.newer["_event_seq"], pairs.older["_event_seq"]))


def later_number(pairs: Pairs, answer: Choice) -> object:
    return answer.newer & ~as_mask(pc.equal(pairs.newer["_event_lsn"], pairs.older["_event_lsn"]))


def nulls_lose(pairs: Pairs, answer: Choice) -> object:
    return answer.newer & ~as_mask(pairs.older["ts"].is_null())


PLANTED: dict[str, tuple[str, Rule]] = {
    "late nulls count": ("non_defaults", by_field.partial_update),
    "nulls overwrite": ("non_defaults", changed(by_field.overwrite_non_defaults, fields=lambda *_: {})),
    "late records overwrite": ("partial", by_field.overwrite_non_defaults),
    "a late record's commit is not told": ("partial", changed(by_field.partial_update, fields=older_meta)),
    "a marked row of a base file is updated": ("partial", changed(by_field.partial_update, nothing=never)),
    "late records lose": ("dms", whole_records.event_time),
    "the later one of equal places stays": ("mysql", changed(change_streams.debezium_mysql, newer=ties_to_newer)),
    "a deleted row is updated": ("mysql", changed(change_streams.debezium_mysql, nothing=never)),
    "the earlier one of equal LSNs stays": ("postgres", changed(change_streams.debezium_postgres, newer=later_number)),
    "unavailable values overwrite": ("postgres", changed(change_streams.debezium_postgres, fields=lambda *_: {})),
    "the earlier one of equal records stays": ("event", whole_records.first_value),
    "a null keeps its place": ("event", changed(whole_records.event_time, newer=nulls_lose)),
    "the later one of equal records stays": ("first", whole_records.event_time),
}


CLASSES = sorted({story for story, _ in PLANTED.values()})


@pytest.fixture(params=CLASSES)
def table(request, tmp_path):
    """A table of Java's for each class, whose newest slice has a base file and log files."""
    case = load_case(f"payload_rules_{request.param}", DATA)
    return ds.Table.open(str(case.extract(tmp_path / case.name)))


def test_what_is_asked_for_does_not_change_how_rows_are_merged(table):
    whole = table.read()
    for name in whole.column_names:
        assert table.read(columns=[name])[name].to_pylist() == whole[name].to_pylist(), name


def test_a_filter_is_told_of_merged_rows(table):
    whole = table.read()
    for value in whole["v"].unique().drop_null().to_pylist():
        condition = pc.field("v") == value
        assert table.read(filter=condition).to_pylist() == whole.filter(condition).to_pylist()


def test_rows_that_are_looked_up_or_streamed_are_merged_alike(table):
    whole = table.read()
    assert table.scan(batch_rows=1).read_all().to_pylist() == whole.to_pylist()
    keys = whole["_hoodie_record_key"].to_pylist()
    for key, row in zip(keys, whole.to_pylist(), strict=True):
        assert table.lookup([key]).to_pylist() == [row]
    assert table.lookup(["k04", "k09", "nowhere"]).num_rows == len({"k04", "k09"} & set(keys))


def test_updates_of_base_files_by_columns_with_ids_are_refused_as_by_java(tmp_path):
    """Java decodes the base file's row in another schema than it was encoded in, and reaches the end of its bytes."""
    case = load_case("payload_renamed_partial", DATA)
    table = ds.Table.open(str(case.extract(tmp_path / case.name)))
    failed = case.details["failed_queries"]
    assert {query["error"] for query in failed} == {"java.io.EOFException"}
    assert {query["type"] for query in failed} == {"snapshot", "time_travel", "incremental_completion"}
    for query in failed:
        with pytest.raises(UnsupportedTableError, match="columns have ids"):
            table.changes(query["start"], query["end"]) if "start" in query else table.read(as_of=query.get("as_of"))


@pytest.mark.parametrize("name", PLANTED)
def test_a_rule_that_is_broken_is_noticed(name, tmp_path, monkeypatch):
    story, rule = PLANTED[name]
    case = load_case(f"payload_rules_{story}", DATA)
    used = case.details["table_properties"]["hoodie.compaction.payload.class"]
    wrong = {**PAYLOAD_CLASSES, used: replace(PAYLOAD_CLASSES[used], rule=rule)}
    monkeypatch.setattr(mergers, "PAYLOAD_CLASSES", wrong)
    assert wrong_answers(case, tmp_path)


@pytest.mark.parametrize("kind", ["string", "decimal"])
def test_late_records_by_values_that_java_does_not_compare_would_be_noticed(kind, tmp_path, monkeypatch):
    def by_any_value(pairs):
        return choice.compare_ordering(pairs).older_greater

    monkeypatch.setattr(by_field, "_is_late", by_any_value)
    assert wrong_answers(load_case(f"payload_ordering_partial_{kind}", DATA), tmp_path)


def test_a_default_of_the_writers_schema_that_counts_would_be_noticed(tmp_path, monkeypatch):
    """The commits say that the default of ``v`` is zero; Java's readers on Spark do not know it."""

    def zeros_do_not_overwrite(pairs, answer):
        return {**answer.fields, "v": answer.of("v") & ~as_mask(pc.equal(pairs.newer["v"], 0))}

    used = "org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload"
    rule = changed(by_field.overwrite_non_defaults, fields=zeros_do_not_overwrite)
    monkeypatch.setattr(mergers, "PAYLOAD_CLASSES", {used: replace(PAYLOAD_CLASSES[used], rule=rule)})
    assert wrong_answers(load_case("payload_defaults_non_defaults", DATA), tmp_path)


def test_a_null_that_does_not_count_as_zero_among_integers_would_be_noticed(tmp_path, monkeypatch):
    """A base row's null is no integer: neither is a record late that comes after it."""

    def nulls_are_great(pairs):
        older = pairs.older.column("ts").fill_null(pa.scalar(2**31 - 1, pa.int32()))
        return np.asarray(pc.greater(older, pairs.newer.column("ts")).combine_chunks()).astype(np.bool_)

    monkeypatch.setattr(by_field, "_is_late", nulls_are_great)
    assert wrong_answers(load_case("payload_ordering_partial_int", DATA), tmp_path)
