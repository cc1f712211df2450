"""Makes an input that fails as small and as plain as it gets while it still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable

LEAST_TRIES = 50


def minimise(content: bytes, fails: Callable[[bytes], bool], *, tries: int = 400) -> bytes:
    """Take out pieces, then zero them, the large ones first.

    Args:
        content: fails.
        fails: whether an input still fails in the same way.
        tries: calls of `fails` at most.

    """
    for replace in (lambda piece: b"", lambda piece: bytes(len(piece))):
        size = max(len(content) // 2, 1)
        while size and tries > 0:
            at = 0
            while at < len(content) and tries > 0:
                piece = content[at : at + size]
                candidate = content[:at] + replace(piece) + content[at + size :]
                tries -= 1
                if candidate != content and fails(candidate):
                    content = candidate
                    at += len(replace(piece))
                else:
                    at += size
            size //= 2
    return content
