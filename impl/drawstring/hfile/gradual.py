"""A few keys of a data block of an HFile, found without decompressing more of it than it takes.

Keys ascend within a block, so a key's entry is reached before the block's end, half-way on the average: a look-up of a
few keys among many blocks decompresses half of each, and searches only where a key can be. Whose duty: the same answers
as splitting the whole block gives, or none: then it is for `drawstring.hfile.entries.parse_data_block`.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Final

from drawstring.hfile.blocks import BlockContent
from drawstring.hfile.entries import are_whole_entries, begins_entry, find_in_block, last_entry

_STEP_BYTES: Final = 96 * 1024
"""Decompressed at a time: memory of that size is used again and again, larger pieces come from the system afresh."""


def find_gradually(content: BlockContent, keys: Sequence[bytes]) -> list[tuple[bytes, bytes]] | None:
    """Find a few entries of a data block.

    Args:
        content: of the block, of which nothing has been read.
        keys: row keys, ascending.

    Returns:
        Those of the keys that the block has, and their values; None where only splitting the block can tell, as in
        `drawstring.hfile.entries.find_in_block`.

    Raises:
        CorruptFileError: it does not decompress as the block states.

    """
    found: list[tuple[bytes, bytes]] = []
    window = b""  # begins with an entry
    position = 0
    while position < len(keys):
        # A step is as large as what it is added to, at least: a large entry is not copied over and over.
        window += content.more(max(_STEP_BYTES, len(window)))
        if not begins_entry(window, 0):
            return None
        start, behind = len(window), len(keys)
        if not content.is_read:
            last = last_entry(window)
            if last is None or last[0] == 0:
                continue
            start, greatest = last
            behind = bisect.bisect_left(keys, greatest, position)
        if behind > position:
            searched = window[:start]
            pairs = find_in_block(searched, keys[position:behind])
            # What looked like an entry may be part of a value: that a key is not there is certain only among entries.
            if pairs is None or (len(pairs) < behind - position and not are_whole_entries(searched)):
                return None
            found += pairs
            position = behind
        window = window[start:]
    return found
