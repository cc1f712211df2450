from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring_spec.errors import FormatError
from drawstring_spec.instants import Action, Instant, State
from drawstring_spec.names import (
    ArchivedTimelineFileName,
    BaseFileName,
    LogFileName,
    ManifestFileName,
    MarkerName,
    MarkerType,
    TimelineFileName,
    WriteToken,
    parse_data_file_name,
)
from unit.spec.strategies import every_name, timeline_file_names

R = "20261121033115937"
C = "20261121033118309"
KINDS = [
    TimelineFileName,
    BaseFileName,
    LogFileName,
    MarkerName,
    ArchivedTimelineFileName,
    ManifestFileName,
    WriteToken,
]


@given(every_name)
def test_parsing_gives_back_the_value_that_was_formatted(name):
    assert type(name).parse(name.format()) == name


@given(every_name)
def test_no_name_leaves_its_folder(name):
    assert "/" not in name.format()
    assert "\\" not in name.format()
    assert name.format() not in {".", ".."}


@given(st.sampled_from(KINDS), st.text(max_size=60) | every_name.map(lambda name: name.format()))
def test_a_parser_takes_a_text_and_gives_it_back_or_refuses_it(kind, text):
    with suppress(FormatError):
        assert kind.parse(text).format() == text


@given(timeline_file_names)
def test_a_timeline_file_and_its_instant_stand_for_each_other(name):
    assert TimelineFileName.of(name.instant) == name


@pytest.mark.parametrize(
    ("text", "action", "state", "completion_time"),
    [
        (f"{R}.commit.requested", Action.COMMIT, State.REQUESTED, None),
        (f"{R}.inflight", Action.COMMIT, State.INFLIGHT, None),
        (f"{R}_{C}.commit", Action.COMMIT, State.COMPLETED, C),
        (f"{R}.deltacommit.requested", Action.DELTA_COMMIT, State.REQUESTED, None),
        (f"{R}.deltacommit.inflight", Action.DELTA_COMMIT, State.INFLIGHT, None),
        (f"{R}_{C}.deltacommit", Action.DELTA_COMMIT, State.COMPLETED, C),
        (f"{R}.replacecommit.inflight", Action.REPLACE_COMMIT, State.INFLIGHT, None),
        (f"{R}.clustering.requested", Action.CLUSTERING, State.REQUESTED, None),
        (f"{R}.clustering.inflight", Action.CLUSTERING, State.INFLIGHT, None),
        (f"{R}_{C}.replacecommit", Action.REPLACE_COMMIT, State.COMPLETED, C),
        (f"{R}.compaction.requested", Action.COMPACTION, State.REQUESTED, None),
        (f"{R}.logcompaction.inflight", Action.LOG_COMPACTION, State.INFLIGHT, None),
        (f"{R}.clean.inflight", Action.CLEAN, State.INFLIGHT, None),
        (f"{R}_{C}.rollback", Action.ROLLBACK, State.COMPLETED, C),
        (f"{R}.restore.requested", Action.RESTORE, State.REQUESTED, None),
        (f"{R}.savepoint.inflight", Action.SAVEPOINT, State.INFLIGHT, None),
        (f"{R}_{C}.savepoint", Action.SAVEPOINT, State.COMPLETED, C),
        (f"{R}_{C}.indexing", Action.INDEXING, State.COMPLETED, C),
        (f"{R}.schemacommit.requested", Action.SCHEMA_COMMIT, State.REQUESTED, None),
        ("00000000000000000.deltacommit.requested", Action.DELTA_COMMIT, State.REQUESTED, None),
    ],
)
def test_a_timeline_file_names_time_action_and_state(text, action, state, completion_time):
    name = TimelineFileName.parse(text)
    assert (name.action, name.state, name.completion_time) == (action, state, completion_time)
    assert name.format() == text


def test_a_completed_file_without_completion_time_is_one_of_an_old_table():
    assert TimelineFileName.parse(f"{R}.commit").instant == Instant(R, Action.COMMIT, State.COMPLETED, None)


