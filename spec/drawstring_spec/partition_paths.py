"""Partition paths: how the values of partition fields become folders.

Source: Java ``PartitionPathEncodeUtils``, ``KeyGenUtils``. Values are escaped as Hive escapes them. Computing
    whole
columns of partition paths is the implementation's; this module is one value at a time, for names.
"""

from __future__ import annotations

import re

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows whose partition value is null or empty."""

ESCAPED_CHARACTERS = frozenset([*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{[]^"])
"""Characters that stand as ``%XX``, two upper-case hexadecimal digits, in an escaped value."""

_ESCAPES = str.maketrans({character: f"%{ord(character):02X}" for character in sorted(ESCAPED_CHARACTERS)})
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")


def escape(text: str) -> str:
    """Return a value as a folder's name. `unescape` gives it back."""
    return text.translate(_ESCAPES)


def unescape(text: str) -> str:
    """Return the value of a folder's name; a ``%`` without two hexadecimal digits stands for itself."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)


def partition_segment(field: str, value: str | None, *, hive_style: bool, url_encode: bool) -> str:
    """Return the folder of one partition field.

    Args:
        field: name of the field.
        value: as text; None and the empty text go to `DEFAULT_PARTITION`.
        hive_style: whether the folder is ``field=value``.
        url_encode: whether the value is escaped.

    """
    folder = value or DEFAULT_PARTITION
    if value and url_encode:
        folder = escape(value)
    return f"{field}={folder}" if hive_style else folder
