"""Constants and defaults that other code relies on: a change here is a change of the format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring_spec import footers, layout, meta_fields
from drawstring_spec.errors import DrawstringError, FormatError, IllegalTransitionError
from drawstring_spec.key_generators import KeyGenerator, default_key_generator
from drawstring_spec.merge_modes import PAYLOAD_CLASSES, STRATEGY_IDS, MergeMode, default_merge_mode
from drawstring_spec.partition_metadata import PartitionMetadata
from drawstring_spec.steps import Step
from unit.spec.strategies import digits


def test_the_five_meta_fields_stand_in_their_order():
    assert meta_fields.META_FIELDS == (
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
        "_hoodie_partition_path",
        "_hoodie_file_name",
    )


def test_a_table_with_an_ordering_field_merges_by_event_time():
    assert default_merge_mode("ts") is MergeMode.EVENT_TIME_ORDERING
    assert default_merge_mode(None) is MergeMode.COMMIT_TIME_ORDERING


def test_each_merge_mode_has_a_strategy_id_of_its_own():
    assert set(STRATEGY_IDS) == set(MergeMode)
    assert len(set(STRATEGY_IDS.values())) == len(MergeMode)


def test_only_a_custom_merge_mode_leaves_the_payload_class_open():
    assert set(MergeMode) - set(PAYLOAD_CLASSES) == {MergeMode.CUSTOM}


@pytest.mark.parametrize(
    ("key_fields", "partition_fields", "expected"),
    [
        (1, 1, KeyGenerator.SIMPLE),
        (2, 1, KeyGenerator.COMPLEX),
        (1, 2, KeyGenerator.COMPLEX),
        (1, 0, KeyGenerator.NON_PARTITION),
        (3, 0, KeyGenerator.NON_PARTITION),
    ],
)
def test_the_key_generator_follows_from_the_number_of_fields(key_fields, partition_fields, expected):
    assert default_key_generator(key_fields=key_fields, partition_fields=partition_fields) is expected


@pytest.mark.parametrize("generator", list(KeyGenerator))
def test_an_avro_key_generator_makes_the_same_keys_as_its_twin(generator):
    assert generator.base.value == generator.value.removesuffix("_AVRO")


def test_no_two_steps_share_a_name():
    assert len({step.value for step in Step}) == len(Step)


def test_every_fixed_path_is_below_the_hoodie_folder():
    for path in (layout.PROPERTIES_FILE, layout.LOCK_FILE, layout.METADATA_TABLE_FOLDER, *layout.CREATED_FOLDERS):
        assert path.startswith(f"{layout.HOODIE_FOLDER}/")


def test_the_dynamic_bloom_filter_has_a_code_of_its_own():
    assert footers.DYNAMIC_BLOOM_FILTER in footers.BLOOM_TYPE_CODES


@given(digits, st.integers(min_value=0, max_value=999_999_999))
def test_a_partition_metafile_gives_back_what_was_written(commit_time, depth):
    metadata = PartitionMetadata(commit_time, depth)
    assert PartitionMetadata.parse(metadata.format()) == metadata


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"commitTime=1",
        b"partitionDepth=1",
        b"commitTime=x\npartitionDepth=1",
        b"commitTime=1\npartitionDepth=-1",
        b"commitTime=1\npartitionDepth=1.5",
        b"commitTime=1\npartitionDepth=99999999999",
        b"commitTime=\xb2\npartitionDepth=1",
        b"PAR1\x15\x04\x00\x00",
    ],
)
def test_a_partition_metafile_without_its_two_numbers_is_refused(content):
    with pytest.raises(FormatError):
        PartitionMetadata.parse(content)


def test_an_error_names_the_thing_the_rule_and_the_way_out():
    error = IllegalTransitionError("1 cannot become 2.", rule="TL-010", way_out="Load it again.")
    assert str(error) == "1 cannot become 2. [TL-010] Load it again."
    assert str(DrawstringError("Only this.")) == "Only this."


def test_an_error_survives_the_way_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(FormatError("x is no y.", rule="SL-007", way_out="Do z.")))
    assert (type(error), error.message, error.rule, error.way_out) == (FormatError, "x is no y.", "SL-007", "Do z.")
