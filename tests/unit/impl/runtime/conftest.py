"""Storages to test: each kind that can be had here."""

from __future__ import annotations

import pytest

from drawstring.runtime.object_storage import ObjectStorage


@pytest.fixture(params=["local folder", "object store"])
def storage(request: pytest.FixtureRequest, tmp_path):
    """Return a storage that holds nothing."""
    if request.param == "object store":
        return ObjectStorage(request.getfixturevalue("new_location")())
    return ObjectStorage(str(tmp_path / "table"))
