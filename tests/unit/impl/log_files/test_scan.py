"""Which blocks a query sees."""

from __future__ import annotations

import pytest

from drawstring.errors import CorruptFileError
from drawstring.log_files.blocks import LogBlock
from drawstring.log_files.scan import Visible, visible_blocks
from drawstring_spec.log_format import BlockType, HeaderKey


def block(time, kind=BlockType.AVRO_DATA, **header):
    entries = {HeaderKey.INSTANT_TIME: time} if time else {}
    return LogBlock("f", 0, 1, kind, entries | {HeaderKey[k]: v for k, v in header.items()}, memoryview(b""))


def rollback(time, target):
    return block(time, BlockType.COMMAND, TARGET_INSTANT_TIME=target, COMMAND_BLOCK_TYPE="0")


def seen(blocks, completed="12345", latest="9", start=None, only=None):
    visible = Visible(frozenset(completed), start, latest, only)
    return [b.instant_time for b in visible_blocks(blocks, visible)]


def test_blocks_of_pending_writes_are_not_seen():
    assert seen([block("1"), block("7")]) == ["1"]


def test_blocks_that_were_requested_after_the_query_are_not_seen():
    assert seen([block("1"), block("4")], latest="3") == ["1"]


def test_archived_blocks_are_seen():
    assert seen([block("1"), block("6")], completed="6", start="5") == ["1", "6"]


def test_without_an_archive_an_unknown_old_block_is_not_seen():
    assert seen([block("1"), block("6")], completed="6") == ["6"]


def test_an_incremental_range_restricts_what_is_seen():
    assert seen([block("1"), block("2")], only=frozenset("2")) == ["2"]


def test_a_rollback_takes_away_what_its_target_wrote_before_it():
    assert seen([block("1"), block("2"), rollback("3", "2"), block("4")]) == ["1", "4"]


def test_a_rollback_leaves_what_its_target_writes_later():
    assert seen([block("2"), rollback("3", "2"), block("2")]) == ["2"]


def test_a_rollback_of_nobody_is_passed_over():
    assert seen([block("1"), rollback("3", "9")]) == ["1"]


def test_a_corrupt_block_is_passed_over():
    assert seen([block("1"), block(None, BlockType.CORRUPT), block("2")]) == ["1", "2"]


def test_the_blocks_of_all_attempts_of_a_task_are_seen_as_in_java():
    blocks = [
        block("1", BLOCK_IDENTIFIER="0,0"),
        block("1", BLOCK_IDENTIFIER="1,0"),
        block("1", BLOCK_IDENTIFIER="1,1"),
        block("2"),
    ]
    assert seen(blocks) == ["1", "1", "1", "2"]


@pytest.mark.parametrize("header", [{"COMMAND_BLOCK_TYPE": "7"}, {}])
def test_a_command_that_nobody_knows_is_refused(header):
    with pytest.raises(CorruptFileError, match="command"):
        seen([block("1", BlockType.COMMAND, TARGET_INSTANT_TIME="1", **header)])


def test_a_block_without_an_author_is_refused():
    with pytest.raises(CorruptFileError, match="which action"):
        seen([block(None)])
