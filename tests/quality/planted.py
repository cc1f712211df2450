"""A plugin of pytest that plants a bug of `quality.mutants` for a whole run: the one that the environment names."""

from __future__ import annotations

import os

import pytest

from quality.mutants import BUGS


def pytest_configure() -> None:
    """Plant it; the process ends with the run, so nothing has to be undone."""
    name = os.environ["DRAWSTRING_PLANTED_BUG"]
    if name:
        next(bug for bug in BUGS if bug.name == name).plant(pytest.MonkeyPatch())
