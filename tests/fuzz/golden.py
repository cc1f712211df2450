"""Whole files, taken from tables that Java Hudi wrote: of each kind the smallest, one for each different content."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from drawstring_conformance.vectors import load_case, load_cases

LOG_FILE = re.compile(r"(^|/)\.[^/]+\.log\.\d+_[\d-]+(\.cdc)?$")


@cache
def files_of(case: str) -> dict[str, bytes]:
    """All files of one golden table."""
    return dict(load_case(case).read_files())


def matching(pattern: str | re.Pattern[str], *, per_case: int = 1, most_bytes: int = 60_000) -> Iterator[bytes]:
    """Files whose path matches, the smallest of each table."""
    expression = re.compile(pattern)
    for case in load_cases():
        found = [path for path in case.file_names if expression.search(path)]
        contents = sorted((case.read_file(path) for path in found), key=lambda content: (len(content), content))
        yield from [content for content in contents if 0 < len(content) <= most_bytes][:per_case]
