"""Lock providers: one holder at a time, and a dead holder does not hold for ever."""

from __future__ import annotations

import pytest

from drawstring.errors import DeadlineExceededError, LockTimeoutError, LostLockError, OptionError, StorageError
from drawstring.locks import FileSystemLockProvider, InProcessLockProvider
from drawstring.options import Options
from unit.impl.protocol.world import CountingEntropy, ManualClock, MemoryStorage

TTL_MS = 30_000


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def storage(clock):
    return MemoryStorage(clock)


@pytest.fixture
def provider(clock, storage):
    entropy = CountingEntropy()
    return lambda foreign_expiry_ms=0: FileSystemLockProvider(
        storage, clock=clock, entropy=entropy, lock_ttl_ms=TTL_MS, foreign_expiry_ms=foreign_expiry_ms
    )


def test_a_held_lock_is_not_had_by_another(provider):
    provider().acquire(timeout_ms=0)
    with pytest.raises(LockTimeoutError):
        provider().acquire(timeout_ms=1_000)


def test_a_released_lock_can_be_had_again(provider):
    first = provider()
    first.release(first.acquire(timeout_ms=0))
    assert provider().acquire(timeout_ms=0).owner


def test_a_dead_holders_lock_is_taken_over_after_its_time_and_not_before(provider, clock):
    start_ms = clock.now_ms
    provider().acquire(timeout_ms=0)
    provider().acquire(timeout_ms=10 * TTL_MS)
    assert clock.now_ms - start_ms > TTL_MS


def test_a_lease_ends_for_its_holder_before_others_may_take_over(provider, clock):
    lease = provider().acquire(timeout_ms=0)
    assert lease.not_after_ms < clock.now_ms + TTL_MS


def test_a_renewed_lock_is_not_taken_over(provider, clock):
    holder = provider()
    lease = holder.acquire(timeout_ms=0)
    for _ in range(10):
        clock.sleep_ms(TTL_MS // 2)
        lease = holder.renew(lease)
    with pytest.raises(LockTimeoutError):
        provider().acquire(timeout_ms=0)


def test_a_lock_that_was_taken_over_cannot_be_renewed(provider, clock):
    holder = provider()
    lease = holder.acquire(timeout_ms=0)
    clock.sleep_ms(2 * TTL_MS)
    provider().acquire(timeout_ms=0)
    with pytest.raises((LostLockError, DeadlineExceededError)):
        holder.renew(lease)


def test_a_late_release_leaves_the_next_holders_lock(provider, clock, storage):
    holder = provider()
    lease = holder.acquire(timeout_ms=0)
    clock.sleep_ms(2 * TTL_MS)
    provider().acquire(timeout_ms=0)
    before = dict(storage.files)
    holder.release(lease)
    assert storage.files == before


def test_a_lock_whose_answer_was_lost_is_recognised_as_ones_own(provider, storage):
    def lose(when, call, path):
        if when == "after":
            storage.fail = lambda when, call, path: None
            raise StorageError("no answer")

    storage.fail = lose
    assert provider().acquire(timeout_ms=0).owner


def test_two_waiters_cannot_both_take_a_dead_lock_over(provider, clock, storage, monkeypatch):
    provider().acquire(timeout_ms=0)
    clock.sleep_ms(2 * TTL_MS)
    head = storage.head
    rivals = []

    def head_then_rival(path):
        status = head(path)
        monkeypatch.setattr(storage, "head", head)
        rivals.append(provider().acquire(timeout_ms=0))
        return status

    monkeypatch.setattr(storage, "head", head_then_rival)
    with pytest.raises(LockTimeoutError):
        provider().acquire(timeout_ms=0)
    assert rivals[0].owner in bytes(storage.read(".hoodie/lock")).decode()


def test_a_lock_file_of_java_never_expires_by_default(provider, clock, storage):
    storage.put(".hoodie/lock", b"")
    clock.sleep_ms(1000 * TTL_MS)
    with pytest.raises(LockTimeoutError, match="expire"):
        provider().acquire(timeout_ms=0)


def test_a_lock_file_of_java_expires_after_the_option_says_so(provider, clock, storage):
    storage.put(".hoodie/lock", b'{"lockCreateTime":"x"}')
    clock.sleep_ms(61_000)
    assert provider(60_000).acquire(timeout_ms=0).owner


def test_a_wrong_wall_clock_does_not_expire_a_live_lock(provider, clock, storage):
    provider().acquire(timeout_ms=0)
    clock.wall_ms = lambda: clock.now_ms + 10**12
    with pytest.raises(LockTimeoutError):
        provider().acquire(timeout_ms=0)


def test_the_in_process_lock_excludes_the_second_thread(clock):
    entropy = CountingEntropy()
    first, second = (InProcessLockProvider("file:///x", clock=clock, entropy=entropy) for _ in range(2))
    lease = first.acquire(timeout_ms=0)
    with pytest.raises(LockTimeoutError):
        second.acquire(timeout_ms=50)
    first.release(lease)
    second.release(second.acquire(timeout_ms=0))


def test_releasing_an_in_process_lock_twice_does_not_free_the_next_holders(clock):
    entropy = CountingEntropy()
    first, second = (InProcessLockProvider("file:///y", clock=clock, entropy=entropy) for _ in range(2))
    lease = first.acquire(timeout_ms=0)
    first.release(lease)
    held = second.acquire(timeout_ms=0)
    first.release(lease)
    with pytest.raises(LockTimeoutError):
        first.acquire(timeout_ms=0)
    second.release(held)


def test_an_unknown_lock_provider_is_refused_by_name():
    provider = "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider"
    with pytest.raises(OptionError, match="ZookeeperBasedLockProvider"):
        Options.parse({"hoodie.write.lock.provider": provider})