@pytest.mark.parametrize(
    "text",
    [
        f"{R}.commit.inflight",
        f"{R}.requested",
        f"{R}.commit.completed",
        f"{R}_{C}.commit.requested",
        f"{R}_{C}.inflight",
        f"{R}.savepoint.requested",
        f"{R}_{C}.compaction",
        f"{R}_{C}.logcompaction",
        f"{R}_{C}.clustering",
        f"{R}.compaction",
        f"{R}_{C}_{C}.commit",
        f"{R}_.commit",
        f"_{C}.commit",
        f"{R}.COMMIT.requested",
        f"{R}.unknown.requested",
        f"{R}_{C}.unknown",
        f"{R}.commit.requested.crc",
        f".{R}.commit.requested",
        f"{R}.commit.requested\n",
        f"/{R}.commit.requested",
        f"x{R}.commit.requested",
        f"{R}",
        "history",
        "",
    ],
)
def test_what_is_no_timeline_file_is_refused(text):
    with pytest.raises(FormatError):
        TimelineFileName.parse(text)


@pytest.mark.parametrize(
    "parts",
    [
        ("2026x", Action.COMMIT, State.REQUESTED),
        ("", Action.COMMIT, State.REQUESTED),
        ("../1", Action.COMMIT, State.REQUESTED),
        (R, Action.COMMIT, State.COMPLETED, "1.2"),
        (R, Action.COMMIT, State.REQUESTED, C),
        (R, Action.COMPACTION, State.COMPLETED, C),
    ],
)
def test_a_timeline_file_name_that_could_not_be_read_back_cannot_be_made(parts):
    with pytest.raises(FormatError):
        TimelineFileName(*parts)


def test_a_base_file_names_group_token_time_and_format():
    name = BaseFileName.parse(f"2f3acca2-4f87-402c-9d47-8ec6ec09f676-0_0-11-13_{R}.parquet")
    assert name == BaseFileName("2f3acca2-4f87-402c-9d47-8ec6ec09f676-0", "0-11-13", R, "parquet")


def test_the_first_base_file_of_the_metadata_table_is_a_base_file():
    name = BaseFileName.parse("files-0000-0_0-5-4_00000000000000000.hfile")
    assert (name.file_id, name.requested_time, name.extension) == ("files-0000-0", "00000000000000000", "hfile")


@pytest.mark.parametrize(
    "text",
    [
        f"a-0_0-1-2_{R}.csv",
        f"a-0_0-1-2_{R}.parquet.marker.CREATE",
        f"a-0_0-1-2_{R}",
        f"a-0_{R}.parquet",
        f"a_0_0-1-2_{R}.parquet",
        f"../a-0_0-1-2_{R}.parquet",
        f".a-0_0-1-2_{R}.parquet",
        f"a-0_0-1-2_{R}.parquet ",
        f"_0-1-2_{R}.parquet",
        ".hoodie_partition_metadata",
        "",
    ],
)
def test_what_is_no_base_file_is_refused(text):
    with pytest.raises(FormatError):
        BaseFileName.parse(text)


@pytest.mark.parametrize("parts", [("a_b", "0-1-2", R), ("a", "0_1", R), ("a", "0-1-2", "x"), ("a", "1", R, "csv")])
def test_a_base_file_name_that_could_not_be_read_back_cannot_be_made(parts):
    with pytest.raises(FormatError):
        BaseFileName(*parts)


def test_a_log_file_names_group_time_version_and_token():
    name = LogFileName.parse(f".7b80e91b-c5b3-4aa3-af30-3f8778d3538f-0_{R}.log.1_0-192-233")
    assert name == LogFileName("7b80e91b-c5b3-4aa3-af30-3f8778d3538f-0", R, 1, "0-192-233")


def test_a_log_file_of_changes_ends_in_cdc():
    assert LogFileName.parse(f".a-0_{R}.log.1_0-1-2.cdc").cdc


def test_a_log_file_of_an_old_writer_has_no_token():
    assert LogFileName.parse(f".a-0_{R}.log.12") == LogFileName("a-0", R, 12)


@pytest.mark.parametrize(
    "text",
    [
        f"a-0_{R}.log.1_0-1-2",
        f".a-0_{R}.log.01_0-1-2",
        f".a-0_{R}.log.1_0-1",
        f".a-0_{R}.log.1_0-01-2",
        f".a-0_{R}.log.1.cdc",
        f".a-0_{R}.log.1_0-1-2xcdc",
        f".a-0_{R}.log.1_0-1-2.marker.CREATE",
        f".a-0_{R}.archive.1_0-1-2",
        f".a/0_{R}.log.1_0-1-2",
        f".a-0_{R}.log.99999999999_0-1-2",
        "",
    ],
)
def test_what_is_no_log_file_is_refused(text):
    with pytest.raises(FormatError):
        LogFileName.parse(text)


