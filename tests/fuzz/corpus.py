"""Inputs that once were findings: one file each, below ``corpus/<format>/``.

``<digest>.bin`` is the input; where an answer was wrong, ``<digest>.whole`` is the file that it was made from.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"
MOST_BYTES = 100_000
"""Larger inputs are not kept beside the sources."""


@dataclass(frozen=True)
class Kept:
    """An input of the corpus."""

    name: str
    content: bytes
    whole: bytes | None


def load(target: str, folder: Path = FOLDER) -> tuple[Kept, ...]:
    """All inputs of a format, by name."""
    found = []
    for path in sorted((folder / target).glob("*.bin")):
        whole = path.with_suffix(".whole")
        found.append(Kept(path.stem, path.read_bytes(), whole.read_bytes() if whole.exists() else None))
    return tuple(found)


def save(target: str, content: bytes, whole: bytes | None, folder: Path = FOLDER) -> Path | None:
    """Keep an input; return its file, or None where it is too large."""
    if len(content) + len(whole or b"") > MOST_BYTES:
        return None
    path = folder / target / f"{hashlib.sha256(content).hexdigest()[:16]}.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if whole is not None:
        path.with_suffix(".whole").write_bytes(whole)
    return path
