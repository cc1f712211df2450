"""An option that drawstring does not honour is refused by name, before anything is touched."""

from __future__ import annotations

import pytest

import drawstring as ds
from drawstring.errors import InputError, OptionError
from unit.impl.bad_input.conftest import SCHEMA, refusal

WRONG = [
    ("hoodie.no.such.option", "true"),
    ("hoodie.clustering.inline", "true"),
    ("hoodie.index.type", "BUCKET"),
    ("hoodie.parquet.max.file.size", "many"),
    ("hoodie.parquet.max.file.size", "-1"),
    ("hoodie.metadata.enable", "perhaps"),
    ("hoodie.write.concurrency.mode", "NON_BLOCKING_CONCURRENCY_CONTROL"),
    ("hoodie.write.lock.provider", "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_opening_with_an_option_that_is_not_honoured_is_refused(table_path, key, value):
    with refusal(table_path, OptionError, key):
        ds.Table.open(str(table_path), options={key: value})


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_creating_with_an_option_that_is_not_honoured_makes_nothing(tmp_path, key, value):
    with refusal(tmp_path, OptionError, key):
        ds.Table.create(str(tmp_path / "new"), SCHEMA, record_key="id", options={key: value})


def test_a_misspelt_option_is_answered_with_the_right_spelling(table_path):
    with pytest.raises(OptionError) as caught:
        ds.Table.open(str(table_path), options={"hoodie.parquet.max.filesize": "1024"})
    assert "hoodie.parquet.max.file.size" in str(caught.value)


def test_eager_rollback_beside_other_writers_is_refused(table_path):
    options = {
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.clean.failed.writes.policy": "EAGER",
    }
    with refusal(table_path, OptionError, "hoodie.clean.failed.writes.policy"):
        ds.Table.open(str(table_path), options=options)


@pytest.mark.parametrize("key", ["", ["id", "id"], ["no_such_column"], []])
def test_a_record_key_that_is_no_column_makes_no_table(tmp_path, key):
    with refusal(tmp_path, InputError):
        ds.Table.create(str(tmp_path / "new"), SCHEMA, record_key=key)


def test_a_partition_column_that_is_not_in_the_schema_makes_no_table(tmp_path):
    with refusal(tmp_path, InputError, "no_such_column"):
        ds.Table.create(str(tmp_path / "new"), SCHEMA, record_key="id", partition_by=["no_such_column"])


def test_an_ordering_column_that_is_not_in_the_schema_makes_no_table(tmp_path):
    with refusal(tmp_path, InputError, "no_such_column"):
        ds.Table.create(str(tmp_path / "new"), SCHEMA, record_key="id", ordering="no_such_column")
