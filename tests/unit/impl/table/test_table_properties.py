"""hoodie.properties and its backup: read, changed, and recovered after a crash at any point."""

from __future__ import annotations

import pytest

from drawstring.errors import CorruptFileError, TableNotFoundError
from drawstring.table_properties import modify_properties, read_properties, recover_properties, table_exists
from drawstring_spec.layout import PROPERTIES_BACKUP_FILE, PROPERTIES_FILE
from drawstring_spec.properties import format_properties, parse_properties, table_checksum
from unit.impl.protocol.world import START_MS, ManualClock, MemoryStorage

VALUES = {"hoodie.table.name": "t", "hoodie.table.version": "8", "hoodie.table.checksum": str(table_checksum("", "t"))}
CHANGED = {**VALUES, "extra": "1"}


class Crash(BaseException):
    pass


@pytest.fixture
def storage():
    storage = MemoryStorage(ManualClock())
    storage.put(PROPERTIES_FILE, format_properties(VALUES))
    return storage


def change(storage):
    return modify_properties(storage, now_ms=START_MS, updates={"extra": "1"})


def test_properties_are_read(storage):
    assert read_properties(storage) == VALUES


def test_the_backup_is_read_where_the_file_is_missing(storage):
    storage.put(PROPERTIES_BACKUP_FILE, format_properties(CHANGED))
    storage.delete([PROPERTIES_FILE])
    assert read_properties(storage) == CHANGED
    assert table_exists(storage)


@pytest.mark.parametrize(
    "content", [b"", b"hoodie.table.na", b"\0\0", format_properties({**VALUES, "hoodie.table.name": "u"})]
)
def test_the_backup_is_read_where_the_file_is_broken(storage, content):
    storage.put(PROPERTIES_BACKUP_FILE, format_properties(CHANGED))
    storage.put(PROPERTIES_FILE, content)
    assert read_properties(storage) == CHANGED


def test_a_location_without_properties_is_no_table():
    storage = MemoryStorage(ManualClock())
    with pytest.raises(TableNotFoundError, match="file:///table"):
        read_properties(storage)
    assert not table_exists(storage)


def test_a_wrong_checksum_is_named(storage):
    storage.put(PROPERTIES_FILE, format_properties({**VALUES, "hoodie.table.checksum": "1"}))
    with pytest.raises(CorruptFileError, match=r"hoodie\.properties.*checksum '1'"):
        read_properties(storage)


@pytest.mark.parametrize("version", ["8", None])
def test_properties_that_lost_their_checksum_are_broken(storage, version):
    values = {"hoodie.table.name": "t"} | ({"hoodie.table.version": version} if version else {})
    storage.put(PROPERTIES_FILE, format_properties(values))
    with pytest.raises(CorruptFileError, match=r"no 'hoodie\.table\.checksum'"):
        read_properties(storage)


def test_properties_of_an_old_version_need_no_checksum(storage):
    values = {"hoodie.table.name": "t", "hoodie.table.version": "3"}
    storage.put(PROPERTIES_FILE, format_properties(values))
    assert read_properties(storage) == values


def test_properties_of_absurd_size_are_not_read(storage):
    storage.put(PROPERTIES_FILE, b"#" * (16 * 1024 * 1024 + 1))
    with pytest.raises(CorruptFileError, match="larger"):
        read_properties(storage)


def test_a_change_keeps_the_others_and_leaves_no_backup(storage):
    assert change(storage) == CHANGED
    assert read_properties(storage) == CHANGED
    assert [s.path for s in storage.list(".hoodie")] == [PROPERTIES_FILE]


def test_a_property_can_be_dropped(storage):
    change(storage)
    assert modify_properties(storage, now_ms=START_MS, remove=["extra", "never there"]) == VALUES


def test_a_renamed_table_gets_its_checksum(storage):
    changed = modify_properties(storage, now_ms=START_MS, updates={"hoodie.table.name": "u"})
    assert changed["hoodie.table.checksum"] == str(table_checksum("", "u"))
    assert read_properties(storage) == changed


def test_a_change_that_changes_nothing_writes_nothing(storage):
    before = storage.head(PROPERTIES_FILE)
    modify_properties(storage, now_ms=START_MS, updates={"hoodie.table.version": "8"})
    assert storage.head(PROPERTIES_FILE) == before


