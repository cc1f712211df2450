"""Values of old files in the type that their column was given later: what Java's schema evolution allows, and how.

Source: Java ``SchemaChangeUtils.isTypeUpdateAllow`` (which changes there are) and ``HoodieAvroUtils`` (what becomes of
the values): numbers go into decimals and texts by their digits, rounded half up at the decimal's scale; dates and
texts into each other in ISO form. A value that does not fit is no value of the new type, and an error. Whose duty:
`drawstring.data.conform.widen` asks, for the base files and log files of a table.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as pat

from drawstring.data.float_texts import float_texts

_DIGITS_MOST: Final = 76
_DIGITS_OF_A_DOUBLE: Final = 18
_FLOATS: Final = (pa.float32(), pa.float64())
_INTEGERS: Final = (pa.int32(), pa.int64())


def promotes(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether a column of `source` may have become one of `target`, beside the changes that lose nothing at all."""
    if {source, target} == {pa.string(), pa.binary()}:
        return True
    if source == pa.timestamp("us") and target == pa.timestamp("us", tz="UTC"):
        return True  # Spark's older form of times (INT96) says nothing of a zone; they are times in UTC.
    if target == pa.string():
        # A timestamp becomes text where a key generator formats it; schema evolution has no such change.
        has_text = pat.is_decimal(source) or pat.is_timestamp(source)
        return has_text or source in (*_INTEGERS, *_FLOATS, pa.date32())
    if pat.is_decimal(target):
        return source in (*_INTEGERS, *_FLOATS, pa.string())
    return (source in _INTEGERS and target in _FLOATS) or (source == pa.string() and target == pa.date32())


def promoted(array: pa.Array, target: pa.DataType, *, exact_floats: bool) -> pa.Array:
    """Return the values of `array` in the type `target`, as Java makes them of each other.

    Args:
        array: values of the old type.
        target: the new type.
        exact_floats: whether a float that becomes a double is the same number; otherwise it has the same digits.

    Raises:
        pyarrow.ArrowInvalid: a value does not fit `target`: too many digits, a text that is no number or no date.

    """
    if pat.is_floating(array.type) and target == pa.string():
        return float_texts(array)
    if pat.is_timestamp(array.type) and target == pa.string():
        return _timestamp_texts(array)
    if pat.is_decimal(target) and not pat.is_decimal(array.type):
        return _decimals(array, target)
    if pat.is_float32(array.type) and target == pa.float64() and not exact_floats:
        # 0.1 stays 0.1, which the nearest double of the float's own value would not.
        array = pc.cast(array, pa.string())
    # An integer goes to the nearest float.
    rounds = pat.is_integer(array.type) and pat.is_floating(target)
    return pc.cast(array, target, safe=not rounds)


def _timestamp_texts(array: pa.Array) -> pa.Array:
    """Times in UTC as Spark writes them: without the zone, and without zeros at the end of a fraction."""
    texts = pc.cast(pc.cast(array, pa.timestamp(array.type.unit)), pa.string())
    return pc.replace_substring_regex(texts, r"\.?0*$", "") if array.type.unit != "s" else texts


def _decimals(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Numbers or texts as decimals, by their shortest digits; half a last digit is rounded away from zero."""
    if pat.is_floating(array.type):
        # Digits far behind the decimal's last one decide nothing, and there is no room for them.
        nothing = pc.less(pc.abs(array), 10.0 ** -(target.scale + 1))
        array = pc.if_else(nothing, pa.scalar(0.0, array.type), array)
    wide = pa.decimal256(_DIGITS_MOST, target.scale + _DIGITS_OF_A_DOUBLE)
    exact = pc.cast(array if pat.is_integer(array.type) else pc.cast(array, pa.string()), wide)
    return pc.cast(pc.round(exact, target.scale, round_mode="half_towards_infinity"), target)
