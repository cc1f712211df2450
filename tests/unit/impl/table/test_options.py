"""Options: typed, with defaults, and refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.errors import OptionError
from drawstring.option_registry import OPTION_SPECS
from drawstring.options import FILE_SYSTEM_LOCK, IN_PROCESS_LOCK, OPTIONS, Options, render_markdown

OCC = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
POLICY = "hoodie.clean.failed.writes.policy"
LOCK = "hoodie.write.lock.provider"
KEY_CHECK = "drawstring.write.key.conflict.check"
TTL_MS = "drawstring.write.lock.ttl.ms"


def refusal(options):
    with pytest.raises(OptionError) as caught:
        Options.parse(options)
    assert caught.value.way_out
    return str(caught.value)


@pytest.mark.parametrize(
    ("key", "given_value", "value"),
    [
        ("hoodie.parquet.max.file.size", "1024", 1024),
        ("hoodie.parquet.max.file.size", 1024, 1024),
        ("hoodie.index.bloom.fpp", "0.01", 0.01),
        ("hoodie.metadata.enable", "FALSE", False),
        ("hoodie.metadata.enable", False, False),
        ("hoodie.parquet.compression.codec", "GZIP", "gzip"),
        ("hoodie.write.concurrency.mode", "optimistic_concurrency_control", "OPTIMISTIC_CONCURRENCY_CONTROL"),
        (LOCK, "InProcessLockProvider", IN_PROCESS_LOCK),
        (LOCK, FILE_SYSTEM_LOCK, FILE_SYSTEM_LOCK),
    ],
)
def test_a_value_has_its_options_type(key, given_value, value):
    parsed = Options.parse({key: given_value})[key]
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.parquet.max.file.size", "1.5"),
        ("hoodie.parquet.max.file.size", True),
        ("hoodie.parquet.max.file.size", "0"),
        ("hoodie.parquet.max.file.size", None),
        ("hoodie.index.bloom.fpp", "nan"),
        ("hoodie.index.bloom.fpp", "inf"),
        ("hoodie.metadata.enable", "yes"),
        ("hoodie.table.name", ""),
        ("hoodie.table.name", 7),
        ("hoodie.write.markers.type", "TIMELINE_SERVER_BASED"),
        ("hoodie.write.concurrency.mode", "NON_BLOCKING_CONCURRENCY_CONTROL"),
        ("hoodie.combine.before.upsert", "false"),
        ("hoodie.table.cdc.enabled", "true"),
    ],
)
def test_a_value_that_is_not_honoured_is_refused_with_key_and_value(key, value):
    text = refusal({key: value})
    assert repr(key) in text
    assert str(value).lower() in text.lower()


def test_an_unknown_option_is_refused_and_the_nearest_is_named():
    assert "'hoodie.parquet.small.file.limit'" in refusal({"hoodie.parquet.small.file.limits": 1})


def test_an_unknown_option_like_no_other_is_refused():
    assert "'spark.sql.shuffle.partitions'" in refusal({"spark.sql.shuffle.partitions": 1})


def test_what_is_not_given_has_its_default():
    options = Options.parse()
    assert {key: options[key] for key in options if OPTIONS[key].default is not None} == {
        spec.key: spec.default for spec in OPTION_SPECS if spec.default is not None
    }
    assert options.given == frozenset()


def test_a_single_writer_rolls_back_at_once_and_locks_in_its_process():
    options = Options.parse()
    assert (options[POLICY], options[LOCK], options[KEY_CHECK]) == ("EAGER", IN_PROCESS_LOCK, False)


def test_a_writer_among_others_is_lazy_locks_on_storage_and_checks_keys():
    options = Options.parse(OCC)
    assert (options[POLICY], options[LOCK], options[KEY_CHECK]) == ("LAZY", FILE_SYSTEM_LOCK, True)


def test_what_follows_from_the_concurrency_mode_can_be_given_otherwise():
    options = Options.parse({**OCC, LOCK: "InProcessLockProvider", KEY_CHECK: "false"})
    assert (options[LOCK], options[KEY_CHECK]) == (IN_PROCESS_LOCK, False)


def test_eager_rollback_beside_other_writers_is_refused():
    assert POLICY in refusal({**OCC, POLICY: "EAGER"})


def test_the_older_key_of_an_option_is_taken():
    assert Options.parse({"hoodie.cleaner.policy.failed.writes": "LAZY"})[POLICY] == "LAZY"


def test_one_option_under_two_keys_with_two_values_is_refused():
    assert "given twice" in refusal({POLICY: "EAGER", "hoodie.cleaner.policy.failed.writes": "LAZY"})


def test_the_locks_time_can_be_given_in_javas_minutes():
    assert Options.parse({"hoodie.write.lock.filesystem.expire": 2})[TTL_MS] == 120_000


def test_two_times_for_the_lock_that_differ_are_refused():
    assert TTL_MS in refusal({"hoodie.write.lock.filesystem.expire": 2, TTL_MS: 1_000})


def test_a_key_generator_can_be_given_by_its_class():
    options = Options.parse(
        {"hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator"}
    )
    assert options["hoodie.datasource.write.keygenerator.type"] == "COMPLEX"


def test_a_key_generators_class_that_is_not_its_type_is_refused():
    assert "SIMPLE" in refusal(
        {
            "hoodie.datasource.write.keygenerator.class": "ComplexKeyGenerator",
            "hoodie.datasource.write.keygenerator.type": "SIMPLE",
        }
    )


def test_options_can_be_changed_without_losing_what_was_given():
    options = Options.parse({"hoodie.parquet.max.file.size": 7}).updated({"hoodie.metadata.enable": "false"})
    assert (options["hoodie.parquet.max.file.size"], options["hoodie.metadata.enable"]) == (7, False)
    assert options.given == {"hoodie.parquet.max.file.size", "hoodie.metadata.enable"}


def test_looking_up_an_option_that_there_is_not_is_an_error():
    with pytest.raises(KeyError):
        Options.parse()["hoodie.no.such.option"]


def test_the_reference_page_names_every_option_once():
    page = render_markdown()
    assert [page.count(f"| `{spec.key}` |") for spec in OPTION_SPECS] == [1] * len(OPTION_SPECS)


def test_every_default_is_a_value_that_could_be_given():
    for spec in OPTION_SPECS:
        if spec.default is not None:
            assert Options.parse({spec.key: spec.default})[spec.key] == spec.default


@given(st.sampled_from(OPTION_SPECS), st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none()))
def test_any_value_is_taken_in_the_options_type_or_refused_by_name(spec, value):
    refused = None
    try:
        parsed = Options.parse({spec.key: value})[spec.key]
    except OptionError as error:
        refused = error
    if refused is None:
        assert isinstance(parsed, spec.kind)
    else:
        assert repr(spec.key) in refused.message


def test_options_show_what_was_given_and_count_all():
    options = Options.parse({"hoodie.metadata.enable": "false"})
    assert repr(options) == "Options({'hoodie.metadata.enable': False})"
    assert len(options) == len(OPTION_SPECS)
