"""Floating-point numbers as the texts that Java makes of them, in columns.

Source: Java ``Float.toString`` and ``Double.toString``: digits that tell the number from its neighbours, at least one
behind the point, and powers of ten from 10^7 on and below 10^-3. Up to Java 18, with which Hudi 1.0.2 is run, whole
numbers that have no unit's place any more get some digits more (``jdk.internal.math.FloatingDecimal``): 2^40 is
``1.09951163E12``. Some powers of two and a few others, beyond 2^63 and below 10^-7, have another last digit there, and
the fewest digits here. Whose duty: columns of numbers that became columns of texts read the same here and there.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

_LEAST_POWER: Final = -3
_FIRST_LARGE_POWER: Final = 7
_NAMES: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "0": "0.0", "-0": "-0.0"}
_LEAST_WORD: Final = 2.0**63
_DROPPED: Final = np.array(
    [0] * 4 + [1] * 3 + [2] * 3 + [3] * 4 + [4] * 3 + [5] * 3 + [6] * 4 + [7] * 3 + [8] * 3 + [9] * 4 + [10] * 3 + [11]
)
"""How many decimal digits of a whole number say nothing, by the number of bits that it has behind those of its type."""


def float_texts(array: pa.Array) -> pa.Array:
    """Return each number of a float column as ``pa.string()``; null where it is null."""
    shortest = pl.from_arrow(_digits(array))
    text, digits = pl.col("text"), pl.col("digits")
    exponent = text.str.extract(r"e\+?(-?\d+)$").cast(pl.Int64).fill_null(0)
    whole, fraction = text.str.extract(r"^-?(\d+)").fill_null(""), text.str.extract(r"\.(\d+)").fill_null("")
    frame = pl.DataFrame({"text": shortest}).with_columns(
        all_digits=whole + fraction, point=whole.str.len_chars().cast(pl.Int64) + exponent
    )
    significant = pl.col("all_digits").str.strip_chars_start("0")
    zeros = pl.col("all_digits").str.len_chars().cast(pl.Int64) - significant.str.len_chars().cast(pl.Int64)
    frame = frame.with_columns(digits=significant.str.strip_chars_end("0"), power=pl.col("point") - zeros - 1)
    power = pl.col("power")
    scientific = _pointed(digits.str.slice(0, 1), digits.str.slice(1)) + "E" + power.cast(pl.String)
    # A point behind as many digits as the power says; a number below one has them all behind it.
    length = pl.max_horizontal(power + 1, 0)
    large = _pointed((digits + "0" * _FIRST_LARGE_POWER).str.slice(0, length), digits.str.slice(length))
    small = pl.when(power == -1).then(pl.lit("0.")).when(power == -2).then(pl.lit("0.0")).otherwise(pl.lit("0.00"))
    plain = pl.when(power >= 0).then(large).otherwise(small + digits)
    is_plain = (power >= _LEAST_POWER) & (power < _FIRST_LARGE_POWER)
    number = text.str.extract(r"^(-?)") + pl.when(is_plain).then(plain).otherwise(scientific)
    named = pl.when(text.is_in(list(_NAMES))).then(text.replace(_NAMES)).otherwise(number)
    return frame.select(named.alias("text"))["text"].to_arrow().cast(pa.string())


def _pointed(whole: pl.Expr, fraction: pl.Expr) -> pl.Expr:
    return whole + "." + pl.when(fraction == "").then(pl.lit("0")).otherwise(fraction)


def _digits(array: pa.Array) -> pa.Array:
    """Return each number with the digits that Java gives it, in whatever form."""
    shortest = pc.cast(array, pa.string())
    values = np.abs(pc.fill_null(array, 0.0).to_numpy(zero_copy_only=False))
    num_bits = np.finfo(values.dtype).nmant + 1
    large = (values >= 2.0**num_bits) & (values < _LEAST_WORD)
    if not large.any():
        return shortest
    values = values[large]
    unsaid = np.frexp(values)[1] - 1 - num_bits - 1
    power = 10 ** _DROPPED[np.maximum(unsaid, 0)].astype(np.uint64)
    whole, rest = np.divmod(values.astype(np.uint64), power)
    texts = pc.cast(pa.array((whole + (2 * rest >= power) * (power > 1)) * power), pa.string())
    signs = pc.if_else(pc.less(array.filter(pa.array(large)), 0), "-", "")
    return pc.replace_with_mask(shortest, pa.array(large), pc.binary_join_element_wise(signs, texts, ""))
