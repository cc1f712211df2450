from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawstring.data.packing import ExistingFile, Packing, SizeRules, average_record_bytes, pack, split

RULES = SizeRules(max_file_bytes=1000, small_file_bytes=800)


def test_rows_without_small_files_make_files_of_about_the_same_size():
    assert pack(250, [], 10, RULES) == Packing((), (84, 83, 83))


def test_a_small_file_is_filled_up_before_a_new_one_is_begun():
    assert pack(50, [ExistingFile("a", 700, rewritten=False)], 10, RULES) == Packing((("a", 30),), (20,))


def test_a_file_that_is_rewritten_anyway_comes_first():
    files = [ExistingFile("a", 100, rewritten=False), ExistingFile("b", 100, rewritten=True)]
    assert pack(10, files, 10, RULES).existing == (("b", 10),)


def test_among_equals_the_file_id_decides():
    files = [ExistingFile("b", 100, rewritten=False), ExistingFile("a", 100, rewritten=False)]
    assert pack(10, files, 10, RULES).existing == (("a", 10),)


def test_a_file_at_the_limit_takes_nothing():
    assert pack(10, [ExistingFile("a", 800, rewritten=True)], 10, RULES) == Packing((), (10,))


def test_a_limit_of_nought_never_packs():
    assert pack(10, [ExistingFile("a", 1, rewritten=True)], 10, SizeRules(1000, 0)) == Packing((), (10,))


def test_a_row_that_is_larger_than_a_file_gets_one_of_its_own():
    assert pack(2, [], 5000, RULES) == Packing((), (1, 1))


@given(
    st.integers(0, 500),
    st.lists(
        st.builds(ExistingFile, st.text(min_size=1, max_size=3), st.integers(0, 2000), st.booleans()),
        unique_by=lambda f: f.file_id,
    ),
    st.integers(1, 2000),
)
def test_every_row_goes_somewhere_and_no_file_is_filled_beyond_its_size(count, files, size):
    packing = pack(count, files, size, RULES)
    assert sum(n for _, n in packing.existing) + sum(packing.new_files) == count
    sizes = {file.file_id: file.size for file in files}
    assert all(sizes[file_id] < 800 and sizes[file_id] + n * size <= 1000 for file_id, n in packing.existing)
    assert all(n == 1 or n * size <= 1000 for n in packing.new_files)


@given(st.integers(0, 1000), st.integers(1, 50))
def test_a_split_is_even(count, most):
    parts = split(count, most)
    assert sum(parts) == count
    assert not parts or (max(parts) <= most and max(parts) - min(parts) <= 1)


@pytest.mark.parametrize(
    ("commits", "answer"),
    [([], None), ([(50, 5), (300, 7), (1000, 1)], 43), ([(100, 5)], None), ([(500, 0), (200, 2)], 100)],
)
def test_the_newest_commit_that_wrote_enough_tells_the_size_of_a_row(commits, answer):
    assert average_record_bytes(commits, 100) == answer