def test_the_file_says_when_it_was_changed(storage):
    change(storage)
    head = bytes(storage.read(PROPERTIES_FILE)).split(b"\n")[:2]
    assert head == [b"#Updated at 2023-11-14T22:13:20.000Z", b"#Tue Nov 14 22:13:20 UTC 2023"]


def crash_points(storage, operation):
    """Run `operation` with a crash at each of its effects in turn; yield after each."""
    point = 0
    while True:
        files = dict(storage.files)
        seen = [0]

        def fail(when, call, path, seen=seen, point=point):
            if seen[0] == point:
                storage.fail = lambda *_: None
                raise Crash
            seen[0] += 1

        storage.fail = fail
        try:
            operation()
        except Crash:
            yield point
        else:
            storage.fail = lambda *_: None
            assert point > 0
            return
        storage.files = files
        point += 1


def test_a_crash_at_any_point_of_a_change_leaves_the_old_or_the_new_properties(storage):
    points = 0
    for _ in crash_points(storage, lambda: change(storage)):
        assert read_properties(storage) in (VALUES, CHANGED)
        recover_properties(storage)
        assert parse_properties(bytes(storage.read(PROPERTIES_FILE))) in (VALUES, CHANGED)
        assert change(storage) == CHANGED
        assert [s.path for s in storage.list(".hoodie")] == [PROPERTIES_FILE]
        points += 1
    assert points == 6


@pytest.mark.parametrize("file", [None, b"hoodie.table.na", b""])
def test_a_change_of_javas_that_was_left_half_way_is_recovered(storage, file):
    storage.put(PROPERTIES_BACKUP_FILE, format_properties(VALUES))
    storage.delete([PROPERTIES_FILE])
    if file is not None:
        storage.put(PROPERTIES_FILE, file)
    points = 0
    for _ in crash_points(storage, lambda: recover_properties(storage)):
        assert read_properties(storage) == VALUES
        recover_properties(storage)
        assert parse_properties(bytes(storage.read(PROPERTIES_FILE))) == VALUES
        assert [s.path for s in storage.list(".hoodie")] == [PROPERTIES_FILE]
        points += 1
    assert points == 4


@pytest.mark.parametrize("file", [None, b"hoodie.table.na", b""])
def test_a_change_starts_from_the_backup_where_the_file_is_broken(storage, file):
    storage.put(PROPERTIES_BACKUP_FILE, format_properties(VALUES))
    storage.delete([PROPERTIES_FILE])
    if file is not None:
        storage.put(PROPERTIES_FILE, file)
    for _ in crash_points(storage, lambda: change(storage)):
        assert read_properties(storage) in (VALUES, CHANGED)
    assert read_properties(storage) == CHANGED
    assert [s.path for s in storage.list(".hoodie")] == [PROPERTIES_FILE]


def test_a_backup_beside_a_valid_file_is_the_older_one(storage):
    storage.put(PROPERTIES_BACKUP_FILE, format_properties(VALUES))
    storage.put(PROPERTIES_FILE, format_properties(CHANGED))
    recover_properties(storage)
    assert read_properties(storage) == CHANGED
    assert [s.path for s in storage.list(".hoodie")] == [PROPERTIES_FILE]


def test_nothing_is_recovered_from_two_broken_files(storage):
    storage.put(PROPERTIES_BACKUP_FILE, b"")
    storage.put(PROPERTIES_FILE, b"")
    with pytest.raises(CorruptFileError):
        recover_properties(storage)
    assert len(storage.list(".hoodie")) == 2


class BetweenTwoReads:
    """A storage on which a change by Java runs between a reader's look at the file and its look at the backup."""

    def __init__(self, storage):
        self.storage = storage
        self.script = [(PROPERTIES_FILE, PROPERTIES_BACKUP_FILE), (PROPERTIES_BACKUP_FILE, PROPERTIES_FILE)]

    def __call__(self, path):
        if self.script and self.script[0][0] == path:
            _, other = self.script.pop(0)
            content = self.storage.files.pop(path)
            self.storage.files[other] = content
        return MemoryStorage.head(self.storage, path)


def test_a_reader_that_meets_a_change_half_way_looks_again(storage):
    storage.head = BetweenTwoReads(storage)
    assert read_properties(storage) == VALUES
    assert storage.head.script == []
