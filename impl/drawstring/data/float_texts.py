"""Floating-point numbers as the texts that Java makes of them, in columns.

Source: Java ``Float.toString`` and ``Double.toString``: digits that tell the number from its neighbours, at least one
behind the point, and powers of ten from 10^7 on and below 10^-3. Whose duty: columns of numbers that became columns
of texts read the same here and there.
"""

from __future__ import annotations

from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

_LEAST_POWER: Final = -3
_FIRST_LARGE_POWER: Final = 7
_NAMES: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity", "0": "0.0", "-0": "-0.0"}


def float_texts(array: pa.Array) -> pa.Array:
    """Return each number of a float column as ``pa.string()``; null where it is null."""
    shortest = pl.from_arrow(pc.cast(array, pa.string()))
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
