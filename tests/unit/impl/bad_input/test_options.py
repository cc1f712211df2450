"""An option that drawstring does not honour is refused by name, before anything is touched."""

from __future__ import annotations

import re

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


OF_THE_FORMAT = [
    ("hoodie.datasource.query.type", "read_optimized", "read_optimized=True"),
    ("as.of.instant", "2026-11-21", "as_of"),
    ("hoodie.datasource.query.incremental.format", "cdc", "cdc=True"),
    ("hoodie.datasource.read.begin.instanttime", "000", "changes(start)"),
    ("hoodie.datasource.read.end.instanttime", "20261121080000000", "changes(start, end)"),
    ("hoodie.datasource.streaming.startOffset", "latest", "bounds"),
    ("drawstring.read.filter", '[["id", "=", "a"]]', "filter"),
    ("hoodie.enable.data.skipping", "false", "hoodie.metadata.enable"),
    ("hoodie.datasource.write.operation", "delete", "delete"),
    ("drawstring.spark.staged.max.bytes", "1", "handle"),
]


@pytest.mark.parametrize(("key", "value", "way_out"), OF_THE_FORMAT)
def test_a_handle_refuses_an_option_that_only_the_format_honours(table_path, key, value, way_out):
    with pytest.raises(OptionError, match=re.escape(key)) as caught:
        ds.Table.open(str(table_path), options={key: value})
    assert way_out in str(caught.value.way_out)


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