@pytest.mark.parametrize(
    "parts", [("a", R, -1), ("a", R, 10**10), ("a", R, 1, "x"), ("a", R, 1, None, True), ("a/b", R, 1), ("a", "", 1)]
)
def test_a_log_file_name_that_could_not_be_read_back_cannot_be_made(parts):
    with pytest.raises(FormatError):
        LogFileName(*parts)


def test_log_files_are_ordered_by_time_then_version_as_a_number_then_token():
    in_order = [
        LogFileName("a", "1", 9, "9-9-9"),
        LogFileName("a", "2", 2),
        LogFileName("a", "2", 2, "0-1-2"),
        LogFileName("a", "2", 2, "0-1-2", cdc=True),
        LogFileName("a", "2", 10, "0-0-0"),
    ]
    shuffled = [in_order[place] for place in (3, 0, 4, 2, 1)]
    assert sorted(shuffled, key=lambda name: name.sort_key) == in_order


def test_a_data_file_is_a_log_file_if_its_name_begins_with_a_dot():
    assert isinstance(parse_data_file_name(f".a-0_{R}.log.1_0-1-2"), LogFileName)
    assert isinstance(parse_data_file_name(f"a-0_0-1-2_{R}.parquet"), BaseFileName)


@pytest.mark.parametrize("data_file_name", [f"a-0_0-1-2_{R}.parquet", f".a-0_{R}.log.1_0-1-2"])
def test_a_marker_announces_a_base_file_or_a_log_file(data_file_name):
    marker = MarkerName.parse(f"{data_file_name}.marker.MERGE")
    assert marker == MarkerName(data_file_name, MarkerType.MERGE)
    assert marker.data_file.format() == data_file_name


@pytest.mark.parametrize(
    "text",
    [
        f"a-0_0-1-2_{R}.parquet.marker.DELETE",
        f"a-0_0-1-2_{R}.parquet.marker.create",
        f"a-0_0-1-2_{R}.parquet.marker",
        f"../a-0_0-1-2_{R}.parquet.marker.CREATE",
        "notes.txt.marker.CREATE",
        "MARKERS0",
        "MARKERS.type",
        "",
    ],
)
def test_what_is_no_marker_is_refused(text):
    with pytest.raises(FormatError):
        MarkerName.parse(text)


def test_a_marker_for_anything_but_a_data_file_cannot_be_made():
    with pytest.raises(FormatError):
        MarkerName("hoodie.properties", MarkerType.CREATE)


def test_a_write_token_is_partition_stage_and_attempt():
    assert WriteToken.parse("0-192-233") == WriteToken(0, 192, 233)


@pytest.mark.parametrize("text", ["0-1", "0-1-2-3", "00-1-2", "a-1-2", "-1-1-2", "0-1-99999999999", ""])
def test_what_is_no_write_token_is_refused(text):
    with pytest.raises(FormatError):
        WriteToken.parse(text)


def test_a_write_token_has_no_negative_number():
    with pytest.raises(FormatError):
        WriteToken(0, -1, 2)


def test_an_archived_file_names_least_time_greatest_time_and_level():
    assert ArchivedTimelineFileName.parse(f"{R}_{C}_2.parquet") == ArchivedTimelineFileName(R, C, 2)


@pytest.mark.parametrize("text", [f"{R}_{C}_10.parquet", f"{R}_{C}.parquet", f"{R}_{C}_1.parquet.tmp", "_version_"])
def test_what_is_no_archived_file_is_refused(text):
    with pytest.raises(FormatError):
        ArchivedTimelineFileName.parse(text)


@pytest.mark.parametrize("parts", [(R, C, 10), (R, C, -1), ("x", C, 0), (R, "", 0)])
def test_an_archived_file_name_that_could_not_be_read_back_cannot_be_made(parts):
    with pytest.raises(FormatError):
        ArchivedTimelineFileName(*parts)


def test_a_manifest_names_its_version():
    assert ManifestFileName.parse("manifest_24") == ManifestFileName(24)


@pytest.mark.parametrize("text", ["manifest_0", "manifest_01", "manifest_", "manifest_1.tmp", "manifest_99999999999"])
def test_what_is_no_manifest_is_refused(text):
    with pytest.raises(FormatError):
        ManifestFileName.parse(text)


def test_a_manifest_has_a_version_from_one():
    with pytest.raises(FormatError):
        ManifestFileName(0)


def test_a_refusal_shows_only_the_beginning_of_a_long_name():
    with pytest.raises(FormatError) as refused:
        BaseFileName.parse("x" * 10_000)
    assert len(str(refused.value)) < 200
