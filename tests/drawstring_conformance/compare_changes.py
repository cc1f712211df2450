"""Compares change data with the changes that are right, as multisets.

Rows of change data hold images as JSON text, which Java writes in two dialects: with members whose value is null, and
without. So images are parsed and null members left out; everything else counts, as in
`drawstring_conformance.compare`. Each image is parsed by itself: vectors are small and stay so.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Final

import pyarrow as pa

CHANGE_COLUMNS: Final = ("op", "ts_ms", "before", "after")
_SHOWN: Final = 3

Change = tuple[object, object, str | None, str | None]
"""Operation, requested time, image before, image after."""


def change_difference(actual: pa.Table, expected: pa.Table) -> str:
    """Say how change data differs from what is expected; the empty text where it does not.

    Args:
        actual: the answer, with the columns `CHANGE_COLUMNS`.
        expected: the changes that are right.

    """
    if sorted(actual.column_names) != sorted(CHANGE_COLUMNS):
        return f"columns: {actual.column_names} instead of {list(CHANGE_COLUMNS)}"
    try:
        got = counted(actual)
    except (ValueError, TypeError) as error:
        return f"an image is no JSON object: {error}"
    wanted = counted(expected)
    if got == wanted:
        return ""
    surplus, missing = list((got - wanted).elements()), list((wanted - got).elements())
    return (
        f"{got.total()} changes instead of {wanted.total()}; {len(surplus)} are not expected, such as "
        f"{surplus[:_SHOWN]}; {len(missing)} are missing, such as {missing[:_SHOWN]}"
    )


def counted(changes: pa.Table) -> Counter[Change]:
    """Return change data as a multiset of changes. Raises `ValueError` where an image is no JSON."""
    columns = (changes.column(name).to_pylist() for name in CHANGE_COLUMNS)
    return Counter((op, time, image(before), image(after)) for op, time, before, after in zip(*columns, strict=True))


def image(text: str | None) -> str | None:
    """Return an image in one form: members sorted by name, null members left out. Raises `ValueError`."""
    members = None if text is None else json.loads(text)
    if members is None:
        return None
    if not isinstance(members, dict):
        raise TypeError(f"{text!r:.80} is no object")
    return json.dumps({key: value for key, value in members.items() if value is not None}, sort_keys=True)
