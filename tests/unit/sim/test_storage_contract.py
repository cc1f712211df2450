"""The simulated storage and the real one keep the same promises: each test runs on both."""

from __future__ import annotations

import pytest

from drawstring.errors import (
    AlreadyExistsError,
    DeadlineExceededError,
    NotFoundError,
    PreconditionFailedError,
    StorageError,
)
from drawstring.runtime import open_storage
from drawstring_sim.clocks import ClockSettings, SimulatedClock
from drawstring_sim.kernel import Incarnation, Kernel
from drawstring_sim.storage import Disk, SimulatedStorage

LONG_AGO_MS = -1
FAR_AWAY_MS = 10**15


@pytest.fixture(params=["simulated", "local"])
def storage(request, tmp_path):
    if request.param == "local":
        return open_storage(str(tmp_path / "table"))
    kernel, incarnation = Kernel(), Incarnation("w1")
    return SimulatedStorage(kernel, incarnation, Disk(), SimulatedClock(kernel, incarnation, ClockSettings()))


def test_what_was_put_is_read_whole_and_in_parts(storage):
    status = storage.put("a/b", b"0123456789")
    assert (status.path, status.size) == ("a/b", 10)
    assert bytes(storage.read("a/b")) == b"0123456789"
    assert bytes(storage.read("a/b", 7)) == b"789"
    assert bytes(storage.read("a/b", 2, 3)) == b"234"
    assert bytes(storage.read("a/b", 2, 0)) == b""


def test_content_may_come_in_pieces(storage):
    storage.put("a", [b"one", memoryview(b"two")])
    assert bytes(storage.read("a")) == b"onetwo"


def test_a_file_that_is_not_there_is_not_found(storage):
    for call in (lambda: storage.head("a"), lambda: storage.read("a"), lambda: storage.read("a", 1, 1)):
        with pytest.raises(NotFoundError):
            call()


def test_put_if_absent_creates_once_and_leaves_what_is_there(storage):
    storage.put_if_absent("a", b"first")
    with pytest.raises(AlreadyExistsError):
        storage.put_if_absent("a", b"second")
    assert bytes(storage.read("a")) == b"first"


def test_put_if_match_replaces_the_version_that_is_named_only(storage):
    first = storage.put("a", b"first")
    second = storage.put_if_match("a", b"second, longer", first.etag)
    assert second.etag != first.etag
    with pytest.raises(PreconditionFailedError):
        storage.put_if_match("a", b"third", first.etag)
    assert bytes(storage.read("a")) == b"second, longer"


def test_put_if_match_of_a_file_that_is_gone_is_refused(storage):
    status = storage.put("a", b"")
    storage.delete(["a"])
    with pytest.raises((PreconditionFailedError, NotFoundError)):
        storage.put_if_match("a", b"", status.etag)
    assert storage.list("") == []


def test_rewriting_the_same_bytes_is_a_new_version_with_a_time_of_its_own(storage):
    first = storage.put("a", b"")
    again = storage.put_if_match("a", b"", first.etag)
    assert storage.head("a").etag == again.etag
    assert again.mtime_ms >= first.mtime_ms


@pytest.mark.parametrize("call", ["put_if_absent", "put_if_match", "delete"])
def test_a_call_after_its_deadline_has_no_effect(storage, call):
    status = storage.put("a", b"old")
    calls = {
        "put_if_absent": lambda: storage.put_if_absent("b", b"", not_after_ms=LONG_AGO_MS),
        "put_if_match": lambda: storage.put_if_match("a", b"new", status.etag, not_after_ms=LONG_AGO_MS),
        "delete": lambda: storage.delete(["a"], not_after_ms=LONG_AGO_MS),
    }
    with pytest.raises(DeadlineExceededError):
        calls[call]()
    assert [s.path for s in storage.list("")] == ["a"]
    assert bytes(storage.read("a")) == b"old"


def test_a_call_before_its_deadline_takes_effect(storage):
    status = storage.put_if_absent("a", b"old", not_after_ms=FAR_AWAY_MS)
    storage.put_if_match("a", b"newer", status.etag, not_after_ms=FAR_AWAY_MS)
    storage.delete(["a"], not_after_ms=FAR_AWAY_MS)
    assert storage.list("") == []


def test_listings_are_sorted_and_know_folders_from_files(storage):
    for path in ("z", "a/2", "a/1", "a/b/3", "ab/4"):
        storage.put(path, b"")
    assert [s.path for s in storage.list("")] == ["z"]
    assert [s.path for s in storage.list("a")] == ["a/1", "a/2"]
    assert [s.path for s in storage.list("a", recursive=True)] == ["a/1", "a/2", "a/b/3"]
    assert list(storage.list_folders("")) == ["a", "ab"]
    assert list(storage.list_folders("a")) == ["a/b"]
    assert storage.list("nowhere") == []
    assert list(storage.list_folders("nowhere")) == []


def test_deleting_what_is_not_there_is_no_error(storage):
    storage.put("a", b"")
    storage.delete(["a", "b"])
    storage.delete([])
    assert storage.list("", recursive=True) == []


@pytest.mark.parametrize("path", ["../a", "a/../../b", "/a", "a//b", "", "a\0b", "a/."])
def test_a_path_that_leaves_the_table_is_refused_before_anything_is_touched(storage, path):
    for call in (
        lambda: storage.put(path, b""),
        lambda: storage.put_if_absent(path, b""),
        lambda: storage.read(path),
        lambda: storage.delete([path]),
    ):
        with pytest.raises(StorageError):
            call()
