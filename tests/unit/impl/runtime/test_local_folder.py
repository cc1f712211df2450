"""What is particular to a local folder: Hadoop's checksum files, and folders that markers leave behind."""

from __future__ import annotations

import contextlib

import pytest

from drawstring.errors import AlreadyExistsError
from drawstring.runtime.object_storage import ObjectStorage

PATH = ".hoodie/hoodie.properties"
CHECKSUM = ".hoodie/.hoodie.properties.crc"


@pytest.fixture
def folder(tmp_path):
    """A file that Hadoop wrote, with its checksum."""
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / PATH).write_bytes(b"by Hadoop")
    (tmp_path / CHECKSUM).write_bytes(b"crc\0")
    return tmp_path


@pytest.mark.parametrize("method", ["put", "put_if_match", "delete"])
def test_a_changed_file_has_no_stale_checksum(folder, method):
    storage = ObjectStorage(str(folder))
    changes = {
        "put": lambda: storage.put(PATH, b"ours"),
        "put_if_match": lambda: storage.put_if_match(PATH, b"ours", storage.head(PATH).etag),
        "delete": lambda: storage.delete([PATH]),
    }
    changes[method]()
    assert not (folder / CHECKSUM).exists()


def test_a_new_file_has_no_checksum_of_an_earlier_one(folder):
    (folder / PATH).unlink()
    ObjectStorage(str(folder)).put_if_absent(PATH, b"ours")
    assert not (folder / CHECKSUM).exists()


def test_a_file_that_is_not_replaced_stays_as_it_was(folder):
    with contextlib.suppress(AlreadyExistsError):
        ObjectStorage(str(folder)).put_if_absent(PATH, b"ours")
    assert (folder / PATH).read_bytes() == b"by Hadoop"


@pytest.mark.parametrize("recursive", [False, True])
def test_checksums_are_not_listed(folder, recursive):
    listed = ObjectStorage(str(folder)).list(".hoodie", recursive=recursive)
    assert [status.path for status in listed] == [PATH]


def test_deleting_the_last_marker_removes_the_operations_folder_but_not_the_markers_folder(tmp_path):
    storage = ObjectStorage(str(tmp_path))
    markers = [
        ".hoodie/.temp/20240101000000000/a/b/x.marker.CREATE",
        ".hoodie/.temp/20240101000000000/a/y.marker.CREATE",
    ]
    for marker in markers:
        storage.put(marker, b"")
    storage.delete(markers)
    assert list((tmp_path / ".hoodie" / ".temp").iterdir()) == []


def test_deleting_one_of_two_operations_markers_leaves_the_others_folder(tmp_path):
    storage = ObjectStorage(str(tmp_path))
    storage.put(".hoodie/.temp/1/x", b"")
    storage.put(".hoodie/.temp/2/x", b"")
    storage.delete([".hoodie/.temp/1/x"])
    assert [p.name for p in (tmp_path / ".hoodie" / ".temp").iterdir()] == ["2"]


def test_deleting_the_last_file_of_a_partition_leaves_its_folder(tmp_path):
    storage = ObjectStorage(str(tmp_path))
    storage.put("north/x.parquet", b"")
    storage.delete(["north/x.parquet"])
    assert (tmp_path / "north").is_dir()
