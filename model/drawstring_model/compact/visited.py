"""The states that were met: for each its digest and its parent, in arrays.

An open-addressing table finds a digest: slots hold numbers of states, 0 is empty. It is at most two thirds full. So a
state takes 20 bytes for itself and 6 to 12 for its slots.
"""

from __future__ import annotations

from array import array
from struct import Struct

_HALVES = Struct("<QQ")
_NO_PARENT = 0xFFFFFFFF
MOST_STATES = _NO_PARENT - 1
"""Numbers have 32 bits."""


class Visited:
    """Digests of states, numbered from 0 in the order in which they were added."""

    def __init__(self) -> None:
        self._low, self._high = array("Q"), array("Q")
        self._parents = array("I")
        self._resize(1 << 12)

    def __len__(self) -> int:
        return len(self._parents)

    @property
    def bytes_used(self) -> int:
        """What the arrays take."""
        return sum(len(each) * each.itemsize for each in (self._low, self._high, self._parents, self._slots))

    def add(self, digest: bytes, parent: int) -> tuple[int, bool]:
        """The number of the state with `digest` (16 bytes), and whether it is new; `parent` is -1 for none.

        Raises `OverflowError` where there are more states than numbers of 32 bits.
        """
        low, high = _HALVES.unpack(digest)
        lows, highs, slots, mask = self._low, self._high, self._slots, self._mask
        slot = low & mask
        while number := slots[slot]:
            if lows[number - 1] == low and highs[number - 1] == high:
                return number - 1, False
            slot = (slot + 1) & mask
        number = len(self._parents)
        if number >= MOST_STATES:
            raise OverflowError(f"more than {MOST_STATES:,} states")
        lows.append(low)
        highs.append(high)
        self._parents.append(_NO_PARENT if parent < 0 else parent)
        slots[slot] = number + 1
        if 3 * (number + 1) > 2 * len(slots):
            self._resize(2 * len(slots))
        return number, True

    def digest_of(self, number: int) -> bytes:
        """The digest of a state."""
        return _HALVES.pack(self._low[number], self._high[number])

    def parent_of(self, number: int) -> int | None:
        """Whence a state was first reached."""
        parent = self._parents[number]
        return None if parent == _NO_PARENT else parent

    def path_to(self, number: int) -> list[int]:
        """The numbers of the states on the shortest path to a state, from the first on."""
        path = [number]
        while (parent := self.parent_of(path[-1])) is not None:
            path.append(parent)
        return path[::-1]

    def columns(self) -> tuple[bytes, bytes, bytes]:
        """Low halves, high halves and parents, little-endian."""
        return self._low.tobytes(), self._high.tobytes(), self._parents.tobytes()

    @classmethod
    def of_columns(cls, low: bytes, high: bytes, parents: bytes) -> Visited:
        """The table with these columns. Raises `ValueError` where they do not fit together.

        Every parent has to come before its state, so that `path_to` comes to an end.
        """
        visited = cls()
        for column, content in ((visited._low, low), (visited._high, high), (visited._parents, parents)):
            column.frombytes(content)
        if not len(visited._low) == len(visited._high) == len(visited._parents) > 0:
            raise ValueError("the columns differ in length, or are empty")
        if visited._parents[0] != _NO_PARENT or any(
            parent >= number for number, parent in enumerate(visited._parents) if number
        ):
            raise ValueError("a state's parent does not come before it")
        size = len(visited._slots)
        while 3 * len(visited) > 2 * size:
            size *= 2
        visited._resize(size)
        return visited

    def _resize(self, size: int) -> None:
        """`size` slots, a power of two."""
        mask = size - 1
        slots = array("I", bytes(4 * size))
        for number, low in enumerate(self._low, start=1):
            slot = low & mask
            while slots[slot]:
                slot = (slot + 1) & mask
            slots[slot] = number
        self._slots, self._mask = slots, mask
