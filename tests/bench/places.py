"""Folders for the benchmark's runs: each run gets its own, and copies of tables that are made once."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path


class Places:
    """Hands out folders below one root."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._numbers = itertools.count()

    def fresh(self) -> str:
        """A path where nothing is yet."""
        return str(self._root / f"run-{next(self._numbers)}")

    def copier(self, source: str) -> Callable[[], str]:
        """What makes a copy of `source` and returns its path."""

        def copy() -> str:
            return shutil.copytree(source, self.fresh())

        return copy

    @staticmethod
    def remove(path: object) -> None:
        """Remove a folder that `fresh` or a copier named."""
        shutil.rmtree(str(path), ignore_errors=True)
