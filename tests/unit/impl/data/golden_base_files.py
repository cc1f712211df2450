"""The Parquet base files of some golden tables, straight out of their archives."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import drawstring_conformance

CASES = (
    "all_types_cow",
    "cow_clustering",
    "cow_event_time_ordering",
    "cow_nonpartitioned",
    "index_bloom",
    "keygen_complex",
    "keygen_key_special_chars",
    "schema_evolution_cow",
)


def base_files(case: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each base file of a case's data table."""
    archive = Path(drawstring_conformance.__file__).parent / "vectors" / case / "table.zip"
    with zipfile.ZipFile(archive) as members:
        for name in sorted(members.namelist()):
            if name.endswith(".parquet") and ".hoodie/" not in name:
                yield name, members.read(name)
