"""Floating-point numbers as texts, each as Java 17 has said it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from drawstring.data.float_texts import float_texts

OF_FLOATS = {
    2.0**40: "1.09951163E12",
    -(2.0**40): "-1.09951163E12",
    32663906.0: "3.2663906E7",
    -19634810.0: "-1.963481E7",
    2.0**25: "3.3554432E7",
    2.0**24: "1.6777216E7",
    123456789.0: "1.23456792E8",
    16777215.0: "1.6777215E7",
}
OF_DOUBLES = {
    2.0**60: "1.15292150460684698E18",
    -(2.0**62): "-4.6116860184273879E18",
    2.0**53 + 2: "9.007199254740994E15",
    1234567890123456789.0: "1.23456789012345677E18",
    1e23: "1.0E23",
}


@pytest.mark.parametrize(("kind", "texts"), [(pa.float32(), OF_FLOATS), (pa.float64(), OF_DOUBLES)], ids=str)
def test_whole_numbers_without_a_units_place_have_the_digits_that_java_gives_them(kind, texts):
    numbers = pa.array([*texts, None], kind)
    assert float_texts(numbers).to_pylist() == [*texts.values(), None]


def test_small_numbers_have_the_fewest_digits_that_tell_them_apart():
    numbers = pa.array([0.0, -0.0, 0.001, 1e-4, 1.5, 1e7, 9999999.0, float("nan"), float("-inf"), None])
    expected = ["0.0", "-0.0", "0.001", "1.0E-4", "1.5", "1.0E7", "9999999.0", "NaN", "-Infinity", None]
    assert float_texts(numbers).to_pylist() == expected
