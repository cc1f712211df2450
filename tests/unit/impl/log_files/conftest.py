"""Log files of the golden tables."""

from __future__ import annotations

import re
import zipfile

import pytest

from drawstring_conformance.vectors import VECTORS

LOG_FILE = re.compile(r"/\.[^/]+\.log\.\d+_[\d-]+(\.cdc)?$")


@pytest.fixture(scope="session")
def golden_log_files():
    found = []
    for archive in sorted(VECTORS.glob("*/table.zip")):
        with zipfile.ZipFile(archive) as table:
            found += [(n, table.read(n)) for n in sorted(table.namelist()) if LOG_FILE.search(f"/{n}")]
    return found
