"""The real storage keeps what the port promises: on a local folder, and on a server that answers as S3 does."""

from __future__ import annotations

import os
import pickle
import threading

import pytest

from drawstring.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    NotFoundError,
    PreconditionFailedError,
    StorageError,
)
from drawstring.runtime.clock import SystemClock
from drawstring.runtime.object_storage import ObjectStorage


def test_what_was_put_is_read_whole_and_in_parts(storage):
    storage.put("a/b.txt", [b"abc", b"def"])
    assert (bytes(storage.read("a/b.txt")), bytes(storage.read("a/b.txt", 1, 2))) == (b"abcdef", b"bc")


@pytest.mark.parametrize(("start", "length", "expected"), [(4, 5, b"ef"), (6, 2, b""), (9, 2, b""), (2, 0, b"")])
def test_of_a_part_beyond_the_end_what_is_there_is_read(storage, start, length, expected):
    storage.put("f", b"abcdef")
    assert bytes(storage.read("f", start, length)) == expected


def test_several_parts_are_read_at_once(storage):
    storage.put("f", b"abcdefghij")
    parts = storage.read_parts("f", [(0, 2), (4, 5), (7, 10)])
    assert [bytes(part) for part in parts] == [b"ab", b"e", b"hij"]


def test_parts_of_several_bytes_begin_and_end_where_they_are_asked_to(storage):
    storage.put("f", b"abcdefghij")
    parts = storage.read_parts("f", [(0, 3), (4, 7), (7, 10)])
    assert [bytes(part) for part in parts] == [b"abc", b"efg", b"hij"]


def test_from_a_byte_on_all_that_follows_is_read(storage):
    storage.put("f", b"abcdef")
    assert bytes(storage.read("f", 2)) == b"cdef"


def test_a_length_beyond_the_end_decides_no_allocation(storage):
    storage.put("f", b"abcdef")
    parts = [storage.read("f", 4, 1 << 60), *storage.read_parts("f", [(4, 1 << 60), (1, 3)])]
    assert [bytes(part) for part in parts] == [b"ef", b"ef", b"bc"]


def test_what_was_read_cannot_be_written_to(storage):
    storage.put("f", b"abcdef")
    parts = [storage.read("f"), storage.read("f", 1, 2), *storage.read_parts("f", [(0, 2)])]
    assert all(part.readonly for part in parts)


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_local_file_that_the_system_reads_piece_by_piece_is_whole(tmp_path, monkeypatch, at_once):
    storage, preadv = ObjectStorage(str(tmp_path)), os.preadv
    storage.put("f", b"abcdefghij")
    monkeypatch.setattr(os, "preadv", lambda file, parts, start: preadv(file, [parts[0][:at_once]], start))
    parts = [storage.read("f"), storage.read("f", 1, 7), *storage.read_parts("f", [(0, 2), (3, 9)])]
    assert [bytes(part) for part in parts] == [b"abcdefghij", b"bcdefgh", b"ab", b"defghi"]


def test_of_a_local_file_that_is_cut_while_it_is_read_what_is_there_is_read(tmp_path, monkeypatch):
    storage, preadv = ObjectStorage(str(tmp_path)), os.preadv
    storage.put("f", b"abcdefghij")

    def cut(file, parts, start):
        os.truncate(tmp_path / "f", 3)
        return preadv(file, parts, start)

    monkeypatch.setattr(os, "preadv", cut)
    assert [bytes(part) for part in storage.read_parts("f", [(1, 9), (5, 8)])] == [b"bc", b""]


def test_of_parts_beyond_the_end_what_is_there_is_read(storage):
    storage.put("f", b"abcdef")
    assert [bytes(part) for part in storage.read_parts("f", [(1, 3), (4, 9), (20, 30)])] == [b"bc", b"ef", b""]


def test_parts_of_a_file_that_is_gone_are_an_error(storage):
    storage.put("g", b"abcdef")
    with pytest.raises(NotFoundError):
        storage.read_parts("f", [(1, 3)])


def test_a_status_tells_size_and_time(storage):
    status = storage.put("a/b.txt", b"abc")
    assert (status.path, status.size) == ("a/b.txt", 3)
    assert abs(status.mtime_ms - SystemClock().wall_ms()) < 60_000


def test_a_file_is_created_once(storage):
    storage.put_if_absent("f", b"1")
    with pytest.raises(AlreadyExistsError):
        storage.put_if_absent("f", b"2")
    assert bytes(storage.read("f")) == b"1"


def test_of_many_creators_one_wins(storage):
    won = []

    def create(number):
        try:
            storage.put_if_absent("f", str(number).encode())
            won.append(number)
        except AlreadyExistsError:
            return

    threads = [threading.Thread(target=create, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(n).encode() for n in won] == [bytes(storage.read("f"))]


def test_a_file_is_replaced_only_in_the_version_that_was_read(storage):
    old = storage.put("f", b"1")
    storage.put_if_match("f", b"22", old.etag)
    with pytest.raises(PreconditionFailedError):
        storage.put_if_match("f", b"333", old.etag)
    assert bytes(storage.read("f")) == b"22"


def test_of_many_that_replace_one_version_one_wins(storage):
    old = storage.put("f", b"")
    won = []

    def replace(number):
        try:
            storage.put_if_match("f", str(number).encode(), old.etag)
            won.append(number)
        except PreconditionFailedError:
            return

    threads = [threading.Thread(target=replace, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_a_put_after_its_deadline_has_no_effect(storage):
    past_ms = SystemClock().monotonic_ms() - 1
    with pytest.raises(DeadlineExceededError):
        storage.put_if_absent("f", b"1", not_after_ms=past_ms)
    with pytest.raises(NotFoundError):
        storage.head("f")


@pytest.mark.parametrize("path", ["../f", "/etc/passwd", "a/../../f", "a//b", "", ".", "a/./b", "a\\b", "a\0b"])
def test_a_path_that_leaves_the_table_is_refused(storage, path):
    storage.put("f", b"1")
    for call in (storage.head, storage.read, lambda p: storage.put(p, b""), lambda p: storage.delete([p])):
        with pytest.raises(StorageError):
            call(path)


@pytest.mark.parametrize("name", ["a=b", "a%2Fb", "ü ä", "x,y", "50%", "a:b", "a#b", "[x]", "a?b", "a*b", "{x}"])
def test_unusual_names_are_kept(storage, name):
    storage.put(f"{name}/{name}", b"1")
    assert [s.path for s in storage.list(name)] == [f"{name}/{name}"]
    assert list(storage.list_folders("")) == [name]
    assert bytes(storage.read(f"{name}/{name}")) == b"1"


def test_a_listing_names_the_folders_own_files_or_all_below(storage):
    for path in ("a/1", "a/b/2", "c/3"):
        storage.put(path, b"")
    assert [s.path for s in storage.list("a")] == ["a/1"]
    assert [s.path for s in storage.list("a", recursive=True)] == ["a/1", "a/b/2"]
    assert [s.path for s in storage.list("", recursive=True)] == ["a/1", "a/b/2", "c/3"]


def test_a_folder_that_is_not_there_is_empty(storage):
    assert (storage.list("no"), storage.list_folders("no")) == ([], [])
    with pytest.raises(NotFoundError):
        storage.head("no")


def test_deleting_what_is_not_there_is_no_error(storage):
    storage.put("f", b"")
    storage.delete(["f", "f", "g"])
    assert storage.list("") == []


def test_a_storage_reopens_itself_in_another_process(storage):
    storage.put("f", b"1")
    again = pickle.loads(pickle.dumps(storage))
    assert (again.uri, bytes(again.read("f"))) == (storage.uri, b"1")
